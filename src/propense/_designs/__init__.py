"""Where the feature matrix lives."""

from propense._designs.base import Design, Predictor, as_design, column_moments, column_scales

__all__ = ["Design", "Predictor", "as_design", "column_moments", "column_scales"]
