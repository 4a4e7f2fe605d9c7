"""From the columns of a table to the columns of a design: impute, one-hot, scale, by scikit-learn's own parts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from propense.errors import InvalidOption
from propense.tables.schema import Schema

__all__ = ["make_preparation", "places_of", "prepared_columns"]


def make_preparation(schema: Schema) -> ColumnTransformer:
    """What turns `schema.encode(table)` into features, unfitted.

    Numbers: the median where missing, with a column that says so, then mean 0 and standard deviation 1. Categories: a
    column for each level but the most frequent, which the others are compared with.
    """
    numbers = [j for j, column in enumerate(schema.columns) if column.kind != "category"]
    categories = [j for j, column in enumerate(schema.columns) if column.kind == "category"]
    levels = [np.arange(len(schema.columns[j].levels), dtype=np.float64) for j in categories]
    return ColumnTransformer(
        [
            (
                "numbers",
                Pipeline(
                    [("impute", SimpleImputer(strategy="median", add_indicator=True)), ("scale", StandardScaler())]
                ),
                numbers,
            ),
            (
                "categories",
                OneHotEncoder(categories=levels, drop="first", handle_unknown="ignore", sparse_output=False),
                categories,
            ),
        ]
    )


def prepared_columns(schema: Schema, preparation: ColumnTransformer) -> list[tuple[str, str]]:
    """For each feature the column it comes from, and what it says of it: nothing, "missing", or a level."""
    numbers = [column.name for column in schema.columns if column.kind != "category"]
    out = [(name, "") for name in numbers]
    if numbers:
        imputer: Any = preparation.named_transformers_["numbers"].named_steps["impute"]
        out += [(numbers[j], "missing") for j in imputer.indicator_.features_]
    for column in schema.columns:
        out += [(column.name, level) for level in column.levels[1:]]
    return out


def places_of(names: Sequence[str], prepared: Sequence[tuple[str, str]]) -> list[int]:
    """The features that come from the named columns."""
    known = dict.fromkeys(source for source, _ in prepared)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidOption(
            f"The propensity feature {unknown[0]!r} is no feature. There are: {', '.join(map(repr, known))}."
        )
    return [j for j, (source, _) in enumerate(prepared) if source in names]
