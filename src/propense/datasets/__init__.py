"""Data to try the methods on."""

from propense.datasets.synthetic import DoubleLogistic, make_double_logistic

__all__ = ["DoubleLogistic", "make_double_logistic"]
