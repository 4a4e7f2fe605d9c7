"""What our own estimators have learnt, as plain facts, and how they are made to know it again."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import ModelFileError
from propense.estimators import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, Naive, Oracle, PGLin, SparseJoint
from propense.estimators._base import BasePUClassifier
from propense.estimators._options import check_options
from propense.estimators._pglin import RootPredictor
from propense.estimators._predictors import ClassifierPredictor, LogisticPredictor, Predictor
from propense.model_files.checks import (
    Check,
    array_of,
    check_facts,
    is_columns,
    is_real,
    is_truth,
    is_whole,
)

__all__ = ["METHODS", "learnt_by_method", "method_parameters", "restore_method"]

_PATH = array_of("f", None)
_STARTS = {"risk": "f", "factor": "iu", "norm": "f", "propensity_norm": "f", "distance": "f", "converged": "b"}
_INNER = ("estimator", "propensity_estimator")
_PREDICTORS = ("posterior", "propensity")


def _are_classes(value: Any, p: int) -> bool:
    """Two different numbers, truth values or words."""
    if not array_of("biufUOT", 2)(value, p):
        return False
    pair = value.tolist()
    return all(isinstance(each, str) or is_truth(each, p) or is_real(each, p) for each in pair) and pair[0] != pair[1]


def _are_starts(value: Any, p: int) -> bool:
    """The table of JointMLE's starts: columns of one length."""
    if not isinstance(value, dict) or value.keys() != _STARTS.keys():
        return False
    return all(array_of(kind, len(value["risk"]))(value[name], p) for name, kind in _STARTS.items())


_EVERY: dict[str, Check] = {
    "classes_": _are_classes,
    "n_iter_": is_whole,
    "converged_": is_truth,
    "risk_path_": _PATH,
    "prior_": is_real,
    "label_frequency_": is_real,
}
# Every estimator that is public, and what it learns beside the two predictors.
METHODS: dict[type[BasePUClassifier], dict[str, Check]] = {
    Naive: _EVERY,
    Oracle: _EVERY,
    KnownPropensity: _EVERY,
    SAREM: _EVERY,
    LBE: _EVERY,
    JERM: {**_EVERY, "spies_": array_of("iu", None), "positives_path_": _PATH},
    TM: {**_EVERY, "positives_path_": _PATH},
    JointMLE: {**_EVERY, "starts_": _are_starts},
    PGLin: {
        **_EVERY,
        "largest_": is_real,
        "label_coef_": array_of("f", 1, -1),
        "label_intercept_": array_of("f", 1),
    },
    SparseJoint: {
        **_EVERY,
        **dict.fromkeys(("alphas_", "held_out_risk_", "held_out_se_"), _PATH),
        **dict.fromkeys(("intercepts_path_", "propensity_intercepts_path_"), _PATH),
        **dict.fromkeys(("coefs_path_", "propensity_coefs_path_"), array_of("f", None, None)),
        "alpha_": is_real,
        "path_features_": array_of("iu", None),
    },
}


def method_parameters(model: BasePUClassifier, where: str) -> dict[str, Any]:
    """Its constructor arguments, columns in another container than a list as a list."""
    parameters = model.get_params(deep=False)
    for name in _INNER:
        if parameters.get(name) is not None:
            raise _refusal(name, parameters[name], where)
    columns = parameters.get("propensity_features")
    if columns is not None and not isinstance(columns, list | tuple | np.ndarray):
        parameters["propensity_features"] = list(columns)
    return dict(parameters)


def learnt_by_method(model: BasePUClassifier, where: str) -> dict[str, Any]:
    """The fitted attributes and the two predictors."""
    facts: dict[str, Any] = {name: getattr(model, name) for name in ("n_features_in_", *METHODS[type(model)])}
    if hasattr(model, "feature_names_in_"):
        facts["feature_names_in_"] = model.feature_names_in_
    known = {*facts, *model.get_params(deep=False)}
    foreign = [name for name in vars(model) if not name.startswith("_") and name not in known]
    if foreign:
        raise ModelFileError(
            f"{where} has an attribute {foreign[0]!r} that its class does not, and that would be lost. Delete it, or "
            "tell it with about="
        )
    for name in _PREDICTORS:
        facts[name] = _learnt_by_predictor(getattr(model, f"_{name}"), name, where)
    return facts


def _learnt_by_predictor(predictor: Predictor, name: str, where: str) -> dict[str, Any]:
    if isinstance(predictor, LogisticPredictor):
        return {"coef": predictor.coef}
    if isinstance(predictor, RootPredictor):
        return {"coef": predictor.coef, "log_factor": predictor.log_factor}
    raise _refusal(name, predictor.classifier if isinstance(predictor, ClassifierPredictor) else predictor, where)


def _refusal(name: str, inner: Any, where: str) -> ModelFileError:
    return ModelFileError(
        f"the {name} of {where} is of the class {type(inner).__name__}, which a model file does not take. Such a model "
        "can be kept with skops or joblib, by people who trust the file"
    )


def restore_method(model: BasePUClassifier, facts: Any) -> None:
    """Check what a file says that an estimator has learnt, and let it know."""
    what = type(model).__name__
    check_options(model, model._options)
    inner = [name for name in _INNER if getattr(model, name, None) is not None]
    columns = getattr(model, "propensity_features", None)
    if inner or not (columns is None or is_columns(columns, 0)):
        raise ModelFileError(f"{(inner or ['propensity_features'])[0]} of {what} is not what a file may say")
    expected = {**METHODS[type(model)], **dict.fromkeys(_PREDICTORS, _is_table)}
    p = check_facts(facts, expected, {}, what)
    for name, value in facts.items():
        if name in _PREDICTORS:
            setattr(model, f"_{name}", _restore_predictor(type(model), name, value, p))
        else:
            setattr(model, name, value)


def _is_table(value: Any, p: int) -> bool:
    return isinstance(value, dict)


def _restore_predictor(made: type, name: str, facts: dict[str, Any], p: int) -> Predictor:
    """The predictor of its coefficients, p and an intercept."""
    root = made is PGLin
    coef = facts.get("coef")
    if facts.keys() != ({"coef", "log_factor"} if root else {"coef"}) or not array_of("f", p + 1)(coef, p):
        raise ModelFileError(f"the {name} of {made.__name__} is not {p + 1} coefficients")
    coef = np.asarray(coef, dtype=np.float64)
    if not _will_do(coef, certain=name == "propensity" and not root):
        raise ModelFileError(f"the {name} of {made.__name__} has coefficients that are not finite")
    if not root:
        return LogisticPredictor(coef)
    if type(facts["log_factor"]) is not float or not math.isfinite(facts["log_factor"]):
        raise ModelFileError(f"the {name} of {made.__name__} has no factor")
    return RootPredictor(coef, facts["log_factor"])


def _will_do(coef: NDArray[np.float64], *, certain: bool) -> bool:
    """Whether all are finite; e(x) = 1 has the intercept +inf."""
    rest = coef[1:] if certain and coef[0] == math.inf else coef
    return bool(np.isfinite(rest).all())
