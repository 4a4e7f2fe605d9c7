"""Where the feature matrix lives."""

from propense._designs.base import Design, as_design

__all__ = ["Design", "as_design"]
