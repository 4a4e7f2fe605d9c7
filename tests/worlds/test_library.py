"""The library of worlds: a file of arrays that fit together, a forest that weighs, and conditions that are met."""

from dataclasses import replace
from functools import partial
from importlib.resources import files

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor

from propense.worlds.answer import Given
from propense.worlds.library import LEAF, Trees, the_worlds
from propense.worlds.summary import NAMED, NAMES, summarise

KINDS = {"plain": NAMES, "named": (*NAMES, *NAMED)}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def values_of(worlds, world):
    """Summaries that fall into the bins of a world."""
    within = np.column_stack([worlds.edges, worlds.edges[:, -1] + 1.0])
    return within[np.arange(len(within)), worlds.bins[world]]


def table(rng, n=800):
    """The summary of labels that rise with a score."""
    t = rng.normal(size=n)
    return summarise(t, (rng.random(n) < 0.4 * expit(2.0 * t - 1.0)).astype(float), np.ones(n), 4)


def quantiles(answer):
    return answer.at(np.linspace(0.01, 0.99, 99))


def test_the_file_is_small_and_holds_arrays_that_fit_together(kind):
    path = files("propense.worlds").joinpath("worlds.npz")
    with path.open("rb") as file:
        assert len(file.read()) <= 2**20
    with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
        assert all(found[name].dtype.kind in "fiuU" for name in found.files)
        assert {name.split()[0] for name in found.files} == {*KINDS, "recipe"}
    worlds = the_worlds(kind)
    count, summaries = worlds.bins.shape
    assert summaries == len(KINDS[kind]) == len(worlds.edges)
    assert worlds.bins.max() <= worlds.edges.shape[1] < LEAF
    assert (np.diff(worlds.edges, axis=1) >= 0).all()
    for name, value in vars(worlds).items():
        if isinstance(value, np.ndarray):
            assert np.isfinite(value).all(), name
    assert worlds.hidden.shape == worlds.unevenness.shape == (count,)
    assert (worlds.unevenness >= 0).all()
    assert len(worlds.curve) == count

    assert 0 < worlds.far < 1


def test_every_node_leads_to_later_ones_of_its_tree_and_every_tree_ends(kind):
    worlds = the_worlds(kind)
    trees = worlds.trees
    ends = [*trees.starts[1:].tolist(), len(trees.feature)]
    assert trees.starts[0] == 0
    assert len(trees.feature) == len(trees.threshold) == len(trees.right)
    for start, end in zip(trees.starts.tolist(), ends, strict=True):
        feature, right = trees.feature[start:end], trees.right[start:end].astype(int)
        inner = np.flatnonzero(feature != LEAF)
        assert (feature[inner] < worlds.bins.shape[1]).all()
        # The left side follows its node, the right one comes later; each node but the first has one parent.
        assert (right[inner] > inner + 1).all()
        assert sorted(np.concatenate([inner + 1, right[inner]])) == list(range(1, end - start))


def walk(trees, tree, bins):
    """The leaf that a row reaches, step by step."""
    start = int(trees.starts[tree])
    node = start
    while trees.feature[node] != LEAF:
        goes_left = bins[trees.feature[node]] <= trees.threshold[node]
        node = node + 1 if goes_left else start + int(trees.right[node])
    return node


def test_rows_are_with_a_row_where_walks_reach_the_same_leaf(kind, rng):
    trees = the_worlds(kind).trees
    own, *bins = rng.integers(0, 101, size=(200, len(KINDS[kind]))).astype(np.uint8)
    for tree, found in enumerate(trees.with_row(own, np.array(bins))):
        leaf = walk(trees, tree, own)
        assert found.tolist() == [row for row, each in enumerate(bins) if walk(trees, tree, each) == leaf]


@pytest.fixture
def forest(rng):
    """A forest of scikit-learn over bins, and worlds with the same trees."""
    bins = rng.integers(0, 10, size=(150, 3)).astype(np.uint8)
    forest = RandomForestRegressor(12, min_samples_leaf=4, random_state=0).fit(bins, bins[:, 0] + rng.normal(size=150))
    parts = [each.tree_ for each in forest.estimators_]
    feature, threshold, right = (
        np.concatenate([np.where(part.children_left >= 0, getattr(part, name), other) for part in parts])
        for name, other in (("feature", LEAF), ("threshold", 0), ("children_right", 0))
    )
    starts = np.cumsum([0, *(part.node_count for part in parts[:-1])])
    trees = Trees(starts, feature.astype(np.uint8), threshold.astype(np.uint8), right.astype(np.uint16))
    own = {"edges": np.tile(np.arange(9) + 0.5, (3, 1)), "bins": bins, "trees": trees}
    return forest, replace(the_worlds(), **own)


def test_weights_are_those_of_a_quantile_forest(forest, rng):
    """Meinshausen: in each tree, the worlds in the row's leaf share 1."""
    forest, worlds = forest
    apart = forest.apply(worlds.bins)
    for row in rng.integers(0, 10, size=(15, 3)):
        own = forest.apply(row[np.newaxis])
        truth = np.mean([(leaf == at) / (leaf == at).sum() for leaf, at in zip(apart.T, own[0], strict=True)], axis=0)
        found = worlds.weights(row.astype(float))
        np.testing.assert_allclose(found, truth, atol=1e-12)
        assert found.sum() == pytest.approx(1.0)


