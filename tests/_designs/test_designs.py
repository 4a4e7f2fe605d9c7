"""One file over every kind of design: each law holds wherever the matrix lives."""

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import coarse
from propense._designs import as_design, dense
from propense._designs.dense import DenseDesign
from propense._designs.sparse import SparseDesign
from propense._maths.double_logistic import class_log_odds_shift
from propense._maths.formulas import JOINT, LOGISTIC, PAIR


@pytest.fixture
def X(rng):
    dense_part = coarse(rng.normal(size=(203, 7)))
    return np.where(rng.random(dense_part.shape) < 0.6, dense_part, 0.0)


@pytest.fixture
def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


@pytest.fixture(params=["one block", "blocks of a few rows", "blocks in threads"], autouse=True)
def blocks(request, monkeypatch):
    if request.param != "one block":
        monkeypatch.setattr(dense, "_BLOCK", 40)
        monkeypatch.setattr(dense, "_PIECE", 20)
        if importlib.util.find_spec("torch"):
            from propense._designs.torch import design as torch_design

            monkeypatch.setattr(torch_design, "_BLOCK", 40)
            monkeypatch.setattr(torch_design, "_GRAM_ROWS", 20)
    if request.param == "blocks in threads":
        request.getfixturevalue("two_blas_threads")
        monkeypatch.setattr(dense, "_THREADED", 0)


def test_storage_chooses_the_design(X):
    assert isinstance(as_design(X), DenseDesign)
    assert isinstance(as_design(sp.csr_matrix(X)), SparseDesign)
    assert as_design(X).shape == (203, 8)


