"""Learning from positive and unlabelled data when the chance of a label depends on the instance."""

from propense.estimators import JERM, Naive, Oracle

__all__ = ["JERM", "Naive", "Oracle", "__version__"]

__version__ = "0.1.0"
