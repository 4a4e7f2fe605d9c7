"""What a method finds."""

from dataclasses import dataclass, field
from typing import Any

from propense._diagnostics.doubts import Doubt
from propense._steps.predictors import Predictor

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), how the fit went, the doubts it raised, and what else to keep."""

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]
    doubts: tuple[Doubt, ...] = ()
    # log(1 − d), where d is the share of negatives that are known.
    log_unknown: float = 0.0
    # Further fitted attributes, by name; the method's description lists them.
    kept: dict[str, Any] = field(default_factory=dict)
