"""Laws of the bounds: no wider and no narrower than a spread and a purity allow, with limits that add chance."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from propense import JointMLE, PUClassifier, SeveralSources, bounds
from propense.datasets import make_double_logistic
from propense.errors import InvalidInput, InvalidOption
from propense.inference._bound_rows import ReadRows
from propense.inference._bounds import LabelCurve, _cells, find_bounds


@pytest.fixture(scope="module")
def fitted():
    data = make_double_logistic(1500, 6, random_state=0)
    return JointMLE(propensity_features=[3, 4, 5], n_starts=2, random_state=0).fit(data.X, data.labelled), data


@pytest.fixture(scope="module")
def found(fitted):
    model, data = fitted
    return bounds(model, data.X, data.labelled, purity=(1.0, 0.95))


def rows_of(labelled, score):
    return ReadRows(np.asarray(labelled, dtype=float), score, np.ones(len(score)), 0.5)


def world(n=4000, seed=0, level=0.6):
    """Rows whose score is s(x)."""
    rng = np.random.default_rng(seed)
    s = level * rng.random(n) ** 2
    return rng.random(n) < s, s


def test_without_spread_the_set_is_the_point_of_labels_at_random_and_of_the_top_rows(fitted, found):
    model, data = fitted
    top = model.predict_proba(data.X)[:, 1] * model.predict_propensity(data.X) >= found.top_score
    assert top.sum() == found.top_rows >= 0.02 * len(top)
    assert data.labelled[top].sum() >= 20
    point = np.multiply(found.purity, data.labelled.mean() / data.labelled[top].mean())
    np.testing.assert_allclose([found.low[0], found.high[0]], [point, point], rtol=1e-12)
    assert found.curve.relative @ found.curve.shares * found.top_share == pytest.approx(found.labelled, rel=1e-12)


def test_more_spread_and_more_purity_allow_more_up_to_the_purity_itself(found):
    assert (np.diff(found.high, axis=0) > 0).all()
    assert (np.diff(found.high, axis=1) < 0).all()
    assert (found.low >= found.labelled).all()
    assert found.between(1e9)[1] == pytest.approx(1.0)
    assert found.between(1e9, 0.95) == pytest.approx((found.low[0, 1], 0.95))
    assert found.between(3, 0.95) == pytest.approx((found.low[3, 1], found.high[3, 1]))


@pytest.mark.parametrize("purity", [1.0, 0.8])
@pytest.mark.parametrize("spread", [1.0, 1.7, 4.0])
def test_no_labelling_within_the_assumptions_leaves_the_set_and_some_reach_its_ends(spread, purity, rng):
    """Five kinds of rows with known s: what linear programs find among all y, with e = s/y."""
    s, w = np.sort(rng.uniform(0.02, 0.7, 5)), rng.dirichlet(np.ones(5))
    e_top = s[-1] / purity
    # e_top/Λ ≤ s/y ≤ e_top, and y ≤ p.
    allowed = [(each / e_top, min(purity, spread * each / e_top)) for each in s]
    least, most = (sign * linprog(sign * w, bounds=allowed).fun for sign in (1, -1))
    curve = LabelCurve(float(w @ s), float(s[-1]), s / s[-1], w)
    assert curve.ends(spread, purity) == pytest.approx((least, most))
    e = np.maximum(s, s[-1] / spread) / purity
    assert w @ (s / e) == pytest.approx(most)
    assert e.max() <= spread * e.min() * (1 + 1e-12)


def test_too_few_labels_make_all_rows_top_rows(rng):
    labelled = np.arange(500) >= 485
    few = find_bounds(rows_of(labelled, rng.random(500)))
    assert (few.top_rows, few.top_share) == (500, pytest.approx(0.03))
    assert few.low.tolist() == few.high.tolist() == [[1.0, 0.8]] * 5
    # No label below the top rows does not show that there is no positive.
    none_below = find_bounds(rows_of(np.arange(500) >= 480, np.arange(500.0)))
    assert none_below.top_rows == 500


def test_robustness_inverts_the_upper_end(found):
    for prior in (found.estimate, 0.6, 0.85):
        for purity in (None, 0.95):
            assert found.between(found.robustness(prior, purity), purity)[1] == pytest.approx(prior)
    assert found.robustness(found.low[0, 0] - 0.01) == 1.0
    assert found.robustness(0.97, 0.95) == np.inf
    assert found.between(found.robustness(0.95, 0.95), 0.95)[1] == pytest.approx(0.95)
    assert "at least" in found.robustness_words(found.labelled)
    assert "97.0% cannot be reached" in found.robustness_words(0.97, 0.95)
    assert f"have to be {found.robustness(found.estimate):.1f} times harder" in str(found)


def test_a_weight_of_two_is_the_row_twice_and_of_none_no_row(fitted):
    model, data = fitted
    weights = np.arange(1500) % 3
    given = {"top": 0.1, "purity": (1.0, 0.95)}
    heavy = bounds(model, data.X, data.labelled, sample_weight=weights, **given)
    twice = np.repeat(np.arange(1500), weights)
    long = bounds(model, data.X[twice], data.labelled[twice], **given)
    np.testing.assert_allclose((heavy.low, heavy.high), (long.low, long.high))
    kept = bounds(model, data.X[weights > 0], data.labelled[weights > 0], sample_weight=weights[weights > 0], **given)
    np.testing.assert_array_equal(heavy.high_limit, kept.high_limit)


def test_limits_contain_the_ends_and_are_repeatable(fitted, found):
    model, data = fitted
    assert (found.low_limit < found.low).all()
    assert (found.high_limit > found.high).all()
    again, other, sure = (
        bounds(model, data.X, data.labelled, purity=(1.0, 0.95), **given)
        for given in ({}, {"random_state": 1}, {"confidence": 0.99})
    )
    np.testing.assert_array_equal(again.high_limit, found.high_limit)
    assert not np.array_equal(other.high_limit, found.high_limit)
    assert (sure.low_limit < found.low_limit).all()
    assert (sure.high_limit > found.high_limit).all()


def test_limits_of_a_share_are_those_of_a_normal_interval():
    """If all rows are top rows and 40% of them were checked positive, only chance in s_top is left."""
    labelled, _ = world(2000, level=0.4)
    found = find_bounds(rows_of(labelled, np.zeros(2000)), checked=(4000, 10000), random_state=1)
    share = labelled.mean()
    rate = beta.ppf([0.0125, 0.9875], [4000, 4001], [6001, 6000])
    assert found.purity_limits == pytest.approx(share + (1 - share) * rate)
    assert found.low[0, 0] == found.high[0, 0] == found.purity[0] == pytest.approx(share + (1 - share) * 0.4)
    spread = 2.2414 * np.sqrt(share * (1 - share) / 2000)
    ends = found.purity_limits + spread * (1 - rate) * [-1, 1]
    assert (found.low_limit[0, 0], found.high_limit[0, 0]) == pytest.approx(ends, abs=0.004)


def test_a_purity_that_the_labels_contradict_is_left_out_or_refused():
    labelled, s = world(level=0.95)
    found = find_bounds(rows_of(labelled, s), draws=0)
    assert found.purity == (1.0,)
    with pytest.raises(InvalidOption, match=r"purity=0\.5: .*% of the top rows are labelled, .* Pass a share of at"):
        find_bounds(rows_of(labelled, s), purity=(1.0, 0.5))
    with pytest.raises(InvalidOption, match=r"purity=0\.5"):
        found.robustness(0.4, 0.5)
    with pytest.raises(InvalidOption, match=r"spread=\(1, 2\): must be a factor"):
        found.between((1, 2))


def test_the_rows_of_fit_are_ordered_by_models_that_have_not_seen_them():
    data = make_double_logistic(600, 4, random_state=1)
    model = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(data.X, data.labelled)
    own = find_bounds(rows_of(data.labelled, model.oof_posterior_ * model.oof_propensity_))
    found = bounds(model, data.X, data.labelled)
    np.testing.assert_array_equal(found.high_limit, own.high_limit)
    assert found.estimate == pytest.approx(model.prior_)
    # Other rows, and others in the same number, get the predictions.
    other = make_double_logistic(600, 4, random_state=2)
    s = model.predict_proba(other.X)[:, 1] * model.predict_propensity(other.X)
    own = find_bounds(rows_of(other.labelled, s), draws=0)
    np.testing.assert_allclose(bounds(model, other.X, other.labelled).high, own.high)


BAD = [
    ({"spread": 0.5}, r"spread=0\.5: must be a factor ≥ 1"),
    ({"spread": ()}, r"spread=\(\)"),
    ({"spread": (1, float("nan"))}, "spread=nan"),
    ({"purity": 1.2}, r"purity=1\.2: must be a share from 0 to 1"),
    ({"purity": "1"}, "purity='1'"),
    ({"checked": (3,)}, r"checked=\(3,\): must be two whole numbers"),
    ({"checked": (5, 3)}, "5 of 3 rows cannot be positive"),
    ({"checked": (3, 5), "purity": 1.0}, "purity= and checked= exclude each other"),
    ({"top": 0}, "top=0: must be a share"),
    ({"confidence": 95}, "confidence=95: must be a number above 0 and below 1"),
    ({"random_state": -1}, "random_state=-1"),
]


@pytest.mark.parametrize(("given", "words"), BAD, ids=lambda each: str(each)[:40])
def test_arguments_that_cannot_be_used_are_named(given, words):
    with pytest.raises(InvalidInput, match=words):
        find_bounds(rows_of([0, 1], np.arange(2.0)), **given)


def test_models_and_labels_that_cannot_be_used_are_named(fitted):
    model, data = fitted
    several = SeveralSources().fit(data.X, np.column_stack([data.labelled, data.X[:, 0] + data.X[:, 3] > 1]))
    three = np.where(data.labelled, 1.0, np.where(np.arange(1500) % 10 == 0, 0.0, np.nan))
    for method, y, words in (
        (LogisticRegression(), data.labelled, "LogisticRegression is neither a fitted estimator of propense"),
        (several, data.labelled, "bounds is about one column of labels, but SeveralSources has several"),
        (model, np.where(data.labelled, "yes", "no"), "y marks labelled rows by yes, but in fit it was True"),
        (model, three, "bounds does not take known negatives"),
    ):
        with pytest.raises(InvalidInput, match=words):
            bounds(method, data.X, y)


def test_limits_are_percentiles_of_draws_less_twice_their_bias():
    labelled, s = world(n=1500)
    read = rows_of(labelled, s)
    found = find_bounds(read, spread=2, purity=1, random_state=0)
    cells, rng, draws = _cells(read, 0.02), np.random.RandomState(0), []
    for _ in range(200):
        weights = rng.standard_exponential(len(cells))
        curve = IsotonicRegression().fit(cells, labelled, weights).predict(cells)
        share, top = np.average(labelled, weights=weights), curve.max()
        draws.append([share / top, np.average(np.minimum(1, 2 * curve / top), weights=weights)])
    low, high = (np.array(draws) - 2 * (np.mean(draws, axis=0) - [found.low[0, 0], found.high[0, 0]])).T
    assert found.low_limit[0, 0] == pytest.approx(np.quantile(low, 0.025), rel=1e-6)
    assert found.high_limit[0, 0] == pytest.approx(np.quantile(high, 0.975), rel=1e-6)
