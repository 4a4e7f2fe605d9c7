"""What a fit learned, what carried it, and what it rests on, in plain words."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from propense._diagnostics.diagnosis import Diagnosis
from propense._text import listed
from propense.estimators import SeveralSources
from propense.tables.conclusion import conclude
from propense.tables.fit import TableFit
from propense.tables.promise import too_little_learned

__all__ = ["GROUP_SHARES", "describe_assumptions", "describe_groups", "describe_learning", "known_share"]

# Columns named in a sentence.
_NAMED = 12

_ALWAYS = (
    "No row is labelled by mistake: every labelled row is positive.",
    "The labels show only how often rows are both positive and labelled. The method's assumptions decide how much of "
    "that is due to being positive and how much to being labelled, and no data can prove them.",
    "The estimate is used for rows like these.",
)
# After an audit, the number rests on its verdicts; the model still gives the order of the rows.
_CHECKED = (
    "The rows that were checked were drawn at random, and the verdicts on them are right.",
    "The order of the list is that of the model.",
)
_WORLDS = (
    "Labels alone do not show how many rows are positive. The range is what was true in simulated worlds, tables whose "
    "classes are known, whose labels look like these."
)
_AUDITED = "The number of positives and its range rest on the rows that people checked, not on assumptions."
GROUP_SHARES = (
    "A group's share is its number of labels divided by its estimated number of positives, drawn towards the overall "
    "share as far as chance explains the difference."
)
_HALF_RIGHT = "The range is of worlds in which that is right, half right or wrong."
_RATIO = "The ratio compares it with the overall share."


# What it means that no column was named.
_EQUALLY = {
    "propensity_features": "Every positive was assumed to be equally likely to be labelled.",
    "class_features": "Every row was assumed to be equally likely to be positive.",
}


def describe_learning(found: TableFit) -> list[str]:
    """Sentences about a fit, without the number of positives, which is stated elsewhere."""
    estimator = found.estimator
    facts = getattr(estimator, "audit_", None)
    if facts is not None:
        return [str(facts), _AUDITED, _scored_by(found)]
    diagnosis = getattr(estimator, "diagnosis_", None)
    pattern = [words] if (words := conclude(found).pattern) else []
    if not isinstance(diagnosis, Diagnosis):
        separates = estimator.description.separates
        rests = [f"What separates being positive from being labelled: {separates}."] if separates else []
        return [*_taken(found), *pattern, *rests, *_kept_to(found), *_sources(found), _scored_by(found)]
    complete = diagnosis.labelling == "complete"
    lines = [*([] if complete else _taken(found)), *pattern]
    if diagnosis.learners:
        lines.append(_learners(diagnosis.learners))
    if diagnosis.missing:
        lines.append(diagnosis.only_logistic)
    lines += _kept_to(found)
    # Without a range there is nothing that it rests on.
    if not complete and not diagnosis.is_given and not too_little_learned(estimator):
        lines.append(_WORLDS)
    return [*lines, _scored_by(found)]


def _sources(found: TableFit) -> list[str]:
    """What each of several sources labels, and what it means if they are not independent."""
    estimator = found.estimator
    if not isinstance(estimator, SeveralSources) or len(estimator.source_names_) == 1:
        return []
    counts, rows = np.diag(estimator.source_overlap_), estimator.source_rows_
    lines = [
        f"{name} labels {share:.0%} of the positives: it looked at {looked:,.0f} rows and labelled {count:,.0f}."
        for name, share, count, looked in zip(
            estimator.source_names_, estimator.source_frequency_, counts, rows, strict=True
        )
    ]
    return lines if found.sources is None else [*lines, str(found.sources)]


def describe_groups(found: TableFit) -> list[str]:
    """Sentences about the shares by group: whether groups can be distinguished, what the shares are, and why."""
    if not found.groups:
        return []
    conclusion, columns = conclude(found), _named(found, "propensity_features")
    lines = [conclusion.groups]
    if not conclusion.differing:
        return lines
    lines.append(f"{GROUP_SHARES} {_RATIO}")
    if columns is not None:
        named = "it" if len(_distinct(found, columns)) == 1 else "them"
        lines.append(
            f"These shares assume that labelling depends only on {_names(found, columns)}. If groups of other columns "
            f"differ too, that is due to how these columns are related to {named}, or labelling depends on these "
            "columns after all."
        )
    return lines


def describe_assumptions(found: TableFit) -> list[str]:
    """What the estimate assumes: every method, this method, and what was said about the columns and the prior."""
    estimator, known, taken = found.estimator, known_share(found), _taken(found)
    if hasattr(estimator, "audit_"):
        return [_ALWAYS[0], _ALWAYS[-1], *_CHECKED]
    own = [*taken, *estimator.description.assumes]
    diagnosis = getattr(estimator, "diagnosis_", None)
    if isinstance(diagnosis, Diagnosis):
        # Named columns take the place of the order of the rows, and a share that was given that of the worlds.
        own = [*taken, *estimator.description.assumes[_allows_names(found) : 1 if diagnosis.is_given else None]]
    own += [f"The share of positives is {known}, as was given."] if known else []
    return [*_ALWAYS, *own]


def _taken(found: TableFit) -> list[str]:
    """What was said of the columns that y and e depend on, as sentences."""
    lines = []
    for option, what in (("propensity_features", "The chance of a label"), ("class_features", "Being positive")):
        columns = _named(found, option)
        if columns is not None and len(columns) and option == "propensity_features" and _allows_names(found):
            lines.append(f"{what} was said to depend on {_names(found, columns)}. {_HALF_RIGHT}")
        elif columns is not None and len(columns):
            lines.append(f"{what} was assumed to depend only on {_names(found, columns)}.")
        elif columns is not None:
            lines.append(_EQUALLY[option])
    return lines


def _allows_names(found: TableFit) -> bool:
    """Whether the range is of worlds in which the columns that were named for e are right, half right or wrong."""
    diagnosis = getattr(found.estimator, "diagnosis_", None)
    return isinstance(diagnosis, Diagnosis) and diagnosis.labelling == "named"


def _named(found: TableFit, option: str) -> Any:
    """The columns that an option names; None if it names none, or a list for each of several sources."""
    columns = getattr(found.estimator, option, None)
    several = columns is not None and any(not isinstance(each, str | int | np.integer) for each in columns)
    return None if several else columns


def _kept_to(found: TableFit) -> list[str]:
    """What was known of the share of positives, and what it moved, as a sentence; none if nothing was."""
    known = known_share(found)
    kept = f"The share of positives was given as {known}, and the estimate was made to match."
    return [kept + _moved(found)] if known else []


def known_share(found: TableFit) -> str:
    """The share of positives that was given, in words; empty if none was."""
    prior = found.estimator.prior if hasattr(found.estimator, "prior_groups") else None
    if not isinstance(prior, Mapping):
        return "" if prior is None else _share(prior)
    column = _names(found, [found.estimator.prior_groups])
    return listed([f"{_share(share)} where {column} is {group}" for group, share in prior.items()])


def _share(share: Any) -> str:
    low, high = share if isinstance(share, tuple | list) else (share, share)
    return _percent(low) if low == high else f"{_percent(low)} to {_percent(high)}"


def _moved(found: TableFit) -> str:
    """What the estimates would have been without the shares that were given."""
    diagnosis = getattr(found.estimator, "diagnosis_", None)
    if diagnosis is None or not diagnosis.moved:
        return ""
    moved = diagnosis.moved
    if not isinstance(found.estimator.prior, Mapping):
        ((before, after),) = moved.values()
        # Where both round to the same, nothing was moved that a reader could see.
        return "" if f"{before:.0%}" == f"{after:.0%}" else f" The middle of the labels alone was {before:.0%}."
    shares = listed([f"{before:.0%} ({group})" for group, (before, _) in moved.items()])
    others = " Rows of other groups stay as estimated." if _has_others(found, len(moved)) else ""
    return f" The middle of the labels alone was {shares}.{others}"


def _has_others(found: TableFit, groups: int) -> bool:
    """Whether the column of the groups has more than so many values."""
    name, names = _names(found, [found.estimator.prior_groups]), found.schema.names
    return name in names and len(np.unique(found.matrix[:, names.index(name)])) > groups


def _percent(share: float) -> str:
    """As many digits as the share has: 15%, 1.5%, 0.25%."""
    return f"{100.0 * share:.4g}%"


def _names(found: TableFit, columns: Any) -> str:
    """The columns in words, the first of them if they are many."""
    said = _distinct(found, columns)
    more = [f"{len(said) - _NAMED} more"] if len(said) > _NAMED else []
    return listed(said[:_NAMED] + more)


def _distinct(found: TableFit, columns: Any) -> list[str]:
    """The columns, once each: a method that takes numbers only gets a feature for each level of a category."""
    names, model = found.schema.names, found.model
    if model is not None and model.preparation is not None:
        names = [names[place] for place in model.preparation.sources]
    said = (each if isinstance(each, str) or each >= len(names) else names[each] for each in columns)
    return [str(each) for each in dict.fromkeys(said)]


def _learners(learned: dict[str, float]) -> str:
    """Which learner put labelled rows above unlabelled ones most often, and how often."""
    best = max(learned, key=lambda name: learned[name])
    others = [name for name in learned if name != best]
    if math.isnan(learned[best]):
        return f"Which rows are labelled was learned by {best}."
    pairs = (
        f"it ranks a labelled row above an unlabelled one in {learned[best]:.0%} of all pairs; "
        "guessing would do so in 50%"
    )
    if not others:
        return f"Which rows are labelled was learned by {best}: {pairs}."
    return f"Which rows are labelled was learned best by {best}: {pairs}. The score is its mean with {listed(others)}."


def _scored_by(found: TableFit) -> str:
    if found.out_of_fold:
        return "Every row was scored by models that had not seen it."
    return "The rows were scored by the model that was fitted to them, so their scores are somewhat too certain."
