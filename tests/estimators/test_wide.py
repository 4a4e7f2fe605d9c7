"""More columns than a p × p matrix may have: every method fits, and makes none."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from conftest import fit, in_few_rounds
from propense import JERM, JointMLE, Naive
from propense._designs.dense import DenseDesign
from propense._designs.sparse import SparseDesign
from propense._maths import linear
from propense._risks import JointRisk, LogisticRisk, PairRisk
from propense._solvers import SOLVERS, mm_early


def text(rng, n, p, per_row=20):
    """Rows of unit length with terms as frequent as words are, and labels that depend on them."""
    chances = 1.0 / np.arange(1, p + 1)
    drawn = rng.choice(p, size=n * per_row, p=chances / chances.sum())
    rows = np.repeat(np.arange(n), per_row)
    X = sp.csr_array((np.ones(n * per_row), (rows, drawn)), shape=(n, p))
    X.data /= np.sqrt(X.multiply(X).sum(axis=1))[np.repeat(np.arange(n), np.diff(X.indptr))]
    score = X @ rng.normal(size=p)
    positive = score + 0.3 * rng.normal(size=n) > np.median(score)
    return X, positive, positive & (rng.random(n) < 0.5)


@pytest.fixture
def no_square(monkeypatch):
    """Anything p × p is refused; of a few of the columns it may be."""

    def unless_wide(make):
        def checked(self, *arguments, **options):
            if self.shape[1] > 1000:
                pytest.fail("a p × p matrix was made")
            return make(self, *arguments, **options)

        return checked

    for design in (SparseDesign, DenseDesign):
        monkeypatch.setattr(design, "gram", unless_wide(design.gram))
        monkeypatch.setattr(design, "curve", unless_wide(design.curve))


@pytest.fixture
def wide(monkeypatch):
    """Every problem is a wide one."""
    monkeypatch.setattr(linear, "WIDE", 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_method_fits_wide_data_without_a_square_matrix(rng, method, no_square):
    X, _, s = text(rng, 60, 4100)
    fit(in_few_rounds(method, 1), X, s)
    assert np.isfinite(method.predict_proba(X)).all()
    assert 0 < method.prior_ <= 1


def test_memory_of_a_wide_fit_is_that_of_a_few_vectors(rng):
    X, _, s = text(rng, 60, 50_000)
    Naive().fit(X, s)
    tracemalloc.start()
    try:
        JERM().fit(X, s)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Forty rows of the p × p matrix.
    assert peak < 40 * 8 * 50_000


RISKS = {
    "logistic": lambda design, s, other: LogisticRisk(design, s, ridge=1.0),
    "joint": lambda design, s, other: JointRisk(design, s, other, ridge=0.5),
    "pair": lambda design, s, other: PairRisk(design, s, ridge=0.5, propensity_ridge=0.7),
    "pair, some columns": lambda design, s, other: PairRisk(design, s, columns=np.array([1, 3]), ridge=0.5),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("risk", RISKS)
def test_products_are_those_of_the_matrices(design_kind, rng, risk, weighted, monkeypatch):
    X = np.round(rng.normal(size=(120, 6)) * 64) / 64
    design = design_kind(X)
    made = RISKS[risk](design, design.send(rng.random(120) < 0.4), design.send(rng.normal(size=120)))
    if weighted:
        made._weights = design.send(rng.random(120))
    size = len(made.units)
    coef, v = rng.normal(size=size), rng.normal(size=size)
    np.testing.assert_allclose(made.curvature(coef)(v), made.hessian(coef) @ v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("risk", RISKS)
def test_steps_are_those_of_the_matrix(design_kind, rng, risk, monkeypatch):
    X, s, other = np.round(rng.normal(size=(120, 6)) * 64) / 64, rng.random(120) < 0.4, rng.normal(size=120)
    design = design_kind(X)
    s, other = design.send(s), design.send(other)
    narrow = RISKS[risk](design, s, other)
    gradients = rng.normal(size=(3, len(narrow.units)))
    majoriser = np.linalg.inv([narrow.majorised_step(e) for e in np.eye(len(narrow.units))])
    monkeypatch.setattr(linear, "WIDE", 0)
    wide = RISKS[risk](design, s, other)
    for gradient in gradients:
        found = wide.majorised_step(gradient)
        error = majoriser @ found - gradient
        assert np.linalg.norm(error) <= 1.1e-3 * np.linalg.norm(gradient) * np.sqrt(2)
        np.testing.assert_array_equal(wide.majorised_step(gradient), found)


@pytest.mark.parametrize("risk", ["logistic", "joint"])
def test_newton_without_the_matrix_meets_newton_with_it(design_kind, rng, risk, monkeypatch):
    X, s, other = np.round(rng.normal(size=(200, 6)) * 64) / 64, rng.random(200) < 0.4, rng.normal(size=200)
    design = design_kind(X)
    made = RISKS[risk](design, design.send(s), design.send(other))
    narrow = SOLVERS["newton"](made, np.zeros(7), tol=1e-10, max_iter=100)
    monkeypatch.setattr(linear, "WIDE", 0)
    monkeypatch.setattr(type(made), "hessian", lambda *_: pytest.fail("a p × p matrix was made"))
    wide = SOLVERS["newton"](made, np.zeros(7), tol=1e-10, max_iter=100)
    assert wide.converged
    np.testing.assert_allclose(wide.coef, narrow.coef, atol=1e-8)


def test_newton_without_the_matrix_leaves_a_saddle(rng, wide):
    X = rng.normal(size=(200, 2))
    risk = JointRisk(SparseDesign(sp.csr_array(X)), rng.random(200) < 0.05, np.full(200, 3.0), ridge=1e-3)
    start = np.array([2.5, 0.5, -0.5])
    assert np.linalg.eigvalsh(risk.hessian(start)).min() < 0
    solution = SOLVERS["newton"](risk, start, tol=1e-8, max_iter=200)
    assert solution.converged
    assert np.linalg.eigvalsh(risk.hessian(solution.coef)).min() > 0


def test_the_lengthened_steps_stop_where_a_published_one_is_small(rng, monkeypatch):
    X, _, s = text(rng, 150, 400)
    exact = JointRisk(SparseDesign(X), s, np.full(150, 0.5))
    slow = mm_early(exact, np.zeros(401), tol=0.01, max_iter=200)
    monkeypatch.setattr(linear, "WIDE", 0)
    fast = mm_early(JointRisk(SparseDesign(X), s, np.full(150, 0.5)), np.zeros(401), tol=0.01, max_iter=200)
    assert fast.converged
    assert fast.n_iter < slow.n_iter / 3
    assert np.abs(exact.majorised_step(exact.gradient(fast.coef))).max() < 0.0101
    scores = np.column_stack([X @ slow.coef[1:], X @ fast.coef[1:]])
    assert np.corrcoef(scores.T)[0, 1] > 0.999


def test_joint_mle_finds_the_same_without_the_matrix(rng, monkeypatch):
    X, _, s = text(rng, 300, 30)
    narrow = JointMLE(n_starts=1).fit(X, s)
    monkeypatch.setattr(linear, "WIDE", 0)
    wide = JointMLE(n_starts=1).fit(X, s)
    assert wide.risk_path_[-1] == pytest.approx(narrow.risk_path_[-1], rel=1e-9)
