"""JERM and TM against the outputs of their authors' code."""

import numpy as np
import pytest

from conftest import load_problem, reference_files
from propense import JERM, TM

FILES = reference_files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_jerm_meets_its_authors(path):
    problem = load_problem(path)
    model = JERM().fit(problem.X, problem.s)
    assert model.converged_
    np.testing.assert_allclose(model.predict_proba(problem.X_test)[:, 1], problem.jerm_posterior_test, atol=2e-6)
    np.testing.assert_allclose(model.predict_propensity(problem.X), problem.jerm_propensity, atol=2e-6)
    beta = np.concatenate([model.intercept_, model.coef_[0]])
    np.testing.assert_allclose(beta, problem.jerm_beta, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # A hundred rounds, at rest or not.
def test_tm_meets_its_authors(path):
    problem = load_problem(path)
    model = TM().fit(problem.X, problem.s)
    np.testing.assert_allclose(model.predict_proba(problem.X_test)[:, 1], problem.tm_posterior_test, atol=2e-6)
    np.testing.assert_allclose(model.predict_propensity(problem.X), problem.tm_propensity, atol=2e-6)
