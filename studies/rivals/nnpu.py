"""nnPU with a linear model: an estimate of the classification error that may not become negative."""

import numpy as np
from scipy.special import expit

from rivals.base import Mask, Rival, Rows
from rivals.pusb import check_prior

__all__ = ["NNPU", "risks"]

# The step of Adam, and its number of steps; chosen on simulated rows, where more steps change nothing.
_RATE = 0.05
_STEPS = 400
# The weight decay of the authors' code. Without it, the score grows as long as a step can reduce the risk.
_DECAY = 0.005


class NNPU(Rival):
    """A linear score that minimises π R₊(labelled) + max(0, R₋(all) − π R₋(labelled)).

    R₊ and R₋ are the mean losses of calling rows negative and positive by mistake, with the sigmoid loss
    ℓ(z) = σ(−z). The second part estimates the share of negatives that are called positive; where it falls below 0, a
    step increases it again (the paper's Algorithm 1 with β = 0 and γ = 1). π = P(Y=1) must be known; otherwise DEDPUL
    estimates it. "All rows" are the paper's unlabelled sample, which there is drawn apart from the labelled one.

    Left out: neural networks and mini-batches. The probabilities σ(score) have the right threshold, but are not
    calibrated: the sigmoid loss only counts errors.

    Parameters
    ----------
    prior : float, default=None
        π.
    random_state : int, default=None
        The seed of DEDPUL's folds.

    References
    ----------
    R. Kiryo, G. Niu, M. C. du Plessis, M. Sugiyama. Positive-unlabeled learning with non-negative risk estimator.
    NeurIPS 2017.
    """

    def __init__(self, *, prior: float | None = None, random_state: int | None = None) -> None:
        self.prior = prior
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        self.prior_ = check_prior(self.prior, X, labelled, self.random_state)
        design = np.column_stack([np.ones(len(X)), X])
        b = np.zeros(design.shape[1])
        first, second = np.zeros_like(b), np.zeros_like(b)
        for step in range(1, _STEPS + 1):
            _, negatives, up, down = risks(b, design, labelled, self.prior_)
            gradient = (up + down if negatives >= 0 else -down) + _DECAY * b
            # Adam, as in the authors' code.
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            b -= _RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        self.coef_ = b

    def _log_odds(self, X: Rows) -> Rows:
        return np.asarray(self.coef_[0] + X @ self.coef_[1:])


def risks(b: Rows, design: Rows, labelled: Mask, prior: float) -> tuple[float, float, Rows, Rows]:
    """π R₊(labelled), R₋(all) − π R₋(labelled), and the gradients of both."""
    chance = expit(design @ b)
    slope = chance * (1 - chance)
    share = prior * labelled / labelled.sum()
    everyone = np.full(len(design), 1 / len(design))
    missed = float(share @ (1 - chance))
    alarms = float((everyone - share) @ chance)
    return missed, alarms, np.asarray(-design.T @ (share * slope)), np.asarray(design.T @ ((everyone - share) * slope))
