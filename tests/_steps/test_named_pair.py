"""y along a score with e over named columns: the minimum that it claims to be, and the truth where that is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from conftest import missing, tensor
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.arrays import to_host
from propense._steps.named_pair import fit_named, other_columns

LEVELS = np.array([0, 0, 3, 0])


def make(rng, n, *, numbers=False):
    """A score, four columns of which e depends on the last three, one of them a category; classes and labels."""
    t = rng.normal(0.5, 1.3, size=n)
    X = rng.normal(size=(n, 4)) * [1.0, 3.0, 1.0, 0.2] + [0.0, 2.0, 0.0, -1.0]
    X[:, 2] = rng.normal(size=n) if numbers else rng.integers(0, 3, size=n)
    y = rng.random(n) < expit(1.5 * t - 0.5)
    b = 0.4 * (X[:, 1] - 2.0) - 4.0 * (X[:, 3] + 1.0) + (0.5 * X[:, 2] if numbers else [0.5, -1.0, 1.5] @ _coded(X))
    return t, X, y, y & (rng.random(n) < expit(b)), b


def _coded(X):
    return X[:, 2] == np.arange(3)[:, np.newaxis]


def scored(X, s, weights=None, **more):
    return Sample(as_design(X), s, weights, None, propensity_columns=np.array([1, 2, 3]), levels=LEVELS, **more)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("of_class", [[0], [0, 1], [0, 1, 3]], ids=["apart", "one shared", "two shared"])
def test_it_is_the_minimum_of_the_penalised_loss_of_the_labels(rng, of_class, weighted):
    """Without a column that y and e share, and with some: y then has slopes of its own, shrunk by their number."""
    t, X, _, s, _ = make(rng, 300)
    weights = rng.exponential(size=300) if weighted else np.ones(300)
    sample = scored(X, s, weights if weighted else None, class_columns=np.array(of_class))
    fit = fit_named(sample, t)
    e, shared = fit.propensity, len(of_class) - 1
    # Numbers of mean 0 and spread 1; a column for each level but the first.
    numbers = X[:, [1, 3]] - np.average(X[:, [1, 3]], axis=0, weights=weights)
    numbers /= np.sqrt(np.average(numbers**2, axis=0, weights=weights))
    V = np.column_stack([numbers, _coded(X)[1:].T])
    means = np.average(V, axis=0, weights=weights)
    squares = np.average((V - means) ** 2, axis=0, weights=weights)
    spread = np.average((t - np.average(t, weights=weights)) ** 2, weights=weights)

    def loss(theta):
        theta, slopes = theta[:7], theta[7:]
        a = theta[0] + theta[1] * t + V[:, :shared] @ slopes
        chance = expit(a) * expit(theta[2] + V @ theta[3:])
        own = weights @ -np.where(s, np.log(chance), np.log1p(-chance))
        own += 0.5 * (spread * theta[1] ** 2 + shared * squares[:shared] @ slopes**2)
        return own + 0.5 * squares @ theta[3:] ** 2 + 0.5 * (theta[2] + means @ theta[3:]) ** 2

    ours = np.array([fit.level, fit.slope, *e.coef, *([] if fit.own is None else fit.own.coef[1 : 1 + shared])])
    start = np.append([0.0, 1.0], np.zeros(5 + shared))
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(ours, best, atol=1e-4)
    assert fit.search.value == pytest.approx(loss(best), rel=1e-8)
    assert fit.log_unknown == 0.0
    assert (fit.own is None) == (not shared)
    if fit.own is not None:
        # Only where y and e share a column, and no level of its own.
        assert fit.own.coef[1 : 1 + shared].all()
        assert not fit.own.coef[[0, *range(1 + shared, 5)]].any()
    # And e of any rows is that of these coefficients.
    np.testing.assert_allclose(e.log_odds(as_design(X[:20])), e.coef[0] + V[:20] @ e.coef[1:], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("known", [0.0, 0.4])
def test_the_truth_is_found_with_and_without_known_negatives(rng, known):
    t, X, y, s, b = make(rng, 30_000)
    negative = ~y & (rng.random(30_000) < known) if known else None
    fit = fit_named(scored(X, s, negative=negative), t)
    assert (fit.level, fit.slope) == pytest.approx((-0.5, 1.5), abs=0.15)
    assert np.abs(fit.own.log_odds(as_design(X))).mean() < 0.15
    assert np.abs(fit.propensity.log_odds(as_design(X)) - b).mean() < 0.15
    assert math.exp(fit.log_unknown) == pytest.approx(1.0 - known, abs=0.02)


def test_what_belongs_to_e_is_taken_out_of_the_score(rng):
    t, X, _, s, b = make(rng, 30_000)
    fit = fit_named(scored(X, s), t + 0.5 * b)
    a = fit.level + fit.slope * (t + 0.5 * b) + fit.own.log_odds(as_design(X))
    assert np.abs(a - (1.5 * t - 0.5)).mean() < 0.2
    assert np.abs(fit.propensity.log_odds(as_design(X)) - b).mean() < 0.2


def test_other_columns_do_not_matter(rng):
    t, X, _, s, _ = make(rng, 300)
    one = fit_named(replace(scored(X, s), class_columns=np.arange(4)), t)
    X[:, 0] = rng.normal(size=300)
    other = fit_named(scored(X, s), t)
    assert (one.level, one.slope) == (other.level, other.slope)
    np.testing.assert_array_equal(one.propensity.coef, other.propensity.coef)
    np.testing.assert_array_equal(one.own.coef, other.own.coef)
    assert other_columns(scored(X, s)).tolist() == [0]
    assert other_columns(replace(scored(X, s), class_columns=np.array([1, 2]))).tolist() == []


def blocks(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, X.shape[1]))


ELSEWHERE = {"sparse": sp.csr_array, "torch": tensor, "dask": blocks}


@pytest.mark.parametrize("name", [pytest.param(name, marks=missing(name)) for name in ELSEWHERE])
def test_it_is_the_same_wherever_the_rows_are(rng, name):
    t, X, _, s, _ = make(rng, 300, numbers=True)
    here = fit_named(replace(scored(X, s), levels=None), t)
    design = as_design(ELSEWHERE[name](X))
    score = design.send(t) if name != "sparse" else t
    there = fit_named(replace(scored(X, s), design=design, labelled=design.send(s), levels=None), score)
    assert there.slope == pytest.approx(here.slope, abs=1e-3)
    dense = as_design(X)
    np.testing.assert_allclose(to_host(there.propensity.log_odds(design)), here.propensity.log_odds(dense), atol=1e-3)
    # Only rows in memory are centred: what the levels differ by is in the slopes.
    y = here.level + here.own.log_odds(dense)
    np.testing.assert_allclose(there.level + to_host(there.own.log_odds(design)), y, atol=1e-3)
    for each in (here.propensity, here.own):
        np.testing.assert_allclose(to_host(each.log_odds(design)), each.log_odds(dense), atol=1e-9)
