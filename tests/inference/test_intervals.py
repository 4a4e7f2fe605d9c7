"""Laws of the intervals: what they must equal, and what they must not depend on."""

import importlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import METHODS, fit, missing
from propense import JERM, LBE, SAREM, JointMLE, KnownPropensity, Naive, Oracle, PUClassifier, intervals
from propense._inputs.sample import read_sample
from propense.datasets import make_double_logistic
from propense.errors import InvalidFeatures, InvalidInput, InvalidOption
from propense.inference import Intervals
from propense.inference._debias import debiased, log_odds_of

QUANTITIES = ("prior", "label_frequency", "posterior", "propensity", "hidden")
NAMED = JointMLE(propensity_features=[2, 3], n_starts=2, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_double_logistic(1500, 4, random_state=3)


@pytest.fixture(scope="module")
def model(data):
    return clone(NAMED).fit(data.X, data.labelled)


def ends(found):
    """Every end, on the scale of log-odds."""
    pairs = [(getattr(found, name).low, getattr(found, name).high) for name in QUANTITIES]
    return logit(np.concatenate([np.ravel(pair) for pair in pairs]))


def assert_same(one, other, rtol=1e-7):
    np.testing.assert_allclose(ends(one), ends(other), rtol=rtol, atol=rtol)


@pytest.mark.slow
def test_the_answer_does_not_depend_on_who_computes_it(data, model):
    asked = {"at": data.X[:3], "n_resamples": 3, "random_state": 5}
    alone = intervals(model, data.X, data.labelled, **asked)
    assert_same(alone, intervals(model, data.X, data.labelled, n_jobs=2, **asked))
    other = intervals(model, data.X, data.labelled, **(asked | {"random_state": 6}))
    assert np.abs(ends(alone) - ends(other)).min() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [JERM(spy_sample=50), LBE(variant="published", max_iter=2)])
def test_chance_within_a_method_is_seeded_too(estimator, data):
    X, s = data.X[:300], data.labelled[:300]
    estimator = clone(estimator).fit(X, s)
    asked = {"at": X[:3], "n_resamples": 4, "random_state": 0}
    assert_same(intervals(estimator, X, s, **asked), intervals(estimator, X, s, **asked))


@pytest.mark.parametrize("how", ["bootstrap", "sandwich"])
def test_a_weight_of_two_is_the_row_twice(how, data, rng):
    copies = rng.integers(0, 3, size=len(data.X))
    X, s = np.repeat(data.X, copies, axis=0), np.repeat(data.labelled, copies)
    asked = {"at": data.X[:3], "how": how, "n_resamples": 8, "random_state": 0}
    weighted = clone(NAMED).fit(data.X, data.labelled, sample_weight=copies)
    repeated = clone(NAMED).fit(X, s)
    assert_same(
        intervals(weighted, data.X, data.labelled, sample_weight=copies, **asked),
        intervals(repeated, X, s, **asked),
        rtol=1e-5,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [NAMED, JointMLE(n_starts=3, random_state=0), SAREM(), SAREM(propensity_features=[2, 3]), LBE()]
)
def test_refits_begun_at_the_answer_end_where_others_do(estimator, data, rng):
    fitted = clone(estimator).fit(data.X, data.labelled)
    counts = rng.multinomial(len(data.X), np.full(len(data.X), 1 / len(data.X)))
    cold, warm = clone(fitted), clone(fitted)
    assert warm._begin is None
    warm._begin = fitted._posterior, fitted._propensity
    cold.fit(data.X, data.labelled, counts)
    warm.fit(data.X, data.labelled, counts)
    np.testing.assert_allclose(warm.predict_proba(data.X), cold.predict_proba(data.X), atol=1e-4)
    np.testing.assert_allclose(warm.predict_propensity(data.X), cold.predict_propensity(data.X), atol=1e-4)


def test_refits_keep_the_names_of_the_factors(data):
    """Columns mirrored: which factor is y is then decided by where the refit begins, not by its slopes."""
    fitted = JointMLE(n_starts=3, random_state=0).fit(data.X, data.labelled)
    turned = clone(fitted)
    turned._begin = fitted._propensity, fitted._posterior
    turned.fit(data.X, data.labelled)
    np.testing.assert_allclose(turned.coef_, fitted.propensity_coef_, atol=1e-5)
    np.testing.assert_allclose(turned.propensity_coef_, fitted.coef_, atol=1e-5)


