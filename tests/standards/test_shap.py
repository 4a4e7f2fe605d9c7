"""SHAP: base and values add up to h(x); of linear log-odds they are the reasons of propense."""

import numpy as np
import pytest

shap = pytest.importorskip("shap", reason="needs shap")

from propense import JERM, reasons  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
DATA = make_double_logistic(400, 4, random_state=0)
MODEL = JERM(random_state=0).fit(DATA.X, DATA.labelled)


def test_values_add_up_to_the_chance_of_a_hidden_positive():
    found = shap.Explainer(MODEL.predict_hidden, DATA.X[:50])(DATA.X[50:60])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, MODEL.predict_hidden(DATA.X[50:60]), atol=1e-8)
    assert np.abs(found.values).max() > 0.01


def test_values_of_linear_log_odds_are_the_reasons():
    mean = DATA.X.mean(axis=0, keepdims=True)
    found = shap.Explainer(MODEL.decision_function, mean)(DATA.X[:10])
    np.testing.assert_allclose(found.values, reasons(MODEL, DATA.X[:10]).posterior, atol=1e-8)
