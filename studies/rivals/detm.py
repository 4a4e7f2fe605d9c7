"""DETM: unlabelled positives and negatives are both exponential tilts of the labelled positives."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp
from scipy.stats import norm
from sklearn.cluster import KMeans

from rivals.base import Mask, Rival, Rows, label_regression

__all__ = ["DETM", "likelihood"]

# The bound of the authors on every coefficient; where groups hardly overlap, the likelihood grows without end.
_LARGEST = 15.0


class DETM(Rival):
    """The double exponential tilting model, by maximum empirical likelihood.

    With f₁, f₂ and f₃ the densities of labelled positives, unlabelled positives and negatives, f₂ = f₁ exp(α₁ + β₁ᵀx)
    and f₃ = f₁ exp(α₂ + β₂ᵀx). Unlabelled rows follow π f₂ + (1 − π) f₃. Profiled over f₁, the empirical likelihood of
    n labelled and m unlabelled rows is that of a regression of the label: P(S=1 | x) = 1 / (1 + e^a + e^b) with
    a = α₁ + log(π m/n) + β₁ᵀx, and b likewise with 1 − π. Then e(x) = 1 / (1 + e^a) and
    y(x) = (1 + e^a) / (1 + e^a + e^b). The paper climbs this likelihood by EM, here L-BFGS does. It has
    several maxima, and where the two start decides which one they reach.

    The likelihood does not say which tilt belongs to the positives. The one under which labelled rows are more likely
    is taken. Left out: the tests of the paper. Its intervals invert a ratio of likelihoods; here, that of P(Y=1) comes
    from the information, to first order, in log-odds.

    Parameters
    ----------
    starts : int, default=3
        Starting points: labels at random, two clusters of the unlabelled rows, then random ones. The most likely end
        counts.
    random_state : int, default=None
        Their seed.

    References
    ----------
    S. Liu, C.-K. Yeh, X. Zhang, Q. Tian, P. Li. Positive and unlabeled data: model, estimation, inference, and
    classification. Journal of the American Statistical Association 2025, arXiv:2407.09735.
    """

    def __init__(self, *, starts: int = 3, random_state: int | None = None) -> None:
        self.starts = starts
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        design = np.column_stack([np.ones(len(X)), X])
        k = design.shape[1]
        bounds = [(None, None), *[(-_LARGEST, _LARGEST)] * (k - 1)] * 2
        rng = np.random.default_rng(self.random_state)
        ends = []
        options = {"maxiter": 1000, "maxfun": 2000, "ftol": 1e-12}
        for start in range(max(self.starts, 1)):
            theta = _at_random(X, labelled) if start == 0 else rng.normal(size=2 * k)
            theta = _clusters(X, labelled, rng) if start == 1 else theta
            ends.append(
                minimize(likelihood, theta, (design, labelled), "L-BFGS-B", jac=True, bounds=bounds, options=options)
            )
        best = min(ends, key=lambda end: float(end.fun))
        a, b = best.x.reshape(2, k)
        if _closeness(b, design, labelled) > _closeness(a, design, labelled):
            a, b = b, a
        self.positive_coef_, self.negative_coef_ = a, b
        self.loss_ = float(best.fun)
        self.converged_ = bool(best.success)
        self.prior_ = float(np.exp(-np.logaddexp(0, -self._tilted(design))).mean())
        self.prior_error_ = self._error(design)

    def prior_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval of P(Y=1) of the rows of fit."""
        far = norm.ppf(0.5 + 0.5 * level) * self.prior_error_
        low, high = expit(logit(self.prior_) + np.array([-far, far]))
        return float(low), float(high)

    def _error(self, design: Rows) -> float:
        """The standard error of the log-odds of P(Y=1), the mean of y = 1 − P_b."""
        a, b = design @ self.positive_coef_, design @ self.negative_coef_
        every = np.logaddexp(0, np.logaddexp(a, b))
        own, positive, negative = np.exp(-every), np.exp(a - every), np.exp(b - every)
        # The label is a regression on log(e^a + e^b), of which a moves the share q, and b the rest.
        q = expit(a - b)[:, None]
        slopes = np.hstack([q * design, (1 - q) * design])
        information = slopes.T @ ((own * (1 - own))[:, None] * slopes)
        # Directions without information make the interval wide, not the program fail.
        information += np.eye(len(information)) * 1e-9 * max(float(np.trace(information)), 1e-9)
        moves = np.hstack([(positive * negative) @ design, -(negative * (1 - negative)) @ design]) / len(design)
        y = 1 - negative
        variance = moves @ np.linalg.solve(information, moves) + y.var() / len(design)
        return float(np.sqrt(variance) / max(y.mean() * (1 - y.mean()), 1e-9))

    def _tilted(self, design: Rows) -> Rows:
        """Log-odds of y: log(1 + e^a) − b."""
        return np.asarray(np.logaddexp(0, design @ self.positive_coef_) - design @ self.negative_coef_)

    def _log_odds(self, X: Rows) -> Rows:
        return self._tilted(np.column_stack([np.ones(len(X)), X]))

    def predict_propensity(self, X: Rows) -> Rows:
        """e(x) = 1 / (1 + e^a)."""
        X = self._prepare(X)
        return np.asarray(np.exp(-np.logaddexp(0, self.positive_coef_[0] + X @ self.positive_coef_[1:])))


