"""Evaluate and tune models from labels and propensities, without known negatives.

With e(x) = P(S=1 | Y=1, x), a labelled row stands for 1/e(x) positives like it. So recall can be estimated without any
known negative, and with the prior also precision and balanced accuracy. The joint risk does not use predicted classes:
it measures how badly y(x)·e(x) predicts which rows are labelled.
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
