"""Laws of the bounds: they hold the truth, no wider than they must be, and labels that contradict them are noticed."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JointMLE, Naive, PUClassifier, SeveralSources, bounds
from propense.datasets import make_double_logistic
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels, InvalidOption, NoLabelledInstances
from propense.inference._bound_options import read_assumptions
from propense.inference._bounds import find_bounds
from propense.inference._label_bands import Assumptions, LabelledRows, averages, band, hidden_ends, violation

KINDS = ("constant", "rising", "own", "curved")


def make_world(kind, base, level, seed, n=5000):
    """Rows whose y and e are known: e constant, rising with the class score, along columns of its own, or curved."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    f = base + (1.2 * X[:, 0] ** 2 - 1.2 + X[:, 1] if kind == "curved" else 1.5 * X[:, 0] - 1.2 * X[:, 1])
    shift = {"constant": 0 * f, "rising": 0.5 * (f - base), "own": 0.8 * X[:, 2] - 0.6 * X[:, 3]}
    e = expit(logit(level) + shift.get(kind, 0.7 * np.abs(X[:, 2]) - 0.5)).clip(0.05, 0.95)
    y = expit(f)
    labelled = rng.random(n) < y * e
    return X, y, e, labelled


def true_assumptions(kind, y, e, top):
    """Assumptions that hold in a world, each nearly as strong as it can be."""
    odds = logit(e)
    found = {
        "propensity": {"propensity": (0.98 * e.min(), min(1.0, 1.02 * e.max()))},
        "odds_ratio": {"odds_ratio": 1.05 * float(np.exp(np.ptp(odds)))},
        "departure": {"departure": 1.2},
        "both": {"propensity": 0.98 * e.min(), "departure": 1.5},
        "clearest": {"clearest": 0.98 * float(y[top].mean())},
    }
    if kind in ("constant", "rising"):
        found["rising"] = {"rising": True, "propensity": 0.98 * e.min()}
        found["rising, clearest"] = {"rising": True, "clearest": 0.98 * float(y[top].mean())}
        found["all"] = {**found["rising, clearest"], **found["departure"], **found["propensity"], **found["odds_ratio"]}
    return found


def rows_of(labelled, chance, y, e, **cells):
    return LabelledRows.of(np.asarray(labelled, dtype=float), chance, y, e, np.ones(len(y)), **cells)


def ends(rows, **given):
    asked = read_assumptions(**given).given
    return averages(rows, *band(rows, asked), asked.clearest)


WORLDS = [(kind, base, level) for kind in KINDS for base, level in ((-2, 0.25), (1, 0.6))]


@pytest.mark.parametrize(("kind", "base", "level"), WORLDS)
def test_the_truth_is_within_the_range_wherever_the_assumption_holds(kind, base, level):
    """With s(x) known: labels are replaced by their chances, so that nothing is left to luck."""
    _, y, e, _ = make_world(kind, base, level, seed=1, n=2000)
    rows = rows_of(y * e, y * e, y, e)
    for name, given in true_assumptions(kind, y, e, rows.top).items():
        low, high = ends(rows, **given)
        assert low <= y.mean() + 1e-9, name
        assert high >= y.mean() - 1e-9, name
        hidden = hidden_ends(rows.chance, *band(rows, read_assumptions(**given).given))
        truth = y * (1 - e) / (1 - y * e)
        assert (hidden[:, 0] <= truth + 1e-9).all(), name
        assert (hidden[:, 1] >= truth - 1e-9).all(), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_is_within_the_limits_of_a_sample(kind):
    """With s(x) fitted by a logistic regression, which is too simple for these worlds."""
    X, y, e, labelled = make_world(kind, 0, 0.6, seed=2, n=2000)
    chance = cross_val_predict(LogisticRegression(), X, labelled, cv=5, method="predict_proba")[:, 1]
    rows = rows_of(labelled, chance, y, e)
    for name, given in true_assumptions(kind, y, e, rows.top).items():
        found = find_bounds(rows, read_assumptions(**given), 0.5)
        assert found.contradicted == "", name
        assert found.prior_limits[0] <= y.mean() <= found.prior_limits[1], name
        assert found.prior_limits[0] <= found.prior[0] <= found.prior[1] <= found.prior_limits[1], name


