"""What a method finds."""

from dataclasses import dataclass

from propense._diagnostics.doubts import Doubt
from propense._steps.predictors import Predictor

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), how it got there, and what it doubts of its own accord."""

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]
    doubts: tuple[Doubt, ...] = ()
    # log(1 − d), d the share of the negatives that are known to be; 0 where none are.
    log_unknown: float = 0.0
