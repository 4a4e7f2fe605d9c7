"""Arrays mapped from files: read in blocks, never copied whole."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from conftest import METHODS, coarse, fit, in_few_rounds, mapped
from propense import JERM
from propense._designs import dense, neighbours
from propense.errors import InvalidFeatures


@pytest.fixture
def problem(rng):
    X = coarse(rng.normal(size=(400, 4)))
    positive = rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0]))
    return X, positive & (rng.random(400) < 1 / (1 + np.exp(-X[:, 1] - 1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_mapped_array_gives_what_the_array_gives(method, problem, monkeypatch):
    X, s = problem
    monkeypatch.setattr(dense, "_BLOCK", 200)
    here = fit(in_few_rounds(method), X, s).predict_proba(X)
    there = fit(method, mapped(X.astype(np.float32)), s).predict_proba(X)
    np.testing.assert_allclose(there, here, atol=1e-8)


def test_rows_of_no_weight_and_columns_left_out(problem, rng):
    X, s = problem
    weights = rng.integers(0, 3, size=len(X)).astype(float)
    models = [JERM(propensity_features=[0, 2]).fit(features, s, sample_weight=weights) for features in (X, mapped(X))]
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, atol=1e-9)
    np.testing.assert_allclose(models[1].propensity_coef_, models[0].propensity_coef_, atol=1e-9)
    np.testing.assert_array_equal(models[1].spies_, models[0].spies_)


@pytest.mark.slow
@pytest.mark.usefixtures("two_blas_threads")
def test_the_fit_takes_a_small_part_of_the_array_in_memory(rng, monkeypatch):
    X = mapped(rng.standard_normal((100_000, 64)).astype(np.float32))
    s = (X[:, 0] > 1) & (rng.random(len(X)) < 0.03)
    weights = np.where(rng.random(len(X)) < 0.1, 0.0, 1.0)
    monkeypatch.setattr(neighbours, "_SLAB", 1 << 17)
    monkeypatch.setattr(dense, "_BLOCK", 1 << 14)
    monkeypatch.setattr(dense, "_THREADED", 1 << 17)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning):
        # e is fitted to most of the columns, y to all.
        JERM(max_iter=1, max_steps=5, propensity_features=range(63)).fit(X, s, sample_weight=weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Some fifteen numbers a row, beside blocks; 64 columns of float32 are 32 numbers.
    assert peak < 0.5 * X.nbytes


def test_the_first_bad_entry_of_many_blocks_is_named():
    X = np.zeros((10_000, 3), dtype=np.float32)
    X[9_000, 2], X[9_500, 0] = np.nan, np.inf
    with pytest.raises(InvalidFeatures, match=r"2 entries .*, the first \(nan\) at row 9000, column 2"):
        METHODS["Naive"].fit(mapped(X), np.arange(10_000) % 2)