def test_products_count_the_intercept_first(design_kind, X, with_ones, rng):
    design, coef, rows = design_kind(X), rng.normal(size=8), rng.normal(size=203)
    np.testing.assert_allclose(design.bring(design.matvec(coef)), with_ones @ coef, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(design.rmatvec(design.send(rows)), with_ones.T @ rows, rtol=1e-12, atol=1e-12)


def test_the_number_of_threads_does_not_change_a_bit(X, blas, rng):
    """Rows are added in shares that do not depend on it."""
    design, coef, targets = as_design(X), rng.normal(size=8), rng.random(203)
    results = []
    for threads in (1, 2):
        with blas.limit(limits=threads):
            results.append([*design.sweep(LOGISTIC, coef, [targets]), design.curve(LOGISTIC, coef, [targets])])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weights", ["none", "positive", "signed"])
def test_gram_is_the_weighted_cross_product(design_kind, X, with_ones, rng, weights):
    w = {"none": np.ones(203), "positive": rng.random(203), "signed": rng.normal(size=203)}[weights]
    design = design_kind(X)
    sent = None if weights == "none" else design.send(w)
    gram = design.gram(sent)
    np.testing.assert_allclose(gram, with_ones.T @ (w[:, None] * with_ones), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(design.squares(sent), np.diag(gram), rtol=1e-11, atol=1e-11)


@pytest.fixture(params=["logistic", "joint", "pair"])
def formula(request, rng):
    """A formula, the rows it takes and the columns of its coefficients."""
    labelled, other = rng.random(203) < 0.4, rng.normal(size=203)
    return {
        "logistic": (LOGISTIC, [labelled * 1.0], ()),
        "joint": (JOINT, [labelled, other, class_log_odds_shift(other, labelled)], ()),
        "pair": (PAIR, [labelled], (2,)),
    }[request.param]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_sweep_is_the_loss_and_its_gradient(design_kind, X, with_ones, rng, formula, weighted):
    formula, rows, columns = formula
    design, coef, w = design_kind(X), rng.normal(size=(8, *columns)), rng.random(203) if weighted else np.ones(203)
    sent = [design.send(each) for each in rows]
    weights = design.send(w) if weighted else None
    total, gradient = design.sweep(formula, coef, sent, weights)
    a = with_ones @ coef
    assert total == pytest.approx(float(w @ formula.loss(a, *rows)), rel=1e-12)
    expected = with_ones.T @ (w * formula.slope(a, *rows).T).T
    assert (gradient.shape, gradient.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-11)
    nothing, same = design.sweep(formula, coef, sent, weights, value=False)
    assert nothing == 0.0
    np.testing.assert_array_equal(same, gradient)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_curve_is_the_gram_of_the_curvature(design_kind, X, with_ones, rng, formula, weighted):
    formula, rows, columns = formula
    design, coef, w = design_kind(X), rng.normal(size=(8, *columns)), rng.random(203) if weighted else np.ones(203)
    found = design.curve(formula, coef, [design.send(each) for each in rows], design.send(w) if weighted else None)
    curvature = (w * formula.curvature(with_ones @ coef, *rows).T).T
    expected = np.einsum("ij,i...,ik->...jk", with_ones, curvature, with_ones)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_rows_are_moved_held_picked_and_gathered(design_kind, X, rng):
    design, values = design_kind(X), rng.normal(size=203)
    rows = design.hold(design.send(values))
    np.testing.assert_array_equal(design.bring(rows), values)
    np.testing.assert_array_equal(design.pick(rows, np.array([5, 200, 5])), values[[5, 200, 5]])
    fifths = design.bring(design.ranked(rows > 0, np.arange(0, (values > 0).sum(), 5)))
    np.testing.assert_array_equal(np.flatnonzero(fifths), np.flatnonzero(values > 0)[::5])
    positive, all_rows = design.gather(_positive_and_all, rows)
    np.testing.assert_array_equal(positive, values[values > 0])
    np.testing.assert_array_equal(all_rows, values)
    for classes in (np.array([-1, 1]), np.array([False, True]), np.array(["ill", "well"])):
        named = design.bring(design.name(rows > 0, classes))
        np.testing.assert_array_equal(named, classes[(values > 0) * 1], strict=True)


def _positive_and_all(rows):
    return rows[rows > 0], rows


def test_take_keeps_the_rows_of_a_mask(design_kind, X, with_ones, rng):
    mask, coef = rng.random(203) < 0.3, rng.normal(size=8)
    design = design_kind(X)
    taken = design.take(design.send(mask))
    assert taken.shape == (mask.sum(), 8)
    np.testing.assert_allclose(taken.bring(taken.matvec(coef)), (with_ones @ coef)[mask], rtol=1e-12, atol=1e-12)


def test_nearest_is_the_closest_row_of_the_pool(design_kind, X):
    mask = np.arange(len(X)) % 3 == 0
    design = design_kind(X)
    found = design.nearest(design.send(mask), design.send(~mask))
    assert not mask[found].any()
    distances = ((X[mask][:, None] - X[None]) ** 2).sum(axis=2)
    distances[:, mask] = np.inf
    np.testing.assert_array_equal(found, distances.argmin(axis=1))


def test_nothing_is_written_to_the_matrix(design_kind, X, rng):
    kept = X.copy()
    X.flags.writeable = False
    design = design_kind(X)
    design.gram(design.send(rng.random(203)))
    design.nearest(design.send(np.arange(203) < 50), design.send(np.arange(203) >= 50))
    np.testing.assert_array_equal(X, kept)


def test_columns_keep_the_intercept_and_the_rows(design_kind, X, with_ones, rng):
    design, coef = design_kind(X), rng.normal(size=3)
    some = design.columns(np.array([1, 4]))
    assert some.shape == (203, 3)
    np.testing.assert_allclose(some.bring(some.matvec(coef)), with_ones[:, [0, 2, 5]] @ coef, rtol=1e-12, atol=1e-12)
    queries = rng.random(203) < 0.2
    pool = ~queries & (rng.random(203) < 0.9)
    away = ((X[queries][:, None, [1, 4]] - X[pool][:, [1, 4]]) ** 2).sum(2)
    found = some.nearest(design.send(queries), design.send(pool))
    np.testing.assert_array_equal(found, np.flatnonzero(pool)[away.argmin(1)])
    nothing = design.columns(np.array([], dtype=np.intp))
    np.testing.assert_array_equal(nothing.bring(nothing.matvec(np.array([2.0]))), np.full(203, 2.0))
    np.testing.assert_allclose(nothing.gram(None), [[203.0]])


def test_features_are_what_was_passed(design_kind, X):
    features = design_kind(X).features
    if hasattr(features, "compute"):
        features = features.compute()
    np.testing.assert_array_equal(features.toarray() if sp.issparse(features) else features, X)
