"""Pointwise formulas: arrays in, arrays out; no feature matrix, no state."""
