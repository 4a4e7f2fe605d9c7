"""What an audit needs to know of the rows of a table: their names, labels, chances, and the order of the list."""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import InvalidTable
from propense.estimators._corrected import without_audit
from propense.tables.cells import as_numbers, naming_the_column, normalise_decimals, row_ids
from propense.tables.model import TableModel, lists_by_class, review_order

__all__ = ["AuditRows", "digest", "read_design", "read_rows"]


@dataclass(frozen=True)
class AuditRows:
    """All rows of a table, as an audit sees them; scores are those of the model before any audit.

    Rows that have ids are in the order of their keys. So rows with the same score are drawn, and stand in the list, in
    an order that does not depend on that of the table.

    Attributes
    ----------
    ids : ndarray of str
        The names of the rows; their numbers, from 1, if the model has no id.
    keys : int64 ndarray
        The hashes by which the model remembers rows.
    labelled : ndarray of bool
    hidden, order : ndarray
        h(x), and what the list is ordered by.
    code : str
        What the table is recognised by: its ids and labels.
    places : int ndarray
        Where each row is in the table.
    """

    ids: NDArray[Any]
    keys: NDArray[np.int64]
    labelled: NDArray[np.bool_]
    hidden: NDArray[np.float64]
    order: NDArray[np.float64]
    code: str
    places: NDArray[np.intp]

    def share(self, weights: NDArray[np.float64] | None = None) -> float:
        """The share of positives that the model alone gives."""
        return float(np.average(np.where(self.labelled, 1.0, self.hidden), weights=weights))

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where rows with these keys are; −1 where there is none."""
        places = {key: row for row, key in enumerate(self.keys.tolist())}
        return np.array([places.get(key, -1) for key in keys.tolist()], dtype=np.intp)


def read_rows(model: TableModel, table: Any, where: str, decimal: str | None = None) -> AuditRows:
    """The rows of an Arrow table; an error if they cannot be named or their labels are missing."""
    names = table.column_names
    model.schema.check(names, where)
    for label in model.label.columns:
        if label not in names:
            raise InvalidTable(f"{where} has no column {label!r}, the label. Pass the table with its labels.")
    if model.id is not None and model.id not in names:
        raise InvalidTable(f"{where} has no column {model.id!r}, the id. Pass the table with its ids.")
    labelled = model.label.read_table(table, where)
    if labelled.all():
        columns = ", ".join(map(repr, model.label.columns))
        raise InvalidTable(f"{where}, column {columns}: every row is labelled, so there is nothing to check.")
    read = model.read(table, where, decimal=decimal)
    ids = np.array([str(row + 1) for row in range(table.num_rows)], dtype=object)
    if model.id is not None:
        ids = row_ids(table, model.id, where)
        _check_ids(ids, model.id, where)
    plain = replace(model, estimator=without_audit(model.estimator))
    scores, _ = plain.score_read(table, read, where)
    order = review_order(plain.estimator, scores)
    # A method without chances of unlabelled rows still has an order, which makes better strata than none.
    hidden = scores.hidden if scores.hidden.any() else scores.posterior if lists_by_class(plain.estimator) else order
    keys = model.audit_keys(table, read, where)
    at = np.arange(len(keys)) if model.id is None else np.argsort(keys, kind="stable")
    code = digest(keys[at].astype("<i8").tobytes(), np.packbits(labelled[at]).tobytes())
    return AuditRows(ids[at], keys[at], labelled[at], hidden[at], order[at], code, at)


def read_design(
    table: Any, weights: str | None, strata: str | None, clusters: str | None, where: str, decimal: str | None = None
) -> dict[str, Any]:
    """The columns of a survey's design, by the arguments of `propense.audit.read`; empty if there are none."""
    given = {"weights": weights, "strata": strata, "clusters": clusters}
    for option, name in given.items():
        if name is not None and name not in table.column_names:
            raise InvalidTable(f"{where} has no column {name!r} ({option}=). Check the name.")
    found: dict[str, Any] = {}
    for option in ("strata", "clusters"):
        name = given[option]
        if name is not None:
            found[option] = row_ids(table, name, where)
            empty = np.flatnonzero(found[option] == "")
            if len(empty):
                raise InvalidTable(f"{where}, column {name!r}, row {int(empty[0]) + 1} is empty. Fill it in.")
    if weights is not None:
        cells = normalise_decimals(table.select([weights]), [weights], decimal).column(weights)
        with naming_the_column(cells, weights, where):
            numbers = as_numbers(cells)
        if numbers is None or not (np.isfinite(numbers) & (numbers >= 0.0)).all() or not numbers.any():
            raise InvalidTable(f"{where}, column {weights!r} must hold weights: numbers of at least 0, in every row.")
        found["sample_weight"] = numbers
    return found


def digest(*parts: bytes | str) -> str:
    """Eight letters and digits that stand for texts and bytes."""
    whole = hashlib.blake2b(digest_size=4)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        # With their lengths: a|bc is not ab|c.
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()


def _check_ids(ids: NDArray[Any], column: str, where: str) -> None:
    empty = np.flatnonzero(ids == "")
    if len(empty):
        raise InvalidTable(
            f"{where}, column {column!r}, row {int(empty[0]) + 1} has no id, so a verdict on it could not be found "
            "again. Give it one."
        )
    twice = next((name for name, count in Counter(ids.tolist()).items() if count > 1), None)
    if twice is not None:
        one, other = np.flatnonzero(ids == twice)[:2] + 1
        raise InvalidTable(
            f"{where}, column {column!r} holds {twice!r} in rows {one} and {other}, so a verdict on it would not say "
            "which row it is about. Leave out rows that repeat others, give each row an id of its own, or fit a model "
            "without id=."
        )