def test_limits_are_those_of_a_share_where_the_range_is_a_point():
    _, y, e, labelled = make_world("constant", -1, 0.4, seed=0, n=1000)
    found = find_bounds(rows_of(labelled, y * e, y, e), read_assumptions(propensity=(0.4, 0.4)), 0.5)
    assert np.ptp(found.prior) < 0.03
    assert found.prior_limits[0] <= y.mean() <= found.prior_limits[1]
    width = 2 * 1.96 * labelled.std() / np.sqrt(1000) / 0.4
    assert np.ptp(found.prior_limits) == pytest.approx(width, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [np.square, np.sqrt, lambda s: 0.1 + 0.5 * s], ids=["steep", "flat", "squeezed"])
def test_labels_correct_a_wrong_curve_of_their_chance(kind, wrong):
    _, y, e, _ = make_world(kind, 0, 0.5, seed=7)
    s = y * e
    rows = rows_of(s, wrong(s), y, e)
    uncorrected = wrong(s) * s.sum() / wrong(s).sum()
    truth = np.minimum(1.0, s / 0.3).mean()
    assert abs(np.minimum(1.0, uncorrected / 0.3).mean() - truth) > 0.08
    assert ends(rows, propensity=0.3)[1] == pytest.approx(truth, abs=0.015)
    assert ends(rows, departure=1)[0] == pytest.approx(y.mean(), abs=0.015)


def solve(s, w, low, high, *, rising, clearest):
    """The least and the largest Σ w·y of all y within its ends, with e = s/y that never falls, by linear programs."""
    n = len(s)
    bounds_of_y = list(zip(low, np.minimum(high, 1.0), strict=True))
    if clearest:
        bounds_of_y[-1] = (max(bounds_of_y[-1][0], clearest), bounds_of_y[-1][1])
    if any(a > b + 1e-12 for a, b in bounds_of_y):
        return None
    above = []
    for i, j in pairwise(range(n)) if rising else ():
        line = np.zeros(n)
        # s_i/y_i ≤ s_j/y_j.
        line[j], line[i] = s[i], -s[j]
        above.append(line)
    system = {"A_ub": np.array(above), "b_ub": np.zeros(len(above))} if above else {}
    found = [linprog(sign * w, bounds=bounds_of_y, **system) for sign in (1, -1)]
    return (found[0].fun, -found[1].fun) if all(each.status == 0 for each in found) else None


