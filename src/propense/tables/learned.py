"""What a fit learned, what carried it, and what it rests on, in plain words."""

import math

from propense._diagnostics.diagnosis import Diagnosis
from propense._steps.label_scores import PAIR
from propense.tables.fit import TableFit

__all__ = ["describe_learning"]

_NAMED = (
    "The chance of a label was taken to depend only on the columns that were named for it. How many rows are positive "
    "rests on that."
)
_READINGS = (
    "How many rows are positive rests on where labels level off among the most likely rows, and on how the rows are "
    "spread. Neither is certain: hence the range."
)
_ASSUMPTIONS = "The range is what other assumptions about the labelling would give."


def describe_learning(found: TableFit) -> list[str]:
    """Sentences about a fit, without the number of positives, which is stated elsewhere."""
    estimator = found.estimator
    diagnosis = getattr(estimator, "diagnosis_", None)
    if not isinstance(diagnosis, Diagnosis):
        separates = estimator.description.separates
        rests = [f"What separates being positive from being labelled: {separates}."] if separates else []
        return [*rests, _scored_by(found)]
    complete = diagnosis.labelling == "complete"
    named = getattr(estimator, "propensity_features", None)
    named = named is not None and len(named) > 0 and not complete
    lines = [_NAMED if named else diagnosis.pattern]
    if diagnosis.learners:
        lines.append(_learners(diagnosis.learners))
    if diagnosis.missing:
        lines.append(diagnosis.only_logistic)
    if not math.isnan(diagnosis.stability):
        same = f"{diagnosis.stability:.0%} of the rows"
        lines.append(f"Models fitted to two halves of the rows give the same prediction for {same}.")
    prior = getattr(estimator, "prior", None)
    if prior is not None:
        low, high = prior if isinstance(prior, tuple | list) else (prior, prior)
        known = f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}"
        lines.append(f"The share of positives was known to be {known}, and the estimate was kept to that.")
    elif not complete and not named:
        lines.append(_READINGS if diagnosis.learners else _ASSUMPTIONS)
    return [*lines, _scored_by(found)]


def _learners(learned: dict[str, float]) -> str:
    """Which learner put labelled rows above unlabelled ones most often, and how often."""
    learned = {"a linear pair" if name == PAIR else name: chance for name, chance in learned.items()}
    best = max(learned, key=lambda name: learned[name])
    others = [name for name in learned if name != best]
    if math.isnan(learned[best]):
        return f"Which rows are labelled was learned by {best}."
    pairs = (
        f"it puts a labelled row above an unlabelled one in {learned[best]:.0%} of all pairs; chance alone would in 50%"
    )
    if not others:
        return f"Which rows are labelled was learned by {best}: {pairs}."
    averaged = f"Its scores are averaged with those of {_listed(others)}."
    return f"Which rows are labelled was learned best by {best}: {pairs}. {averaged}"


def _scored_by(found: TableFit) -> str:
    if found.out_of_fold:
        return "Every row was scored by models that had not seen it."
    return "The rows were scored by the model that was fitted to them, so their scores are somewhat too certain."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
