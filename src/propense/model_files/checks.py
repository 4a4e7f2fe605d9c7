"""Checks of what a file holds, before it is used: types, numbers that belong together, and two rows to score."""

import math
import numbers
import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin

import numpy as np

from propense._designs import as_design
from propense._inputs.columns import KINDS, Column, level_counts
from propense._inputs.feature_lists import read_columns, read_source_columns
from propense._inputs.moments import DATE_FORM
from propense._inputs.preparation import Preparation
from propense.errors import ModelFileError
from propense.estimators import SeveralSources
from propense.estimators._base import BasePUClassifier
from propense.estimators._description import Check, is_array

__all__ = ["EVERY", "OPTIONAL", "check_part", "fits", "restore"]

_INT32 = 2**31 - 1
# What a learner may be. Others hold predictors themselves: some ask both of theirs, so that few could take for ever.
_LEARNERS = {"ClassifierPredictor", "ForestPredictor", "LogisticPredictor"}
_DEEPEST = 4


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the annotated type; arrays by the kind of their numbers."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if origin is np.ndarray:
        (scalar,) = get_args(inner[1])
        return isinstance(value, np.ndarray) and value.dtype.kind == np.dtype(scalar).kind
    if origin is tuple:
        each = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1] is Ellipsis else inner
        return isinstance(value, tuple) and len(value) == len(each) and all(map(fits, value, each))
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(key, inner[0]) and fits(each, inner[1]) for key, each in pairs)
    if getattr(hint, "_is_protocol", False):
        return hasattr(value, "log_odds")
    if hint is float:
        return isinstance(value, float) and math.isfinite(value)
    return value is None if hint in (None, type(None)) else isinstance(value, hint) and type(value) is not np.bool_


def _is_number(value: Any, p: int) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and math.isfinite(value)


def _is_count(value: Any, p: int) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= 0


def _is_truth(value: Any, p: int) -> bool:
    return isinstance(value, bool | np.bool_)


def _are_classes(value: Any, p: int) -> bool:
    """Two different numbers, booleans or strings."""
    if not is_array("biufUOT", 2)(value, p):
        return False
    pair = value.tolist()
    return all(isinstance(each, str | bool) or _is_number(each, p) for each in pair) and pair[0] != pair[1]


# What every method learns, and what only some do.
EVERY: dict[str, Check] = {
    "n_features_in_": lambda value, p: _is_count(value, p) and value >= 1,
    "classes_": _are_classes,
    "n_iter_": _is_count,
    "converged_": _is_truth,
    "risk_path_": is_array("f", None),
    "prior_": lambda value, p: _is_number(value, p) and 0 < value <= 1 + 1e-9,
    "label_frequency_": _is_number,
    "doubts_": lambda value, p: fits(value, BasePUClassifier.__annotations__["doubts_"]),
    "_mean": lambda value, p: is_array("f", None)(value, p) and bool(np.isfinite(value).all()),
    "_posterior": lambda value, p: hasattr(value, "log_odds"),
    "_propensity": lambda value, p: hasattr(value, "log_odds"),
}
OPTIONAL: dict[str, Check] = {
    "feature_names_in_": lambda value, p: is_array("O", -1)(value, p) and all(isinstance(each, str) for each in value),
    "_columns": lambda value, p: fits(value, tuple[Column, ...]) and len(value) == p,
    "_preparation": lambda value, p: isinstance(value, Preparation) and len(value.levels) == p,
    "audit_": lambda value, p: type(value).__name__ == "Audited",
}


def _kept(what: Any) -> Check:
    plain: dict[Any, Check] = {float: _is_number, int: _is_count, bool: _is_truth}
    if not isinstance(what, type):
        return what  # type: ignore[no-any-return]
    return plain.get(what, lambda value, p: isinstance(value, what))


def restore(method: BasePUClassifier, facts: dict[str, Any], size: int) -> None:
    """Check the fitted values of a method in a file of `size` bytes, set them, and score two rows."""
    name, kept = type(method).__name__, method.description.keeps
    for each, own in dict[str, Any](kept).items():
        if hasattr(own, "is_valid") and isinstance(facts[each], dict) and own.is_valid(facts[each]):
            facts[each] = own(**facts[each])
    needed = {**EVERY, **{each: _kept(what) for each, what in kept.items()}}
    p = facts.get("n_features_in_", 0)
    if facts.keys() - needed.keys() - OPTIONAL.keys() or not _is_count(p, 0) or p > size:
        raise ModelFileError(f"{name} has fitted values that are none of it")
    for each, check in {**needed, **OPTIONAL}.items():
        if each in needed or each in facts:
            if each not in facts or not check(facts[each], p):
                raise ModelFileError(f"{each} of {name} is missing or not valid")
            setattr(method, each, facts[each])
    prepared = method._preparation
    rows = np.zeros((2, p))
    if method._takes_mixed_columns() and method._fills_missing():
        rows[1] = np.nan
    if prepared is not None:
        rows = prepared.transform(rows)
    levels = None if method._columns is None or prepared is not None else level_counts(method._columns)
    means = rows.shape[1] if levels is None else int(np.maximum(levels, 1).sum())
    if len(method._mean) != means:
        raise ModelFileError(f"{name} does not have a mean row of {means} numbers")
    # Columns that are named must be there.
    if isinstance(method, SeveralSources):
        read_source_columns(method, np.empty((0, 0)), tuple(method.source_names_))
    for each in () if isinstance(method, SeveralSources) else ("class_features", "propensity_features"):
        read_columns(method, each)
    a, b, ends = method._log_odds_and_range(as_design(rows))
    scores = np.array([a, b, *(ends or ())], dtype=np.float64)
    if scores.shape[1:] != (2,) or np.isnan(scores).any():
        raise ModelFileError(f"{name} cannot score a row")


