"""Designs over torch tensors; imported where one is seen."""
