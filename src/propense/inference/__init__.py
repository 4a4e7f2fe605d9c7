"""How sure one can be of a fit, and of what it rests on."""

from propense.inference.scar import ScarTest, scar_test

__all__ = ["ScarTest", "scar_test"]
