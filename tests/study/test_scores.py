"""The scores of a study are scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from propense.study.scores import area_under_curve, classification_scores, log_loss


@st.composite
def predictions(draw):
    """At least one row of each class; scores with ties, and chances of exactly 0 and 1."""
    n = draw(st.integers(2, 40))
    truth = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    truth[:2] = True, False
    chance = np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=n, max_size=n)))
    return truth, chance


@pytest.mark.slow
@given(predictions())
def test_scores_are_scikit_learns(case):
    truth, chance = case
    predicted = chance >= 0.5
    assert classification_scores(truth, predicted) == pytest.approx(
        (
            metrics.balanced_accuracy_score(truth, predicted),
            metrics.accuracy_score(truth, predicted),
            metrics.f1_score(truth, predicted, zero_division=0.0),
        ),
        abs=1e-12,
    )
    assert area_under_curve(truth, chance) == pytest.approx(metrics.roc_auc_score(truth, chance), abs=1e-12)
    inside = np.clip(chance, 1e-6, 1 - 1e-6)
    assert log_loss(truth, inside) == pytest.approx(metrics.log_loss(truth, inside, labels=[False, True]), abs=1e-9)


def test_a_certain_mistake_costs_a_bounded_loss():
    assert log_loss(np.array([True, False]), np.array([0.0, 1.0])) == pytest.approx(-np.log(1e-15))
