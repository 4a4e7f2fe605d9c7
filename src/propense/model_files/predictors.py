"""The predictors y and e as plain values, and back."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.named_pair import NamedPredictor
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, ProductPredictor, RootPredictor
from propense._steps.readings import ScorePredictor
from propense._steps.source_looks import AnyLabelPredictor
from propense.errors import ModelFileError
from propense.estimators._description import Check, is_array
from propense.model_files.checks import LARGEST
from propense.model_files.foreign import build_inner, describe_inner
from propense.model_files.known_priors import SHIFTS, build_shifts, describe_shifts
from propense.model_files.label_scores import build_score, build_split, describe_score, describe_split
from propense.model_files.preparations import build_preparation, describe_preparation

__all__ = ["OPTIONAL", "PREDICTORS", "build_predictors", "describe_predictors"]

# The facts of the two predictors, and what they may share: a label score, and how far y was moved to a known prior.
PREDICTORS = ("posterior", "propensity")
OPTIONAL: dict[str, Check] = {
    "score": lambda value, p: isinstance(value, dict),
    "split": lambda value, p: isinstance(value, dict),
    "own": lambda value, p: isinstance(value, dict),
    **SHIFTS,
}
# What stands for a predictor that follows the label score.
_SCORED = {"of": "score"}
# The other predictors that a file may hold.
_KINDS = (LogisticPredictor, ProductPredictor, RootPredictor)


def describe_predictors(posterior: Predictor, propensity: Predictor, where: str) -> dict[str, Any]:
    """Two predictors; what they share is described once."""
    facts: dict[str, Any] = {}
    both = posterior, propensity
    if isinstance(posterior, CorrectedPredictor):
        # The audit is described with the method.
        return describe_predictors(posterior.posterior, posterior.propensity, where)
    if isinstance(posterior, ShiftedPredictor):
        facts |= describe_shifts(posterior)
        both = posterior.posterior, posterior.propensity
    pair = dict(zip(PREDICTORS, both, strict=True))
    scored = [each for each in pair.values() if isinstance(each, ScorePredictor)]
    if scored:
        if any(each.score is not scored[0].score or each.split is not scored[0].split for each in scored):
            raise ModelFileError(f"y and e of {where} follow two label scores, which cannot be saved")
        facts["score"] = describe_score(scored[0].score, where)
        facts["split"] = describe_split(scored[0].split)
        if scored[0].own is not None:
            facts["own"] = _describe(scored[0].own, "posterior", where)
    return {**facts, **{name: _describe(each, name, where) for name, each in pair.items()}}


def _describe(predictor: Predictor, name: str, where: str) -> dict[str, Any]:
    if isinstance(predictor, ScorePredictor):
        return _SCORED.copy()
    if type(predictor) in _KINDS:
        return vars(predictor).copy()
    if isinstance(predictor, AnyLabelPredictor):
        return {"sources": predictor.sources}
    if isinstance(predictor, NamedPredictor):
        return {**vars(predictor), "preparation": describe_preparation(predictor.preparation)}
    if isinstance(predictor, ClassifierPredictor):
        inner = describe_inner(predictor.classifier, f"the {name} of {where}")
        return {"classifier": inner, "columns": predictor.columns}
    raise ModelFileError(f"the {name} of {where} is a {type(predictor).__name__}, which cannot be saved")


def build_predictors(
    facts: dict[str, Any], p: int, levels: NDArray[np.int64] | None, what: str
) -> tuple[Predictor, Predictor]:
    """The predictors of p columns with so many levels, 0 for numbers; None means that all are numbers."""
    scored = [name for name in PREDICTORS if facts[name] == _SCORED]
    if not (bool(scored) == ("score" in facts) == ("split" in facts)):
        raise ModelFileError(f"{what} has a label score that it does not use, or uses one that it lacks")
    if scored:
        score, split = build_score(facts["score"], p, levels, what), build_split(facts["split"], what)
    own = None
    if "own" in facts:
        if scored != ["posterior"] or "preparation" not in facts["own"]:
            raise ModelFileError(f"{what} has slopes of y that do not belong to a label score")
        own = _build_named(f"the posterior of {what}", facts["own"], p, levels)
    pair = [
        ScorePredictor(score, split, name == "posterior", own)
        if name in scored
        else _build(f"the {name} of {what}", facts[name], p, levels, name)
        for name in PREDICTORS
    ]
    if "shift" in facts:
        readings = 1 + len(split.readings) if len(scored) == 2 else 0
        shift, moves, groups = build_shifts(facts, p, readings, what)
        y, e = (ShiftedPredictor(pair[0], pair[1], shift, of_class, moves, groups) for of_class in (True, False))
        return y, e
    if "moves" in facts or "groups" in facts:
        raise ModelFileError(f"{what} has readings or groups that were moved, but no known prior")
    return pair[0], pair[1]


def _build(who: str, facts: dict[str, Any], p: int, levels: NDArray[np.int64] | None, name: str) -> Predictor:
    """The predictor of its coefficients and an intercept, or of its classifier."""
    if "classifier" in facts:
        return _build_classifier(name, facts, p)
    if "preparation" in facts:
        return _build_named(who, facts, p, levels)
    if "sources" in facts:
        return _build_sources(who, facts, p, name)
    kind: Any = next((kind for kind in _KINDS if kind.__dataclass_fields__.keys() == facts.keys()), None)
    sets: list[Any] = [facts.get(each) for each in ("coef", "other") if each in facts]
    if kind is None or not all(is_array("f", p + 1)(coef, p) for coef in sets):
        raise ModelFileError(f"{who} does not have {p + 1} coefficients")
    logistic = kind is LogisticPredictor
    if not all(_will_do(coef, certain=name == "propensity" and logistic) for coef in sets):
        raise ModelFileError(f"{who} has coefficients that are not finite, or beyond {LARGEST:g}")
    arrays = {each: np.asarray(facts[each], dtype=np.float64) for each in facts if each in ("coef", "other")}
    numbers = {each: value for each, value in facts.items() if each not in arrays}
    wrong = [each for each, value in numbers.items() if type(value) is not float or not _may_be(each, value)]
    if wrong:
        raise ModelFileError(f"{who} has no valid {wrong[0].replace('_', ' ')}")
    predictor: Predictor = kind(**arrays, **numbers)
    return predictor


def _build_sources(who: str, facts: dict[str, Any], p: int, name: str) -> Predictor:
    """The propensity of at least one label, from the coefficients of several sources."""
    coefs: Any = facts["sources"]
    finite = is_array("f", None, p + 1)(coefs, p) and len(coefs) > 1 and bool((np.abs(coefs) <= LARGEST).all())
    if facts.keys() != {"sources"} or name != "propensity" or not finite:
        raise ModelFileError(f"{who} does not have {p + 1} coefficients for each of several sources")
    return AnyLabelPredictor(np.asarray(coefs, dtype=np.float64))


def _build_classifier(name: str, facts: dict[str, Any], p: int) -> Predictor:
    """The predictor of a classifier with the classes 0 and 1, fitted to the columns that it is given."""
    columns, classifier = facts.get("columns"), build_inner(facts["classifier"])
    chosen = columns is None or (is_array("iu", None)(columns, p) and all(0 <= place < p for place in columns))
    if facts.keys() != {"classifier", "columns"} or not chosen or not hasattr(classifier, "predict_proba"):
        raise ModelFileError(f"the {name} is not a classifier of {p} features or some of them")
    width = p if columns is None else len(columns)
    if not np.array_equal(classifier.classes_, [0, 1]) or classifier.n_features_in_ != width:
        raise ModelFileError(f"the {name} is a classifier with classes other than 0 and 1, or for other features")
    return ClassifierPredictor(classifier, columns)


def _build_named(who: str, facts: dict[str, Any], p: int, levels: NDArray[np.int64] | None) -> Predictor:
    """The predictor over named columns, prepared."""
    columns: Any = facts.get("columns")
    coef: Any = facts.get("coef")
    named = is_array("iu", None)(columns, 0) and all(0 <= place < p for place in columns)
    if facts.keys() != NamedPredictor.__dataclass_fields__.keys() or not named:
        raise ModelFileError(f"{who} names columns that are not there")
    preparation = facts["preparation"]
    if preparation is not None:
        preparation = build_preparation(None if levels is None else levels[columns], len(columns), preparation, who)
    width = len(columns) if preparation is None else len(preparation.sources)
    if not is_array("f", width + 1)(coef, 0) or not _will_do(coef, certain=False):
        raise ModelFileError(f"{who} does not have {width + 1} coefficients that are finite and at most {LARGEST:g}")
    return NamedPredictor(columns, preparation, np.asarray(coef, dtype=np.float64))


def _will_do(coef: NDArray[np.float64], *, certain: bool) -> bool:
    """Whether scores can be computed from them; e(x) = 1 has the intercept +inf and no slopes."""
    if certain and coef[0] == math.inf:
        return not coef[1:].any()
    return bool((np.abs(coef) <= LARGEST).all())


def _may_be(name: str, value: float) -> bool:
    """Whether a predictor may have this number; powers are shares."""
    return 0 <= value <= 1 if name.endswith("power") else math.isfinite(value)