def likelihood(theta: Rows, design: Rows, labelled: Mask) -> tuple[float, Rows]:
    """The mean of −log P(s | x), and its gradient by (a, b)."""
    k = design.shape[1]
    both = design @ theta.reshape(2, k).T
    # log(e^a + e^b), and log(1 + e^a + e^b).
    tilts = logsumexp(both, axis=1)
    every = np.logaddexp(0, tilts)
    value = (every - np.where(labelled, 0.0, tilts)).mean()
    # P(tilt | x), less P(tilt | x, S=0) for unlabelled rows.
    pull = np.exp(both - every[:, None]) - np.where(labelled[:, None], 0.0, np.exp(both - tilts[:, None]))
    return float(value), np.asarray((design.T @ pull / len(design)).T.ravel())


def _at_random(X: Rows, labelled: Mask) -> Rows:
    """Labels at random, half of the unlabelled rows positive: a is constant, and b the log-odds of being unlabelled."""
    k = X.shape[1] + 1
    theta = np.zeros(2 * k)
    theta[0] = np.log(0.5 * (~labelled).sum() / labelled.sum())
    label = label_regression(X, labelled)
    theta[k] = -label.intercept_[0]
    theta[k + 1 :] = -label.coef_[0]
    return theta


def _clusters(X: Rows, labelled: Mask, rng: np.random.Generator) -> Rows:
    """The unlabelled rows in two clusters: a and b are the log-odds of each against the labelled rows."""
    groups = np.zeros(len(X), dtype=np.intp)
    seed = int(rng.integers(2**31))
    groups[~labelled] = 1 + KMeans(min(2, int((~labelled).sum())), n_init=1, random_state=seed).fit_predict(
        X[~labelled]
    )
    theta = []
    for group in (1, 2):
        some = (groups == 0) | (groups == group)
        # A cluster may be empty where all unlabelled rows are equal.
        if len(np.unique(groups[some])) < 2:
            return _at_random(X, labelled)
        found = label_regression(X[some], groups[some] == group)
        theta += [found.intercept_, found.coef_[0]]
    return np.concatenate(theta)


def _closeness(coef: Rows, design: Rows, labelled: Mask) -> float:
    """Minus the divergence of a tilt from the labelled rows: mean_labelled of log(f_tilt / f₁).

    The tilt is normalised by its mean over labelled rows, so that its share of the rows does not count.
    """
    log_ratio = design[labelled] @ coef
    return float(log_ratio.mean() - logsumexp(log_ratio) + np.log(len(log_ratio)))