def test_a_world_is_at_distance_0_of_itself_and_weighs_in_its_own_answer(kind, rng):
    worlds = the_worlds(kind)
    for world in rng.integers(0, len(worlds.bins), size=5):
        values = values_of(worlds, world)
        assert worlds.distance(values) == 0.0
        weights = worlds.weights(values)
        assert weights.sum() == pytest.approx(1.0)
        assert (weights >= 0.0).all()
        # Every tree has it in the leaf of its own row.
        assert weights[world] >= weights.mean()


def test_summaries_that_no_table_has_are_strange(kind):
    worlds = the_worlds(kind)
    assert worlds.distance(np.where(np.arange(len(KINDS[kind])) % 2, 1e9, -1e9)) > worlds.far


@pytest.mark.parametrize("given", [Given(0.3, 0.5), Given(0.62, 0.62), Given(0.0, 0.25), Given(0.97, 1.0)])
def test_what_is_known_of_the_share_is_met(rng, given):
    summary = table(rng)
    answer = the_worlds().like(summary.rate, summary.values, given)
    found = quantiles(answer)
    assert (found >= max(given.low, summary.rate) - 1e-12).all()
    assert (found <= given.high + 1e-12).all()
    assert (np.diff(found) >= 0).all()
    assert answer.weights.sum() == pytest.approx(1.0)
    if given.low == given.high:
        np.testing.assert_allclose(found, given.low)


def test_a_range_that_says_nothing_changes_nothing(rng):
    summary = table(rng)
    ask = the_worlds().like
    free, known = (ask(summary.rate, summary.values, each) for each in (Given(), Given(summary.rate / 2, 1.0)))
    np.testing.assert_array_equal(quantiles(free), quantiles(known))
    assert summary.rate <= quantiles(free)[0]


def test_a_narrower_range_is_within_the_wider_one(rng):
    summary = table(rng)
    low, high = quantiles(the_worlds().like(summary.rate, summary.values, Given()))[[4, 94]]
    for part in (0.2, 0.5):
        found = quantiles(the_worlds().like(summary.rate, summary.values, Given(low + part * (high - low), high)))
        assert low <= found[4] <= found[94] <= high + 1e-9


def test_labels_at_random_are_answered_by_worlds_where_they_are(rng):
    summary, worlds = table(rng), the_worlds()
    even = np.arange(len(worlds.bins)) % 2 == 0
    # Half of what looks alike is even, and the rest has other shares.
    worlds = replace(worlds, unevenness=np.where(even, 0.0, 1.0), hidden=np.where(even, worlds.hidden, 9.0))
    most = summary.rate + (1 - summary.rate) * expit(9.0)
    answer = worlds.like(summary.rate, summary.values, Given(at_random=True))
    assert answer.shares.max() <= summary.rate + (1 - summary.rate) * expit(worlds.hidden[even].max()) + 1e-12
    assert worlds.like(summary.rate, summary.values, Given()).shares.max() == pytest.approx(most)


def test_labels_unlike_those_of_every_world_have_a_wider_range(rng):
    summary = table(rng)
    near, far = (replace(the_worlds(), far=each).like(summary.rate, summary.values, Given()) for each in (np.inf, -1.0))
    assert (near.strange, far.strange) == (False, True)
    widths = [np.subtract(*quantiles(each)[[94, 4]]) for each in (near, far)]
    assert widths[0] < widths[1]
    assert far.weights.sum() == pytest.approx(1.0)
    # Every share that the labels allow is among them, within what is known.
    known = replace(the_worlds(), far=-1.0).like(summary.rate, summary.values, Given(0.5, 0.8))
    assert 0.5 <= quantiles(known)[0] <= quantiles(known)[-1] <= 0.8
    point = replace(the_worlds(), far=-1.0).like(summary.rate, summary.values, Given(0.5, 0.5))
    np.testing.assert_allclose(quantiles(point), 0.5)


def test_the_range_of_h_is_wider_where_the_share_is_known_but_not_where_negatives_are(rng):
    """By hand: quantiles of what was true in each block of the worlds."""
    worlds, summary = the_worlds(), table(rng)
    ask = partial(worlds.like, summary.rate, summary.values)
    weights, curves = worlds.weights(summary.values), np.clip(worlds.curve / 255.0, 0.004, 0.996)
    for given, (low, high) in {
        Given(): worlds.tails,
        Given(negative=1e-6): worlds.tails,
        Given(high=1.0 - 1e-6): worlds.known_tails,
    }.items():
        found = ask(given)
        for block, values in enumerate(curves.T):
            order = np.argsort(values, kind="stable")
            places = np.cumsum(weights[order]) - 0.5 * weights[order]
            ends = np.interp((low, high), places, values[order])
            np.testing.assert_allclose(expit([found.low[block], found.high[block]]), ends, atol=0.01)
    assert ask(Given(negative=0.5)).shares.max() <= 0.5
