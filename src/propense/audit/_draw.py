"""Which unlabelled rows to have checked: a random sample, of which every row's chance is known."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from propense._maths.arrays import Index, Vector
from propense.errors import InvalidInput, InvalidOption

__all__ = ["Draw", "count_moved", "draw", "list_order", "read_chances", "read_mask"]

# Rows drawn from each stratum. Fewer make finer strata, but with fewer than two the spread within one is unknown, and
# some verdicts will be missing.
_EACH = 4
# If the order of the list means nothing, the interval of the number of positives is wider by this factor than that of a
# simple random sample: the price for drawing more rows from the top of the list. In 32 simulated worlds of 12 000 rows,
# the promised yield of the first 200 rows was off by .066 after 200 verdicts with 1.03, and by .055 with 1.045, with
# which an upside-down model's interval was 5% to 6% wider.
_PRICE = 1.04
# Of the part of the draw that goes to the top of the list, every list that is twice as long as another gets about as
# many rows more, from this length on: shorter lists are hardly made.
_SHORTEST = 20
# The share of the draw that comes from a list whose length was given.
_TOP_SHARE = 0.25

# Rows that may have left their strata since the draw. With more, means of h over strata would be wrong.
_MOVED = 0.1


@dataclass(frozen=True)
class Draw:
    """Rows to have checked, and how they were drawn.

    The unlabelled rows, in the order of the list, are cut into strata. From each stratum some rows are drawn, all with
    the same chance.

    Attributes
    ----------
    rows : int ndarray of shape (n_drawn,)
        Where the rows are among all rows, from 0, in random order.
    stratum : int ndarray of shape (n_drawn,)
        The stratum of each row; stratum 0 is the top of the list.
    sizes : int ndarray of shape (n_strata,)
        How many rows each stratum has.
    known : int ndarray of shape (n_known,)
        The rows that had been checked before, and could not be drawn.
    """

    rows: Index
    stratum: Index
    sizes: Index
    known: Index = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def weight(self) -> Vector:
        """How many rows each row stands for: one divided by its chance to be drawn."""
        return (self.sizes / np.maximum(np.bincount(self.stratum, minlength=len(self.sizes)), 1))[self.stratum]


def draw(
    hidden: Any,
    size: int = 200,
    *,
    labelled: Any,
    checked: Any = None,
    order: Any = None,
    top: int | None = None,
    random_state: Any = None,
) -> Draw:
    """Draw unlabelled rows to have checked.

    The rows are drawn at random from strata along the list of rows to review. Rows come from all parts of the list, so
    that no estimate rests on the model; more come from its top, which is what people will review.

    Parameters
    ----------
    hidden : array-like of shape (n_rows,)
        h(x) of all rows, the chance that an unlabelled row is positive: ``model.oof_hidden_`` for the rows of fit, or
        ``model.predict_hidden(X)``.
    size : int, default=200
        How many rows to draw; all unlabelled rows if there are fewer.
    labelled : array-like of bool of shape (n_rows,)
        Which rows are labelled. They are not drawn.
    checked : array-like of bool of shape (n_rows,), default=None
        Which rows have a verdict already. They are not drawn again.
    order : array-like of shape (n_rows,), default=None
        What the list is ordered by, the largest first. Default: ``hidden``. Pass it if your list has another order: the
        lists of `PUClassifier` on the command line and in `propense.tables` are ordered by ``model.oof_posterior_``, or
        P(Y=1 | x) of new rows, unless it is linear or columns were named for e.
    top : int, default=None
        If you will review a list of this length: at least a quarter of the draw comes from it.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Draw

    Examples
    --------
    >>> import numpy as np
    >>> from propense.audit import draw
    >>> chances = np.linspace(0.9, 0.01, 1000)
    >>> drawn = draw(chances, 50, labelled=np.zeros(1000, dtype=bool), random_state=0)
    >>> len(drawn.rows), len(drawn.sizes), int(drawn.sizes.sum())
    (50, 12, 1000)
    """
    chances = read_chances("hidden", hidden)
    among = chances if order is None else read_chances("order", order, len(chances), any_number=True)
    is_labelled = read_mask("labelled", labelled, len(chances))
    is_checked = np.zeros(len(chances), bool) if checked is None else read_mask("checked", checked, len(chances))
    for name, value in (("size", size), ("top", 1 if top is None else top)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidOption(f"draw: {name}={value!r} must be a whole number of at least 1.")
    rows = list_order(among, ~is_labelled & ~is_checked)
    if not len(rows):
        raise InvalidInput("draw: every row is labelled or checked, so there is nothing to draw.")
    rng = check_random_state(random_state)
    stratum, sizes, counts = _strata(len(rows), min(int(size), len(rows)), top)
    # The first of each stratum in a random order.
    shuffled = np.lexsort((rng.random_sample(len(rows)), stratum))
    within = np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[stratum[shuffled]]
    drawn = shuffled[within < counts[stratum[shuffled]]]
    drawn = drawn[rng.permutation(len(drawn))]
    return Draw(rows[drawn], stratum[drawn], sizes, np.flatnonzero(is_checked & ~is_labelled))


def list_order(order: Vector, members: NDArray[np.bool_]) -> Index:
    """The rows that are members, the first of the list first."""
    rows = np.flatnonzero(members)
    return rows[np.argsort(-order[rows], kind="stable")]


def count_moved(draw: Draw, labelled: NDArray[np.bool_], order: Vector) -> int:
    """How many of the rows drawn are no longer in their stratum, by their order; 0 if they are only a few."""
    could = ~labelled
    could[draw.known] = False
    ranked = order[list_order(order, could)]
    ends = np.cumsum(draw.sizes)
    high, low = ranked[ends - draw.sizes], ranked[ends - 1]
    # Scores may differ in their last digits, and rows with the same score be in any order.
    room = 1e-6 * float(np.ptp(ranked))
    score = order[draw.rows]
    moved = int(((score > high[draw.stratum] + room) | (score < low[draw.stratum] - room)).sum())
    return moved if moved > max(1.0, _MOVED * len(score)) else 0


def _strata(rows: int, size: int, top: int | None) -> tuple[Index, Index, Index]:
    """The stratum of each row in the order of the list; each stratum's size; and how many rows to draw from each."""
    pace = np.ones(rows) if size == rows else _pace(rows, top)
    along = np.cumsum(pace)
    strata = max(size // _EACH, 1)
    stratum = np.minimum(((along - pace / 2) / along[-1] * strata).astype(np.intp), strata - 1)
    # Where the pace is high, a stratum can be left without rows.
    stratum = np.unique(stratum, return_inverse=True)[1].astype(np.intp)
    sizes = np.bincount(stratum)
    counts = np.minimum(np.bincount(stratum, pace) / pace.sum() * size, sizes)
    return stratum, sizes, _whole(counts, sizes, size)


def _whole(shares: Vector, most: Index, total: int) -> Index:
    """Shares as whole numbers of at least 1 and at most `most` that add up to `total`, as far as they can."""
    counts = np.minimum(np.maximum(np.floor(shares).astype(np.intp), 1), most)
    while (missing := total - int(counts.sum())) > 0 and (counts < most).any():
        behind = np.where(counts < most, shares - counts, -math.inf)
        counts[np.argsort(-behind, kind="stable")[: min(missing, int((counts < most).sum()))]] += 1
    return counts


def _pace(rows: int, top: int | None) -> Vector:
    """How much more often than on average each row of the list is drawn.

    A part is spread evenly. The rest goes to the top, with the chance 1/(rank + 20): as large a part as the price
    allows. A mean of 1/pace above 1 is how much a useless order raises the variance.
    """
    steep = 1.0 / (np.arange(rows) + float(_SHORTEST))
    steep /= steep.mean()

    def excess(even: float) -> float:
        return float((1.0 / (even + (1.0 - even) * steep)).mean()) - _PRICE**2

    even = 0.0 if excess(0.0) <= 0 else brentq(excess, 0.0, 1.0, xtol=1e-6)
    pace = np.asarray(even + (1.0 - even) * steep)
    if top is None or top >= rows or pace[:top].sum() / rows >= _TOP_SHARE:
        return pace
    share = pace[:top].sum() / rows
    pace[:top] *= _TOP_SHARE / share
    pace[top:] *= (1.0 - _TOP_SHARE) / (1.0 - share)
    return pace


def read_chances(name: str, values: Any, rows: int | None = None, *, any_number: bool = False) -> Vector:
    """One number per row, all finite, and from 0 to 1 unless any will do."""
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be numbers, one per row.") from None
    if out.ndim != 1 or (rows is not None and len(out) != rows):
        wanted = "one number per row" if rows is None else f"{rows} numbers, one per row"
        raise InvalidInput(f"{name} must be {wanted}, but its shape is {out.shape}.")
    wrong = ~np.isfinite(out) if any_number else ~((out >= 0.0) & (out <= 1.0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        range_ = "finite" if any_number else "a chance from 0 to 1"
        raise InvalidInput(f"{name} must be {range_}, but row {row} has {out[row]}.")
    return out


def read_mask(name: str, values: Any, rows: int) -> NDArray[np.bool_]:
    """One truth value per row."""
    out = np.asarray(values)
    if out.shape != (rows,):
        raise InvalidInput(f"{name} must be {rows} truth values, one per row, but its shape is {out.shape}.")
    if out.dtype != bool:
        if out.dtype.kind not in "iuf" or not np.isin(out, (0, 1)).all():
            raise InvalidInput(f"{name} must be truth values, or 1 and 0, one per row.")
        out = out == 1
    return out
