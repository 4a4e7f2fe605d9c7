"""Models of tables as plain descriptions: the columns of the table, how they become features, and the estimator."""

from collections.abc import Callable
from typing import Any

import numpy as np

from propense.errors import ModelFileError
from propense.estimators import SeveralSources
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import is_array
from propense.model_files.checks import are_kinds, build_columns, describe_columns
from propense.model_files.preparations import build_preparation, describe_preparation
from propense.model_files.readings import READING, build_missing, build_seen, describe_reading
from propense.tables import Label, LabelColumns, Schema, TableModel
from propense.tables.fitted_rows import HeldOut
from propense.tables.formats.encodings import is_encoding
from propense.tables.past_audits import PastDraw
from propense.tables.spelling import Spelling

__all__ = ["TABLE", "build_table", "describe_audits", "describe_table", "is_table", "table_parts"]

TABLE = "TableModel"
_KEYS = {"class", "label", "id", "columns", "preparation", "estimator"}
# What some files have, depending on what there is to remember.
_MORE = {"fitted_rows", "held_out", "audits", "spelling", *READING}


def is_table(description: Any) -> bool:
    """Whether a description is of a model of a table."""
    return isinstance(description, dict) and description.get("class") == TABLE


def describe_table(model: TableModel, describe: Callable[[Any, str], dict[str, Any]]) -> dict[str, Any]:
    """A model of a table in plain values."""
    return {
        "class": TABLE,
        "label": _describe_label(model.label),
        "id": model.id,
        "columns": describe_columns(model.schema.columns),
        "preparation": describe_preparation(model.preparation),
        "estimator": describe(model.estimator, "the estimator of this TableModel"),
        "fitted_rows": model.fitted_rows,
        "held_out": _describe_scores(model),
        **describe_audits(model),
        **_describe_spelling(model.spelling),
        **describe_reading(model),
    }


def build_table(description: dict[str, Any], build: Callable[[Any], Any]) -> TableModel:
    """The model of its description."""
    preparation, estimator = table_parts(description)
    if description.keys() - _MORE != _KEYS or not _is_label(description["label"]):
        raise ModelFileError("it holds a model of a table that lacks its label or its columns")
    if not (description["id"] is None or _is_text(description["id"])):
        raise ModelFileError("it holds a model of a table whose id is not a name")
    rows = description.get("fitted_rows")
    if not (rows is None or _are_hashes(rows)):
        raise ModelFileError("it holds a model of a table whose rows of fit are not sorted hashes")
    columns = description["columns"]
    if not are_kinds(columns, 0) or not columns or not all(_is_of_table(*column) for column in columns):
        raise ModelFileError("it holds a model of a table whose columns are not names, kinds and levels")
    schema = Schema(build_columns(columns), build_missing(description.get("missing")))
    method = build(estimator)
    mixed = preparation is None and isinstance(method, BasePUClassifier) and _takes_columns(method)
    prepared = (
        None if mixed else build_preparation(schema.level_counts, len(columns), preparation, "a model of a table")
    )
    width = len(columns if prepared is None else prepared.sources)
    if not isinstance(method, BasePUClassifier) or method.n_features_in_ != width:
        raise ModelFileError("it holds a model of a table whose estimator does not fit its columns")
    held = _build_scores(description.get("held_out"), description["id"], rows)
    audits = _build_audits(description.get("audits", []))
    label = _build_label(description["label"], method)
    spelling = _build_spelling(description.get("spelling"))
    seen = build_seen(schema, description.get("seen"))
    return TableModel(label, description["id"], schema, prepared, method, rows, held, audits, spelling, seen)


def _takes_columns(method: BasePUClassifier) -> bool:
    """Whether a method takes the columns of a table as they are, or prepares them itself."""
    return method._takes_mixed_columns() or method._prepares_columns()


def _describe_scores(model: TableModel) -> dict[str, Any] | None:
    """The scores held out; without ids, the hashes of the rows are those of the rows of fit."""
    held = model.held_out
    return None if held is None else {"rows": None if model.id is None else held.rows, "log_odds": held.log_odds}


