"""Are sources independent? The size and the power of the test, and what dependence would mean."""

import math

import numpy as np
import pytest

from propense import JERM, SeveralSources, sources_test
from propense.errors import InvalidInput, InvalidOption
from propense.inference import _sources


def world(seed, n=1000, sources=3, copied=0.0):
    """Sources that prefer clear cases; the third copies a share of what the second has."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    a = -0.5 + 1.5 * X[:, 0] + X[:, 1]
    positive = rng.random(n) < 1 / (1 + np.exp(-a))
    e = 1 / (1 + np.exp(-(np.linspace(-0.5, 0.3, sources) + 0.5 * a[:, None])))
    Y = positive[:, None] & (rng.random((n, sources)) < e)
    Y[:, -1] |= Y[:, 1] & (rng.random(n) < copied)
    return X, positive, Y


@pytest.mark.parametrize("sources", [3, 4])
def test_independent_sources_are_not_rejected(sources):
    X, _, Y = world(0, sources=sources)
    found = sources_test(SeveralSources().fit(X, Y), X, Y)
    assert 0.05 < found.p_value < 1.0
    assert max(abs(pair.z) for pair in found.pairs) < 3


def test_a_source_that_copies_is_found_and_named():
    X, positive, Y = world(0, 3000, copied=0.5)
    model = SeveralSources().fit(X, Y)
    found = sources_test(model, X, Y)
    assert found.p_value < 1e-6
    most = max(found.pairs, key=lambda pair: pair.z)
    assert most.names == ("source 2", "source 3")
    assert most.observed == Y[:, 1:].all(axis=1).sum() > most.expected
    assert "source 2 and source 3 agree more often" in str(found)
    assert "too low" in str(found)
    # As said.
    assert model.prior_ < positive.mean() - 0.01


def test_sources_that_avoid_each_other_lead_to_an_overestimate():
    X, positive, Y = world(0, 3000)
    Y[:, 2] &= ~Y[:, 1] | (np.random.default_rng(1).random(3000) < 0.4)
    model = SeveralSources().fit(X, Y)
    found = sources_test(model, X, Y)
    assert found.p_value < 1e-3
    assert min(pair.z for pair in found.pairs) < -3
    assert "less often" in str(found)
    assert model.prior_ > positive.mean()


def test_two_sources_are_not_tested():
    X, _, Y = world(0, sources=2)
    found = sources_test(SeveralSources().fit(X, Y), X, Y)
    assert math.isnan(found.p_value)
    assert math.isnan(found.pairs[0].z)
    assert "cannot be tested" in str(found)
    assert found.priors[0.5] < found.priors[1.0] < found.priors[2.0]


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_the_prior_for_an_odds_ratio_is_that_of_the_table_of_counts(ratio):
    X, _, Y = world(0, 3000, sources=2)
    model = SeveralSources(class_features=[], propensity_features=[]).fit(X, Y)
    found = sources_test(model, X, Y)
    one, other, both = Y[:, 0].sum(), Y[:, 1].sum(), Y.all(axis=1).sum()
    # Positives that neither has labelled: ratio = both·neither / (only one · only the other).
    neither = ratio * (one - both) * (other - both) / both
    assert found.priors[ratio] * len(Y) == pytest.approx(one + other - both + neither, rel=1e-5)
    assert found.priors[1.0] == model.prior_


def test_the_scale_of_weights_does_not_matter(rng):
    X, _, Y = world(0, 600)
    weights = rng.random(600) + 0.5
    one, other = (
        sources_test(SeveralSources(ridge=0.0).fit(X, Y, sample_weight=w), X, Y, sample_weight=w)
        for w in (weights, 7.0 * weights)
    )
    assert one.p_value == pytest.approx(other.p_value, rel=1e-5)
    assert one.pairs[0].observed == pytest.approx(other.pairs[0].observed)
    assert one.pairs[0].expected == pytest.approx(other.pairs[0].expected, rel=1e-5)
    twice = np.repeat(np.arange(600), 2)
    single = sources_test(SeveralSources(ridge=0.0).fit(X, Y), X, Y)
    double = sources_test(SeveralSources(ridge=0.0).fit(X[twice], Y[twice]), X[twice], Y[twice])
    assert double.statistic == pytest.approx(2 * single.statistic, rel=1e-3)


def test_what_cannot_be_tested_is_refused():
    X, _, Y = world(0)
    model = SeveralSources().fit(X, Y)
    with pytest.raises(InvalidInput, match="Pass the X, y"):
        sources_test(model, X[:500], Y[:500])
    with pytest.raises(InvalidInput, match="2 sources, but 3"):
        sources_test(model, X, Y[:, :2])
    with pytest.raises(InvalidOption, match="SeveralSources"):
        sources_test(JERM().fit(X, Y[:, 0]), X, Y)
    with pytest.raises(InvalidInput, match="one source"):
        sources_test(SeveralSources().fit(X, Y[:, 0]), X, Y[:, 0])


def test_a_table_with_too_many_patterns_of_labels_gets_no_other_priors(monkeypatch):
    X, _, Y = world(0)
    model = SeveralSources().fit(X, Y)
    monkeypatch.setattr(_sources, "MOST_PATTERNS", 8 * len(Y) - 1)
    found = sources_test(model, X, Y)
    assert found.priors == {1.0: model.prior_}
    assert str(found) == found.verdict