GIVEN = [
    {},
    {"propensity": (0.3, 0.8)},
    {"rising": True},
    {"rising": True, "clearest": 0.9},
    {"clearest": 0.9},
    {"departure": 1.7},
    {"departure": 3.0, "rising": True},
    {"departure": 3.0, "rising": True, "clearest": 0.9, "propensity": (0.1, 0.95)},
    {"odds_ratio": 2.5},
    {"odds_ratio": 2.5, "propensity": (0.2, 0.9)},
    {"odds_ratio": 6.0, "rising": True, "clearest": 0.9},
    {"odds_ratio": 8.0, "departure": 4.0, "rising": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_the_range_is_as_narrow_as_the_assumptions_allow(given):
    """Six kinds of rows with known s: what linear programs find among all y, for every centre of the odds."""
    rng, compared = np.random.default_rng(0), 0
    asked = read_assumptions(**given).given
    for _ in range(10 if asked.odds_ratio == np.inf else 6):
        s = np.sort(rng.uniform(0.02, 0.7, 6))
        fit = np.maximum(np.sort(rng.uniform(0.15, 0.85, 6)), s)
        w = rng.dirichlet(np.ones(6))
        rows = LabelledRows.of(s, s, np.arange(6.0), fit, w, labels_per_cell=0.0)
        lo, hi = np.full(6, asked.propensity[0]), np.full(6, asked.propensity[1])
        if asked.departure < np.inf:
            lo = np.maximum(lo, expit(logit(fit) - np.log(asked.departure)))
            hi = np.minimum(hi, expit(logit(fit) + np.log(asked.departure)))
        tops = [1.0] if asked.odds_ratio == np.inf else np.linspace(s.max(), 1 - 1e-9, 25)
        solved = []
        for top in tops:
            bottom = 0.0 if asked.odds_ratio == np.inf else expit(logit(top) - np.log(asked.odds_ratio))
            least, most = np.maximum(np.maximum(lo, bottom), s), np.minimum(hi, top)
            if (least <= most + 1e-12).all():
                solved.append(solve(s, w, s / most, s / least, rising=asked.rising, clearest=asked.clearest))
        solved = [each for each in solved if each is not None]
        if not solved:
            continue
        compared += 1
        low, high = averages(rows, *band(rows, asked), asked.clearest)
        least, most = min(each[0] for each in solved), max(each[1] for each in solved)
        assert low <= least + 1e-9
        assert high >= most - 1e-9
        # Only some centres of the odds are tried.
        rough = 1e-9 if asked.odds_ratio == np.inf else 0.02
        assert low == pytest.approx(least, abs=rough)
        assert high == pytest.approx(most, abs=rough)
    assert compared >= 4


def test_labels_at_random_leave_the_range_of_elkan_and_noto():
    """Labels at random: e is at least the height k of the label curve, so that P(S=1) ≤ P(Y=1) ≤ P(S=1)/k."""
    s, w = np.array([0.05, 0.2, 0.4]), np.array([0.5, 0.3, 0.2])
    rows = LabelledRows.of(s, s, s, np.full(3, 0.5), w, labels_per_cell=0.0)
    assert ends(rows, odds_ratio=1) == pytest.approx((w @ s, w @ s / 0.4))


def test_a_rising_propensity_alone_says_nothing_and_with_clear_positives_it_does():
    s, w = np.array([0.05, 0.2, 0.4]), np.array([0.5, 0.3, 0.2])
    rows = LabelledRows.of(s, s, s, np.full(3, 0.5), w, labels_per_cell=0.0)
    assert ends(rows, rising=True) == pytest.approx((w @ s, 1.0))
    # The clearest rows are positive, so 0.4 of them are labelled, and no other positives more often.
    assert ends(rows, rising=True, clearest=1.0)[0] == pytest.approx(w @ s / 0.4)


NESTED = [
    [{"propensity": (0.5, 0.95)}, {"propensity": (0.2, 0.98)}, {"propensity": (0.0, 1.0)}],
    [{"odds_ratio": each} for each in (1, 1.5, 40)],
    [{"departure": each} for each in (1, 1.2, 50)],
    [{"rising": True, "clearest": each} for each in (0.5, 0.4, 0.2)],
    [
        {"departure": 20, "odds_ratio": 400, "propensity": 0.1},
        {"departure": 20, "odds_ratio": 400},
        {"odds_ratio": 400},
    ],
    [{"correlation": (0, 0)}, {"correlation": (-0.1, 0.22)}, {"correlation": 0.3}],
]


@pytest.mark.slow
@pytest.mark.parametrize("chain", NESTED, ids=str)
def test_a_weaker_assumption_never_narrows_a_range(chain, fitted):
    model, data = fitted
    groups = data.X[:, 0] > 0
    found = [bounds(model, data.X, data.labelled, groups=groups, **given) for given in chain]
    for strong, weak in pairwise(found):
        assert weak.contradicted == "" == strong.contradicted
        for inner, outer in [(strong.prior, weak.prior), (strong.hidden.T, weak.hidden.T), *_by_group(strong, weak)]:
            assert np.all(outer[0] <= np.asarray(inner[0]) + 1e-12)
            assert np.all(outer[1] >= np.asarray(inner[1]) - 1e-12)


def _by_group(strong, weak):
    names = ("prior_by_group", "propensity_by_group")
    return [(getattr(strong, name)[group], getattr(weak, name)[group]) for name in names for group in (False, True)]


def test_a_rising_propensity_narrows_what_a_fit_leaves_open():
    _, y, e, _ = make_world("rising", 0, 0.4, seed=6, n=1000)
    rng = np.random.default_rng(0)
    # The fit's e goes up and down around the truth, which the assumption smooths.
    rows = rows_of(y * e, y * e, y, expit(logit(e) + rng.uniform(-0.3, 0.3, 1000)))
    strong, weak = ends(rows, departure=1.5, rising=True), ends(rows, departure=1.5)
    assert weak[0] < strong[0] - 0.01 < y.mean() < strong[1] + 0.01 < weak[1]


@pytest.fixture(scope="module")
def fitted():
    data = make_double_logistic(1500, 6, random_state=0)
    return JointMLE(propensity_features=[3, 4, 5], n_starts=2, random_state=0).fit(data.X, data.labelled), data


def test_without_assumptions_the_labels_are_all_there_is(fitted):
    model, data = fitted
    found = bounds(model, data.X, data.labelled)
    assert found.prior == pytest.approx((data.labelled.mean(), 1.0))
    assert (found.hidden == [0.0, 1.0]).all()
    assert "all of them may be" in str(found)
    assert found.contradicted == ""


def test_a_departure_of_one_is_the_fit(fitted):
    model, data = fitted
    found = bounds(model, data.X, data.labelled, departure=1)
    assert found.prior[0] == pytest.approx(found.prior[1])
    assert found.prior[0] == pytest.approx(found.estimate, abs=0.01)
    assert found.estimate == pytest.approx(model.prior_)
    np.testing.assert_allclose(found.hidden[:, 0], model.predict_hidden(data.X))
    np.testing.assert_allclose(found.hidden[:, 1], model.predict_hidden(data.X))


def test_the_robustness_value_halves_and_doubles_the_hidden_positives(fitted):
    model, data = fitted
    value = bounds(model, data.X, data.labelled).robustness_value
    assert 1 < value.halved < 10
    halved = bounds(model, data.X, data.labelled, departure=value.halved)
    hidden = halved.estimate - halved.labelled
    assert halved.prior[0] - halved.labelled == pytest.approx(0.5 * hidden, abs=1e-6)
    doubled = bounds(model, data.X, data.labelled, departure=value.doubled)
    assert doubled.prior[1] - doubled.labelled == pytest.approx(2.0 * hidden, abs=1e-6)


def test_nothing_is_robust_where_nothing_is_hidden(fitted):
    _, data = fitted
    found = bounds(Naive().fit(data.X, data.labelled), data.X, data.labelled)
    assert np.isnan(found.robustness_value.halved)
    assert "no hidden positives" in str(found)


def test_twice_as_many_positives_as_rows_cannot_be():
    _, y, e, labelled = make_world("constant", 1, 0.3, seed=3, n=1000)
    found = find_bounds(rows_of(labelled, y * e, y, e), read_assumptions(), float(y.mean()))
    assert found.robustness_value.doubled == np.inf
    assert "more than there are rows" in str(found)


class TestContradictions:
    """Labels can contradict an upper limit of e, and only that."""

    def test_more_labels_than_the_largest_propensity_allows(self):
        _, y, e, labelled = make_world("constant", 0, 0.6, seed=4)
        rows = rows_of(labelled, y * e, y, e)
        found = find_bounds(rows, read_assumptions(propensity=(0, 0.4)), 0.5)
        assert "labels contradict them" in found.contradicted
        assert "no more than 40.0% could be" in found.contradicted
        assert np.isnan([*found.prior, *found.prior_limits]).all()
        assert found.contradicted in str(found)
        assert find_bounds(rows, read_assumptions(propensity=(0, 0.6)), 0.5).contradicted == ""

    def test_no_labels_contradict_a_lower_limit(self):
        """That every positive is labelled explains any labels."""
        _, y, e, labelled = make_world("constant", 0, 0.2, seed=4)
        found = find_bounds(rows_of(labelled, y * e, y, e), read_assumptions(propensity=(0.9, 1)), 0.5)
        assert found.contradicted == ""

    def test_labels_that_become_rarer_at_the_top_contradict_a_rising_propensity(self):
        rng = np.random.default_rng(0)
        score = rng.uniform(size=5000)
        e = 0.8 - 0.6 * score
        labelled = rng.random(5000) < score**0.2 * e
        rows = rows_of(labelled, score**0.2 * e, score, e)
        assert "labels contradict" in find_bounds(rows, read_assumptions(rising=True, clearest=0.95), 0.5).contradicted
        # That hardly any of the clearest rows are positive would explain it.
        assert find_bounds(rows, read_assumptions(rising=True, clearest=0.2), 0.5).contradicted == ""

    def test_more_labels_than_a_departure_from_the_fit_allows(self):
        _, y, e, labelled = make_world("constant", 1, 0.6, seed=4)
        rows = rows_of(labelled, y * e, y, np.full(5000, 0.3))
        assert "labels contradict" in find_bounds(rows, read_assumptions(departure=1.5), 0.5).contradicted
        assert find_bounds(rows, read_assumptions(departure=4), 0.5).contradicted == ""

    @pytest.mark.parametrize("given", [{"propensity": 0.8}, {"odds_ratio": 1.2}, {"rising": True}])
    def test_assumptions_that_contradict_each_other(self, given):
        _, y, e, labelled = make_world("own", 0, 0.4, seed=4)
        found = find_bounds(rows_of(labelled, y * e, y, e), read_assumptions(departure=1.1, **given), 0.5)
        assert "contradict each other" in found.contradicted

    def test_chance_is_rarely_called_a_contradiction(self):
        """All rows are positive, and exactly as many as allowed are labelled: the hardest case."""
        alarms, rng = 0, np.random.default_rng(0)
        for _ in range(50):
            score = rng.uniform(size=600)
            rows = rows_of(rng.random(600) < 0.3, np.full(600, 0.3) + 0.001 * score, score, np.full(600, 0.3))
            alarms += violation(rows, Assumptions(propensity=(0.0, 0.3))) is not None
        assert alarms == 0


def test_the_rows_of_fit_are_judged_by_models_that_have_not_seen_them():
    data = make_double_logistic(600, 4, random_state=1)
    model = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(data.X, data.labelled)
    found = bounds(model, data.X, data.labelled, propensity=(0.2, 0.9))
    y, e = model.oof_posterior_, model.oof_propensity_
    rows = rows_of(data.labelled, y * e, y, e)
    np.testing.assert_allclose(found.hidden, hidden_ends(rows.chance, np.full(600, 0.2), np.full(600, 0.9)))
    assert found.estimate == pytest.approx(model.prior_)
    # Other rows, and others in the same number, get the predictions.
    other = make_double_logistic(600, 4, random_state=2)
    y, e = model.predict_proba(other.X)[:, 1], model.predict_propensity(other.X)
    rows = rows_of(other.labelled, y * e, y, e)
    found = bounds(model, other.X, other.labelled, propensity=(0.2, 0.9))
    np.testing.assert_allclose(found.hidden, hidden_ends(rows.chance, np.full(600, 0.2), np.full(600, 0.9)))


def test_order_of_the_rows_does_not_matter(fitted, rng):
    model, data = fitted
    given = {"departure": 200, "rising": True, "odds_ratio": 50, "clearest": 0.4}
    order = rng.permutation(len(data.X))
    one, other = (bounds(model, data.X[i], data.labelled[i], **given) for i in (np.arange(len(order)), order))
    assert one.prior == pytest.approx(other.prior)
    np.testing.assert_allclose(one.hidden[order], other.hidden)


def test_a_weight_of_two_is_the_row_twice(fitted):
    model, data = fitted
    weights = np.where(np.arange(1500) % 3 == 0, 2, 1)
    twice = np.repeat(np.arange(1500), weights)
    given = {"propensity": (0.2, 0.8)}
    heavy = bounds(model, data.X, data.labelled, sample_weight=weights, **given)
    long = bounds(model, data.X[twice], data.labelled[twice], **given)
    assert heavy.prior == pytest.approx(long.prior, rel=0.03)
    assert heavy.labelled == pytest.approx(long.labelled)


def test_rows_of_weight_zero_are_left_out(fitted):
    model, data = fitted
    weights = np.where(np.arange(1500) < 1200, 1.0, 0.0)
    some = bounds(model, data.X[:1200], data.labelled[:1200], odds_ratio=3)
    found = bounds(model, data.X, data.labelled, sample_weight=weights, odds_ratio=3)
    assert found.prior == pytest.approx(some.prior)
    assert np.isnan(found.hidden[1200:]).all()
    np.testing.assert_allclose(found.hidden[:1200], some.hidden)


def test_groups_have_ranges_of_their_own():
    X, y, e, labelled = make_world("own", 0, 0.4, seed=5)
    group = np.where(X[:, 2] > 0, "often", "rarely")
    found = find_bounds(rows_of(labelled, y * e, y, e), read_assumptions(departure=1.3), 0.5, group)
    assert list(found.propensity_by_group) == ["often", "rarely"]
    for name, (low, high) in found.propensity_limits_by_group.items():
        mask = group == name
        assert low <= (y * e)[mask].sum() / y[mask].sum() <= high
        assert found.prior_limits_by_group[name][0] <= y[mask].mean() <= found.prior_limits_by_group[name][1]
    assert found.propensity_by_group["often"][0] > found.propensity_by_group["rarely"][1]
    assert "rarely: " in str(found)


def test_a_group_of_all_rows_is_all_rows(fitted):
    model, data = fitted
    found = bounds(model, data.X, data.labelled, propensity=(0.3, 0.9), groups=["a"] * 1500)
    assert found.prior_by_group["a"] == pytest.approx(found.prior)
    assert found.propensity_by_group["a"] == pytest.approx(tuple(found.labelled / each for each in found.prior[::-1]))


def test_a_group_without_labels_has_the_propensities_that_are_assumed(fitted):
    model, data = fitted
    groups = np.where(data.labelled | (np.arange(1500) % 2 == 0), 1.0, np.nan)
    found = bounds(model, data.X, data.labelled, propensity=(0.3, 0.9), groups=groups)
    assert list(found.propensity_by_group) == [1.0, "(missing)"]
    assert found.propensity_by_group["(missing)"] == (0.3, 0.9)
    assert found.prior_by_group["(missing)"] == (0.0, 0.0)


def test_a_pipeline_is_its_last_step(fitted):
    _, data = fitted
    labels = np.where(data.labelled, "yes", "")
    pipeline = make_pipeline(StandardScaler(), PUClassifier(learners="linear", random_state=0)).fit(data.X, labels)
    found = bounds(pipeline, data.X, labels, departure=2)
    step = bounds(pipeline[-1], pipeline[:-1].transform(data.X), labels, departure=2)
    assert found.prior == step.prior
    search = GridSearchCV(pipeline, {"puclassifier__ridge": [1.0]}, cv=2).fit(data.X, data.labelled)
    assert bounds(search, data.X, data.labelled, departure=2).prior == step.prior
    with pytest.raises(InvalidOption, match="CalibratedClassifierCV learns from the labels"):
        bounds(CalibratedClassifierCV(Naive(), cv=2).fit(data.X, data.labelled), data.X, data.labelled)


BAD = [
    ({"propensity": (0.9, 0.2)}, r"propensity=\(0.9, 0.2\): the first number is above the second"),
    ({"propensity": 1.2}, "propensity=1.2: must be a number from 0 to 1"),
    ({"propensity": (0.1, 0.2, 0.3)}, "or two of them, such as 0.2, the least value"),
    ({"propensity": (0, 0)}, "then no positive could be labelled"),
    ({"propensity": "0.2"}, "propensity='0.2': must be a number"),
    ({"odds_ratio": 0.5}, "odds_ratio=0.5: must be a factor ≥ 1"),
    ({"odds_ratio": float("nan")}, "odds_ratio=nan"),
    ({"departure": True}, "departure=True: must be a factor"),
    ({"rising": 1}, "rising=1: must be True or False"),
    ({"clearest": 0}, "clearest=0: must be a share above 0"),
    ({"correlation": 1.0}, "correlation=1.0: must be a number from 0 to 0.95, or two of them"),
    ({"correlation": (0.5, -0.5)}, "the first number is above the second"),
    ({"correlation": 0.5, "rising": True}, "correlation= is a model of its own"),
    ({"confidence": 95}, "confidence=95: must be a number above 0 and below 1"),
    ({"random_state": -1}, "random_state=-1"),
    ({"groups": ["a", "b"]}, r"groups has shape \(2,\) for 1500 rows"),
    ({"groups": np.arange(1500)}, "groups has 1500 values, more than 200"),
    ({"groups": [[]] * 1500}, "groups has shape"),
]


@pytest.mark.parametrize(("given", "words"), BAD, ids=lambda each: str(each)[:40])
def test_arguments_that_cannot_be_used_are_named(fitted, given, words):
    model, data = fitted
    with pytest.raises(InvalidInput, match=words):
        bounds(model, data.X, data.labelled, **given)


def test_a_few_labels_do_not_show_which_rows_are_clearest():
    data = make_double_logistic(150, 4, random_state=0)
    model = PUClassifier(learners="linear", random_state=0).fit(data.X, data.labelled)
    with pytest.raises(InvalidOption, match=r"clearest=0\.9: there are too few labels"):
        bounds(model, data.X, data.labelled, clearest=0.9)


def test_models_and_labels_that_cannot_be_used_are_named(fitted):
    model, data = fitted
    with pytest.raises(
        InvalidOption, match="LogisticRegression is neither a fitted estimator of propense nor a pipeline"
    ):
        bounds(LogisticRegression(), data.X, data.labelled)
    several = SeveralSources().fit(data.X, np.column_stack([data.labelled, data.X[:, 0] + data.X[:, 3] > 1]))
    with pytest.raises(InvalidOption, match="bounds is about one column of labels, but SeveralSources has several"):
        bounds(several, data.X, data.labelled)
    with pytest.raises(NoLabelledInstances):
        bounds(model, data.X, np.zeros(1500))
    with pytest.raises(InvalidLabels, match="y marks labelled rows by yes, but in fit it was True"):
        bounds(model, data.X, np.where(data.labelled, "yes", "no"))
    with pytest.raises(InvalidFeatures):
        bounds(model, data.X[:, :3], data.labelled)
    three = np.where(data.labelled, 1.0, np.where(np.arange(1500) % 10 == 0, 0.0, np.nan))
    with pytest.raises(InvalidOption, match="bounds does not take known negatives"):
        bounds(model, data.X, three)
