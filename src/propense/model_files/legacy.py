"""The parts of scikit-learn in earlier files, described one by one in plain values; such files are only read.

Each part is fitted on a tiny matrix, which sets what scikit-learn keeps privately; then what it has learned is put in
place of what it found there, if it is of the same kind and shape.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from propense.errors import ModelFileError
from propense.model_files.checks import check_facts, is_truth

__all__ = ["CLASSES", "construct", "restore", "set_output"]

# build(description, fitted=…) makes the parts of a part.
Build = Callable[..., Any]

_SCALERS = (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)
CLASSES = {made.__name__: made for made in (Pipeline, ColumnTransformer, SimpleImputer, OneHotEncoder, *_SCALERS)}
# A file may not make a tiny matrix a large one.
_MOST_COLUMNS, _MOST_CELLS = 1_000_000, 1 << 24


def construct(made: type, parameters: dict[str, Any], build: Build, *, fitted: bool) -> Any:
    """An instance with these arguments, the parts among them built."""
    what, key = made.__name__, {Pipeline: "steps", ColumnTransformer: "transformers"}.get(made)
    if parameters.get("memory") is not None:
        raise ModelFileError(f"its {what} asks for a cache")
    if not is_truth(parameters.get("verbose_feature_names_out", True), 0):
        raise ModelFileError(f"its {what} names features by a format")
    if key:
        entries = parameters[key]
        if not entries or len({str(name) for name, *_ in entries}) < len(entries):
            raise ModelFileError(f"its {what} has no {key}, or two of the same name")
        inner = [(name, _part(each, build, fitted and made is Pipeline), *rest) for name, each, *rest in entries]
        parameters = {**parameters, key: inner}
    if "remainder" in parameters:
        parameters["remainder"] = _part(parameters["remainder"], build, False)
    return made(**parameters)


def _part(each: Any, build: Build, fitted: bool) -> Any:
    """A word that has a meaning here, or the part that a description is of."""
    return each if each is None or each in ("drop", "passthrough") else build(each, fitted=fitted)


def restore(thing: Any, facts: Any, build: Build) -> None:
    """Give a part what it has learned."""
    if isinstance(thing, Pipeline):
        return
    p = check_facts(facts, {}, dict.fromkeys(facts, lambda value, p: True), type(thing).__name__)
    if p > _MOST_COLUMNS:
        raise ModelFileError(f"its {type(thing).__name__} has {p} columns, more than a file may have")
    if isinstance(thing, ColumnTransformer):
        _fit_columns(thing, facts, p, build)
    elif isinstance(thing, SimpleImputer):
        _fit_imputer(thing, facts, p)
    elif isinstance(thing, OneHotEncoder):
        _fit_encoder(thing, facts)
    else:
        thing.fit(np.zeros((1, p)))
    for name, value in facts.items():
        if name == "feature_names_in_" or (name in vars(thing) and name != "transformers_"):
            if not _alike(getattr(thing, name, value), value, p):
                raise ModelFileError(f"{name} of its {type(thing).__name__} is not valid")
            setattr(thing, name, value)


def set_output(thing: Any, output: Any) -> None:
    """Choose the container of what a transformer returns."""
    if output not in (None, "default", "pandas", "polars"):
        raise ModelFileError(f"its {type(thing).__name__} returns an unknown container")
    if output is not None:
        # Not the ColumnTransformer's own method, which would choose for its parts too; they have chosen.
        TransformerMixin.set_output(thing, transform=output)


def _alike(one: Any, other: Any, p: int) -> bool:
    """Whether two values are of one kind and shape, whatever their numbers."""
    if isinstance(one, list | dict):
        keys: Any = one.keys() if isinstance(one, dict) else range(len(one))
        same = type(one) is type(other) and len(one) == len(other)
        return same and all(_alike(one[key], other[key], p) for key in keys)
    if one is None or isinstance(one, bool | slice):
        return type(one) is type(other)
    # A count of rows is one for each column where values were missing.
    return np.shape(other) in (np.shape(one), np.shape(one) or (p,)) and np.asarray(other).dtype.kind in "biufUO"


def _fit_imputer(imputer: SimpleImputer, facts: dict[str, Any], p: int) -> None:
    """On two rows, the second with a missing value in each marked column."""
    marked, dtype, values = facts["marked"], facts["dtype"], facts["statistics_"]
    if (marked is None) is bool(imputer.add_indicator) or np.dtype(dtype).kind not in "fiuO":
        raise ModelFileError("its SimpleImputer marks missing values, or does not, against its arguments")
    there = ["0", "1"] if dtype == "object" else [0, 1]
    matrix = np.full((2, p), there[imputer.missing_values == there[0]], dtype=dtype)
    if marked is not None and len(marked):
        matrix[1, marked] = imputer.missing_values
    own = imputer.fit(matrix).statistics_.dtype
    # From scikit-learn 1.8 on constants are objects, which earlier ones do not take.
    facts["statistics_"] = values.astype(own) if values.dtype == np.dtype("O") != own else values


def _fit_encoder(encoder: OneHotEncoder, facts: dict[str, Any]) -> None:
    """With its categories numbered, which settles what it drops and which it groups as infrequent."""
    sizes, wanted, grouped = [len(each) for each in facts["categories_"]], encoder.get_params(), facts["infrequent"]
    enabled = wanted["min_frequency"] is not None or wanted["max_categories"] is not None
    if (grouped is not None) is not enabled or not min(sizes) or max(sizes) * len(sizes) > _MOST_CELLS:
        raise ModelFileError("its OneHotEncoder groups categories against its arguments, or has none or too many")
    if np.dtype(encoder.dtype).kind not in "fiub":
        raise ModelFileError("its OneHotEncoder does not produce numbers")
    encoder._validate_params()
    # Every frequent category occurs once, by its number, and no infrequent one; −1 is not a category.
    matrix = np.full((max(sizes), len(sizes)), -1)
    for j, some in enumerate(grouped or [None] * len(sizes)):
        frequent = np.delete(np.arange(sizes[j]), np.array(some or [], dtype=np.int64))
        matrix[: len(frequent), j] = frequent
    drop = wanted["drop"] if wanted["drop"] is None or isinstance(wanted["drop"], str) else facts["dropped"]
    encoder.set_params(categories=[np.arange(size) for size in sizes], drop=drop, handle_unknown="ignore")
    encoder.set_params(min_frequency=1 if enabled else None, max_categories=None).fit(matrix).set_params(**wanted)


def _fit_columns(transformer: ColumnTransformer, facts: dict[str, Any], p: int, build: Build) -> None:
    """On one row that passes through, which settles the columns; then the fitted transformers are put in place."""
    names, wanted = facts.get("feature_names_in_", np.arange(p)), transformer.get_params(deep=False)
    numbers = {name: number for number, name in enumerate(names)}

    def placed(columns: Any) -> Any:
        """By number where by name, for an array has no names; a slice of names includes its end."""
        if isinstance(columns, slice) and isinstance(columns.stop or columns.start, str):
            start, stop = (None if end is None else numbers[end] for end in (columns.start, columns.stop))
            return slice(start, None if stop is None else stop + 1, columns.step)
        several = isinstance(columns, list | tuple | np.ndarray)
        named = any(isinstance(each, str) for each in (columns if several else [columns]))
        return ([numbers[each] for each in columns] if several else numbers[columns]) if named else columns

    def passing(part: Any) -> str:
        return "drop" if isinstance(part, str) and part == "drop" else "passthrough"

    parts = [(name, passing(part), placed(columns)) for name, part, columns in transformer.transformers]
    transformer.set_params(transformers=parts, remainder=passing(transformer.remainder), n_jobs=None)
    with config_context(transform_output="default"):
        found = transformer.fit(np.zeros((1, p), dtype=np.uint8)).transformers_
    columns = [columns for _, _, columns in transformer.set_params(**wanted).transformers]
    if len(found) > len(columns):
        rest = found[-1][2]
        by = {"name": list(names[rest]), "truth": np.isin(np.arange(p), rest).tolist(), "number": rest}
        columns.append(by[facts["remainder_by"]])
    if [name for name, *_ in found] != [name for name, _ in facts["transformers_"]]:
        raise ModelFileError("its ColumnTransformer has fitted other transformers than it was given")
    transformer.transformers_ = [
        (name, _fitted(part, own, some, build), some)
        for (name, part), (_, own, _), some in zip(facts["transformers_"], found, columns, strict=True)
    ]


def _fitted(part: Any, own: Any, columns: Any, build: Build) -> Any:
    """The fitted transformer of its description; `own` is what scikit-learn has put in the place of "passthrough"."""
    if isinstance(part, dict) and part.keys() == {"passthrough, fitted"}:
        facts = dict(part["passthrough, fitted"])
        set_output(own, facts.pop("output", None))
        check_facts(facts, {}, {}, "passthrough")
        vars(own).update(facts)
        return own
    # scikit-learn leaves a transformer of no columns unfitted.
    row = np.asarray(columns) if isinstance(columns, list | tuple | np.ndarray) else np.ones(1)
    return _part(part, build, bool(row.any() if row.dtype == bool else row.size))
