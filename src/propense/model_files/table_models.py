"""Models of tables as plain descriptions: a pipeline, and what the columns of the table are."""

from collections.abc import Callable
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from propense.errors import ModelFileError
from propense.estimators._base import BasePUClassifier
from propense.tables import Column, Label, Schema, TableModel

__all__ = ["TABLE", "build_table", "describe_table", "is_table"]

TABLE = "TableModel"
_KEYS = {"class", "label", "id", "columns", "pipeline"}
_KINDS = ("number", "truth", "category")


def is_table(description: Any) -> bool:
    """Whether a description tells of a model of a table."""
    return isinstance(description, dict) and description.get("class") == TABLE


def describe_table(model: TableModel, describe: Callable[[Any, str], dict[str, Any]]) -> dict[str, Any]:
    """All that a model of a table is, in plain values."""
    return {
        "class": TABLE,
        "label": (model.label.column, model.label.positive, model.label.negative),
        "id": model.id,
        "columns": [(column.name, column.kind, list(column.levels)) for column in model.schema.columns],
        "pipeline": describe(
            Pipeline([("prepare", model.preparation), ("method", model.estimator)]), "this TableModel"
        ),
    }


def build_table(description: dict[str, Any], build: Callable[[Any], Any]) -> TableModel:
    """The model of its description."""
    if description.keys() != _KEYS or not _is_label(description["label"]):
        raise ModelFileError("it holds a model of a table that lacks its label or its columns")
    if not isinstance(description["id"], str | None):
        raise ModelFileError("it holds a model of a table whose id is no name")
    columns = description["columns"]
    if not isinstance(columns, list) or not columns or not all(map(_is_column, columns)):
        raise ModelFileError("it holds a model of a table whose columns are not names, kinds and levels")
    schema = Schema(tuple(Column(name, kind, tuple(levels)) for name, kind, levels in columns))
    pipeline = build(description["pipeline"])
    parts = [each for _, each in pipeline.steps] if isinstance(pipeline, Pipeline) else []
    if len(parts) != 2 or type(parts[0]) is not ColumnTransformer or not isinstance(parts[1], BasePUClassifier):
        raise ModelFileError("it holds a model of a table that does not prepare its columns")
    if parts[0].n_features_in_ != len(schema.columns):
        raise ModelFileError("it holds a model of a table of other columns than it prepares")
    return TableModel(Label(*description["label"]), description["id"], schema, *parts)


def _is_label(label: Any) -> bool:
    if not isinstance(label, tuple) or len(label) != 3:
        return False
    return isinstance(label[0], str) and isinstance(label[1], str) and isinstance(label[2], str | None)


def _is_column(column: Any) -> bool:
    if not isinstance(column, tuple) or len(column) != 3:
        return False
    name, kind, levels = column
    words = isinstance(levels, list) and all(isinstance(level, str) for level in levels)
    return isinstance(name, str) and kind in _KINDS and words and bool(levels) == (kind == "category")
