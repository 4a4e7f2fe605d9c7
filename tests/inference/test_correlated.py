"""Two probits whose unseen parts are correlated: derivatives, and worlds in which they are the truth."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.ensemble import HistGradientBoostingClassifier

from propense import JointMLE, PUClassifier, bounds
from propense.errors import InvalidFeatures
from propense.inference._correlated import PairOfProbits, fit_correlated

BETA, GAMMA = np.array([1.0, 0.7, 0.0, 0.0]), np.array([0.0, 0.0, 0.8, -0.6])


def make_probits(rho, n=5000, seed=0):
    """Rows, whether each is positive and labelled, and P(Y=1 | x)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    u, v = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
    positive = X @ BETA - 0.3 + u > 0
    return X, positive & (X @ GAMMA + 0.2 + v > 0), ndtr(X @ BETA - 0.3)


@pytest.fixture
def small(rng):
    X = rng.normal(size=(200, 3))
    labelled = (X[:, 0] + rng.normal(size=200) > 0.5).astype(float)
    return PairOfProbits.of(X, np.array([0, 1]), None, labelled, rng.uniform(0.5, 2.0, 200))


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.6])
def test_the_gradient_is_that_of_the_loss(small, rho, rng):
    theta = rng.normal(scale=0.5, size=7)
    found = small.slope_and_curvature(theta, rho)[0]
    step = 1e-5 * np.eye(7)
    truth = [(small.loss(theta + each, rho) - small.loss(theta - each, rho)) / 2e-5 for each in step]
    np.testing.assert_allclose(found, truth, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_a_share_is_that_of_the_share(small, rng):
    theta, share = rng.normal(scale=0.5, size=7), np.full(200, 0.005)
    step = 1e-5 * np.eye(7)
    truth = [(share @ (small.posterior(theta + each) - small.posterior(theta - each))) / 2e-5 for each in step]
    np.testing.assert_allclose(small.share_slope(theta, share), truth, atol=1e-8)


def test_the_curvature_is_the_mean_of_squared_gradients(rng):
    """Fisher's information: what the squared gradients of labels drawn from the model average to."""
    X = rng.normal(size=(4000, 2))
    data = PairOfProbits.of(X, None, None, np.zeros(4000), np.ones(4000))
    theta = np.array([0.2, 0.8, -0.3, 0.1, 0.2, 0.5])
    s = data.chance(theta, 0.4)
    sums = np.zeros((6, 6))
    for _ in range(300):
        drawn = PairOfProbits(data.class_features, data.label_features, (rng.random(4000) < s) * 1.0, data.weights)
        slope = drawn.slope_and_curvature(theta, 0.4)[0] - data._ridge() * theta
        sums += np.outer(slope, slope) / 300
    curvature = data.slope_and_curvature(theta, 0.4)[1] - np.diag(data._ridge())
    assert np.abs(sums - curvature).max() < 0.25 * np.abs(curvature).max()


def test_fits_are_minima(small):
    for fit in fit_correlated(small, np.zeros(7), -0.3, 0.5):
        slope, curvature = small.slope_and_curvature(fit.theta, fit.rho)
        # The loss cannot fall by more than this.
        assert slope @ np.linalg.solve(curvature, slope) < 1e-4
    assert len(fit_correlated(small, np.zeros(7), 0.1, 0.2)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "named"), [(-0.5, True), (0.5, False)])
def test_the_truth_is_within_the_limits_if_the_correlation_is_within_its_range(rho, named):
    X, labelled, posterior = make_probits(rho)
    columns = {"class_features": [0, 1], "propensity_features": [2, 3]} if named else {}
    model = PUClassifier(learners="linear", random_state=0, **columns).fit(X, labelled)
    found = bounds(model, X, labelled, correlation=(rho - 0.1, rho + 0.1), groups=X[:, 2] > 0)
    assert found.contradicted == ""
    assert found.prior_limits[0] <= posterior.mean() <= found.prior_limits[1]
    for group, (low, high) in found.prior_limits_by_group.items():
        assert low <= posterior[(X[:, 2] > 0) == group].mean() <= high
    if named:
        s = labelled.mean()
        assert found.propensity_by_group[True][0] > found.propensity_by_group[False][1]
        assert s / found.prior_limits[1] <= s / posterior.mean() <= s / found.prior_limits[0]


@pytest.mark.slow
def test_labels_can_contradict_a_correlation():
    X, labelled, _ = make_probits(0.6)
    model = JointMLE(class_features=[0, 1], propensity_features=[2, 3], n_starts=1, random_state=0).fit(X, labelled)
    assert (
        "labels contradict them. With a correlation of 0."
        in bounds(model, X, labelled, correlation=(-0.9, -0.6)).contradicted
    )
    assert bounds(model, X, labelled, correlation=(0.4, 0.8)).contradicted == ""


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["linear", [HistGradientBoostingClassifier(max_iter=5)]], ids=["linear", "trees"])
def test_columns_of_every_kind_are_prepared_and_stay_those_of_y_and_of_e(learners):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y", "z"], 1000), "b": rng.normal(size=1000)})
    labelled = rng.random(1000) < ndtr(2 * frame["b"]) * np.where(frame["a"] == "x", 0.9, 0.4)
    frame.loc[:20, "b"] = np.nan
    columns = {"class_features": ["b"], "propensity_features": ["a"]}
    model = PUClassifier(learners=learners, random_state=0, **columns).fit(frame, labelled)
    found = bounds(model, frame, labelled, correlation=0.1, groups=frame["a"])
    # Being positive does not depend on a, and being labelled does.
    assert np.ptp([found.prior_by_group[name][0] for name in "xyz"]) < 0.1
    assert found.propensity_by_group["x"][0] > found.propensity_by_group["y"][1] + 0.2
    by_number = bounds(model, frame, labelled, correlation=0.1, groups=np.where(frame["b"] > 0, "up", "down"))
    assert by_number.prior_by_group["up"][0] > by_number.prior_by_group["down"][1] + 0.3


def test_columns_that_are_too_many_or_sparse_are_refused(rng):
    X = rng.normal(size=(300, 4))
    labelled = X[:, 0] > 0.5
    model = JointMLE(n_starts=1, random_state=0).fit(sp.csr_array(X), labelled)
    with pytest.raises(InvalidFeatures, match="correlation= needs dense columns"):
        bounds(model, sp.csr_array(X), labelled, correlation=0.2)
    wide = rng.normal(size=(300, 201))
    model = PUClassifier(learners="linear", random_state=0).fit(wide, labelled)
    with pytest.raises(InvalidFeatures, match="for at most 200 columns, but X has 201"):
        bounds(model, wide, labelled, correlation=0.2)
