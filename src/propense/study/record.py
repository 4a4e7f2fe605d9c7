"""What is measured of a cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Record", "rounds_of"]


@dataclass(frozen=True)
class Record:
    """What was measured of a cell. The errors of e(x) and of the prior are on training rows, all else on test rows.

    If a cell could not be measured, `error` says why and the scores are None. `more` has the further measures of
    natural labels, by name.
    """

    balanced_accuracy: float | None = None
    accuracy: float | None = None
    auc: float | None = None
    f1: float | None = None
    log_loss: float | None = None
    propensity_error: float | None = None
    prior_error: float | None = None
    seconds: float | None = None
    rounds: int | None = None
    converged: bool | None = None
    error: str | None = None
    more: dict[str, float] | None = None


def rounds_of(n_iter: Any) -> int | None:
    """The number of iterations, or the largest if there are several, as in some of scikit-learn's estimators."""
    return None if n_iter is None or np.size(n_iter) == 0 else int(np.max(n_iter))