def test_a_fit_from_scratch_forgets_where_another_began(data, model):
    assert "_begin" not in vars(model)
    assert "_begin" not in vars(pickle.loads(pickle.dumps(model)))
    assert set(clone(model).get_params()) == set(NAMED.get_params())


def errors(estimator, X, s, at, **rows):
    """The sandwich's standard errors, by way of an interval of one to either side, and its middle."""
    found = intervals(estimator, X, s, at=at, how="sandwich", confidence=0.6826894921370859, **rows)
    low, high = (
        logit(np.concatenate([np.atleast_1d(getattr(getattr(found, name), end)) for name in QUANTITIES]))
        for end in ("low", "high")
    )
    return (high - low) / 2, (high + low) / 2


@pytest.mark.slow
@pytest.mark.parametrize("columns", [[2, 3], []], ids=["named", "constant e"])
def test_sandwich_is_what_moving_each_weight_does(columns):
    """The infinitesimal jackknife, by brute force: a refit for every row, a little heavier and a little lighter."""
    beta, gamma = ([0, 1.5, -1, 0, 0], [0.3, 0, 0, 1, -1]) if columns else ([0, 3, -2, 0, 0], [0.3, 0, 0, 0, 0])
    data = make_double_logistic(150, 4, coef=beta, propensity_coef=gamma, random_state=4)
    X, s, at, step = data.X, data.labelled, np.eye(4)[:2], 1e-3
    model = JointMLE(propensity_features=columns, ridge=0.0, n_starts=1, tol=1e-12).fit(X, s)
    moves = np.zeros((len(X), 8))
    for row in range(len(X)):
        for sign in (-1, 1):
            other = clone(model)
            other._begin = model._posterior, model._propensity
            other.fit(X, s, 1.0 + sign * step * (np.arange(len(X)) == row))
            a, b = (logit(each) for each in (other.predict_proba(at)[:, 1], other.predict_propensity(at)))
            h, means = logit(other.predict_hidden(at)), logit([other.prior_, other.label_frequency_])
            moves[row] += sign * np.concatenate([means, a, b, h]) / (2 * step)
    np.testing.assert_allclose(errors(model, X, s, at)[0], np.sqrt((moves**2).sum(axis=0)), rtol=1e-4)


def losses(theta, X, s):
    """−log-likelihood of each row's label, e on the last two of four columns; the two log-odds."""
    a, b = theta[0] + X @ theta[1:5], theta[5] + X[:, 2:] @ theta[6:]
    chance = expit(a) * expit(b)
    return -np.where(s, np.log(chance), np.log1p(-chance)), a, b


def quantities(theta, X, s, w, at):
    """Log-odds of the prior, the label frequency, y, e and h, from their definitions."""
    (_, a, b), (_, at_a, at_b) = losses(theta, X, s), losses(theta, at, np.ones(len(at), bool))
    hidden = [expit(y) * (1 - expit(e)) / (1 - expit(y) * expit(e)) for y, e in ((a, b), (at_a, at_b))]
    prior = np.average(np.where(s, 1.0, hidden[0]), weights=w)
    return np.concatenate([logit([prior, np.average(s, weights=w) / prior]), at_a, at_b, logit(hidden[1])])


