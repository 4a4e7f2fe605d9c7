import numpy as np
import pytest

from propense._maths.linear import cholesky_solver, coef_positions


def test_solver_inverts_the_matrix(rng):
    root = rng.normal(size=(9, 7))
    matrix, b = root.T @ root, rng.normal(size=7)
    np.testing.assert_allclose(matrix @ cholesky_solver(matrix)(b), b, rtol=1e-9)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        cholesky_solver(np.diag([1.0, -1.0]))


def test_places_put_the_intercept_first():
    np.testing.assert_array_equal(coef_positions(np.array([0, 2]), 5), [0, 1, 3])
    np.testing.assert_array_equal(coef_positions(np.array([], dtype=np.intp), 5), [0])
    np.testing.assert_array_equal(coef_positions(None, 3), [0, 1, 2])
