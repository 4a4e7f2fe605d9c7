"""What a survey's strata and clusters do to the spread of an estimate.

In each stratum h, the survey drew nₕ clusters (primary sampling units) as if with replacement. An estimate whose
linear form is Σ zᵢ over the rows has the variance Σₕ nₕ/(nₕ − 1)·Σ_c (z_hc − z̄ₕ)², where z_hc is the sum of zᵢ over the
rows of a cluster and z̄ₕ their mean in the stratum (Woodruff 1971; Binder 1983). How rows were drawn within a cluster
does not matter.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from propense._inputs.groups import read_groups
from propense._maths.arrays import Index, Matrix, Vector
from propense.errors import InvalidInput, InvalidWeights

__all__ = ["Survey", "mean_variance", "read_survey"]


@dataclass(frozen=True)
class Survey:
    """Which cluster each row belongs to, and which stratum each cluster belongs to.

    Attributes
    ----------
    cluster : int ndarray of shape (n_rows,)
        The number of each row's cluster.
    stratum : int ndarray of shape (n_clusters,)
        The number of each cluster's stratum, ascending. Each stratum has two clusters or more.
    """

    cluster: Index
    stratum: Index

    @property
    def sizes(self) -> Index:
        """nₕ, the number of clusters in each stratum."""
        return np.bincount(self.stratum)

    @property
    def degrees_of_freedom(self) -> int:
        """The number of clusters less that of strata."""
        return len(self.stratum) - len(self.sizes)

    def of(self, rows: Index | None) -> "Survey":
        """The survey of some of the rows, by number; None means all. Every cluster still counts as drawn."""
        return self if rows is None else Survey(self.cluster[rows], self.stratum)

    def covariance(self, moves: Matrix) -> Matrix:
        """The covariance of sums over the rows: `moves` has what each row adds, a column for each sum."""
        clusters = len(self.stratum)
        sums = np.column_stack([np.bincount(self.cluster, each, minlength=clusters) for each in moves.T])
        sizes = self.sizes
        means = np.column_stack([np.bincount(self.stratum, each) for each in sums.T]) / sizes[:, np.newaxis]
        apart = (sums - means[self.stratum]) * np.sqrt(sizes / (sizes - 1.0))[self.stratum, np.newaxis]
        return np.asarray(apart.T @ apart)

    def draw(self, rng: np.random.Generator) -> Vector:
        """How much each row counts in a resample: nₕ − 1 clusters drawn with replacement, nₕ/(nₕ − 1) for each draw.

        Rescaled so, the variance of a sum over resamples is that of `covariance` (Rao, Wu and Yue 1992).
        """
        draws = [rng.multinomial(size - 1, np.full(size, 1.0 / size)) * (size / (size - 1.0)) for size in self.sizes]
        return np.asarray(np.concatenate(draws)[self.cluster])


def read_survey(strata: Any, clusters: Any, rows: int) -> Survey:
    """The survey that strata and clusters of the rows describe; None means one stratum, or each row its own cluster.

    Clusters of the same name in different strata are different clusters.
    """
    strata_of, names = (np.zeros(rows, np.intp), ["all"]) if strata is None else read_groups("strata", strata, rows)
    inner, inner_names = (np.arange(rows), range(rows)) if clusters is None else read_groups("clusters", clusters, rows)
    pairs, cluster = np.unique(strata_of * np.int64(len(inner_names)) + inner, return_inverse=True)
    survey = Survey(cluster.astype(np.intp, copy=False), (pairs // len(inner_names)).astype(np.intp))
    alone = np.flatnonzero(survey.sizes == 1)
    if len(alone) and strata is None:
        raise InvalidInput(
            "clusters: all rows belong to the same cluster, so nothing shows how much clusters differ. At least two "
            "are needed."
        )
    if len(alone):
        which, what = repr(names[alone[0]]), "row" if clusters is None else "cluster"
        more = f" and {len(alone) - 1} other strata have" if len(alone) > 1 else " has"
        raise InvalidInput(
            f"strata: stratum {which}{more} only one {what}, so nothing shows how much its {what}s differ. Give it the "
            "name of a stratum that is most like it."
        )
    return survey


def mean_variance(
    values: Any, weights: Any = None, strata: Any = None, clusters: Any = None
) -> tuple[float, float, int]:
    """The weighted mean of one number per row of a survey, its variance, and the degrees of freedom of the latter.

    The mean is Σ wᵢ·vᵢ / Σ wᵢ. Its linear form is Σ wᵢ·(vᵢ − mean) / Σ wᵢ. A mean over some rows only is that of all
    rows with weight 0 for the others: their clusters were drawn too.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
    weights : array-like of shape (n_rows,), default=None
        How many rows of the population each row stands for; None means that all stand for as many.
    strata, clusters : array-like of shape (n_rows,), default=None
        As in `read_survey`.

    Returns
    -------
    mean, variance : float
    degrees_of_freedom : int
        For t-intervals: the number of clusters less that of strata.
    """
    v = np.asarray(values, dtype=np.float64)
    w = np.ones(len(v)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != v.shape or not bool((w >= 0).all()) or not 0 < w.sum() < np.inf:
        raise InvalidWeights(f"weights must be {len(v)} numbers of at least 0, not all of them 0.")
    survey = read_survey(strata, clusters, len(v))
    mean = float(w @ v / w.sum())
    moves = w * (v - mean) / w.sum()
    return mean, float(survey.covariance(moves[:, np.newaxis])[0, 0]), survey.degrees_of_freedom
