"""The search on tensors against brute force, in plain products and, where Triton is there, in its kernels."""

import importlib.util
import os

import numpy as np
import pytest

from clouds import CLOUDS, TIES, brute_force, halves, squared_distances

torch = pytest.importorskip("torch")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    # Read when Triton is imported.
    os.environ["TRITON_INTERPRET"] = "1"

from propense._designs.torch import neighbours as neighbours  # noqa: E402

# Interpreted, what only fills up a block is 0 · ∞.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TRITON = importlib.util.find_spec("triton") is not None


KERNELS = pytest.param("kernels", marks=[pytest.mark.slow, pytest.mark.skipif(not TRITON, reason="needs triton")])


# Interpreted kernels are slow, and what is a tile is none of their business.
@pytest.fixture(params=["plain", pytest.param("plain, many tiles", marks=pytest.mark.slow), KERNELS])
def way(request, monkeypatch):
    kernels = None
    if request.param == "kernels":
        from propense._designs.torch import neighbour_kernels as kernels
    monkeypatch.setattr(neighbours, "_kernels_for", lambda features: kernels)
    if request.param == "plain, many tiles":
        for name, size in (("_FIRST", 16), ("_QUERIES", 40), ("_CANDIDATES", 256), ("_TILE", 2000)):
            monkeypatch.setattr(neighbours, name, size)
        monkeypatch.setattr(neighbours, "_PAIRS", 8)
        monkeypatch.setattr(neighbours, "_COPIED", 1)


@pytest.fixture(params=["coarse", "split"])
def precision(request, monkeypatch):
    monkeypatch.setattr(neighbours, "_FEW_COLUMNS", 0 if request.param == "coarse" else 10_000)


def search(X, queries, pool):
    X = torch.from_numpy(X).to(DEVICE)
    queries, pool = (torch.from_numpy(index).to(DEVICE) for index in (queries, pool))
    return neighbours.nearest_tensor(X, queries, pool).cpu().numpy()


def repeated(X, times):
    """More rows of the same kind, so that there are several blocks of candidates."""
    rng = np.random.default_rng(1)
    scale = np.abs(X).max() / 100
    return np.concatenate([X, *(X + scale * rng.normal(size=X.shape) for _ in range(times))]).astype(X.dtype)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_nobody_in_the_pool_is_nearer(way, precision, rng, cloud):
    X = CLOUDS[cloud](rng)
    if cloud == "normal":
        X = repeated(X, 2)
    queries, pool = halves(len(X))
    scaled = X.astype(np.float64) / np.abs(X.astype(np.float64)).max()
    found = search(X, queries, pool)
    assert np.isin(found, pool).all()
    distances = ((scaled[queries] - scaled[found]) ** 2).sum(axis=1)
    best = squared_distances(scaled, queries, pool, brute_force(scaled, queries, pool))
    np.testing.assert_allclose(distances, best, rtol=1e-14)


@pytest.mark.parametrize("ties", TIES)
def test_ties_go_to_the_lowest_row(way, rng, ties):
    X = np.concatenate([TIES[ties](rng) for _ in range(2)])
    queries, pool = halves(len(X))
    np.testing.assert_array_equal(search(X, queries, pool), pool[brute_force(X, queries, pool)])


def test_columns_may_lie_apart(way, rng):
    X = np.asfortranarray(rng.normal(size=(300, 6)))
    queries, pool = halves(300)
    np.testing.assert_array_equal(search(X, queries, pool), pool[brute_force(X, queries, pool)])


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_bounds_are_below_the_truth_and_close_to_it(way, precision, rng, far):
    X = rng.normal(size=(600, 30)) * 3 + far
    queries, pool = halves(600)
    features, sent = torch.from_numpy(X).to(DEVICE), [torch.from_numpy(each).to(DEVICE) for each in (queries, pool)]
    space = neighbours.Space(features, *sent)
    split = neighbours._FEW_COLUMNS > 0
    operand = neighbours.make_operand(space, sent[0], split, left=True)
    lowest = space.lowest(operand, split).double() - operand.bias[:, None]
    distances = ((X[queries][:, None] - X[pool][None]) ** 2).sum(axis=2) * space.unit**2
    least = np.stack([distances[:, at : at + 256].min(axis=1) for at in range(0, len(pool), 256)], axis=1)
    gap = least - lowest.cpu().numpy()
    assert (gap >= 0).all()
    assert gap.max() < (5e-4 if split else 0.02) * distances.std()


def test_a_blunt_screen_is_sharpened(monkeypatch, rng):
    """Rows near a plane in many columns: their norms say little of their distances."""
    X = rng.normal(size=(2400, 2)) @ rng.normal(size=(2, 80)) + 1e-4 * rng.normal(size=(2400, 80))
    queries, pool = halves(2400)
    for name, size in (("BLOCK", 16), ("_FIRST", 64), ("_QUERIES", 256), ("_MANY_LEFT", 0.5)):
        monkeypatch.setattr(neighbours, name, size)
    monkeypatch.setattr(neighbours, "_kernels_for", lambda features: None)
    left = []
    made = neighbours._search

    def watched(space, which, split):
        found = made(space, which, split)
        left.append(found[1] / len(found[0]))
        return found

    monkeypatch.setattr(neighbours, "_search", watched)
    np.testing.assert_array_equal(search(X, queries, pool), pool[brute_force(X, queries, pool)])
    assert max(left[1:]) < 0.5 * left[0]
