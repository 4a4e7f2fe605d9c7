"""The predictors y and e as plain values, and back."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.label_scores import LabelScore
from propense._steps.named_pair import NamedPredictor
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, RootPredictor
from propense._steps.source_looks import AnyLabelPredictor
from propense.errors import ModelFileError
from propense.estimators._description import Check, is_array
from propense.model_files.checks import LARGEST
from propense.model_files.foreign import build_inner, describe_inner
from propense.model_files.known_priors import build_shifts, describe_shifts
from propense.model_files.label_scores import build_curves, build_score, describe_curves, describe_score
from propense.model_files.preparations import build_preparation, describe_preparation
from propense.worlds.predictors import CurvePredictor, LinePredictor

__all__ = ["OPTIONAL", "PREDICTORS", "build_predictors", "describe_predictors"]

# The facts of the two predictors, and what they may share: a label score, and how far y was moved to a known prior.
PREDICTORS = ("posterior", "propensity")
OPTIONAL: dict[str, Check] = {
    "score": lambda value, p: isinstance(value, dict),
    "curves": lambda value, p: isinstance(value, dict),
    "own": lambda value, p: isinstance(value, dict),
    "shifts": lambda value, p: isinstance(value, list),
}
# What stands for a predictor that follows the label score along a curve.
_SCORED = {"of": "score"}


def describe_predictors(posterior: Predictor, propensity: Predictor, where: str) -> dict[str, Any]:
    """Two predictors; what they share is described once."""
    facts: dict[str, Any] = {}
    if isinstance(posterior, CorrectedPredictor):
        # The audit is described with the method.
        return describe_predictors(posterior.posterior, posterior.propensity, where)
    while isinstance(moved := posterior, ShiftedPredictor):
        # The last one first.
        facts.setdefault("shifts", []).append(describe_shifts(moved))
        posterior, propensity = moved.posterior, moved.propensity
    both = posterior, propensity
    pair = dict(zip(PREDICTORS, both, strict=True))
    y, e = both
    if isinstance(y, CurvePredictor | LinePredictor):
        facts["score"] = describe_score(y.score, where)
    if isinstance(y, CurvePredictor):
        if not isinstance(e, CurvePredictor) or e.score is not y.score or e.curves is not y.curves:
            raise ModelFileError(f"y and e of {where} follow two label scores, which cannot be saved")
        facts["curves"] = describe_curves(y.curves)
    elif isinstance(y, LinePredictor) and y.own is not None:
        facts["own"] = _describe(y.own, "posterior", where)
    return {**facts, **{name: _describe(each, name, where) for name, each in pair.items()}}


def _describe(predictor: Predictor, name: str, where: str) -> dict[str, Any]:
    if isinstance(predictor, CurvePredictor):
        return _SCORED.copy()
    if isinstance(predictor, LinePredictor):
        return {"level": predictor.level, "slope": predictor.slope}
    if isinstance(predictor, LogisticPredictor | RootPredictor):
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
    curved = [name for name in PREDICTORS if facts[name] == _SCORED]
    lined = facts["posterior"].keys() == {"level", "slope"}
    if (bool(curved) or lined) != ("score" in facts) or bool(curved) != ("curves" in facts) or len(curved) == 1:
        raise ModelFileError(f"{what} has a label score that it does not use, or uses one that it lacks")
    if "own" in facts and not (lined and "preparation" in facts["own"]):
        raise ModelFileError(f"{what} has slopes of y that do not belong to a label score")
    if "score" in facts:
        score = build_score(facts["score"], p, levels, what)
    pair: list[Predictor] = []
    if curved:
        curves = build_curves(facts["curves"], what)
        pair = [CurvePredictor(score, curves, of_class) for of_class in (True, False)]
    else:
        if lined:
            pair = [_build_line(score, facts, p, levels, what)]
        pair += [_build(f"the {name} of {what}", facts[name], p, levels, name) for name in PREDICTORS[len(pair) :]]
    y, e = pair
    for moved in reversed(facts.get("shifts", [])):
        # With a range, its two ends were moved as well.
        shift, moves, groups = build_shifts(moved, p, 3 if curved or lined else 0, what)
        y, e = (ShiftedPredictor(y, e, shift, of_class, moves, groups) for of_class in (True, False))
    return y, e


def _build(who: str, facts: dict[str, Any], p: int, levels: NDArray[np.int64] | None, name: str) -> Predictor:
    """The predictor of its coefficients and an intercept, or of its classifier."""
    if "classifier" in facts:
        return _build_classifier(name, facts, p)
    if "preparation" in facts:
        return _build_named(who, facts, p, levels)
    if "sources" in facts:
        return _build_sources(who, facts, p, name)
    coef: Any = facts.get("coef")
    logistic = facts.keys() == {"coef"}
    if not (logistic or facts.keys() == {"coef", "log_factor"}) or not is_array("f", p + 1)(coef, p):
        raise ModelFileError(f"{who} does not have {p + 1} coefficients")
    if not _will_do(coef, certain=name == "propensity" and logistic):
        raise ModelFileError(f"{who} has coefficients that are not finite, or beyond {LARGEST:g}")
    coef = np.asarray(coef, dtype=np.float64)
    if logistic:
        return LogisticPredictor(coef)
    factor = facts["log_factor"]
    if type(factor) is not float or not math.isfinite(factor):
        raise ModelFileError(f"{who} has no valid log factor")
    return RootPredictor(coef, factor)


def _build_line(
    score: LabelScore, facts: dict[str, Any], p: int, levels: NDArray[np.int64] | None, what: str
) -> Predictor:
    """y on a line along a label score."""
    level, slope = facts["posterior"]["level"], facts["posterior"]["slope"]
    if not all(type(each) is float and abs(each) <= LARGEST for each in (level, slope)):
        raise ModelFileError(f"the posterior of {what} has no finite level or slope")
    own = _build_named(f"the posterior of {what}", facts["own"], p, levels) if "own" in facts else None
    return LinePredictor(score, level, slope, own)


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
