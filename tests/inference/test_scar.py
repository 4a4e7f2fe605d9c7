"""The test of labelling at random: its arithmetic, its repeatability, and that it tells what it should."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from scipy.optimize import check_grad, minimize
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from propense import SAREM, scar_test
from propense._designs import as_design
from propense._maths.linear import coef_positions
from propense._maths.logistic import sigmoid
from propense._risks import PairRisk
from propense.datasets import make_double_logistic
from propense.errors import InvalidFeatures, InvalidLabels, InvalidOption, NoLabelledInstances
from propense.inference._label_risk import LabelRisk, ScarData
from propense.inference._scar_models import LabelModels
from propense.labelling import simulate

BETA = [-0.5, 3.0, -3.0, 0.0]


def labels(rng, mechanism, frequency=0.5, n=2000):
    """Normal features, logistic classes, and labels by a mechanism."""
    data = make_double_logistic(n, 3, coef=BETA, random_state=int(rng.integers(2**31)))
    drawn = simulate(data.X, data.positive, mechanism, frequency, rng=rng)
    return data.X, drawn.labelled, float(data.positive.mean())


def in_two_threads(*data, **asked):
    """With n_jobs=2, for which no processes need to start."""
    with parallel_config(backend="threading"):
        return scar_test(*data, n_jobs=2, **asked)


@pytest.fixture
def small(rng):
    return labels(rng, "S1", n=300)


@pytest.mark.parametrize("free", [[], [0], [0, 2], [0, 1, 2, 3]], ids=str)
def test_the_quick_risk_is_the_pair_risk(rng, small, free):
    X, labelled, _ = small
    design, free = as_design(X), np.array(free, dtype=np.intp)
    # γ without a free place is held at its intercept.
    gamma = np.array([0.3, 0.0, 0.0, 0.0])
    risk = LabelRisk(ScarData(X, ridge=0.4, propensity_ridge=0.7), labelled, gamma, free)
    pair = PairRisk(design, labelled, ridge=0.4, propensity_ridge=0.7)
    coef = rng.normal(size=4 + len(free))
    where = np.concatenate([np.arange(4), 4 + free])
    full = pair.join(*risk.split(coef))
    value, gradient = risk.value_gradient(coef)
    assert value == pytest.approx(pair.value_gradient(full)[0], rel=1e-12)
    np.testing.assert_allclose(gradient, pair.gradient(full)[where], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(risk.hessian(coef), pair.hessian(full)[np.ix_(where, where)], rtol=1e-9, atol=1e-9)
    assert check_grad(lambda c: risk.value_gradient(c)[0], lambda c: risk.value_gradient(c)[1], coef) < 1e-3


def test_the_fit_at_random_is_the_likeliest(small):
    X, labelled, _ = small
    found = LabelModels(X, None, (1e-12, 1.0)).fit_scar(labelled)

    def risk(theta):
        chance = sigmoid(theta[4]) * sigmoid(theta[0] + X @ theta[1:4])
        return -np.log(np.where(labelled, chance, 1 - chance)).sum() + 0.005 * (theta[1:4] ** 2).sum()

    best = minimize(risk, np.zeros(5), method="BFGS")
    assert found.risk == pytest.approx(best.fun, abs=1e-5)
    assert found.frequency == pytest.approx(sigmoid(best.x[4]), abs=1e-3)


def test_a_known_prior_sets_the_frequency(small):
    X, labelled, _ = small
    share = labelled.mean()
    for prior, frequency in ((0.6, share / 0.6), ((0.6, 0.6), share / 0.6)):
        result = scar_test(X, labelled, prior=prior, n_simulations=1, random_state=0)
        assert result.label_frequency == pytest.approx(frequency)
        assert result.prevalence == pytest.approx(0.6)
    result = scar_test(X, labelled, prior=(0.9, 1.0), n_simulations=1, random_state=0)
    assert 0.9 <= result.prevalence <= 1.0
    free = scar_test(X, labelled, n_simulations=1, random_state=0)
    wide = scar_test(X, labelled, prior=(0.01, 1.0), n_simulations=1, random_state=0)
    assert wide.statistic == pytest.approx(free.statistic)


def test_p_counts_the_simulations_that_are_as_uneven(small):
    result = scar_test(small[0], small[1], n_simulations=19, random_state=0)
    assert result.simulated.shape == (19,)
    assert result.p_value == (1 + np.count_nonzero(result.simulated >= result.statistic)) / 20
    assert (result.rows, result.labelled) == (300, small[1].sum())
    assert result.label_frequency * result.prevalence == pytest.approx(small[1].mean())


def test_workers_and_storage_change_nothing(small):
    X, labelled, _ = small
    asked = {"n_simulations": 9, "random_state": 3}
    result = scar_test(X, labelled, **asked)
    words = np.where(labelled, "yes", "").tolist()
    for other in (
        in_two_threads(X, labelled, **asked),
        scar_test(sp.csr_array(X), labelled, **asked),
        scar_test(X.tolist(), words, **asked),
        scar_test(1000 * X + 5, labelled.astype(int), **asked),
    ):
        np.testing.assert_allclose(other.simulated, result.simulated, rtol=1e-3, atol=1e-3)
        assert other.statistic == pytest.approx(result.statistic, rel=1e-3)
        assert other.p_value == result.p_value
    assert not np.allclose(scar_test(X, labelled, n_simulations=9, random_state=4).simulated, result.simulated)


@pytest.mark.slow
def test_labels_that_follow_a_feature_are_told(rng):
    X, labelled, _ = labels(rng, "feature")
    result = scar_test(X, labelled, n_simulations=39, random_state=0)
    assert result.p_value == 1 / 40
    assert "probably not given at random" in str(result)


@pytest.mark.slow
@pytest.mark.parametrize("frequency", [0.3, 0.7])
def test_labels_that_favour_clear_positives_are_told_where_the_prior_is_known(rng, frequency):
    X, labelled, prior = labels(rng, "S2", frequency)
    assert scar_test(X, labelled, prior=prior, n_simulations=39, random_state=0).p_value == 1 / 40


def test_that_some_positives_hide_tells_labels_that_favour_clear_ones(rng):
    """Without that premise they may be all the positives there are; with it they cannot."""
    data = make_double_logistic(2000, 6, random_state=1)
    labelled = simulate(data.X, data.positive, "S2", 0.5, rng=1).labelled
    asked = {"n_simulations": 19, "random_state": 0}
    result = scar_test(data.X, labelled, **asked)
    assert result.p_value == 0.05
    assert result.label_frequency == pytest.approx(0.8)
    assert "or more than 80% of the positives are labelled" in str(result)
    assert scar_test(data.X, labelled, most_labelled=1.0, **asked).p_value > 0.05


def test_a_range_of_priors_tells_what_its_ends_tell(rng):
    """Labels that favour clear positives look like those of few positives: what rules these out rejects."""
    X, labelled, prior = labels(rng, "S2", 0.3, n=1000)
    assert scar_test(X, labelled, prior=(0.8 * prior, 1.0), n_simulations=19, random_state=0).p_value == 0.05


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_labels_at_random_are_seldom_called_otherwise(rng, known):
    found = []
    for _ in range(12):
        X, labelled, prior = labels(rng, "S1", n=400)
        found.append(scar_test(X, labelled, prior=prior if known else None, n_simulations=19, random_state=0).p_value)
    # Of twelve uniform p-values, three or more at .05 or below have a chance of 2%, a mean outside of 0.03 %.
    assert np.count_nonzero(np.array(found) <= 0.05) <= 2
    assert 0.2 < np.mean(found) < 0.8


def test_fewer_columns_add_less(small):
    X, labelled, _ = small
    few, all_of_them = (
        scar_test(X, labelled, propensity_features=columns, n_simulations=1, random_state=0).statistic
        for columns in ([2], None)
    )
    assert 0 <= few <= all_of_them + 1e-6
    assert coef_positions(np.array([2]), 4).tolist() == [0, 3]


def test_a_sample_of_the_rows_will_do(small):
    result = scar_test(small[0], small[1], max_rows=100, n_simulations=2, random_state=0)
    assert result.rows == 100
    assert 0 < result.labelled < 100


def test_a_model_says_how_the_features_are_seen(small):
    """Through a pipeline or a search: its steps, its columns, and its value of labelled rows."""
    X, labelled, _ = small
    s = np.where(labelled, "churn", "stay")
    own = SAREM(propensity_features=[1], positive_label="churn")
    pipeline = make_pipeline(SelectKBest(k=2), own).fit(X, s)
    expected = scar_test(
        pipeline[0].transform(X), s == "churn", propensity_features=[1], n_simulations=5, random_state=0
    )
    assert scar_test(X, s, model=pipeline, n_simulations=5, random_state=0).statistic == expected.statistic
    search = GridSearchCV(pipeline, {"sarem__ridge": [1.0]}, cv=2).fit(X, s)
    assert scar_test(X, s, model=search, n_simulations=5, random_state=0).statistic == expected.statistic
    with pytest.raises(InvalidLabels, match="not certain"):
        scar_test(X, s)
    alone = scar_test(X, s, positive_label="churn", n_simulations=5, random_state=0)
    assert alone.labelled == labelled.sum()
    with pytest.raises(InvalidOption, match="LogisticRegression is neither"):
        scar_test(X, s, model=LogisticRegression())


def test_words_promise_no_proof(small):
    X, labelled, prior = small
    for known, more in (
        (None, "unless the share of positives is known. If labels were given at random, "),
        (prior, "does not prove they were."),
    ):
        result = scar_test(X, labelled, prior=known, n_simulations=19, random_state=0)
        assert result.p_value > 0.05
        assert "may have been given at random" in str(result)
        assert more in str(result)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"prior": 0.05}, InvalidOption, "of the rows are labelled, and all of these are positive"),
        ({"prior": 1.5}, InvalidOption, "prior=1.5"),
        ({"prior": (0.8, 0.7)}, InvalidOption, "the lower bound first"),
        ({"prior": "many"}, InvalidOption, "a number, a pair of numbers or None"),
        ({"propensity_features": []}, InvalidOption, "name the columns that labels may depend on"),
        ({"y": np.arange(300) < 270}, InvalidOption, "0.900 of all rows are labelled"),
        ({"y": ["yes", "no", ""] * 100}, InvalidLabels, "does not take known negatives"),
        ({"most_labelled": 0}, InvalidOption, r"scar_test\(most_labelled=0\)"),
        ({"n_simulations": 0}, InvalidOption, r"scar_test\(n_simulations=0\)"),
        ({"max_rows": 0}, InvalidOption, r"scar_test\(max_rows=0\)"),
        ({"max_rows": 1}, InvalidOption, "are all labelled or all unlabelled"),
        ({"propensity_features": [7]}, InvalidOption, r"scar_test\(propensity_features=\[7\]\): there is no column 7"),
        ({"y": np.zeros(300)}, NoLabelledInstances, "no labelled rows"),
        ({"y": None}, InvalidLabels, "scar_test requires y"),
        ({"X": np.full((300, 3), np.inf)}, InvalidFeatures, "infinite"),
        ({"X": sp.csr_array((300, 1001))}, InvalidFeatures, "1001 columns"),
    ],
)
def test_errors_name_what_is_wrong(small, change, error, words):
    asked = {"X": small[0], "y": small[1], "n_simulations": 1, "random_state": 0, **change}
    with pytest.raises(error, match=words):
        scar_test(asked.pop("X"), asked.pop("y"), **asked)


@pytest.mark.torch
def test_tensors_are_sent_elsewhere():
    torch = importlib.import_module("torch")
    with pytest.raises(InvalidFeatures, match="pass them as an array"):
        scar_test(torch.zeros((4, 1)), [0, 1, 0, 1])