def test_sandwich_is_that_of_finite_differences(data, rng):
    """With weights and a ridge: curvature and gradients from differences of the loss alone."""
    X, s, at, w = data.X[:600], data.labelled[:600], data.X[:2], rng.integers(1, 4, size=600).astype(float)
    model = JointMLE(propensity_features=[2, 3], ridge=3.0, n_starts=1, tol=1e-12).fit(X, s, w)
    theta = np.concatenate([model.intercept_, model.coef_[0], model.propensity_intercept_])
    theta = np.concatenate([theta, model.propensity_coef_[0, 2:]])
    ridge = 3.0 * np.array([0, 1, 1, 1, 1, 0, 1, 1.0])
    steps = 1e-3 * np.eye(8)
    gradients = np.array([losses(theta + d, X, s)[0] - losses(theta - d, X, s)[0] for d in steps]).T / 2e-3
    value = lambda t: w @ losses(t, X, s)[0]  # noqa: E731
    hessian = np.array(
        [
            [value(theta + d + f) - value(theta + d - f) - value(theta - d + f) + value(theta - d - f) for f in steps]
            for d in steps
        ]
    )
    inverse = np.linalg.inv(hessian / 4e-6 + np.diag(ridge))
    centred = gradients - np.average(gradients, axis=0, weights=w)
    moves = -centred @ (inverse + inverse @ np.diag(ridge) @ inverse)
    slopes = [quantities(theta + d, X, s, w, at) - quantities(theta - d, X, s, w, at) for d in steps]
    each = moves @ (np.array(slopes) / 2e-3)
    unit = 1e-4 * np.eye(600)
    each += [(quantities(theta, X, s, w + d, at) - quantities(theta, X, s, w - d, at)) / 2e-4 for d in unit]
    error, middle = errors(model, X, s, at, sample_weight=w)
    np.testing.assert_allclose(error, np.sqrt(w @ each**2), rtol=1e-3)
    np.testing.assert_allclose(middle, quantities(theta + inverse @ (ridge * theta), X, s, w, at), rtol=1e-3)


def test_freeing_undoes_most_of_a_ridge(data):
    """To first order: what is left is far less than what the ridge did."""
    free, ridged = (
        JointMLE(propensity_features=[2, 3], ridge=ridge, n_starts=2, random_state=0).fit(data.X, data.labelled)
        for ridge in (0.0, 0.5)
    )
    sample = read_sample(clone(ridged), data.X, data.labelled, None, None, ridged._read_labels)[0]
    undone = debiased(ridged, sample)
    before, after = (np.abs(log_odds_of(each, None) - log_odds_of(free, None)) for each in (ridged, undone))
    assert (after < 0.2 * before).all()
    np.testing.assert_allclose(undone.coef_, free.coef_, rtol=0.02, atol=0.02)
    # The fitted one is as it was.
    assert ridged.prior_ != undone.prior_


