"""What scikit-learn's ColumnTransformer has learnt, and how a new one is made to know it again."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer

from propense.errors import ModelFileError
from propense.model_files.checks import (
    Check,
    check_facts,
    is_columns,
    is_count,
    is_names,
    is_real,
    is_truth,
    is_whole,
    one_of,
)
from propense.model_files.transformers import OUTPUTS, names_of, output_of

__all__ = ["WORDS", "check_column_parameters", "describe_columns", "learnt_by_columns", "restore_columns"]

Describe = Callable[..., dict[str, Any]]
Build = Callable[..., Any]

WORDS = ("drop", "passthrough")
# A ColumnTransformer counts its columns one by one, of which a file may name any number.
_MOST_COLUMNS = 1_000_000
_MOST_JOBS = 1024
_OUTPUT = ("sparse_output_", "output_indices_")
# The FunctionTransformer that scikit-learn puts in the place of "passthrough" once it is fitted.
_STAND_IN = "passthrough, fitted"


def describe_columns(transformer: ColumnTransformer, where: str, describe: Describe) -> dict[str, Any]:
    """Its constructor arguments, the transformers among them described unfitted, as they are passed."""
    parameters = dict(transformer.get_params(deep=False))
    # Gone since scikit-learn 1.9; it only chose how the remaining columns are written down.
    parameters.pop("force_int_remainder_cols", None)
    if not is_truth(transformer.verbose_feature_names_out, 0):
        raise ModelFileError(f"verbose_feature_names_out of {where} is neither True nor False. Set it to one of them")
    parameters["transformers"] = [
        (name, _describe(each, f"transformer {name!r} of {where}", describe), _plain(columns, where))
        for name, each, columns in transformer.transformers
    ]
    parameters["remainder"] = _describe(transformer.remainder, f"the remainder of {where}", describe)
    return parameters


def learnt_by_columns(transformer: ColumnTransformer, where: str, describe: Describe) -> dict[str, Any]:
    """The fitted transformers, how the columns that remain are told, and where the output of each lies."""
    facts = names_of(transformer) | {"transformers_": [], "remainder_by": "number"}
    given = [*transformer.transformers, ("remainder", transformer.remainder, None)]
    fitted = [(name, each, _plain(columns, where)) for name, each, columns in transformer.transformers_]
    if len(fitted) < len(given) - 1 or not all(map(_are_one, given, fitted)):
        raise ModelFileError(f"{where} has other transformers or columns than it was fitted with. Fit it again")
    for name, each, columns in fitted:
        if isinstance(each, FunctionTransformer):
            learnt: Any = {_STAND_IN: names_of(each) | {"output": output_of(each)}}
        else:
            learnt = _describe(each, f"transformer {name!r} of {where}", describe, fitted=not _is_empty(columns))
        facts["transformers_"].append((name, learnt))
    if len(fitted) == len(given):
        facts["remainder_by"] = _told_by(fitted[-1][2])
    return facts | {name: getattr(transformer, name) for name in _OUTPUT if hasattr(transformer, name)}


def _are_one(given: tuple[Any, ...], fitted: tuple[Any, ...]) -> bool:
    """Whether an entry is still what it was when it was fitted, as far as it matters; after that it may be changed."""
    (name, word, columns), (same_name, each, same) = given, fitted
    if isinstance(each, FunctionTransformer):
        # Its own, which does nothing; one of the user's is not taken.
        unchanged = isinstance(word, str) and word == "passthrough" and each.func is None
    else:
        unchanged = not isinstance(word, str) or word == each
    return name == same_name and unchanged and (columns is None or _are_same(columns, same))


def _are_same(columns: Any, others: Any) -> bool:
    """Whether columns are told in the same way."""
    if isinstance(columns, str | slice) or isinstance(others, str | slice):
        return type(columns) is type(others) and bool(columns == others)
    return np.array_equal(np.asarray(columns, dtype=object), np.asarray(others, dtype=object))


def _told_by(columns: list[Any]) -> str:
    """How scikit-learn tells the columns that remain, of which there is at least one."""
    return "name" if isinstance(columns[0], str) else "truth" if isinstance(columns[0], bool) else "number"


def _describe(each: Any, where: str, describe: Describe, *, fitted: bool = False) -> Any:
    return each if isinstance(each, str) and each in WORDS else describe(each, where, fitted=fitted)


def _plain(columns: Any, where: str) -> Any:
    """Columns as they were passed; an index of pandas, or any other container, as a list."""
    if callable(columns):
        raise ModelFileError(
            f"{where} chooses columns by a function, which a model file does not take. Name the columns and fit again"
        )
    if isinstance(columns, str | int | slice | list | tuple | np.ndarray | np.generic):
        return columns
    with warnings.catch_warnings():
        # scikit-learn 1.6 warns whoever looks at the remaining columns that they will be names one day.
        warnings.simplefilter("ignore", FutureWarning)
        return list(columns)


def check_column_parameters(parameters: dict[str, Any]) -> None:
    """Refuse an argument that is not what it may be."""

    def are_weights(value: Any) -> bool:
        return value is None or (isinstance(value, dict) and all(is_real(each, 0) for each in value.values()))

    questions: dict[str, Callable[[Any], bool]] = {
        "sparse_threshold": lambda value: is_real(value, 0) and 0 <= value <= 1,
        "n_jobs": lambda value: value is None or (is_count(abs(value), 0) and abs(value) <= _MOST_JOBS),
        "transformer_weights": are_weights,
        "verbose": lambda value: is_truth(value, 0) or is_whole(value, 0),
        "verbose_feature_names_out": lambda value: is_truth(value, 0),
    }
    for name, value in parameters.items():
        if name in questions and not questions[name](value):
            raise ModelFileError(f"{name} of ColumnTransformer is not what a file may say")
    entries: Any = parameters.get("transformers")
    if not _are_entries(entries, 3) or len({name for name, *_ in entries}) != len(entries):
        raise ModelFileError("transformers of ColumnTransformer are not names, transformers and columns")


def _are_entries(value: Any, length: int) -> bool:
    """(name, transformer or its description, perhaps columns), many times."""
    if not isinstance(value, list):
        return False
    return all(isinstance(each, tuple) and len(each) == length and isinstance(each[0], str) for each in value)


def restore_columns(transformer: ColumnTransformer, facts: Any, build: Build) -> None:
    """Fit it on one row that passes through, which settles its columns; then put the fitted transformers in place."""
    expected: dict[str, Check] = {
        "transformers_": lambda value, p: _are_entries(value, 2),
        "remainder_by": one_of("number", "name", "truth"),
    }
    optional: dict[str, Check] = {
        "sparse_output_": is_truth,
        "output_indices_": lambda value, p: isinstance(value, dict) and all(map(_is_span, value.values())),
    }
    p = check_facts(facts, expected, optional, "ColumnTransformer")
    if p > _MOST_COLUMNS:
        raise ModelFileError(f"ColumnTransformer has seen {p} columns, more than a file may say")
    names = facts.get("feature_names_in_")
    wanted = transformer.get_params(deep=False)
    words = [(name, _word(each), _positions(columns, names)) for name, each, columns in transformer.transformers]
    transformer.set_params(transformers=words, remainder=_word(transformer.remainder), n_jobs=None, verbose=False)
    with config_context(transform_output="default"):
        transformer.fit(np.zeros((1, p), dtype=np.uint8))
    found, said = transformer.transformers_, facts["transformers_"]
    if [name for name, *_ in found] != [name for name, _ in said]:
        raise ModelFileError("ColumnTransformer has fitted other transformers than it was given")
    transformer.set_params(**wanted)
    columns = [columns for _, _, columns in transformer.transformers]
    if len(found) > len(columns):
        columns.append(_remaining(found[-1][2], facts["remainder_by"], names, p))
    transformer.transformers_ = [
        (name, _fitted(each, own, some, build), some)
        for (name, each), (_, own, _), some in zip(said, found, columns, strict=True)
    ]
    for name in ("feature_names_in_", *_OUTPUT):
        if name in facts:
            setattr(transformer, name, facts[name])


def _remaining(numbers: list[int], by: str, names: Any, p: int) -> list[Any]:
    """The columns that remain, told as they were."""
    if by == "name":
        return list(names[numbers])
    return np.isin(np.arange(p), numbers).tolist() if by == "truth" else numbers


def _word(each: Any) -> str:
    """Who takes its place while columns are settled."""
    return "drop" if isinstance(each, str) and each == "drop" else "passthrough"


def _fitted(each: Any, own: Any, columns: Any, build: Build) -> Any:
    """The fitted transformer of its description; `own` is what passing through has put in its place."""
    if not isinstance(each, dict) or each.keys() != {_STAND_IN}:
        return each if isinstance(each, str) and each in WORDS else build(each, fitted=not _is_empty(columns))
    facts = dict(each[_STAND_IN]) if isinstance(each[_STAND_IN], dict) else {}
    output = facts.pop("output", None)
    check_facts(facts, {}, {}, "passthrough")
    if isinstance(own, str) or output not in OUTPUTS:
        raise ModelFileError("ColumnTransformer passes through what it does not")
    for name, value in facts.items():
        setattr(own, name, value)
    return own.set_output(transform=output)


def _is_span(value: Any) -> bool:
    return isinstance(value, slice) and all(is_whole(each, 0) for each in (value.start, value.stop))


def _is_empty(columns: Any) -> bool:
    """Whether scikit-learn takes this for no column at all, and leaves the transformer unfitted."""
    if not isinstance(columns, list | tuple | np.ndarray):
        return False
    truths = len(columns) > 0 and all(isinstance(each, bool | np.bool_) for each in columns)
    return len(columns) == 0 or (truths and not any(columns))


def _positions(columns: Any, names: Any) -> Any:
    """Columns by number where they are told by name, for an array has no names."""
    ends = (columns.start, columns.stop) if isinstance(columns, slice) else ()
    several = is_columns(columns, 0) and len(columns) > 0 and all(isinstance(each, str) for each in columns)
    if not (isinstance(columns, str) or several or any(isinstance(end, str) for end in ends)):
        return columns
    if not is_names(names, len(names) if isinstance(names, np.ndarray) else 0):
        raise ModelFileError("ColumnTransformer chooses columns by name, and knows none")
    numbers = {str(name): number for number, name in enumerate(names)}
    if isinstance(columns, str):
        return numbers[columns]
    if several:
        return [numbers[each] for each in columns]
    # A slice of names includes its end.
    start, stop = (None if end is None else numbers[end] for end in ends)
    return slice(start, None if stop is None else stop + 1, columns.step)