def _build_scores(facts: Any, id: str | None, fitted: Any) -> HeldOut | None:
    """The scores held out, if there are any."""
    if facts is None:
        return None
    if not isinstance(facts, dict) or facts.keys() != {"rows", "log_odds"} or (facts["rows"] is None) != (id is None):
        raise ModelFileError("it holds a model of a table whose scores of the rows of fit are not complete")
    rows, log_odds = fitted if id is None else facts["rows"], facts["log_odds"]
    if not _are_hashes(rows) or not any(is_array("f", len(rows), width)(log_odds, 0) for width in (2, 4)):
        raise ModelFileError("it holds a model of a table whose scores of the rows of fit do not match the rows")
    if log_odds.dtype != np.float32 or np.isnan(log_odds).any() or np.isinf(np.delete(log_odds, 1, axis=1)).any():
        raise ModelFileError("it holds a model of a table whose scores of the rows of fit are not numbers")
    return HeldOut(rows, log_odds)


def _describe_spelling(spelling: Spelling) -> dict[str, Any]:
    """How the table was written; nothing if nothing is known of it."""
    return {} if spelling == Spelling() else {"spelling": vars(spelling).copy()}


def _build_spelling(facts: Any) -> Spelling:
    """How the table was written, as far as a file says it."""
    if facts is None:
        return Spelling()
    if not isinstance(facts, dict) or facts.keys() != Spelling.__dataclass_fields__.keys():
        raise ModelFileError("it holds a model of a table whose spelling is not complete")
    if facts["decimal"] not in (None, ".", ","):
        raise ModelFileError("it holds a model of a table whose decimal sign is not a point or a comma")
    if not (facts["encoding"] is None or is_encoding(facts["encoding"])):
        raise ModelFileError("it holds a model of a table whose encoding is not known")
    if not (facts["sheet"] is None or _is_text(facts["sheet"])):
        raise ModelFileError("it holds a model of a table whose sheet is not a name")
    return Spelling(**facts)


def describe_audits(model: TableModel) -> dict[str, Any]:
    """The draws and verdicts that the model remembers; nothing if there are none."""
    return {"audits": [vars(each).copy() for each in model.audits]} if model.audits else {}


def _build_audits(facts: Any) -> tuple[PastDraw, ...]:
    names = PastDraw.__dataclass_fields__.keys()
    if not isinstance(facts, list) or not all(isinstance(each, dict) and each.keys() == names for each in facts):
        raise ModelFileError("it holds a model of a table whose audits are not complete")
    for each in facts:
        arrays = [value for name, value in each.items() if name != "code"]
        if not _is_text(each["code"]) or not all(is_array("i", None)(value, 0) for value in arrays):
            raise ModelFileError("it holds a model of a table whose audits are not numbers")
    past = tuple(PastDraw(**each) for each in facts)
    if not all(each.is_valid() for each in past):
        raise ModelFileError("it holds a model of a table whose audits do not add up")
    return past


def _are_hashes(rows: Any) -> bool:
    """Whether these are different hashes, sorted."""
    return is_array("i", None)(rows, 0) and bool((rows[1:] > rows[:-1]).all())


def table_parts(description: dict[str, Any]) -> tuple[Any, Any]:
    """The descriptions of the preparation and of the estimator."""
    return description.get("preparation"), description.get("estimator")


def _describe_label(label: Label | LabelColumns) -> tuple[Any, ...]:
    """The column, its label and its other value; one such tuple for each of several sources."""
    if isinstance(label, LabelColumns):
        return tuple(_describe_label(each) for each in label.labels)
    return label.column, label.positive, label.negative


def _build_label(facts: tuple[Any, ...], method: BasePUClassifier) -> Label | LabelColumns:
    if _is_one_label(facts):
        return Label(*facts)
    if not isinstance(method, SeveralSources) or len(method.source_names_) != len(facts):
        raise ModelFileError("it holds a model of a table whose label columns are not the sources of its estimator")
    return LabelColumns(tuple(Label(*each) for each in facts))


def _is_label(label: Any) -> bool:
    """One label, or several in different columns, each with a value for rows that are not labelled."""
    if _is_one_label(label):
        return True
    several = isinstance(label, tuple) and len(label) > 1 and all(_is_one_label(each) for each in label)
    return several and len({each[0] for each in label}) == len(label) and all(each[2] is not None for each in label)


def _is_one_label(label: Any) -> bool:
    if not isinstance(label, tuple) or len(label) != 3:
        return False
    return _is_text(label[0]) and _is_text(label[1]) and (label[2] is None or _is_text(label[2]))


def _is_of_table(name: str, kind: str, levels: list[str], form: str = "") -> bool:
    """Whether a table may have such a column; those that are empty are left out."""
    return kind != "empty" and all(map(_is_text, [name, *levels, form]))


def _is_text(value: Any) -> bool:
    """A string that a table may hold: half of a surrogate pair is none, and pyarrow fails on it."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)
