"""What a method finds."""

from dataclasses import dataclass

from propense._diagnostics.doubts import Doubt
from propense._steps.predictors import Predictor

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), how the fit went, and the doubts that only the method can raise."""

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]
    doubts: tuple[Doubt, ...] = ()
    # log(1 − d), where d is the share of negatives that are known.
    log_unknown: float = 0.0
