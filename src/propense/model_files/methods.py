"""What our own estimators have learnt, as plain facts, and how they are made to know it again."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._diagnostics.diagnosis import READINGS, Diagnosis
from propense._diagnostics.doubts import Doubt
from propense._inputs.options import check_options
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, Predictor, ProductPredictor
from propense.errors import ModelFileError
from propense.estimators import (
    JERM,
    LBE,
    SAREM,
    TM,
    JointMLE,
    KnownPropensity,
    Naive,
    Oracle,
    PGLin,
    PUClassifier,
    SparseJoint,
)
from propense.estimators._base import BasePUClassifier
from propense.estimators._pglin import RootPredictor
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


def _is_diagnosis(value: Any, p: int) -> bool:
    """The numbers of a `Diagnosis`; the stability may be unknown."""
    if not isinstance(value, dict) or value.keys() != Diagnosis.__dataclass_fields__.keys():
        return False
    priors, rest = value["priors"], [value[name] for name in value if name not in ("priors", "stability")]
    if not isinstance(priors, dict) or priors.keys() != set(READINGS):
        return False
    unknown = type(value["stability"]) is float and math.isnan(value["stability"])
    return all(is_real(each, p) for each in (*rest, *priors.values())) and (unknown or is_real(value["stability"], p))


def _are_doubts(value: Any, p: int) -> bool:
    """Pairs of a kind and a message. Kinds of a later version are told like any other."""
    pairs = isinstance(value, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
    return pairs and all(isinstance(word, str) for pair in value for word in pair)


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
    PUClassifier: {**_EVERY, "diagnosis_": _is_diagnosis},
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
    facts["doubts_"] = tuple((doubt.kind, doubt.message) for doubt in model.doubts_)
    known = {*facts, *model.get_params(deep=False)}
    foreign = [name for name in vars(model) if not name.startswith("_") and name not in known]
    if foreign:
        raise ModelFileError(
            f"{where} has an attribute {foreign[0]!r} that its class does not, and that would be lost. Delete it, or "
            "tell it with about="
        )
    if "diagnosis_" in facts:
        facts["diagnosis_"] = asdict(facts["diagnosis_"])
    for name in _PREDICTORS:
        facts[name] = _learnt_by_predictor(getattr(model, f"_{name}"), name, where)
    return facts


def _learnt_by_predictor(predictor: Predictor, name: str, where: str) -> dict[str, Any]:
    if isinstance(predictor, LogisticPredictor):
        return {"coef": predictor.coef}
    if isinstance(predictor, RootPredictor):
        return {"coef": predictor.coef, "log_factor": predictor.log_factor}
    if isinstance(predictor, ProductPredictor):
        return vars(predictor).copy()
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
    # Files of the first version tell of no doubts.
    p = check_facts(facts, expected, {"doubts_": _are_doubts}, what)
    model.doubts_ = tuple(Doubt(*pair) for pair in facts.get("doubts_", ()))
    for name, value in facts.items():
        if name in _PREDICTORS:
            setattr(model, f"_{name}", _restore_predictor(type(model), name, value, p))
        elif name == "diagnosis_":
            model.diagnosis_ = Diagnosis(**value)
        elif name != "doubts_":
            setattr(model, name, value)


def _is_table(value: Any, p: int) -> bool:
    return isinstance(value, dict)


def _restore_predictor(made: type, name: str, facts: dict[str, Any], p: int) -> Predictor:
    """The predictor of its coefficients, p and an intercept."""
    kind = _kind_of_predictor(made, facts)
    sets: list[Any] = [facts.get(each) for each in ("coef", "other") if each in kind.__dataclass_fields__]
    if facts.keys() != kind.__dataclass_fields__.keys() or not all(array_of("f", p + 1)(coef, p) for coef in sets):
        raise ModelFileError(f"the {name} of {made.__name__} is not {p + 1} coefficients")
    logistic = kind is LogisticPredictor
    if not all(_will_do(coef, certain=name == "propensity" and logistic) for coef in sets):
        raise ModelFileError(f"the {name} of {made.__name__} has coefficients that are not finite")
    arrays = {each: np.asarray(facts[each], dtype=np.float64) for each in facts if each in ("coef", "other")}
    numbers = {each: value for each, value in facts.items() if each not in arrays}
    wrong = [each for each, value in numbers.items() if type(value) is not float or not math.isfinite(value)]
    if wrong:
        raise ModelFileError(f"the {name} of {made.__name__} has no {wrong[0].replace('_', ' ')}")
    predictor: Predictor = kind(**arrays, **numbers)
    return predictor


def _kind_of_predictor(made: type, facts: dict[str, Any]) -> Any:
    """The class of a predictor; a `PUClassifier` shares a climb or not."""
    if made is PGLin:
        return RootPredictor
    return ProductPredictor if made is PUClassifier and "other" in facts else LogisticPredictor


def _will_do(coef: NDArray[np.float64], *, certain: bool) -> bool:
    """Whether all are finite; e(x) = 1 has the intercept +inf."""
    rest = coef[1:] if certain and coef[0] == math.inf else coef
    return bool(np.isfinite(rest).all())
