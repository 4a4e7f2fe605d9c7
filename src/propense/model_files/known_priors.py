"""A known share of positives as plain values, and back: the parameter, and how far y moved to meet it."""

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from propense._inputs.prior_groups import PriorGroups
from propense._steps.known_prior import Shift, ShiftedPredictor
from propense.errors import ModelFileError
from propense.estimators._description import Check, is_array
from propense.model_files.checks import is_real

__all__ = ["build_prior", "build_shifts", "describe_prior", "describe_shifts"]


def _is_shift(value: Any, p: int) -> bool:
    """One number, or one for each of some groups."""
    return is_real(value, p) or (isinstance(value, tuple) and all(is_real(each, p) for each in value))


# The facts of predictors that were moved: how far, in use and at both ends of the range, and the groups, if there are
# any.
_SHIFTS: dict[str, Check] = {
    "shift": _is_shift,
    "moves": lambda value, p: isinstance(value, tuple) and all(_is_shift(each, p) for each in value),
    "groups": lambda value, p: isinstance(value, dict),
}


def describe_prior(prior: Any) -> Any:
    """The parameter; groups, which need not be text, apart from their shares."""
    return {"groups": list(prior), "shares": list(prior.values())} if isinstance(prior, Mapping) else prior


def build_prior(prior: Any) -> Any:
    """The parameter of its description."""
    if not isinstance(prior, dict):
        return prior
    groups, shares = prior.get("groups"), prior.get("shares")
    if not isinstance(groups, list) or not isinstance(shares, list) or len(groups) != len(shares) or len(prior) != 2:
        raise ModelFileError("it holds a prior that does not have a share for each group")
    if not all(isinstance(group, str | numbers.Real | np.bool_) for group in groups):
        raise ModelFileError("it holds a prior of groups that are neither text nor numbers")
    return dict(zip(groups, shares, strict=True))


def describe_shifts(moved: ShiftedPredictor) -> dict[str, Any]:
    """How far y was moved."""
    facts: dict[str, Any] = {"shift": moved.shift}
    if moved.moves:
        facts["moves"] = moved.moves
    if moved.groups is not None:
        facts["groups"] = vars(moved.groups).copy()
    return facts


def build_shifts(facts: Any, p: int, ends: int, what: str) -> tuple[Shift, tuple[Shift, ...], PriorGroups | None]:
    """How far y is moved, in use and in each of so many pairs of y and e, of p features."""
    known = isinstance(facts, dict) and "shift" in facts and facts.keys() <= _SHIFTS.keys()
    if not known or not all(_SHIFTS[name](value, p) for name, value in facts.items()):
        raise ModelFileError(f"{what} does not say how far y was moved to a share of positives")
    groups = _build_groups(facts["groups"], p, what) if "groups" in facts else None
    given, count = (facts["shift"], *facts.get("moves", ())), None if groups is None else len(groups.values)
    if any((len(each) if isinstance(each, tuple) else None) != count for each in given):
        raise ModelFileError(f"{what} does not say how far each group was moved to its known prior")
    shift, *moves = (float(each) if count is None else tuple(map(float, each)) for each in given)
    if len(moves) != ends or (moves and moves[-1] != shift):
        raise ModelFileError(f"{what} does not say how far the ends of its range were moved")
    return shift, tuple(moves), groups


def _build_groups(facts: dict[str, Any], p: int, what: str) -> PriorGroups:
    columns: Any = facts.get("columns")
    named = is_array("iu", None)(columns, 0) and all(0 <= place < p for place in columns)
    if facts.keys() != PriorGroups.__dataclass_fields__.keys() or not named:
        raise ModelFileError(f"{what} has groups of a known prior in columns that are not there")
    values = facts["values"]
    if not is_array("f", None, len(columns))(values, 0) or not len(values) or not np.isfinite(values).all():
        raise ModelFileError(f"{what} has groups of a known prior without their values")
    return PriorGroups(np.asarray(columns, dtype=np.intp), np.asarray(values, dtype=np.float64))
