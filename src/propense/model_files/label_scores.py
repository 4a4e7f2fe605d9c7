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
from propense._steps.readings import Bells, Split
from propense._steps.small_trees import MOST_QUESTIONS, TreePredictor
from propense.errors import ModelFileError
from propense.estimators._description import is_array
from propense.model_files.checks import LARGEST
from propense.model_files.foreign import dump_together, load_together
from propense.model_files.preparations import build_preparation, describe_preparation

__all__ = ["build_score", "build_split", "describe_score", "describe_split"]

# The numbers of a split are of a score with mean 0 and spread 1; squares and ratios of these still are numbers.
_FAR, _NARROW = 1e100, 1e-100
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
    columns, weights, constant = facts["columns"], facts["weights"], facts["constant"]
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
    if not is_array("f", len(built))(weights, 0) or not ((weights >= 0) & (weights <= _FAR)).all():
        raise ModelFileError(f"the label score of {what} does not have a weight ≥ 0 for each learner")
    if not _is_number(constant):
        raise ModelFileError(f"the label score of {what} has no valid constant")
    return LabelScore(built, weights, constant, preparation, columns)


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


def describe_split(split: Split) -> dict[str, Any]:
    """How a score is split into y and e, in plain values."""
    return asdict(split)


def build_split(facts: Any, what: str) -> Split:
    """The split of its numbers."""
    if not isinstance(facts, dict) or facts.keys() != Split.__dataclass_fields__.keys():
        raise ModelFileError(f"the split of y and e of {what} is not complete")
    height, share, bells = facts["height"], facts["share"], facts["bells"]
    if not all(_is_number(facts[name]) for name in ("level", "slope")):
        raise ModelFileError(f"the split of y and e of {what} has no valid level or slope")
    if type(height) is not float or not _NARROW <= height <= 1:
        raise ModelFileError(f"the split of y and e of {what} has a height that is not above 0 and at most 1")
    if not (share is None or (type(share) is float and 0 <= share < 1)) or (share is None and bells is None):
        raise ModelFileError(f"the split of y and e of {what} has a share that is not from 0 to 1")
    return Split(**{**facts, "bells": None if bells is None else _build_bells(bells, what)})


def _build_bells(facts: Any, what: str) -> Bells:
    """The bells of their numbers."""
    if not isinstance(facts, dict) or facts.keys() != Bells.__dataclass_fields__.keys():
        raise ModelFileError(f"the bells of {what} are not complete")
    prior, centres, widths = facts["prior"], facts["centres"], facts["widths"]
    pairs = all(isinstance(pair, tuple) and len(pair) == 2 and all(map(_is_number, pair)) for pair in (centres, widths))
    if type(prior) is not float or not 0 < prior < 1 or not pairs or not min(widths) >= _NARROW:
        raise ModelFileError(f"the bells of {what} do not have a prior between 0 and 1, two centres and two widths > 0")
    return Bells(prior, centres, widths)


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and abs(value) <= _FAR
