"""Label scores as plain values: coefficients and small trees as arrays, classifiers together as bytes of skops."""

import math
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor, as_design
from propense._steps.label_scores import LabelScore, Member
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor
from propense._steps.small_trees import MOST_QUESTIONS, TreePredictor
from propense.errors import ModelFileError
from propense.estimators._description import is_array
from propense.model_files.checks import LARGEST
from propense.model_files.foreign import dump_together, load_together
from propense.model_files.preparations import build_preparation, describe_preparation
from propense.worlds.answer import BLOCKS
from propense.worlds.curves import Bent, Curves, LabelCurve

__all__ = ["build_curves", "build_score", "describe_curves", "describe_score"]

# Numbers beyond this have squares that are none.
_FAR = 1e100
# What a learner is made of: one of these.
_MODELS = {"coefs", "classifiers", "trees"}


def describe_score(score: LabelScore, where: str) -> dict[str, Any]:
    """A label score in plain values."""
    return {
        **vars(score),
        "members": [_describe_member(member, where) for member in score.members],
        "preparation": describe_preparation(score.preparation),
    }


def _describe_member(member: Member, where: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": member.name, "plain": member.plain}
    coefs = [each.coef for each in member.predictors if isinstance(each, LogisticPredictor)]
    inner = [each.classifier for each in member.predictors if isinstance(each, ClassifierPredictor)]
    if len(coefs) == len(member.predictors):
        return {**facts, "coefs": np.stack(coefs)}
    trees = [vars(each).copy() for each in member.predictors if isinstance(each, TreePredictor)]
    if len(trees) == len(member.predictors):
        return {**facts, "trees": trees}
    if len(inner) != len(member.predictors):
        raise ModelFileError(f"the learner {member.name!r} of {where} is of a kind that cannot be saved")
    return {**facts, "classifiers": dump_together(inner, f"the learner {member.name!r} of {where}")}


def build_score(facts: Any, p: int, levels: NDArray[np.int64] | None, what: str) -> LabelScore:
    """The label score of p columns with so many levels, 0 for numbers; None means that all are numbers."""
    if not isinstance(facts, dict) or facts.keys() != LabelScore.__dataclass_fields__.keys():
        raise ModelFileError(f"the label score of {what} is not complete")
    columns, mean, spread = facts["columns"], facts["mean"], facts["spread"]
    if columns is not None:
        if not is_array("iu", None)(columns, 0) or not all(0 <= place < p for place in columns):
            raise ModelFileError(f"the label score of {what} uses columns that are not there")
        p, levels = len(columns), None if levels is None else levels[columns]
    preparation, width = None, p
    if facts["preparation"] is not None:
        preparation = build_preparation(levels, p, facts["preparation"], f"a label score of {what}")
        width = len(preparation.sources)
    members = facts["members"]
    if not isinstance(members, list) or not members:
        raise ModelFileError(f"the label score of {what} has no learners")
    built = tuple(_build_member(each, p, width, what) for each in members)
    if preparation is not None:
        _try(built, p, width, what)
    if not _is_number(mean) or type(spread) is not float or not spread > 0.0:
        raise ModelFileError(f"the label score of {what} has no valid mean, or no spread above 0")
    return LabelScore(built, mean, spread, preparation, columns)


def _build_member(facts: Any, plain_width: int, prepared_width: int, what: str) -> Member:
    """A learner of columns as they are, or of prepared ones."""
    if not isinstance(facts, dict) or len(facts) != 3 or facts.keys() - _MODELS != {"name", "plain"}:
        raise ModelFileError(f"a learner of {what} is not complete")
    name, plain = facts["name"], facts["plain"]
    if not isinstance(name, str) or type(plain) is not bool:
        raise ModelFileError(f"a learner of {what} has no name, or does not say which columns it takes")
    width, who = plain_width if plain else prepared_width, f"the learner {name[:40]!r} of {what}"
    if "coefs" in facts:
        coefs = facts["coefs"]
        if not is_array("f", None, width + 1)(coefs, 0) or not len(coefs) or not (np.abs(coefs) <= LARGEST).all():
            raise ModelFileError(
                f"{who} does not have {width + 1} coefficients that are finite and at most {LARGEST:g}"
            )
        models: list[Predictor] = [LogisticPredictor(coef.copy()) for coef in coefs]
    elif "trees" in facts:
        if not isinstance(facts["trees"], list) or not facts["trees"]:
            raise ModelFileError(f"{who} has no trees")
        models = [_build_trees(each, width, who) for each in facts["trees"]]
    else:
        classifiers = load_together(facts["classifiers"])
        if not isinstance(classifiers, list) or not classifiers or not all(_fits(each, width) for each in classifiers):
            raise ModelFileError(f"{who} does not consist of classifiers with the classes 0 and 1 for {width} features")
        models = [ClassifierPredictor(each) for each in classifiers]
    return Member(name, plain, tuple(models))


def _build_trees(facts: Any, width: int, who: str) -> TreePredictor:
    """Trees of so many columns: any finite numbers of the right shapes are some."""
    if not isinstance(facts, dict) or facts.keys() != TreePredictor.__dataclass_fields__.keys():
        raise ModelFileError(f"{who} has trees that are not complete")
    features, thresholds, values = (facts[name] for name in ("features", "thresholds", "values"))
    if not is_array("i", None, None)(features, 0) or features.shape[1] > MOST_QUESTIONS:
        raise ModelFileError(
            f"{who} has trees with more than {MOST_QUESTIONS} questions each, or without a list of them"
        )
    count, questions = features.shape
    if not ((features >= 0) & (features < width)).all():
        raise ModelFileError(f"{who} has trees that ask for columns that are not there; it has {width}")
    if not is_array("f", count, questions)(thresholds, 0) or np.isnan(thresholds).any():
        raise ModelFileError(f"{who} has trees that do not have a threshold for each question")
    if not is_array("f", count, 2**questions)(values, 0) or not (np.abs(values) <= _FAR).all():
        raise ModelFileError(f"{who} has trees that do not have a finite value for each combination of answers")
    if not _is_number(facts["start"]):
        raise ModelFileError(f"{who} has trees that do not begin with a finite number")
    return TreePredictor(
        facts["start"], features.astype(np.intp), thresholds.astype(np.float64), values.astype(np.float64)
    )


def _try(members: tuple[Member, ...], plain_width: int, prepared_width: int, what: str) -> None:
    """Score a row of zeros, and a row that is missing where that may be: scikit-learn uses much without checking it."""
    plain = as_design(np.array([[0.0], [np.nan]]) * np.ones(plain_width))
    prepared = as_design(np.zeros((2, prepared_width)))
    for member in members:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                scored = np.shape(member.log_odds(plain, prepared)) == (2,)
        except Exception:
            # Whatever it is: a forged part may raise any error.
            scored = False
        if not scored:
            raise ModelFileError(f"the learner {member.name[:40]!r} of {what} cannot score a row")


def _fits(classifier: Any, width: int) -> bool:
    classes, count = (getattr(classifier, name, -1) for name in ("classes_", "n_features_in_"))
    return hasattr(classifier, "predict_proba") and np.array_equal(classes, [0, 1]) and count == width


def describe_curves(curves: Curves) -> dict[str, Any]:
    """The curves of y and e along a score, in plain values."""
    return asdict(curves)


def build_curves(facts: Any, what: str) -> Curves:
    """The curves of their numbers."""
    made: dict[str, Any] = {"label": LabelCurve, "hidden": Bent, "low": Bent, "high": Bent}
    if not isinstance(facts, dict) or facts.keys() != made.keys():
        raise ModelFileError(f"the curves of y and e of {what} are not complete")
    for name, kind in made.items():
        numbers = facts[name]
        if not isinstance(numbers, dict) or numbers.keys() != kind.__dataclass_fields__.keys():
            raise ModelFileError(f"the curves of y and e of {what} are not complete")
        valid = all(map(_is_number, numbers.values())) if kind is LabelCurve else _is_bent(numbers)
        if not valid:
            raise ModelFileError(f"the curves of y and e of {what} have values that are not finite numbers")
    if not 0.0 < facts["label"]["height"] <= 1.0:
        raise ModelFileError(f"the curves of y and e of {what} have a height that is not above 0 and at most 1")
    return Curves(**{name: kind(**facts[name]) for name, kind in made.items()})


def _is_bent(numbers: dict[str, Any]) -> bool:
    knots, changes = numbers["knots"], numbers["changes"]
    if not (isinstance(knots, tuple) and isinstance(changes, tuple) and len(knots) == len(changes) <= len(BLOCKS)):
        return False
    return all(map(_is_number, (numbers["level"], numbers["slope"], *knots, *changes)))


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and abs(value) <= _FAR
