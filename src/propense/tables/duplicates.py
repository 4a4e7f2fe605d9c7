"""Rows that repeat other rows in every column, and ids that name several rows."""

from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidOption, InvalidTable
from propense.tables.cells import take_rows
from propense.tables.fitted_rows import hash_ids, hash_values, mix

__all__ = ["CHOICES", "Repeats", "apply_choice", "find_repeats", "folds_of_ids", "note_repeated_ids"]

CHOICES = ("drop", "keep")
# With fewer different rows, counts may have a common divisor by chance.
_FEW_ROWS = 20
# Columns that are taken out one by one.
_TRIED = 12
# Pairs of equal rows are copies if there are more than so many times those expected by chance, and so many more.
_TIMES, _MORE = 3.0, 0.5


@dataclass(frozen=True)
class Repeats:
    """Rows that are equal in every column.

    Attributes
    ----------
    first : bool ndarray of shape (n_rows,)
        Which rows do not repeat an earlier row.
    copies : int
        How many rows repeat an earlier one, if they are copies rather than alike by chance; else 0.
    times : int
        How often the whole table is there: 2 if it is stacked on itself.
    example : tuple of int
        Two rows that are equal, counted from 1.
    apart : tuple of str
        Columns with a different cell in every row, if all rows are there several times apart from these.
    """

    first: NDArray[np.bool_]
    copies: int
    times: int
    example: tuple[int, int]
    apart: tuple[str, ...] = ()


def find_repeats(table: Any) -> Repeats:
    """The rows of an Arrow table that are equal in every column.

    Where columns have few values, rows are alike by chance. How many shows in rows that agree in all columns but one.
    """
    names, every = list(table.column_names), [_codes(cells) for cells in table.columns]
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for j, each in enumerate(every):
        total += _spread(each, j)
    _, starts, places, counts = np.unique(total, return_index=True, return_inverse=True, return_counts=True)
    first = np.zeros(table.num_rows, dtype=bool)
    first[starts] = True
    if first.all():
        naming = [j for j, each in enumerate(every) if len(np.unique(each)) == len(first)]
        rest = total.copy()
        for j in naming:
            rest -= _spread(every[j], j)
        _, starts, places, counts = np.unique(rest, return_index=True, return_inverse=True, return_counts=True)
        times = reduce(gcd, np.unique(counts).tolist(), 0) if len(counts) >= _FEW_ROWS else 1
        if times < 2:
            return Repeats(first, 0, 1, (0, 0))
        again = int(np.flatnonzero(places.ravel() == places.ravel()[0])[1])
        return Repeats(first, 0, times, (1, again + 1), tuple(names[j] for j in naming))
    again = int(np.flatnonzero(~first)[0])
    example = int(starts[places.ravel()[again]]) + 1, again + 1
    times = reduce(gcd, np.unique(counts).tolist()) if len(counts) >= _FEW_ROWS else 1
    repeated = int((~first).sum())
    if times > 1:
        return Repeats(first, repeated, times, example)
    expected = _chance_pairs(every, total)
    copied = _pairs(counts) > _TIMES * expected + _MORE
    return Repeats(first, repeated if copied else 0, 1, example)


def _chance_pairs(every: list[NDArray[np.int32]], total: NDArray[np.uint64]) -> float:
    """About how many pairs of rows are equal by chance.

    Of the pairs that agree in all columns but one, those that are not copies agree in that one too with the chance q
    that two rows do. So those that differ in it, times q / (1 − q), are as many as those that agree by chance.
    """
    # One column of those that say the same in other words, such as a name and its code.
    different = list({np.unique(each, return_inverse=True)[1].tobytes(): j for j, each in enumerate(every)}.values())
    rich = sorted(different, key=lambda j: len(np.unique(every[j])))
    tried = {rich[place] for place in np.linspace(0, len(rich) - 1, min(_TRIED, len(rich))).round().astype(int)}
    equal = _pairs(np.unique(total, return_counts=True)[1])
    most = 0.0
    for j in tried:
        q = _pairs(np.unique(every[j], return_counts=True)[1]) / _pairs(np.array([len(total)]))
        if q < 1:
            # Sums of hashes allow to take one column out again.
            others = _pairs(np.unique(total - _spread(every[j], j), return_counts=True)[1])
            most = max(most, (others - equal) * q / (1.0 - q))
    return most


def _pairs(counts: NDArray[Any]) -> float:
    return float((counts * (counts - 1.0)).sum() / 2.0)


