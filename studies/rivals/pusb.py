"""PUSB: rank by an estimated density ratio, and call as many rows positive as there are positives."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rivals.base import Mask, Rival, Rows
from rivals.dedpul import population_share

__all__ = ["PUSB", "fit_ratio", "pseudo_risk"]


class PUSB(Rival):
    """A linear score that grows with the density ratio of labelled rows to all rows, cut at a quantile.

    If rows that are more likely to be positive are also more likely to be labelled, this ratio and y(x) put the rows in
    the same order (Theorem 1 of the paper). The score g minimises the risk
    −π mean_labelled(g) + mean_all(log(1 + e^g)) + λ‖b‖², and rows above its (1 − π)-quantile over all rows are called
    positive. π = P(Y=1) must be known; otherwise DEDPUL estimates it. "All rows" are the paper's unlabelled sample,
    which there is drawn apart from the labelled one.

    Left out: Gaussian kernels with a cross-validated width; the score is linear. The probabilities σ(g − θ) have the
    right order and threshold only.

    Parameters
    ----------
    prior : float, default=None
        π.
    ridge : float, default=0.1
        λ. The authors choose it by cross-validation, between 0.001 and 5. Below 0.1, their code stops before the risk
        is at its minimum: its gradient has half of the penalty.
    random_state : int, default=None
        The seed of DEDPUL's folds.

    References
    ----------
    M. Kato, T. Teshima, J. Honda. Learning from positive and unlabeled data with a selection bias. ICLR 2019.
    """

    def __init__(self, *, prior: float | None = None, ridge: float = 0.1, random_state: int | None = None) -> None:
        self.prior = prior
        self.ridge = ridge
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        self.prior_ = check_prior(self.prior, X, labelled, self.random_state)
        design = np.column_stack([np.ones(len(X)), X])
        self.coef_ = fit_ratio(design, design[labelled].mean(axis=0), self.prior_, self.ridge)
        self.threshold_ = float(np.quantile(design @ self.coef_, 1 - self.prior_))

    def _log_odds(self, X: Rows) -> Rows:
        return np.asarray(self.coef_[0] + X @ self.coef_[1:] - self.threshold_)


def check_prior(prior: float | None, X: Rows, labelled: Mask, random_state: int | None) -> float:
    """P(Y=1) as given, or by DEDPUL."""
    if prior is None:
        return population_share(X, labelled, random_state)
    if not 0 < prior < 1:
        raise ValueError(f"prior={prior!r} is not between 0 and 1; None estimates it.")
    return float(prior)


def pseudo_risk(b: Rows, design: Rows, centre: Rows, prior: float, ridge: float) -> tuple[float, Rows]:
    """The risk −π centreᵀb + mean log(1 + e^g) + λ‖b‖² and its gradient, with g = design · b."""
    g = design @ b
    value = -prior * (centre @ b) + np.logaddexp(0, g).mean() + ridge * (b @ b)
    return float(value), np.asarray(-prior * centre + design.T @ expit(g) / len(g) + 2 * ridge * b)


def fit_ratio(design: Rows, centre: Rows, prior: float, ridge: float) -> Rows:
    """The coefficients that minimise the risk; `centre` is the mean of the labelled rows of the design."""
    start = np.zeros(design.shape[1])
    found = minimize(
        pseudo_risk,
        start,
        (design, centre, prior, ridge),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": 1000, "gtol": 1e-7},
    )
    return np.asarray(found.x)