@pytest.mark.slow
def test_the_two_ways_agree_where_the_problem_is_easy():
    data = make_double_logistic(3000, 2, random_state=0)
    model = JointMLE(propensity_features=[1], ridge=0.0, n_starts=2, random_state=0).fit(data.X, data.labelled)
    asked = {"at": data.X[:4], "random_state": 0}
    ways = [intervals(model, data.X, data.labelled, how=how, **asked) for how in ("bootstrap", "sandwich")]
    for name in QUANTITIES:
        lengths = [logit(getattr(way, name).high) - logit(getattr(way, name).low) for way in ways]
        # 200 refits tell a quantile's distance to within some 15 %.
        np.testing.assert_allclose(lengths[0], lengths[1], rtol=0.3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_has_intervals(method, data):
    X, s = data.X[:400], data.labelled[:400]
    known = {"propensity": 0.5} if isinstance(method, KnownPropensity) else {}
    model = fit(method, X, s)
    before = vars(model).copy()
    found = intervals(model, X, s, at=X[:3], n_resamples=2, random_state=0, **known)
    assert vars(model).keys() == before.keys()
    for name in QUANTITIES:
        interval = getattr(found, name)
        assert np.all((interval.low >= 0) & (interval.low <= interval.high) & (interval.high <= 1))
    np.testing.assert_allclose(found.posterior.estimate, model.predict_proba(X[:3])[:, 1], atol=1e-12)
    np.testing.assert_allclose(found.propensity.estimate, model.predict_propensity(X[:3]), atol=1e-12)
    assert found.prior.estimate == pytest.approx(model.prior_, abs=1e-12)


@pytest.mark.slow
def test_the_interval_of_a_share_is_that_of_a_share(data):
    """The oracle's prior is a mean of zeros and ones: a bootstrap every textbook has."""
    model = Oracle().fit(data.X, data.positive)
    found = intervals(model, data.X, data.positive, random_state=0)
    share = data.positive.mean()
    half = 1.96 * np.sqrt(share * (1 - share) / len(data.X))
    assert found.prior.low == pytest.approx(share - half, abs=0.25 * half)
    assert found.prior.high == pytest.approx(share + half, abs=0.25 * half)
    assert (found.label_frequency.low, found.label_frequency.high) == (1.0, 1.0)


def test_a_known_propensity_stays_known(data):
    """Labels at a rate on record: the prior's interval is that of the labelled share, over the rate."""
    rng = np.random.default_rng(0)
    labelled = data.positive & (rng.random(len(data.X)) < 0.4)
    model = KnownPropensity(ridge=0.0).fit(data.X, labelled, propensity=0.4)
    found = intervals(model, data.X, labelled, propensity=0.4, n_resamples=60, random_state=0)
    assert found.prior.low < data.positive.mean() < found.prior.high
    with pytest.raises(InvalidInput, match="Pass the X, y and sample_weight of fit"):
        intervals(model, data.X, labelled, propensity=0.8)


def test_without_rows_there_are_two_intervals_and_a_sentence(data, model):
    found = intervals(model, data.X, data.labelled, how="sandwich")
    assert isinstance(found, Intervals)
    assert found.posterior is found.propensity is found.hidden is None
    assert str(found).startswith(f"{model.prior_:.1%} of rows are positive (95% interval {found.prior.low:.1%} to ")
    assert str(found).endswith("From sandwich standard errors.")
    wider = intervals(model, data.X, data.labelled, how="sandwich", confidence=0.99)
    assert wider.prior.low < found.prior.low < found.prior.high < wider.prior.high


def test_failed_refits_are_counted_and_too_many_are_an_error(rng):
    X = rng.normal(size=(60, 2))
    few = Naive().fit(X, np.arange(60) < 2)
    found = intervals(few, X, np.arange(60) < 2, n_resamples=100, random_state=0)
    # A resample misses both labelled rows with probability e⁻².
    assert 5 <= found.failed <= 25
    assert f"of which {found.failed} failed" in str(found)
    with pytest.raises(InvalidOption, match=r"n_resamples=1: the bootstrap needs at least 2"):
        intervals(few, X, np.arange(60) < 2, n_resamples=1, random_state=0)


def test_too_many_failures_are_told(rng, monkeypatch):
    X, s = rng.normal(size=(60, 2)), np.arange(60) < 9
    model = Naive().fit(X, s)

    def fails(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(Naive, "_fit", fails)
    with pytest.raises(InvalidInput, match=r"6 of 6 refits to resampled rows failed, the last with: The scales of"):
        intervals(model, X, s, n_resamples=6, random_state=0)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"how": "jackknife"}, "how='jackknife': must be one of 'bootstrap', 'sandwich'"),
        ({"confidence": 95}, "confidence=95: must be a number above 0 and below 1"),
        ({"n_resamples": 0}, "n_resamples=0: must be a whole number from 1 to 1000000"),
        ({"random_state": "x"}, "random_state='x': must be None, a whole number"),
    ],
)
def test_what_is_asked_for_is_checked(asked, said, data, model):
    with pytest.raises(InvalidOption, match=said.replace("(", r"\(")):
        intervals(model, data.X, data.labelled, **asked)


