"""Why a row? What every column adds to the log-odds of being positive, and of a label."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design, Predictor, as_design
from propense._inputs.columns import level_counts
from propense._inputs.inside import method_inside
from propense._inputs.sample import read_features
from propense._maths.arrays import Index, Matrix, Vector, library_of, to_host
from propense._maths.logistic import sigmoid
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor
from propense.errors import InvalidInput
from propense.estimators._base import BasePUClassifier
from propense.inference._parts import Explained, by_column, part_of
from propense.worlds.predictors import CurvePredictor

__all__ = ["Reasons", "reasons", "reasons_of"]

# Columns that are named in words, and the largest number of reasons at a time.
_NAMED, _MOST = 3, 50_000_000
# Rows that are explained at a time.
_BLOCK = 4096
# What adds less than this to the log-odds is not worth a word.
_WORTH = 0.01


@dataclass(frozen=True)
class Reasons:
    """The result of `reasons`; ``words(i)`` says in words why row i has its chances, and ``str()`` the first ones.

    Attributes
    ----------
    columns : tuple of str
        The columns of X.
    posterior, propensity : ndarray of shape (n_rows, n_columns)
        What each column adds to the log-odds of y(x), the chance of being positive, and of e(x), the chance of a label
        if positive. Above 0 it raises the chance.
    baseline_posterior, baseline_propensity : float
        What they are added to. ``baseline_posterior + posterior.sum(axis=1)`` is the log-odds of ``predict_proba``, and
        the same sum for e is the log-odds of ``predict_propensity``.
    one_score : bool
        Whether y and e both follow one score of how likely a label is: then what each column adds to one of them is in
        proportion to what it adds to the other, and the two cannot have reasons of their own.
    rows : int ndarray of shape (n_rows,)
        Where the rows are in X, from 0.
    """

    columns: tuple[str, ...]
    posterior: Matrix
    propensity: Matrix
    baseline_posterior: float
    baseline_propensity: float
    one_score: bool
    rows: Index

    def words(self, i: int) -> str:
        """Why the i-th of the rows has its chances."""
        chance = _describe("being positive", self.columns, self.posterior[i], self.baseline_posterior)
        if not np.abs(self.propensity[i]).max(initial=0.0) >= _WORTH:
            label = f"chance of a label if positive {_chance(self.baseline_propensity)}, whatever the columns hold"
        else:
            label = _describe("a label if positive", self.columns, self.propensity[i], self.baseline_propensity)
        return f"Row {self.rows[i]}: {chance}; {label}."

    def __str__(self) -> str:
        shown = [self.words(i) for i in range(min(len(self.rows), 5))]
        if len(self.rows) > len(shown):
            shown.append(f"… and {len(self.rows) - len(shown):,} rows more.")
        if self.one_score:
            shown.append("y and e follow one score here, so the same columns are the reasons for both.")
        return "\n".join(shown)


def reasons(estimator: Any, X: Any, *, rows: Any = None) -> Reasons:
    """What every column adds to the log-odds of being positive, and of a label, of some rows.

    The contributions of the columns, and a baseline that is the same for all rows, add up to what ``predict_proba`` and
    ``predict_propensity`` say. They explain the model, not the world: a column that raises the chance need not cause
    anything.

    Parameters
    ----------
    estimator : fitted estimator of propense, or a pipeline or search that ends in one
        As in `hidden`. Of a pipeline, the columns are those that reach its last step.
    X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
    rows : int or bool array-like, default=None
        The rows of X to explain, by number or by a mask; None means all.

    Returns
    -------
    Reasons

    Notes
    -----
    The baseline is what the model says of a row that has, in every part of the model, the mean of the rows of fit: the
    mean of each number, each level of a category in the share it has, in trees the mean over the rows that each split
    was learned from.

    What is linear is split exactly: a coefficient times the distance from the mean. Boosted trees are split by exact
    Shapley values, with the shares of the rows of fit that went each way at a split [1]_. Contributions to a label
    score become contributions to y and e, which rise, or fall, along it, in the same proportions. Where two parts meet,
    as y and e do after an audit or with a known share of positives, their effects are Shapley values too. All of these
    add up exactly. Classifiers of other kinds, such as forests, are compared with the mean row, in 16 orders of the
    columns with a fixed seed, or in all orders of up to 6 columns.

    `PUClassifier` is explained by its model of all rows, as ``predict_proba`` scores new rows. For the rows of fit,
    ``oof_posterior_`` is of models that had not seen the row, so the sum differs somewhat from that.

    References
    ----------
    .. [1] S. M. Lundberg et al. From local explanations to global understanding with explainable AI for trees. Nature
       Machine Intelligence 2, 2020.

    Examples
    --------
    >>> from propense import PUClassifier, reasons
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(2000, 4, random_state=0)
    >>> model = PUClassifier(learners="linear", propensity_features=[3], random_state=0).fit(data.X, data.labelled)
    >>> found = reasons(model, data.X, rows=[0, 1])
    >>> found.posterior.shape
    (2, 4)
    """
    inside = method_inside(estimator)
    estimator, names = inside.method, inside.names
    if not isinstance(estimator, BasePUClassifier):
        raise InvalidInput(f"reasons takes an estimator of propense, not a {type(estimator).__name__}.")
    check_is_fitted(estimator)
    design = read_features(estimator, inside.transform(X))
    chosen = _read_rows(rows, design.shape[0])
    found = reasons_of(estimator, design, chosen)
    return found if names is None or len(names) != len(found.columns) else replace(found, columns=tuple(names))


def reasons_of(estimator: BasePUClassifier, design: Design, chosen: Index) -> Reasons:
    """The same of a design that `read_features` has made."""
    if len(chosen) * max(design.shape[1] - 1, 1) > _MOST:
        raise InvalidInput(
            f"The reasons of {len(chosen):,} rows with {design.shape[1] - 1:,} features do not fit in memory. Pass "
            "fewer rows=."
        )
    learned, preparation, count = estimator._columns, estimator._preparation, estimator.n_features_in_
    levels = None if learned is None or preparation is not None else level_counts(learned)
    predictors = estimator._posterior, estimator._propensity
    blocks = []
    for first in range(0, max(len(chosen), 1), _BLOCK):
        explained = Explained(as_design(_in_memory(design, chosen[first : first + _BLOCK])), estimator._mean, levels)
        blocks.append([_split(each, explained) for each in predictors])
    pair = [(each[0][0], np.concatenate([shares for _, shares in each])) for each in zip(*blocks, strict=True)]
    if preparation is not None:
        pair = [(base, by_column(shares, preparation.sources, count)) for base, shares in pair]
    (y_base, y_shares), (e_base, e_shares) = pair
    names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(count)])
    return Reasons(tuple(map(str, names)), y_shares, e_shares, y_base, e_base, _one_score(estimator), chosen)


def _split(predictor: Predictor, rows: Explained) -> tuple[float, Matrix]:
    """The baseline and the contributions, which add up to what the predictor says to the last digits."""
    part = part_of(predictor, rows)
    exact = np.asarray(predictor.log_odds(rows.design), dtype=np.float64)
    total = np.abs(part.shares).sum(axis=1)
    with np.errstate(invalid="ignore"):
        # Sums in another order differ by rounding.
        left = np.where(exact == part.base, 0.0, exact - part.base) - part.shares.sum(axis=1)
    ratio = np.divide(left, total, out=np.zeros(len(left)), where=total > 0.0)
    return part.base, part.shares + ratio[:, np.newaxis] * np.abs(part.shares)


def _in_memory(design: Design, rows: Index) -> NDArray[np.floating]:
    """Some rows of a design, dense, wherever they are."""
    features = design.features
    if library_of(features) == "dask":
        return np.asarray(features[rows].compute())
    part = features[rows]
    return np.asarray(part.toarray() if sp.issparse(part) else to_host(part))


def _read_rows(rows: Any, count: int) -> Index:
    """The numbers of the rows to explain."""
    if rows is None:
        return np.arange(count)
    found = np.atleast_1d(np.asarray(rows))
    if found.dtype == bool:
        if found.shape != (count,):
            raise InvalidInput(f"rows= is a mask of {found.size} rows, and X has {count}.")
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InvalidInput("rows= must be numbers of rows of X, or a mask of them.")
    found = found.astype(np.intp)
    outside = (found < 0) | (found >= count)
    if outside.any():
        raise InvalidInput(f"rows= has {found[outside][0]}, and the rows of X are numbered 0 to {count - 1}.")
    return found


def _one_score(estimator: BasePUClassifier) -> bool:
    y: Any = estimator._posterior
    while isinstance(y, CorrectedPredictor | ShiftedPredictor):
        y = y.posterior
    return isinstance(y, CurvePredictor)


def _describe(what: str, columns: tuple[str, ...], shares: Vector, base: float) -> str:
    total = base + float(shares.sum())
    ways = []
    for word, sign in (("raised by", 1.0), ("lowered by", -1.0)):
        order = [j for j in np.argsort(-sign * shares, kind="stable")[:_NAMED] if sign * shares[j] >= _WORTH]
        if order:
            ways.append(f"{word} " + ", ".join(f"{columns[j]} ({shares[j]:+.2f})" for j in order))
    changed = ", ".join(ways) or "by no column"
    return f"chance of {what} {_chance(total)} ({_chance(base)} at the baseline), {changed}"


def _chance(log_odds: float) -> str:
    return f"{float(sigmoid(np.float64(log_odds))):.2f}"
