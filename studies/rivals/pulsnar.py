"""PULSNAR: labelled rows in clusters, and in each cluster the share of positives as if its labels were at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import beta
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold

from rivals.base import Mask, Rival, Rows

__all__ = ["PULSNAR", "Share", "beta_density", "clusters_of", "number_of_clusters"]

# The authors': the widest bandwidth, the most bins, the shares tried.
_WIDEST = 0.5
_MOST_BINS = 512
_SHARES = np.arange(10_000) / 10_000
# Cells that stand for the probabilities of all rows under a kernel; n does not matter then.
_CELLS = 2000
# Where columns are cut for trees, which see the order of values only. Their own cuts would be weighted like the rows,
# and finding those takes a hundred times as long as the trees.
_CUTS = np.arange(1, 255) / 255
_TINY = np.finfo(np.float64).tiny


class PULSNAR(Rival):
    """Positive unlabelled learning, selected not at random.

    Labelled rows fall into clusters (a Gaussian mixture on columns that are weighted by their importance; their number
    by the Bayesian information criterion). Within a cluster labels are taken to be at random: a classifier
    distinguishes its labelled rows from all unlabelled ones, with equal weights in sum and out of fold, and α_k is the
    largest share for which f_unlabelled − α f_labelled ≥ 0, where f are beta-kernel densities of the predicted
    probabilities above ½. It shows as the sharpest bend of log|min(f_unlabelled − α f_labelled)|. The share of
    positives among the unlabelled rows is Σ α_k, and P(Y=1 | x, S=0) = Σ α_k f_k,labelled / f_k,unlabelled, at most 1.

    Left out: calibration by flipped labels (the ratio of the same densities takes its place), XGBoost (scikit-learn's
    boosted trees; importance by extra trees), and the second and third of three rules for the number of clusters.

    Parameters
    ----------
    classifier : {"boosted", "linear"}, default="boosted"
        What distinguishes labelled from unlabelled rows.
    max_clusters : int, default=10
        The most clusters of labelled rows; 1 is the authors' PULSCAR, for labels at random.
    folds : int, default=5
        Folds of the classifiers.
    narrowest : float, default=0.015
        The narrowest bandwidth of the densities; the share that is found depends on it. The authors choose it for each
        data set, between 0.01 and 0.15. The default is their choice for simulated labels that are not at random.
    random_state : int, default=None
        The seed of folds, trees and clusters.

    References
    ----------
    P. Kumar, C. G. Lambert. PULSNAR: class proportion estimation without the selected completely at random assumption.
    PeerJ Computer Science 2024, arXiv:2303.08269.
    """

    def __init__(
        self,
        *,
        classifier: str = "boosted",
        max_clusters: int = 10,
        folds: int = 5,
        narrowest: float = 0.015,
        random_state: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.max_clusters = max_clusters
        self.folds = folds
        self.narrowest = narrowest
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        groups = clusters_of(X, labelled, self.max_clusters, seed)
        self.cuts_ = [np.unique(np.quantile(column, _CUTS)) for column in X.T]
        X = self._seen(X)
        self.parts_ = []
        for group in np.unique(groups[labelled]):
            rows = ~labelled | (groups == group)
            models, chances = self._distinguish(X[rows], labelled[rows], seed)
            share = Share.of(chances, labelled[rows], self.narrowest)
            self.parts_.append((models, share, float(labelled[rows].sum() / (~labelled).sum())))
        self.n_clusters_ = len(self.parts_)
        self.share_ = min(sum(share.alpha for _, share, _ in self.parts_), 1.0)
        self.prior_ = float((labelled.sum() + self.share_ * (~labelled).sum()) / len(X))

    def _seen(self, X: Rows) -> Rows:
        """What the classifiers see: for trees, how many cuts are below a value."""
        if self.classifier == "linear":
            return X
        columns = zip(self.cuts_, X.T, strict=True)
        return np.column_stack([np.searchsorted(cuts, column) for cuts, column in columns]).astype(np.float64)

    def _distinguish(self, X: Rows, labelled: Mask, seed: int) -> tuple[list[Any], Rows]:
        """Classifiers of the label, one per fold, and the probabilities that they give to the rows of their fold."""
        folds = min(self.folds, int(labelled.sum()), int((~labelled).sum()))
        if folds < 2:
            model = _classifier(self.classifier, seed).fit(X, labelled)
            return [model], model.predict_proba(X)[:, 1]
        models, chances = [], np.empty(len(X))
        for fitted, held in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, labelled):
            models.append(_classifier(self.classifier, seed).fit(X[fitted], labelled[fitted]))
            chances[held] = models[-1].predict_proba(X[held])[:, 1]
        return models, chances

    def _log_odds(self, X: Rows) -> Rows:
        X = self._seen(X)
        hidden, odds = np.zeros(len(X)), np.zeros(len(X))
        for models, share, size in self.parts_:
            chances = np.mean([model.predict_proba(X)[:, 1] for model in models], axis=0)
            hidden += share.hidden(chances)
            # Each classifier has all unlabelled rows, so the odds of the clusters add up to those of a label. Labelled
            # and unlabelled rows have the same weight in sum.
            odds += size * chances / np.maximum(1 - chances, _TINY)
        negative = np.maximum((1 - np.minimum(hidden, 1.0)) / (1 + odds), _TINY)
        return np.asarray(np.log(np.maximum(1 - negative, _TINY)) - np.log(negative))


def _classifier(kind: str, seed: int) -> Any:
    if kind == "linear":
        return LogisticRegression(class_weight="balanced", max_iter=1000)
    if kind == "boosted":
        # The depth, the rate and the number of trees of the authors' synthetic examples.
        options = {"learning_rate": 0.2, "max_depth": 4, "max_iter": 100, "class_weight": "balanced"}
        return HistGradientBoostingClassifier(**options, early_stopping=False, random_state=seed)
    raise ValueError(f'classifier={kind!r} is not known; choose "boosted" or "linear".')


def clusters_of(X: Rows, labelled: Mask, most: int, seed: int) -> np.ndarray:
    """The cluster of each labelled row; 0 for the others. Columns are weighted by their importance for the label."""
    groups = np.zeros(len(X), dtype=np.intp)
    inside = int(labelled.sum())
    # A full covariance needs more rows than columns.
    most = min(most, inside // (X.shape[1] + 2))
    if most < 2:
        return groups
    trees = ExtraTreesClassifier(50, max_depth=8, random_state=seed).fit(X, labelled)
    weighted = X[labelled] * trees.feature_importances_ / trees.feature_importances_.max()
    models: list[GaussianMixture] = []
    criterion: list[float] = []
    for k in range(1, most + 1):
        # Several starts: one may end with two clusters in one, and the criterion then has a minimum too early.
        models.append(GaussianMixture(k, n_init=3, reg_covar=1e-8, random_state=seed).fit(weighted))
        criterion.append(models[-1].bic(weighted))
        if k > 1 and criterion[-1] > criterion[-2]:
            break
    groups[labelled] = models[number_of_clusters(np.array(criterion)) - 1].predict(weighted)
    return groups


def number_of_clusters(criterion: Rows) -> int:
    """The first local minimum of the criterion over 1, 2, … clusters; without one, where it bends most."""
    padded = np.concatenate([[np.inf], criterion])
    inner = np.flatnonzero((criterion[:-1] < padded[:-2]) & (criterion[:-1] < criterion[1:]))
    if len(inner):
        return int(inner[0]) + 1
    return int(np.argmax(np.diff(criterion, 2))) + 2 if len(criterion) > 2 else len(criterion)


@dataclass(frozen=True)
class Share:
    """The share of positives among unlabelled rows, and the two densities that it comes from, on a grid over [0, 1]."""

    alpha: float
    points: Rows
    labelled: Rows
    unlabelled: Rows

    @classmethod
    def of(cls, chances: Rows, labelled: Mask, narrowest: float = 0.015) -> "Share":
        """From the probabilities of a label, out of fold."""
        # Rice's rule, to the nearest power of two.
        wanted = 2 * len(chances) ** (1 / 3)
        powers = 2.0 ** np.array([np.floor(np.log2(wanted)), np.ceil(np.log2(wanted))])
        bins = int(min(_MOST_BINS, powers[np.argmin(np.abs(powers - wanted))]))
        points = np.linspace(0, 1, bins)
        histogram = np.histogram(chances, bins, (0, 1))[0] / len(chances)

        def distance(width: float) -> float:
            return float(((beta_density(chances, points, width) - histogram) ** 2).mean())

        width = minimize_scalar(distance, bounds=(narrowest, _WIDEST), method="bounded").x
        above, below = (beta_density(chances[some], points, width) for some in (labelled, ~labelled))
        return cls(_bend(above[points > 0.5], below[points > 0.5], above.min()), points, above, below)

    def hidden(self, chances: Rows) -> Rows:
        """P(Y=1 | x, S=0) = α f_labelled / f_unlabelled, which grows with the probability of a label, at most 1."""
        ratio = np.maximum.accumulate(self.labelled / np.maximum(self.unlabelled, _TINY))
        return np.asarray(np.minimum(self.alpha * np.interp(chances, self.points, ratio), 1.0))


def beta_density(chances: Rows, points: Rows, width: float) -> Rows:
    """Chen's (1999) beta-kernel density, with the sum 1: at a point p the mean of Beta(p/b + 1, (1 − p)/b + 1)."""
    cells = np.histogram(chances, _CELLS, (0, 1))[0]
    used = np.flatnonzero(cells)
    middles = (used + 0.5) / _CELLS
    kernels = beta.pdf(middles[None, :], points[:, None] / width + 1, (1 - points[:, None]) / width + 1)
    density = kernels @ cells[used]
    return np.asarray(density / density.sum())


def _bend(above: Rows, below: Rows, least: float) -> float:
    """The share where the slope of log|min(f_unlabelled − α f_labelled)| jumps most."""
    errors = (below[None, :] - _SHARES[:, None] * above[None, :]).min(axis=1)
    slopes = np.diff(np.log10(np.abs(errors) + (least if least > 0 else 1e-10))) / np.diff(_SHARES)
    return float(_SHARES[1:][np.argmax(np.abs(np.diff(slopes)))])