@pytest.mark.parametrize("how", ["bootstrap", "sandwich"])
def test_a_pipeline_has_the_intervals_of_its_last_step(data, how):
    model = JointMLE(n_starts=1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(data.X, data.labelled)
    search = GridSearchCV(pipeline, {"jointmle__ridge": [1.0]}, cv=2).fit(data.X, data.labelled)
    scaled, at = pipeline[0].transform(data.X), data.X[:3]
    options = {"how": how, "n_resamples": 3, "random_state": 0}
    expected = intervals(pipeline[-1], scaled, data.labelled, at=pipeline[0].transform(at), **options)
    for each in (pipeline, search):
        found = intervals(each, data.X, data.labelled, at=at, **options)
        assert found.prior == expected.prior
        np.testing.assert_array_equal(found.hidden.high, expected.hidden.high)


def test_only_fitted_estimators_of_ours_on_their_own_rows(data, model):
    with pytest.raises(NotFittedError):
        intervals(clone(model), data.X, data.labelled)
    with pytest.raises(InvalidOption, match="LogisticRegression is neither a fitted estimator of propense"):
        intervals(LogisticRegression(), data.X, data.labelled)
    with pytest.raises(InvalidInput, match=r"The prior on these rows is .* Pass the X, y and sample_weight of fit"):
        intervals(model, data.X[:700], data.labelled[:700])
    with pytest.raises(InvalidFeatures, match="features"):
        intervals(model, data.X, data.labelled, at=data.X[:, :2])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_sandwich_says_whom_it_is_not_for(data):
    X, s = data.X[:300], data.labelled[:300]
    trees = SAREM(estimator=GradientBoostingClassifier(n_estimators=3, max_depth=1), max_iter=3)
    for each in (JERM(), JointMLE(radius=5.0, ridge=0.0, n_starts=1), SAREM(variant="published"), trees):
        with pytest.raises(InvalidOption, match=f"this {type(each).__name__} does not minimise the joint risk"):
            intervals(each.fit(X, s), X, s, how="sandwich")
    with pytest.raises(InvalidOption, match="stopped before it converged"):
        intervals(JointMLE(max_iter=1, n_starts=1).fit(X, s), X, s, how="sandwich")
    # A column twice, and nothing to tell the two apart.
    twice = np.column_stack([X, X[:, 0]])
    flat = JointMLE(ridge=0.0, n_starts=1, tol=1e-6).fit(twice, s)
    with pytest.raises(InvalidOption, match="flat or a saddle"):
        intervals(flat, twice, s, how="sandwich")


@pytest.mark.parametrize("name", ["JointMLE", "SAREM", "LBE"])
def test_minimisers_of_one_risk_have_one_sandwich(name, data):
    model = clone(METHODS[name]).fit(data.X, data.labelled)
    reference = JointMLE(n_starts=3, random_state=0, tol=1e-10).fit(data.X, data.labelled)
    one, other = (intervals(each, data.X, data.labelled, how="sandwich", at=data.X[:2]) for each in (model, reference))
    assert_same(one, other, rtol=1e-3)


def storages():
    yield pytest.param(sp.csr_array, id="sparse")
    yield pytest.param(lambda X: X.astype(np.float32), id="float32")
    for library in ("torch", "dask"):
        yield pytest.param({"torch": as_tensor, "dask": as_blocks}[library], id=library, marks=missing(library))


def as_tensor(X):
    return importlib.import_module("torch").tensor(X)


def as_blocks(X):
    return importlib.import_module("blocks").as_dask(X)


@pytest.mark.slow
@pytest.mark.parametrize("store", list(storages()))
@pytest.mark.parametrize("how", ["bootstrap", "sandwich"])
def test_where_the_rows_lie_does_not_matter(store, how, data):
    X, s, w = data.X[:400].astype(np.float32).astype(np.float64), data.labelled[:400], np.arange(400) % 4
    asked = {"how": how, "n_resamples": 3, "random_state": 0, "sample_weight": w}
    plain, stored = (clone(NAMED).fit(each, s, w) for each in (X, store(X)))
    one = intervals(plain, X, s, at=X[:3], **asked)
    assert_same(one, intervals(stored, store(X), s, at=store(X)[:3], **asked), rtol=1e-5)


@pytest.mark.slow
def test_label_scores_are_refitted_fold_by_fold(data):
    X, s, weights = data.X[:250], data.labelled[:250], np.arange(250) % 3
    model = PUClassifier(learners=[GaussianNB()], random_state=0).fit(X, s, weights)
    found = intervals(model, X, s, sample_weight=weights, n_resamples=4, random_state=0, at=X[:2])
    with parallel_config(backend="threading"):
        again = intervals(model, X, s, sample_weight=weights, n_resamples=4, random_state=0, at=X[:2], n_jobs=2)
    assert_same(found, again, rtol=0)
    assert found.prior.estimate == pytest.approx(model.prior_, rel=1e-12)
    assert found.prior.low < found.prior.estimate < found.prior.high
    assert found.failed == 0
    with pytest.raises(InvalidInput, match=r"X has 245 rows of weight above 0, but 166 in the fit"):
        intervals(model, X[:245], s[:245])
    with pytest.raises(InvalidInput, match=r"Pass the X, y and sample_weight of fit"):
        intervals(model, X, np.roll(s, 1), sample_weight=weights)


@pytest.mark.slow
def test_rows_that_a_file_does_not_hold_must_be_fitted_again(data):
    X, s = data.X[:100], data.labelled[:100]
    model = PUClassifier(random_state=0).fit(X, s)
    # As after loading.
    del model.oof_hidden_
    with pytest.raises(InvalidOption, match=r"loaded from a file, .* Fit it again"):
        intervals(model, X, s)
