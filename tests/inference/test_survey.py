"""Laws of the spread of an estimate under strata and clusters."""

import itertools

import numpy as np
import pytest

from propense.errors import InvalidInput, InvalidWeights
from propense.inference._survey import mean_variance, read_survey


@pytest.fixture
def drawn(rng):
    """Rows of 4 strata with 2 to 5 clusters each, of different sizes, in random order."""
    strata, clusters = [], []
    for stratum, count in enumerate([2, 3, 4, 5]):
        for cluster in range(count):
            size = rng.integers(1, 7)
            strata += ["abcd"[stratum]] * size
            clusters += [cluster] * size
    order = rng.permutation(len(strata))
    strata, clusters = np.array(strata)[order], np.array(clusters)[order]
    return strata, clusters, rng.normal(size=len(strata)), rng.uniform(0.5, 3.0, size=len(strata))


def test_a_simple_sample_has_the_variance_of_every_textbook(rng):
    v = rng.normal(size=50)
    mean, variance, degrees = mean_variance(v)
    assert (mean, degrees) == (pytest.approx(v.mean()), 49)
    assert variance == pytest.approx(v.var(ddof=1) / 50)


def test_a_stratified_mean_has_the_variance_of_every_textbook(rng):
    """Σ (Nₕ/N)²·s²ₕ/nₕ, with weights Nₕ/nₕ."""
    sizes, population = np.array([5, 8, 20]), np.array([100, 300, 50])
    strata = np.repeat([0, 1, 2], sizes)
    v = rng.normal(size=33) + strata
    mean, variance, degrees = mean_variance(v, (population / sizes)[strata], strata)
    shares = population / population.sum()
    parts = [v[strata == h] for h in range(3)]
    assert mean == pytest.approx(sum(share * part.mean() for share, part in zip(shares, parts, strict=True)))
    # The mean is linear here: Σ w is the size of the population whatever is drawn.
    expected = sum(s**2 * part.var(ddof=1) / len(part) for s, part in zip(shares, parts, strict=True))
    assert variance == pytest.approx(expected)
    assert degrees == 30


def test_it_is_the_loop_of_the_formula(drawn):
    strata, clusters, v, w = drawn
    mean, variance, degrees = mean_variance(v, w, strata, clusters)
    z = w * (v - np.average(v, weights=w)) / w.sum()
    expected = 0.0
    for h in np.unique(strata):
        sums = [z[(strata == h) & (clusters == c)].sum() for c in np.unique(clusters[strata == h])]
        expected += len(sums) / (len(sums) - 1) * ((np.array(sums) - np.mean(sums)) ** 2).sum()
    assert mean == pytest.approx(np.average(v, weights=w))
    assert variance == pytest.approx(expected, rel=1e-12)
    assert degrees == 14 - 4


def test_neither_order_nor_names_nor_units_of_weights_matter(drawn, rng):
    strata, clusters, v, w = drawn
    expected = mean_variance(v, w, strata, clusters)
    order = rng.permutation(len(v))
    assert mean_variance(v[order], w[order], strata[order], clusters[order]) == pytest.approx(expected)
    assert mean_variance(v, 1000 * w, strata, clusters) == pytest.approx(expected)
    named = [f"village {c}" for c in clusters]
    assert mean_variance(v, w, list(map(ord, strata)), named) == pytest.approx(expected)
    # Names of clusters count within a stratum only.
    unique = [f"{h}{c}" for h, c in zip(strata, clusters, strict=True)]
    assert mean_variance(v, w, strata, unique) == pytest.approx(expected)


def test_rows_of_weight_0_leave_their_clusters_in_the_survey(drawn):
    """The mean of a part of the rows: a cluster that has none of them still counts."""
    strata, clusters, v, w = drawn
    w = np.where((strata == "d") & (clusters == 0), 0.0, w)
    _, variance, degrees = mean_variance(v, w, strata, clusters)
    kept = w > 0
    _, without, fewer = mean_variance(v[kept], w[kept], strata[kept], clusters[kept])
    assert degrees == fewer + 1
    assert variance != pytest.approx(without, rel=1e-6)


def test_the_variance_is_right_on_average(rng):
    """All pairs of clusters that a small population can give: the mean of the variances is the variance."""
    population = [rng.normal(size=3) + shift for shift in rng.normal(size=5)]
    pairs = list(itertools.product(population, repeat=2))
    found = [mean_variance(np.concatenate(pair), clusters=[0] * 3 + [1] * 3) for pair in pairs]
    assert np.mean([variance for _, variance, _ in found]) == pytest.approx(np.var([mean for mean, *_ in found]))


def test_resamples_vary_as_the_formula_says(drawn):
    strata, clusters, v, _ = drawn
    survey = read_survey(strata, clusters, len(v))
    sums = [survey.draw(np.random.default_rng(seed)) @ v for seed in range(4000)]
    assert np.mean(sums) == pytest.approx(v.sum(), abs=4 * np.std(sums) / np.sqrt(4000))
    # The variance of 4 000 draws is known to within some 2.2 %.
    assert np.var(sums) == pytest.approx(survey.covariance(v[:, np.newaxis])[0, 0], rel=0.1)


def test_resamples_keep_clusters_whole(drawn, rng):
    strata, clusters, v, _ = drawn
    survey = read_survey(strata, clusters, len(v))
    counts = survey.draw(rng)
    for h in np.unique(strata):
        own = [np.unique(counts[(strata == h) & (clusters == c)]) for c in np.unique(clusters[strata == h])]
        assert all(len(each) == 1 for each in own)
        # nₕ − 1 draws, each nₕ/(nₕ − 1).
        assert np.sum(own) == pytest.approx(len(own))


@pytest.mark.parametrize(
    ("strata", "clusters", "said"),
    [
        (["a", "a", "b"], None, "stratum 'b' has only one row"),
        (["a", "a", "b"], [1, 2, 3], "stratum 'b' has only one cluster"),
        (["a", "b", "c"], [1, 2, 3], "stratum 'a' and 2 other strata have only one cluster"),
        (None, [1, 1, 1], "all rows belong to the same cluster"),
        ([1, 1], None, "strata has 2 entries for 3 rows"),
        (None, ["x", None, "y"], "clusters is missing in 1 rows, first in row 1"),
        (None, [1.0, 2.0, np.nan], "clusters is missing in 1 rows, first in row 2"),
        ([[1], [1], [2]], None, "strata holds values that cannot be groups"),
        (np.ones((3, 1)), None, "strata has 2 dimensions"),
    ],
)
def test_a_survey_that_cannot_be_used_is_refused(strata, clusters, said):
    with pytest.raises(InvalidInput, match=said):
        mean_variance([1.0, 2.0, 3.0], None, strata, clusters)


@pytest.mark.parametrize("weights", [[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, np.nan, 1.0], [1.0, 1.0]])
def test_weights_that_cannot_be_used_are_refused(weights):
    with pytest.raises(InvalidWeights, match="weights must be 3 numbers of at least 0"):
        mean_variance([1.0, 2.0, 3.0], weights)
