"""Do the columns named for e move the labels, given the others?"""

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from conftest import coarse
from propense._designs import as_design
from propense._diagnostics.fit_statistics import p_by_chance
from propense._diagnostics.named_columns import label_designs, label_gain, named_statistics
from propense._inputs.sample import Sample


def problem(rng, n=800):
    """The named columns, 2 and 3, are related to the others; only 2 moves the labels too."""
    X = rng.normal(size=(n, 5))
    X[:, 2] += 0.7 * X[:, 0]
    X[:, 3] += X[:, 1]
    return coarse(X), rng.random(n) < 1 / (1 + np.exp(1.0 - 1.5 * X[:, 0] - 0.5 * X[:, 2]))


def gain(sample):
    return label_gain(sample, label_designs(sample))


def by_sklearn(X, s, columns, weights=None):
    """Minus the log-likelihood, at its maximum up to the light ridge."""
    spreads = X[:, columns].std(axis=0)
    model = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[:, columns] / spreads, s, weights)
    return log_loss(s, model.predict_proba(X[:, columns] / spreads), normalize=False, sample_weight=weights)


@pytest.mark.parametrize("own", [None, [0, 1]])
def test_the_gain_is_a_likelihood_ratio(rng, design_kind, own):
    X, s = problem(rng)
    design = design_kind(X)
    columns = None if own is None else np.array(own)
    sample = Sample(design, design.send(s), None, None, None, np.array([2, 3]), class_columns=columns)
    others = [0, 1, 4] if own is None else own
    expected = 2 * (by_sklearn(X, s, others) - by_sklearn(X, s, [*others, 2, 3]))
    assert gain(sample) == pytest.approx(expected, rel=1e-4)
    assert named_statistics(sample) == {"named_gain": pytest.approx(expected, rel=1e-4), "named_features": 2}


def test_weights_count_as_rows_by_their_effective_number(rng):
    X, s = problem(rng)
    weights = rng.integers(1, 4, size=len(s)).astype(float)
    sample = Sample(as_design(X), s, weights, None, None, np.array([2]))
    full = 2 * (by_sklearn(X, s, [0, 1, 3, 4], weights) - by_sklearn(X, s, [0, 1, 2, 3, 4], weights))
    effective = weights.sum() ** 2 / (weights**2).sum()
    # The ridge is that of columns in their weighted standard deviations.
    assert gain(sample) == pytest.approx(full * effective / weights.sum(), rel=5e-3)
    scaled = Sample(as_design(X), s, 1000 * weights, None, None, np.array([2]))
    assert gain(scaled) == pytest.approx(gain(sample), rel=0.02)


def test_categories_and_missing_numbers_count_by_their_features(rng):
    X, s = problem(rng)
    X = np.column_stack([X, rng.integers(0, 4, len(s))])
    X[::7, 3] = np.nan
    levels = np.array([0, 0, 0, 0, 0, 4])
    sample = Sample(as_design(X), s, None, None, None, np.array([3, 5]), levels=levels)
    designs = label_designs(sample)
    # The number, the mark of its missing cells, and three levels next to the most frequent.
    assert designs.added == 5
    assert np.isfinite(gain(sample))


@pytest.mark.slow
def test_columns_that_say_nothing_new_are_found_at_the_promised_rate():
    """Under the null hypothesis p is uniform, although the named columns are related to others."""
    p = []
    for seed in range(200):
        X, s = problem(np.random.default_rng(seed), 400)
        p.append(p_by_chance(gain(Sample(as_design(X), s, None, None, None, np.array([3]))), 1))
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01
    X, s = problem(np.random.default_rng(0))
    assert p_by_chance(gain(Sample(as_design(X), s, None, None, None, np.array([2]))), 1) < 1e-3


def test_nothing_is_asked_without_names_or_of_too_many_columns(rng):
    X, s = problem(rng)
    assert named_statistics(Sample(as_design(X), s, None, None)) == {}
    none = np.array([], dtype=np.intp)
    assert named_statistics(Sample(as_design(X), s, None, None, None, none)) == {}
    wide = as_design(rng.normal(size=(8, 4200)))
    assert named_statistics(Sample(wide, s[:8], None, None, None, np.array([1]))) == {}
