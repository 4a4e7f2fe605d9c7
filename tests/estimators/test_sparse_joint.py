"""Few columns for y and for e: the path, the choice of alpha, and what is known of its ends."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from conftest import LASSO
from propense import JointMLE, SparseJoint
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.logistic import sigmoid
from propense._steps.sparse_path import folds_of
from propense.datasets import make_double_logistic


@pytest.fixture(scope="module")
def data():
    """Columns 0 to 2 for y, 3 and 4 for e, five for neither; standardised."""
    beta, gamma = np.zeros(11), np.zeros(11)
    beta[1:4], gamma[4:6] = (2.0, -2.0, 1.5), (1.5, -1.2)
    data = make_double_logistic(1500, 10, coef=beta, propensity_coef=gamma, random_state=0)
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.labelled


@pytest.fixture(scope="module", params=["adaptive", "plain"])
def path(request, data):
    return SparseJoint(variant=request.param, n_alphas=6, folds=2, eps=0.02, random_state=0).fit(*data)


def mean_loss(X, s, model):
    chance = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
    return -np.where(s, np.log(chance), np.log1p(-chance)).mean()


@pytest.mark.slow
def test_the_risk_without_slopes_is_the_entropy_of_the_labels(data, path):
    _, s = data
    entropy = -np.where(s, np.log(s.mean()), np.log1p(-s.mean())).mean()
    assert path.risk_path_[0] == pytest.approx(entropy, rel=1e-9)


@pytest.mark.slow
def test_the_largest_alpha_does_not_depend_on_the_scale_of_the_weights(data):
    X, s = data
    model = SparseJoint(variant="plain", n_alphas=2, eps=0.5, folds=2, random_state=0)
    light = clone(model).fit(X, s, sample_weight=np.full(len(s), 1e-4))
    np.testing.assert_allclose(light.alphas_, model.fit(X, s).alphas_, rtol=1e-6)


@pytest.mark.slow
def test_the_columns_that_matter_are_found(data):
    model = SparseJoint(n_alphas=10, folds=3, random_state=0).fit(*data)
    assert np.flatnonzero(model.coef_).tolist() == [0, 1, 2]
    assert np.flatnonzero(model.propensity_coef_).tolist() == [3, 4]


@pytest.mark.slow
def test_at_the_largest_alpha_all_slopes_are_zero_and_below_it_not(data):
    model = SparseJoint(variant="plain", n_alphas=5, eps=0.3, folds=2, random_state=0).fit(*data)
    assert not model.coefs_path_[0].any()
    assert not model.propensity_coefs_path_[0].any()
    assert model.coefs_path_[1].any()
    assert (np.diff(model.alphas_) < 0).all()
    assert model.alphas_[-1] == pytest.approx(0.3 * model.alphas_[0])
    X, s = data
    assert model.alphas_[0] == pytest.approx(np.abs(X.T @ (s - s.mean())).max() / len(s), rel=1e-5)


def test_a_path_is_made_of_single_fits(data, path):
    X, s = data
    for k in (3, 4, 5):
        one = SparseJoint(alpha=path.alphas_[k], variant=path.variant, refit=False).fit(X, s)
        used = path.path_features_
        np.testing.assert_allclose(path.coefs_path_[k], one.coef_[0, used], atol=1e-5)
        np.testing.assert_allclose(path.propensity_coefs_path_[k], one.propensity_coef_[0, used], atol=1e-5)
        np.testing.assert_allclose(path.intercepts_path_[k], one.intercept_[0], atol=1e-5)
        np.testing.assert_allclose(path.propensity_intercepts_path_[k], one.propensity_intercept_[0], atol=1e-5)
        assert path.risk_path_[k] == pytest.approx(one.risk_path_[0], rel=1e-9)
        assert not np.delete(one.coef_[0], used).any()


def test_the_risk_of_rows_held_out_is_what_it_says(data, path):
    X, s = data
    folds = folds_of(Sample(as_design(X), s, None, None), 2, np.random.RandomState(0))
    assert set(folds) == {0, 1}
    for k in (4, 5):
        risks, sizes = [], []
        for fold in (0, 1):
            train, test = folds != fold, folds == fold
            one = SparseJoint(alpha=path.alphas_[k], variant=path.variant, refit=False).fit(X[train], s[train])
            risks.append(mean_loss(X[test], s[test], one))
            sizes.append(test.sum())
        mean = np.average(risks, weights=sizes)
        assert path.held_out_risk_[k] == pytest.approx(mean, rel=1e-6)
        assert path.held_out_se_[k] == pytest.approx(
            np.sqrt(np.average((np.array(risks) - mean) ** 2, weights=sizes)), rel=1e-3
        )


@pytest.mark.slow
def test_the_choice_is_the_lowest_risk_or_the_largest_alpha_within_one_error_of_it(data, path):
    best = np.argmin(path.held_out_risk_)
    within = path.held_out_risk_ <= path.held_out_risk_[best] + path.held_out_se_[best]
    assert path.alpha_ == path.alphas_[within].max()
    lowest = SparseJoint(
        variant=path.variant, selection="min", refit=False, n_alphas=6, folds=2, eps=0.02, random_state=0
    ).fit(*data)
    assert lowest.alpha_ == lowest.alphas_[best]
    np.testing.assert_array_equal(lowest.coef_[0, lowest.path_features_], lowest.coefs_path_[best])


def test_without_a_penalty_it_is_the_joint_minimiser(data):
    X, s = data
    free = JointMLE(ridge=0.0, n_starts=1).fit(X, s)
    for alpha, close in ((1e-6, 1e-4), (0.0, 1e-9)):
        model = SparseJoint(alpha=alpha, refit=False).fit(X, s)
        assert mean_loss(X, s, model) == pytest.approx(mean_loss(X, s, free), rel=close)
    np.testing.assert_allclose(model.coef_, free.coef_, atol=1e-5)


def test_without_an_l1_share_it_is_a_ridge(data):
    X, s = data
    ridge = JointMLE(ridge=0.01 * len(s), n_starts=1).fit(X, s)
    for variant in ("plain", "adaptive"):
        model = SparseJoint(alpha=0.01, l1_ratio=0, variant=variant, refit=False).fit(X, s)
        np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-6)
        np.testing.assert_allclose(model.propensity_coef_, ridge.propensity_coef_, atol=1e-6)


def test_where_every_positive_is_labelled_it_is_the_lasso_of_scikit_learn(data, rng):
    X, _ = data
    # Fewer at the top than a logistic curve has would be a constant e < 1; here there are more.
    s = sigmoid(2 * X[:, 0] - X[:, 1]) + 0.1 * rng.normal(size=len(X)) > 0.5
    model = SparseJoint(alpha=0.03, variant="plain", propensity_features=[], refit=False).fit(X, s)
    lasso = LogisticRegression(**LASSO, C=1 / (0.03 * len(s)), solver="saga", tol=1e-9, max_iter=10_000).fit(X, s)
    assert model.predict_propensity(X).min() > 1 - 1e-6
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, lasso.intercept_, atol=1e-5)


@pytest.mark.xfail(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="with NumPy 1, rounding ends the search early in such units"
)
def test_units_and_places_of_columns_do_not_matter(data):
    X, s = data
    units, places = np.geomspace(1e-3, 1e3, 10), np.linspace(-20, 20, 10)
    for variant in ("adaptive", "plain"):
        plain, other = (
            SparseJoint(alpha=0.01, variant=variant, refit=False).fit(each, s) for each in (X, X * units + places)
        )
        np.testing.assert_allclose(other.coef_ * units, plain.coef_, atol=1e-5)
        np.testing.assert_allclose(other.propensity_coef_ * units, plain.propensity_coef_, atol=1e-5)


def test_the_steeper_factor_is_called_y_unless_columns_or_prices_tell_them_apart():
    plain = make_double_logistic(1, 4)
    data = make_double_logistic(4000, 4, coef=plain.propensity_coef, propensity_coef=plain.coef, random_state=0)
    X, s = data.X, data.labelled
    model = SparseJoint(alpha=0.003).fit(X, s)
    assert np.abs(model.coef_).sum() > np.abs(model.propensity_coef_).sum()
    # The truth is the other way round here.
    assert np.abs(model.predict_proba(X)[:, 1] - data.propensity).mean() < 0.08
    told = SparseJoint(alpha=0.003, propensity_features=[0, 1]).fit(X, s)
    assert np.abs(told.predict_proba(X)[:, 1] - data.posterior).mean() < 0.08
    np.testing.assert_array_equal(told.propensity_coef_[0, 2:], 0)


def test_a_dear_propensity_has_fewer_slopes(data):
    dear, cheap = (
        SparseJoint(alpha=0.01, variant="plain", propensity_penalty=k, refit=False).fit(*data) for k in (3.0, 0.3)
    )
    assert np.abs(dear.propensity_coef_).sum() < np.abs(cheap.propensity_coef_).sum()


@pytest.mark.parametrize("variant", ["adaptive", "plain"])
def test_a_propensity_that_nothing_can_pay_for_is_constant(data, variant):
    X, s = data[0][:400], data[1][:400]
    model = SparseJoint(alpha=0.01, variant=variant, propensity_penalty=1e20).fit(X, s)
    constant = SparseJoint(alpha=0.01, variant="plain", propensity_features=[]).fit(X, s)
    assert model.converged_
    np.testing.assert_array_equal(model.propensity_coef_, 0)
    # Newton's first step once led the intercepts to 1e18.
    assert abs(model.propensity_intercept_[0]) < 100
    if variant == "plain":
        np.testing.assert_allclose(model.predict_proba(X), constant.predict_proba(X), atol=1e-4)


def test_equal_rows_are_held_out_together_and_every_fold_has_labelled_ones(rng):
    X = rng.integers(0, 3, size=(200, 3)).astype(float)
    s = rng.random(200) < 0.2
    folds = folds_of(Sample(as_design(X), s, None, None), 5, np.random.RandomState(0))
    for row in np.unique(X, axis=0):
        for label in (True, False):
            assert len(set(folds[(row == X).all(axis=1) & (s == label)])) <= 1
    assert set(folds[s]) == set(folds[~s]) == set(range(5))


@pytest.mark.slow
def test_one_labelled_row_cannot_be_held_out(rng):
    X, s = rng.normal(size=(30, 2)), np.arange(30) == 7
    with pytest.warns(UserWarning, match="none can be held out to choose alpha"):
        model = SparseJoint(random_state=0).fit(X, s)
    np.testing.assert_array_equal(model.coef_, 0)
    assert np.isnan(model.held_out_risk_).all()
    assert SparseJoint(alpha=0.001).fit(X, s).coef_.any()


def test_stopping_short_warns_and_says_so(data):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps at alpha=0.001"):
        assert not SparseJoint(alpha=0.001, max_iter=1).fit(*data).converged_


def test_the_refit_is_the_ridge_fit_of_the_slopes_in_use(data):
    X, s = data
    n = len(s)
    model, held = (SparseJoint(alpha=0.1, refit=refit).fit(X, s) for refit in (True, False))
    used, used_by_e = np.flatnonzero(held.coef_), np.flatnonzero(held.propensity_coef_)
    assert np.flatnonzero(model.coef_).tolist() == used.tolist() == [0, 1, 2]
    assert np.flatnonzero(model.propensity_coef_).tolist() == used_by_e.tolist() == [3, 4]
    # The gradient of the summed risk, written out, is that of the ridge.
    y, e = model.predict_proba(X)[:, 1], model.predict_propensity(X)
    pull = (y * e - s) / (1 - y * e)
    np.testing.assert_allclose(X[:, used].T @ (pull * (1 - y)), -model.coef_[0, used], atol=1e-7 * n)
    np.testing.assert_allclose(
        X[:, used_by_e].T @ (pull * (1 - e)), -model.propensity_coef_[0, used_by_e], atol=1e-7 * n
    )
    assert np.abs(model.coef_).sum() > np.abs(held.coef_).sum()
    np.testing.assert_array_equal(model.coefs_path_, held.coefs_path_)


@pytest.mark.slow
def test_what_was_y_is_y_in_every_refit():
    """y and e of nearly equal steepness: the convention alone would swap them at times."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    s = (rng.random(1500) < sigmoid(1 + 2 * X[:, 0])) & (rng.random(1500) < sigmoid(-0.5 + 2 * X[:, 1]))
    model = SparseJoint(alpha=0.002).fit(X, s)
    steep = int(np.argmax(np.abs(model.coef_)))
    for seed in range(8):
        rows = np.random.default_rng(seed).integers(0, 1500, 1500)
        again = SparseJoint(alpha=0.002)
        again._begin = model._posterior, model._propensity
        assert int(np.argmax(np.abs(again.fit(X[rows], s[rows]).coef_))) == steep
