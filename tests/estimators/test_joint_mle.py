"""The joint minimiser: eq. (8), its starts, and which factor is called y."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from propense import JointMLE
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense.datasets import make_double_logistic


@pytest.fixture
def data():
    return make_double_logistic(1500, 4, random_state=0)


def mean_risk(model, X, s, ridge):
    chance = model.predict_proba(X)[:, 1] * model.predict_propensity(X)
    penalty = 0.5 * ridge * (np.sum(model.coef_**2) + np.sum(model.propensity_coef_**2)) / len(s)
    return -np.where(s, np.log(chance), np.log1p(-chance)).mean() + penalty


@pytest.fixture(scope="module")
def steep_propensity():
    """y the flatter of the two, against the rule."""
    plain = make_double_logistic(1, 4)
    return make_double_logistic(8000, 4, coef=plain.propensity_coef, propensity_coef=plain.coef, random_state=0)


@pytest.mark.slow
def test_the_steeper_factor_is_called_y(steep_propensity):
    data = make_double_logistic(8000, 4, random_state=0)
    model = JointMLE(random_state=0).fit(data.X, data.labelled)
    assert np.abs(model.coef_).sum() > np.abs(model.propensity_coef_).sum()
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() < 0.05
    # Where the truth is the other way round, the answer is wrong in just that way: the rule is all that decides.
    data = steep_propensity
    model = JointMLE(random_state=0).fit(data.X, data.labelled)
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.propensity).mean() < 0.05


def test_columns_of_its_own_tell_the_propensity_from_the_posterior(steep_propensity):
    data = steep_propensity
    model = JointMLE(propensity_features=[0, 1], random_state=0).fit(data.X, data.labelled)
    assert np.abs(model.coef_).sum() < np.abs(model.propensity_coef_).sum()
    np.testing.assert_array_equal(model.propensity_coef_[0, 2:], 0)
    assert np.abs(model.predict_proba(data.X)[:, 1] - data.posterior).mean() < 0.05
    assert (model.starts_["factor"] == 0).all()


def test_starts_tell_what_each_came_to(data):
    model = JointMLE(n_starts=12, random_state=0).fit(data.X, data.labelled)
    starts = model.starts_
    assert {len(values) for values in starts.values()} == {12}
    assert np.diff(starts["risk"]).min() >= 0
    assert starts["risk"][0] == pytest.approx(mean_risk(model, data.X, data.labelled, 1.0), rel=1e-12)
    np.testing.assert_array_equal(model.risk_path_, starts["risk"][::-1])
    assert starts["norm"][0] == pytest.approx(np.abs(model.coef_).sum())
    assert starts["propensity_norm"][0] == pytest.approx(np.abs(model.propensity_coef_).sum())
    assert (starts["norm"] >= starts["propensity_norm"]).all()
    # Random starts fall on both sides of the symmetry, and the rule brings them together.
    assert set(starts["factor"]) == {0, 1}
    assert starts["distance"].max() < 1e-4
    assert starts["converged"].all()


@pytest.mark.slow
def test_an_undetermined_answer_shows_in_the_starts(rng):
    """Pure noise with many columns: the starts end in different places."""
    X = rng.normal(size=(200, 20))
    model = JointMLE(ridge=0.1, n_starts=20, random_state=0).fit(X, rng.random(200) < 0.4)
    assert model.starts_["converged"].all()
    assert model.starts_["distance"].max() > 0.1
    assert np.ptp(model.starts_["risk"]) < 0.1


@pytest.mark.parametrize("radius", [3.0, 6.0])
def test_the_ball_is_kept_and_its_minimum_is_no_higher_than_that_of_a_smaller_one(data, radius):
    def size(model):
        parts = (model.coef_, model.intercept_, model.propensity_coef_, model.propensity_intercept_)
        return sum(np.abs(part).sum() for part in parts)

    inner = JointMLE(radius=0.8 * radius, ridge=0.0, n_starts=3, random_state=0).fit(data.X, data.labelled)
    outer = JointMLE(radius=radius, ridge=0.0, n_starts=3, random_state=0).fit(data.X, data.labelled)
    assert size(outer) == pytest.approx(radius, rel=1e-9)
    assert size(inner) == pytest.approx(0.8 * radius, rel=1e-9)
    assert outer.risk_path_[-1] < inner.risk_path_[-1]
    assert outer.converged_


def test_ridge_and_radius_act_together(data):
    both = JointMLE(ridge=50.0, radius=4.0, n_starts=2, random_state=0).fit(data.X, data.labelled)
    ball = JointMLE(ridge=0.0, radius=4.0, n_starts=2, random_state=0).fit(data.X, data.labelled)
    assert np.sum(both.coef_**2) < np.sum(ball.coef_**2)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["newton", "mm"])
def test_solvers_meet(data, solver):
    truth = JointMLE(random_state=0).fit(data.X, data.labelled)
    model = JointMLE(solver=solver, n_starts=1, tol=1e-6, max_iter=20_000).fit(data.X, data.labelled)
    np.testing.assert_allclose(model.coef_, truth.coef_, atol=1e-4)


PLACES = np.array([30.0, -50.0, 0.0, 200.0])


def test_starts_do_not_depend_on_the_places_of_the_columns(data):
    """After one step from each start, when they are still told from each other."""
    with pytest.warns(ConvergenceWarning):
        one, other = (
            JointMLE(ridge=0.0, n_starts=8, random_state=0, max_iter=1).fit(X, data.labelled)
            for X in (data.X, data.X + PLACES)
        )
    assert np.ptp(one.starts_["risk"]) > 0.01
    np.testing.assert_allclose(other.starts_["risk"], one.starts_["risk"], rtol=1e-5)


def test_starts_are_as_far_apart_as_the_naive_slopes_are_long_in_any_units(data):
    for units in (np.ones(4), np.array([1e-3, 1.0, 1e3, 10.0])):
        sample = Sample(as_design(data.X * units), data.labelled, None, None)
        (naive, _), *others = JointMLE(n_starts=6, random_state=0)._starts(sample)
        long = sample.design.matvec(naive).std()
        for beta, gamma in others:
            np.testing.assert_allclose(beta + gamma, naive)
            assert sample.design.matvec(beta - gamma).std() / 2 == pytest.approx(long, rel=0.1)


def test_no_start_is_lost_to_units_or_places(data):
    for X in (data.X * [1e-3, 1.0, 1e3, 10.0], data.X + PLACES):
        model = JointMLE(ridge=0.0, n_starts=8, random_state=0).fit(X, data.labelled)
        assert model.starts_["converged"].all()
        assert np.ptp(model.starts_["risk"]) < 1e-9


def test_a_constant_column_spoils_no_start(data):
    X = np.column_stack([data.X, np.full(len(data.X), 7.0)])
    model = JointMLE(random_state=0).fit(X, data.labelled)
    assert model.starts_["converged"].all()
    np.testing.assert_allclose(
        model.coef_[0, :4], JointMLE(random_state=0).fit(data.X, data.labelled).coef_[0], atol=1e-4
    )


def test_a_ball_of_no_size_holds_nothing(data):
    model = JointMLE(radius=0, ridge=0).fit(data.X, data.labelled)
    np.testing.assert_array_equal(model.coef_, 0)
    np.testing.assert_array_equal(model.predict_propensity(data.X), 0.5)


def test_stopping_short_warns_and_says_so(data):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps from its best start"):
        model = JointMLE(max_iter=1, n_starts=2, random_state=0).fit(data.X, data.labelled)
    assert not model.converged_


def test_the_same_seed_gives_the_same_starts(data):
    one, other = (JointMLE(n_starts=3, random_state=4).fit(data.X, data.labelled) for _ in range(2))
    np.testing.assert_array_equal(one.starts_["factor"], other.starts_["factor"])
    np.testing.assert_array_equal(one.coef_, other.coef_)