def apply_choice(table: Any, choice: str | None, where: str) -> tuple[Any, NDArray[np.intp] | None, list[str]]:
    """The table without or with its repeated rows, the numbers of the rows kept if some were not, and notes.

    A table that holds every row several times is an error unless somebody has chosen what to do.
    """
    if choice not in (None, *CHOICES):
        raise InvalidOption(f"duplicates={choice!r} is not drop or keep.")
    found = find_repeats(table)
    one, other = found.example
    if choice == "drop":
        if found.first.all():
            return table, None, []
        rows = np.flatnonzero(found.first)
        count = table.num_rows - len(rows)
        were = "was" if count == 1 else "were"
        words = f"{_rows(count)} an earlier row in every column and {were} left out, such as row {other}."
        return take_rows(table, rows, where), rows, [words]
    if choice is None and found.apart:
        named = ", ".join(map(repr, found.apart[:3]))
        return (
            table,
            None,
            [
                f"Apart from {named}, every row is there {_times(found.times)}, such as rows {one} and {other}. If the "
                "table was stacked on itself, use one part: copies make the fit look more certain than it is. If not, "
                "pass duplicates='keep'."
            ],
        )
    if choice == "keep" or not found.copies:
        return table, None, []
    if found.times > 1:
        raise InvalidTable(
            f"{where} holds every row {_times(found.times)}, so it seems to be stacked on itself: rows {one} and "
            f"{other} are equal in every column, and so on. Labels would look more certain than they are. Pass "
            "duplicates='drop' to fit each row once, or duplicates='keep' if equal rows are different cases."
        )
    share = found.copies / table.num_rows
    return (
        table,
        None,
        [
            f"{_rows(found.copies, f' ({share:.1%})')} an earlier row in every column, such as rows {one} and {other}. "
            "All were used as they are. If they are copies, pass duplicates='drop': copies make the fit "
            "look more certain than it is. If they are different cases, pass duplicates='keep'."
        ],
    )


def note_repeated_ids(ids: NDArray[Any], column: str, matrix: NDArray[np.float64], *, folds: bool) -> list[str]:
    """A note if an id names several rows: one of them, how often, and whether its rows agree."""
    names, starts, places, counts = np.unique(
        ids.astype(str), return_index=True, return_inverse=True, return_counts=True
    )
    several = (counts > 1) & (names != "")
    if not several.any():
        return []
    worst = int(np.argmax(np.where(several, counts, 0)))
    hashes = hash_values(matrix)
    places = places.ravel()
    differ = np.zeros(len(names), dtype=bool)
    differ[places[hashes != hashes[starts[places]]]] = True
    differ &= several
    head = (
        f"{int(several.sum()):,} of the {len(names):,} values of the id {column!r} name more than one row, such as "
        f"{str(names[worst])!r}, which names {counts[worst]:,}."
    )
    if not differ.any():
        return [f"{head} The rows of one id are equal in every feature. If they are copies, keep one row of each id."]
    kept = " Rows of one id were kept in the same fold, so that no row is scored by a model that has seen its like."
    return [
        f"{head} {'Their' if differ.sum() == several.sum() else f'For {int(differ.sum()):,} of them the'} rows differ, "
        f"as repeated measurements do. They are not independent, so the ranges are too narrow.{kept if folds else ''}"
    ]


def folds_of_ids(
    ids: NDArray[Any], labelled: NDArray[np.bool_], count: int, seed: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]] | None:
    """Folds that keep the rows of one id together; None if no id names several rows, or there are too few ids."""
    from sklearn.model_selection import StratifiedGroupKFold

    names, groups = np.unique(ids.astype(str), return_inverse=True)
    groups = groups.ravel()
    # Rows without an id belong to no other row.
    empty = np.flatnonzero(ids.astype(str) == "")
    groups = groups.copy()
    groups[empty] = len(names) + np.arange(len(empty))
    different = np.unique(groups)
    marked = np.unique(groups[labelled])
    count = min(count, len(marked), len(different) - len(marked))
    if len(different) == len(ids) or count < 2:
        return None
    split = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    pairs = [(fit, score) for fit, score in split.split(np.empty((len(ids), 1)), labelled, groups) if len(score)]
    fine = len(pairs) > 1 and all(0 < labelled[fit].sum() < len(fit) for fit, _ in pairs)
    return pairs if fine else None


def _codes(cells: Any) -> NDArray[np.int32]:
    """A number for each cell; equal cells, and missing ones, have equal numbers."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        encoded = _encoded(cells, pa)
        codes = compute.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        # Lists and the like have no codes.
        places: dict[str, int] = {}
        codes = np.array([places.setdefault(_as_words(scalar), len(places)) for scalar in cells], dtype=np.int32)
    return np.asarray(codes).astype(np.int32)


def _encoded(cells: Any, pa: Any) -> Any:
    """One dictionary array."""
    if isinstance(cells, pa.ChunkedArray):
        if pa.types.is_dictionary(cells.type):
            cells = cells.unify_dictionaries()
        cells = cells.combine_chunks()
    return cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()


def _as_words(scalar: Any) -> str:
    try:
        return repr(scalar.as_py())
    except (UnicodeDecodeError, ValueError, KeyError, OverflowError):
        return repr(scalar)


def _spread(codes: NDArray[np.int32], column: int) -> NDArray[np.uint64]:
    """Hashes of the codes of a column, different from those of the same codes in another column."""
    start = hash_ids([str(column)]).view(np.uint64)
    return np.asarray(mix(np.broadcast_to(start, codes.shape), codes.astype(np.int64).view(np.uint64)))


def _times(count: int) -> str:
    return "exactly twice" if count == 2 else f"exactly {count} times, or a multiple of it"


def _rows(count: int, share: str = "") -> str:
    return f"1 row{share} repeats" if count == 1 else f"{count:,} rows{share} repeat"
