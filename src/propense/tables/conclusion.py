"""What may be said of the labelling: one conclusion, from what was named, the test of labels at random and the groups.

Each looks at something else and needs another strength of evidence, so that taken one by one they can contradict each
other. Every output says what is decided here, and nothing else about which positives get labels.
"""

from dataclasses import dataclass
from typing import Any

from propense._diagnostics.diagnosis import Diagnosis
from propense.estimators import Naive
from propense.inference import ScarTest
from propense.tables.fit import TableFit
from propense.tables.promise import too_little_learned
from propense.tables.under_labelled import GroupComparison, compare_groups

__all__ = ["Conclusion", "conclude"]

# Level of the test of labels at random.
_LEVEL = 0.05
# Columns named in a sentence.
_NAMED = 5

_TOO_LITTLE = "Too little was learned to say which positives are labelled more often than others."
_WEAK = (
    "The labels hardly depend on the columns that were named for labelling, so it is not clear which positives get a "
    "label."
)
_CONFIRMED = "The labels suggest that some positives are labelled more often than others."
_AGAINST = "The labels suggest that not all positives have the same chance of a label."
_UNCONFIRMED = (
    "The labels do not confirm that labelling depends on these columns: they may have been given at random among the "
    "positives."
)
_BY_GROUP = "Some positives are probably labelled more often than others, and some groups stand out."
_NOT_WHICH = "Some positives are probably labelled more often than others, but the labels do not clearly show which."
_AT_RANDOM = (
    "Labels may have been given at random among the positives: nothing here shows that some are labelled more often. "
    "That does not prove it."
)
_ALONE = "Groups cannot be distinguished"


@dataclass(frozen=True)
class Conclusion:
    """What a fit says of who gets labelled.

    Attributes
    ----------
    pattern : str
        How labelling seems to work, as one or two sentences; empty if nothing may be said.
    test : str
        The test of labels at random in numbers, which the pattern takes into account; empty if it was not run.
    groups : str
        What may be said of groups, as one or two sentences.
    differing : tuple of GroupComparison
        The columns whose groups may be shown as under-labelled; those that differ most first.
    compared : tuple of GroupComparison
        All columns.
    """

    pattern: str
    test: str
    groups: str
    differing: tuple[GroupComparison, ...]
    compared: tuple[GroupComparison, ...]


def conclude(found: TableFit) -> Conclusion:
    """What may be said of the labelling of a fit.

    Parameters
    ----------
    found : TableFit

    Returns
    -------
    Conclusion
    """
    compared = tuple(compare_groups(found.groups))
    columns = getattr(found.estimator, "propensity_features", None)
    weak = any(doubt.kind == "weak_columns" for doubt in found.estimator.doubts_)
    little, scar = too_little_learned(found.estimator), found.scar
    shows_nothing = little or weak or _is_constant(columns) or _is_complete(found)
    rejected = None if scar is None else scar.p_value <= _LEVEL
    differing = () if shows_nothing or rejected is False else tuple(each for each in compared if each.differs)
    if little:
        pattern = _TOO_LITTLE
    elif isinstance(found.estimator, Naive) or hasattr(found.estimator, "audit_") or _is_complete(found):
        pattern = ""
    elif weak:
        pattern = _WEAK
    elif _is_constant(columns):
        pattern = _AGAINST if rejected else ""
    elif columns is not None:
        pattern = {True: _CONFIRMED, False: _UNCONFIRMED, None: ""}[rejected]
    else:
        pattern = _BY_GROUP if differing else {True: _NOT_WHICH, False: _AT_RANDOM, None: ""}[rejected]
    return Conclusion(
        pattern=pattern,
        test="" if scar is None else _in_numbers(scar),
        groups=_of_groups(found, compared, differing, rejected),
        differing=differing,
        compared=compared,
    )


def _is_complete(found: TableFit) -> bool:
    diagnosis = getattr(found.estimator, "diagnosis_", None)
    return isinstance(diagnosis, Diagnosis) and diagnosis.labelling == "complete"


def _is_constant(columns: Any) -> bool:
    """Whether e was taken to depend on no column."""
    return columns is not None and len(columns) == 0


def _in_numbers(scar: ScarTest) -> str:
    count = int((scar.simulated >= scar.statistic).sum())
    words = (
        f"In {count} of {len(scar.simulated)} simulations with labels given at random among the positives, labels "
        f"depended on the columns as strongly as here (p = {scar.p_value:.3f}; {scar.rows:,} rows were tested)."
    )
    if scar.p_value > _LEVEL:
        return words
    return f"{words} The test assumes straight-line relations, which may also be a reason."


def _of_groups(
    found: TableFit,
    compared: tuple[GroupComparison, ...],
    differing: tuple[GroupComparison, ...],
    rejected: bool | None,
) -> str:
    if not compared:
        return "There are no columns to group by."
    if _is_complete(found):
        return "The class of every row is known, so no group is under-labelled."
    if isinstance(found.estimator, Naive):
        return f"{_ALONE}: the naive method assumes that every positive is labelled."
    if _is_constant(getattr(found.estimator, "propensity_features", None)):
        return f"{_ALONE}: every positive was assumed to be equally likely to be labelled."
    ranged = all(each.ranged for each in compared)
    allowed = "chance and the method's range" if ranged else "chance"
    if not differing:
        reason = f"no group is labelled more or less often than the others beyond what {allowed} would explain"
        if too_little_learned(found.estimator):
            return f"{_ALONE}: too little was learned."
        if rejected is False:
            reason = "labels may have been given at random"
        return f"{_ALONE}: {reason}. The overall share is the best guess for each of them."
    names = [each.column for each in differing[:_NAMED]]
    more = [f"{len(differing) - _NAMED} more"] if len(differing) > _NAMED else []
    listed = ", ".join([*names, *more])
    words = f"Groups differ, beyond what {allowed} would explain, by {listed}."
    if not ranged:
        words += " This does not allow for the method itself being wrong."
    return words
