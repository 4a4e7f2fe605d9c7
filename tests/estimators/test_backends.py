"""Wherever X lives, the model is the one that NumPy's X gives."""

import importlib
import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from conftest import HEART, fit, in_few_rounds, load_problem, slow_where, tensor
from propense import JERM, LBE, SAREM, TM, JointMLE
from propense._maths.arrays import library_of, to_host
from propense.errors import InvalidFeatures
from propense.estimators import _lbe

# A few rounds are enough to compare, converged or not.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def sparse(array):
    return sp.csr_array(array) if array.ndim == 2 else array


# Each storage, as a function of a NumPy array: X, y or weights elsewhere. test_laws.py has sparse matrices, and
# test_mapped.py arrays in files.
BACKENDS = {
    "dask": lambda array: blocks(array) if array.ndim == 2 else da.from_array(array, chunks=130),
    "dask sparse": lambda array: blocks(array, sparse) if array.ndim == 2 else array,
    "torch": tensor,
}
if importlib.util.find_spec("dask"):
    import dask.array as da

    from blocks import as_dask as blocks
if importlib.util.find_spec("torch") and importlib.import_module("torch").cuda.is_available():
    BACKENDS["torch cuda"] = lambda X: tensor(X, device="cuda")

PREDICTIONS = ("decision_function", "predict_proba", "predict_propensity", "predict_hidden", "predict")


# With Dask every sweep is a graph.
@pytest.fixture(params=slow_where(lambda name: "dask" in name, BACKENDS))
def elsewhere(request):
    return BACKENDS[request.param]


@pytest.fixture
def problem(rng):
    positive = rng.random(400) < 0.4
    X = rng.normal(size=(400, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, (positive & (rng.random(400) < 1 / (1 + np.exp(-X[:, 2] - 0.3)))).astype(int)


def assert_same_model(one, other, X, X_elsewhere):
    np.testing.assert_allclose(other.prior_, one.prior_, atol=1e-6)
    for name in PREDICTIONS:
        expected = getattr(one, name)(X)
        np.testing.assert_allclose(to_host(getattr(other, name)(X_elsewhere)), expected, atol=1e-5)
        # A model knows numbers, not where they came from.
        np.testing.assert_allclose(getattr(other, name)(X), expected, atol=1e-5)
        np.testing.assert_allclose(to_host(getattr(one, name)(X_elsewhere)), expected, atol=1e-12)


@pytest.mark.usefixtures("one_fit")
def test_every_method_finds_what_it_finds_in_memory(method, problem, elsewhere, rng, monkeypatch):
    X, s = problem
    library = library_of(elsewhere(X))
    if library in ("dask", "torch") and library not in method.description.takes:
        with pytest.raises(InvalidFeatures, match=f"does not support arrays of {library}. Pass a NumPy array."):
            fit(method, elsewhere(X), elsewhere(s))
        return
    monkeypatch.setattr(_lbe, "_PRETRAINING", 100)
    monkeypatch.setattr(_lbe, "_STEPS", 20)
    # Without weights in one kind of storage, with some that are nought in the others.
    plain = elsewhere is BACKENDS.get("dask")
    rows = {} if plain else {"sample_weight": rng.random(400) * (rng.random(400) < 0.9)}
    in_few_rounds(method, 3)
    here = fit(clone(method), X, s, **rows)
    there = fit(method, elsewhere(X), elsewhere(s), **{name: elsewhere(each) for name, each in rows.items()})
    if hasattr(here, "coef_"):
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)
        np.testing.assert_allclose(there.propensity_coef_, here.propensity_coef_, atol=1e-5)
    assert there.classes_.tolist() == [0, 1]
    assert_same_model(here, there, X, elsewhere(X))


@pytest.mark.slow
def test_jerm_meets_its_authors_elsewhere(elsewhere):
    problem = load_problem(HEART)
    here, model = JERM().fit(problem.X, problem.s), JERM().fit(elsewhere(problem.X), elsewhere(problem.s))
    assert model.converged_
    np.testing.assert_array_equal(model.spies_, here.spies_)
    for name in ("coef_", "intercept_", "propensity_coef_", "propensity_intercept_"):
        np.testing.assert_allclose(getattr(model, name), getattr(here, name), rtol=0, atol=1e-6)
    posterior = to_host(model.predict_proba(elsewhere(problem.X_test)))[:, 1]
    np.testing.assert_allclose(posterior, problem.jerm_posterior_test, atol=2e-6)
    np.testing.assert_allclose(
        to_host(model.predict_propensity(elsewhere(problem.X))), problem.jerm_propensity, atol=2e-6
    )
    beta = np.concatenate([model.intercept_, model.coef_[0]])
    np.testing.assert_allclose(beta, problem.jerm_beta, rtol=1e-5, atol=1e-4)


def test_labels_and_weights_may_stay_in_memory(problem, elsewhere, rng):
    X, s = problem
    weights, few = rng.random(400), {"max_iter": 3, "max_steps": 10}
    here = JERM(**few).fit(X, s, sample_weight=weights)
    for y in (s, s.tolist(), np.where(s, "yes", "no")):
        there = JERM(**few).fit(elsewhere(X), y, sample_weight=weights)
        np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-6)
        assert to_host(there.predict(elsewhere(X))).tolist() == np.take(there.classes_, here.predict(X)).tolist()


MODELS = [LBE(), SAREM(), JointMLE(n_starts=2, random_state=0), TM()]


@pytest.mark.parametrize(
    ("model", "others"), [(JERM(), []), (JERM(), None), *((each, [0, 2]) for each in MODELS)], ids=str
)
def test_class_and_propensity_may_have_columns_of_their_own(problem, elsewhere, model, others):
    X, s = problem
    model = in_few_rounds(clone(model), 3).set_params(class_features=[1, 2], propensity_features=others)
    there = clone(model).fit(elsewhere(X), elsewhere(s))
    assert_same_model(model.fit(X, s), there, X, elsewhere(X))
    assert there.coef_[0, 0] == 0


def test_a_score_is_a_number_on_the_host(problem, elsewhere, rng):
    X, s = problem
    model, weights = JERM(max_iter=1, max_steps=5).fit(elsewhere(X), elsewhere(s)), rng.random(400)
    assert model.score(elsewhere(X), elsewhere(s)) == model.score(X, s)
    assert model.score(elsewhere(X), s, sample_weight=elsewhere(weights)) == model.score(X, s, sample_weight=weights)
