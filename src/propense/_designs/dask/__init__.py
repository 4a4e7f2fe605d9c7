"""Designs over Dask arrays; imported where one is seen."""
