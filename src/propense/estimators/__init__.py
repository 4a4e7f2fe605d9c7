"""The scikit-learn face: one method, one file."""

from propense.estimators._jerm import JERM
from propense.estimators._naive import Naive
from propense.estimators._oracle import Oracle

__all__ = ["JERM", "Naive", "Oracle"]
