"""What a list of rows to review is ordered by."""

from propense.estimators._base import BasePUClassifier
from propense.estimators._naive import Naive
from propense.estimators._pu import PUClassifier

__all__ = ["lists_by_class"]


def lists_by_class(estimator: BasePUClassifier) -> bool:
    """Whether lists are ordered by y, and not by h.

    They are where y and h both rise with one label score. In all other methods, and where e has columns of its own, y
    does not say which positives are likely to be unlabelled. `Naive` has no h.
    """
    along = isinstance(estimator, PUClassifier)
    named = getattr(estimator, "propensity_features", None)
    return isinstance(estimator, Naive) or (along and (named is None or not len(named)))