def check_part(part: Any, size: int) -> None:
    """Raise an error if numbers of a part, in a file of `size` bytes, do not belong together."""
    name = type(part).__name__
    check, words = _SOUND.get(name, (lambda part, size: True, ""))
    problem = part.problem(_INT32) if name == "Forest" else _problem_of_table(part) if name == "TableModel" else ""
    if problem or not check(part, size):
        raise ModelFileError(f"it holds a {name} that is not valid: {problem or words}")


def _is_preparation(part: Any, size: int) -> bool:
    # Each level has at least a byte in the file.
    if part.levels.ndim != 1 or ((part.levels < 0) | (part.levels > size)).any() or part.levels.sum() > size:
        return False
    row = part.transform(np.full((1, len(part.levels)), np.nan))
    width = len(part.means) + (part.levels[part.levels > 0] - 1).sum()
    return row.shape == (1, width) and bool(
        np.isfinite(row).all() and (part.scales > 0).all() and (part.marked >= 0).all()
    )


def _depth(predictor: Any) -> int:
    inner = [getattr(predictor, name, None) for name in ("posterior", "propensity")]
    return 0 if inner == [None, None] else 1 + max(map(_depth, inner))


def _is_column(column: Any, size: int) -> bool:
    """Whether it is of a kind, with the levels of one, and cells of its kind may be written in its form."""
    from propense.tables.units import NUMBER_FORM

    known = {"date": DATE_FORM, "number": NUMBER_FORM}.get(column.kind)
    form = not column.form or (known is not None and known.fullmatch(column.form) and column.form.isprintable())
    return bool(column.kind in KINDS and bool(column.levels) == (column.kind == "category") and form)


_MOVED = (lambda part, size: _depth(part) <= _DEEPEST, "it holds too many others")
_CHECKED = (lambda part, size: part.is_valid(vars(part)), "its numbers contradict each other")
# By class: whether a part may be used, and what is wrong if it may not.
_SOUND: dict[str, tuple[Callable[[Any, int], Any], str]] = {
    "Audited": _CHECKED,
    "ClassifierPredictor": (
        lambda part, size: hasattr(part.classifier, "predict_proba") and [*part.classifier.classes_] == [0, 1],
        "it is not a classifier with the classes 0 and 1",
    ),
    "Column": (_is_column, "it is of no kind of column"),
    "CorrectedPredictor": _MOVED,
    "Diagnosis": _CHECKED,
    "LabelCurve": (lambda part, size: 0.0 < part.height <= 1.0, "its height is no chance"),
    "LabelScore": (
        lambda part, size: part.spread > 0.0 and part.members and {*map(_learner, part.members)} <= _LEARNERS,
        "it has no learners, or no spread above 0",
    ),
    "LinePredictor": (
        lambda part, size: type(part.own).__name__ in ("NoneType", "NamedPredictor"),
        "its slopes are not of columns",
    ),
    "PastDraw": (lambda part, size: part.is_valid(), "its numbers contradict each other"),
    "Preparation": (_is_preparation, "its columns do not have the levels and scales of columns"),
    "ShiftedPredictor": _MOVED,
}


def _learner(member: Any) -> str:
    return type(member.predictor).__name__


def _problem_of_table(model: Any) -> str:
    """Why a model of a table does not hang together; empty if it does."""
    from propense.tables.drift import is_seen
    from propense.tables.formats.encodings import is_encoding

    columns, method, label, prepared = model.schema.columns, model.estimator, model.label, model.preparation
    labels = getattr(label, "labels", (label,))
    texts = [model.id, model.spelling.sheet, *model.schema.missing]
    texts += [each for column in columns for each in (column.name, *column.levels)]
    texts += [text for each in labels for text in (each.column, each.positive, each.negative)]
    if any("\ud800" <= sign <= "\udfff" for text in texts if text is not None for sign in text):
        return "it has text that no table can hold"
    if not columns or any(column.kind == "empty" for column in columns) or "" not in model.schema.missing:
        return "it has no columns, or an empty one"
    sources = len(method.source_names_) if isinstance(method, SeveralSources) else 1
    if sources != len(labels) or len({each.column for each in labels}) < len(labels):
        return "its label columns are not those of its estimator"
    mixed = method._takes_mixed_columns() or method._prepares_columns()
    width = len(columns) if prepared is None else len(prepared.sources)
    matches = prepared is None or np.array_equal(prepared.levels, model.schema.level_counts)
    if (prepared is None and not mixed) or not matches or method.n_features_in_ != width:
        return "its estimator does not fit its columns"
    hashes = [model.fitted_rows, None if model.held_out is None else model.held_out.rows]
    if any(each is not None and (each.ndim != 1 or (each[1:] <= each[:-1]).any()) for each in hashes):
        return "its rows of fit are not sorted hashes"
    if model.held_out is not None:
        odds = model.held_out.log_odds
        shaped = odds.dtype == np.float32 and odds.shape in ((len(hashes[1]), 2), (len(hashes[1]), 4))
        if not shaped or np.isnan(odds).any() or np.isinf(np.delete(odds, 1, axis=1)).any():
            return "its scores of the rows of fit are not numbers"
    if model.spelling.decimal not in (None, ".", ","):
        return "its decimal sign is not a point or a comma"
    if not (model.spelling.encoding is None or is_encoding(model.spelling.encoding)):
        return "its encoding is not known"
    if model.seen is not None:
        pairs = [(each.cuts, each.counts) for each in model.seen]
        flat = len(pairs) == len(columns) and all(cuts.ndim == counts.ndim == 1 for cuts, counts in pairs)
        if not flat or not all(is_seen(column, *pair) for column, pair in zip(columns, pairs, strict=True)):
            return "its summaries of columns do not match its columns"
    return ""
