"""What a study of natural labels tells a method in addition to the labels."""

from collections.abc import Sequence
from typing import Any

from propense.errors import InvalidPlan
from propense.estimators import BasePUClassifier, Naive, Oracle

__all__ = ["NOTHING", "TOLD", "check_told", "names_columns", "words_of"]

NOTHING = "nothing"
# What may be told, each with what it means.
TOLD = {
    "access": "the columns of access to care drive who is labelled, and only they; the class depends on the others",
    "prevalence": "the true share of positives of the rows of fit",
    "audit": "the true class of 200 unlabelled rows of fit, drawn as `propense audit draw` does",
    "truth": "the true class of every row of fit, in place of the labels: the ceiling",
}


def words_of(told: Any) -> Sequence[str]:
    """The things told, in the order of `TOLD`; none for "nothing". Raises if one is not known or told twice."""
    given = told.split(" + ") if isinstance(told, str) else [told]
    if given == [NOTHING]:
        return ()
    unknown = [each for each in given if each not in tuple(TOLD)]
    if unknown or len(set(given)) < len(given):
        raise InvalidPlan(
            f"told = {told!r} is not known. Choose {NOTHING}, {', '.join(TOLD)}, or several, such as 'access + audit'."
        )
    return tuple(each for each in TOLD if each in given)


def check_told(model: Any, name: str, told: str) -> None:
    """Raise if a method of this name cannot use what it is told."""
    words = words_of(told)
    if "prevalence" in words and "prior" not in model.get_params():
        raise InvalidPlan(
            f"The method {name!r} is told 'prevalence', but {type(model).__name__} has no parameter prior. Omit it."
        )
    if "audit" in words and (isinstance(model, Naive | Oracle) or not isinstance(model, BasePUClassifier)):
        raise InvalidPlan(
            f"The method {name!r} is told 'audit', but {type(model).__name__} gives unlabelled rows no chance that "
            "could be corrected. Omit it."
        )


def names_columns(model: Any) -> bool:
    """Whether the columns of y and e can be named to the method."""
    return {"class_features", "propensity_features"} <= {*model.get_params()}
