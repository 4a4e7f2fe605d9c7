"""Judging and tuning without negatives: what can be said of a model from labels and propensities alone.

With e(x) = P(S=1 | Y=1, x), a labelled row stands for 1/e(x) positives like it. So recall can be estimated where no
negative is known, and with the prior also precision and balanced accuracy. The joint risk needs no classification: it
is how badly y(x)·e(x) foretells who is labelled.
"""

from propense.metrics._joint import joint_brier, joint_risk
from propense.metrics._scorers import get_scorer, get_scorer_names
from propense.metrics._shares import lee_liu_score, sar_balanced_accuracy, sar_precision, sar_recall

__all__ = [
    "get_scorer",
    "get_scorer_names",
    "joint_brier",
    "joint_risk",
    "lee_liu_score",
    "sar_balanced_accuracy",
    "sar_precision",
    "sar_recall",
]
