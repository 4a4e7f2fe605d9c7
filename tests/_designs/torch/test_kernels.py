"""The kernels against NumPy: on a device where there is one, else as Triton interprets them."""

import os

import numpy as np
import pytest

from conftest import coarse

torch = pytest.importorskip("torch")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    # Read when Triton is imported.
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from propense._designs.torch import kernels as kernels  # noqa: E402
from propense._maths.double_logistic import class_log_odds_shift  # noqa: E402
from propense._maths.formulas import JOINT, LOGISTIC  # noqa: E402

# Interpreted, e⁻ᵗ overflows with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def send(values, dtype=None):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


@pytest.fixture(params=["float32", "float64", "rows apart"])
def matrix(request, rng):
    """Features as NumPy has them, and on the device."""

    def make(n, p):
        X = coarse(rng.normal(size=(n, p)))
        if request.param == "rows apart":
            return X, send(np.column_stack([X, X]))[:, :p]
        return X, send(X, getattr(torch, request.param))

    return make


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    if DEVICE == "cpu":
        monkeypatch.setattr(kernels, "TILE", 256)
        monkeypatch.setattr(kernels, "PROGRAMS", 2)
        monkeypatch.setattr(kernels, "_ROWS", 32)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["logistic", "joint"])
@pytest.mark.parametrize(("n", "p"), [(203, 7), (1, 3), (5, 33), (64, 16), (7, 300)])
def test_a_sweep_is_the_loss_and_its_gradient(matrix, rng, n, p, name, weighted):
    X, features = matrix(n, p)
    labelled, other, coef = rng.random(n) < 0.4, rng.normal(size=n) * 3, rng.normal(size=p + 1)
    w = rng.random(n) if weighted else np.ones(n)
    formula, rows = {
        "logistic": (LOGISTIC, [rng.random(n)]),
        "joint": (JOINT, [labelled, other, class_log_odds_shift(other, labelled)]),
    }[name]
    a = np.column_stack([np.ones(n), X]) @ coef
    weights = send(w) if weighted else None
    found = kernels.sweep(features, name, send(coef), [send(row) for row in rows], weights, value=True)
    gradient = np.column_stack([np.ones(n), X]).T @ (w * formula.slope(a, *rows))
    np.testing.assert_allclose(float(found[0]), w @ formula.loss(a, *rows), rtol=1e-12)
    np.testing.assert_allclose(found[1:].cpu(), gradient, rtol=1e-11, atol=1e-11)
    alone = kernels.sweep(features, name, send(coef), [send(row) for row in rows], weights, value=False)
    assert float(alone[0]) == 0.0
    assert torch.equal(alone[1:], found[1:])


@pytest.mark.slow
@pytest.mark.parametrize("other", [np.inf, -np.inf, 800.0, -800.0, 40.0])
@pytest.mark.parametrize("name", ["logistic", "joint"])
def test_losses_are_exact_where_exponentials_are_not(name, other):
    a = np.array([-800.0, -300.0, -37.0, -3.0, -1e-9, 0.0, 0.5, 20.0, 37.0, 60.0, 300.0, 800.0])
    b = np.full(len(a), other)
    for labelled in (np.zeros(len(a), dtype=bool), np.ones(len(a), dtype=bool)):
        if labelled.all() and other == -np.inf:
            continue  # Impossible, and refused where it is read.
        formula, rows = {
            "logistic": (LOGISTIC, [labelled * 1.0]),
            "joint": (JOINT, [labelled, b, class_log_odds_shift(b, labelled)]),
        }[name]
        truth = formula.loss(a, *rows)
        for each, expected, *row in zip(a, truth, *rows, strict=True):
            features, sent = send([[each], [0.0]]), [send(np.array([value, value])) for value in row]
            # The second row weighs nothing: what is left is the loss of the first.
            weights = send([1.0, 0.0])
            found = kernels.sweep(features, name, send([0.0, 1.0]), sent, weights, value=True).cpu().numpy()
            np.testing.assert_allclose(found[0], expected, rtol=1e-13, atol=1e-300)
            slope = formula.slope(np.array([each]), *(np.array([value]) for value in row))
            np.testing.assert_allclose(found[2], slope[0] * each, rtol=1e-13, atol=1e-13)


def test_products_are_those_of_numpy(matrix, rng):
    X, features = matrix(50, 20)
    slopes = rng.normal(size=20)
    np.testing.assert_allclose(kernels.products(features, send(slopes)).cpu(), X @ slopes, rtol=1e-12, atol=1e-12)


def test_the_kernels_know_what_they_read(rng):
    X = send(rng.normal(size=(10, 6)))
    assert kernels.suit(X)
    assert kernels.suit(X[:, :1])
    assert not kernels.suit(X.T)
    assert not kernels.suit(send(np.zeros((2, 1025))))
    assert kernels.knows("joint")
    assert not kernels.knows("pair")
