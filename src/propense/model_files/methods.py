"""The fitted values of a method as plain values, and a method restored from them."""

import math
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Predictor
from propense._diagnostics.doubts import Doubt
from propense._inputs.columns import Column
from propense._inputs.options import check_options
from propense._steps.predictors import ClassifierPredictor, LogisticPredictor, ProductPredictor, RootPredictor
from propense.errors import ModelFileError
from propense.estimators import BasePUClassifier, known_methods
from propense.estimators._description import Check, is_array
from propense.estimators._methods import class_path, is_ours
from propense.model_files.checks import are_kinds, check_facts, is_columns, is_real, is_truth, is_whole
from propense.model_files.foreign import build_inner, describe_inner

__all__ = ["make_method", "method_classes", "method_facts", "method_parameters", "restore_method"]

_INNER = ("estimator", "propensity_estimator")
_PREDICTORS = ("posterior", "propensity")


def _are_classes(value: Any, p: int) -> bool:
    """Two different numbers, booleans or strings."""
    if not is_array("biufUOT", 2)(value, p):
        return False
    pair = value.tolist()
    return all(isinstance(each, str) or is_truth(each, p) or is_real(each, p) for each in pair) and pair[0] != pair[1]


def _are_doubts(value: Any, p: int) -> bool:
    """Pairs of a kind and a message. Kinds of a later version are kept like any other."""
    pairs = isinstance(value, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
    return pairs and all(isinstance(word, str) for pair in value for word in pair)


def _is_prior(value: Any, p: int) -> bool:
    """A share above 0 and, up to rounding, of at most 1."""
    return is_real(value, p) and 0 < value <= 1 + 1e-9


# What every method learns in addition to its two predictors.
_EVERY: dict[str, Check] = {
    "classes_": _are_classes,
    "n_iter_": is_whole,
    "converged_": is_truth,
    "risk_path_": is_array("f", None),
    "prior_": _is_prior,
    "label_frequency_": is_real,
}
# The largest coefficient of a file: sums of larger ones would be infinite, and their differences not a number.
_LARGEST = 1e300
# The predictors that a file may hold.
_KINDS = (LogisticPredictor, ProductPredictor, RootPredictor)


def method_classes() -> dict[str, type[BasePUClassifier]]:
    """Every method imported so far, by its name in a file: the class of ours, the import path of others."""
    classes = {method for method, _ in known_methods().values()}
    return {_name(method): method for method in sorted(classes, key=class_path)}


def _name(method: type) -> str:
    return method.__name__ if is_ours(method) else class_path(method)


def _expected(method: type[BasePUClassifier]) -> dict[str, Check]:
    """The fitted values of a method that a file must contain."""
    kept = {name: _check(what) for name, what in method.description.keeps.items()}
    return {**_EVERY, **kept}


def _check(what: Any) -> Check:
    plain: dict[Any, Check] = {float: is_real, int: is_whole, bool: is_truth}
    if not isinstance(what, type):
        return what  # type: ignore[no-any-return]
    return plain[what] if what in plain else lambda value, p: bool(what.is_valid(value))  # type: ignore[attr-defined]


def method_parameters(model: BasePUClassifier, where: str) -> dict[str, Any]:
    """Its constructor arguments: columns in another container than a list as a list, classifiers as their bytes."""
    parameters = model.get_params(deep=False)
    for name in _INNER:
        if parameters.get(name) is not None:
            parameters[name] = describe_inner(parameters[name], f"the {name} of {where}")
    columns = parameters.get("propensity_features")
    if columns is not None and not isinstance(columns, list | tuple | np.ndarray):
        parameters["propensity_features"] = list(columns)
    return dict(parameters)


def make_method(made: type[BasePUClassifier], parameters: dict[str, Any]) -> BasePUClassifier:
    """An estimator with these arguments, the classifiers among them built."""
    inner = {name: build_inner(parameters[name]) for name in _INNER if parameters.get(name) is not None}
    return made(**{**parameters, **inner})


def method_facts(model: BasePUClassifier, where: str) -> dict[str, Any]:
    """The fitted attributes and the two predictors."""
    facts: dict[str, Any] = {name: getattr(model, name) for name in ("n_features_in_", *_expected(type(model)))}
    if hasattr(model, "feature_names_in_"):
        facts["feature_names_in_"] = model.feature_names_in_
    if model._columns is not None:
        facts["columns"] = [(column.name, column.kind, list(column.levels)) for column in model._columns]
    facts["doubts_"] = tuple((doubt.kind, doubt.message) for doubt in model.doubts_)
    known = {*facts, *model.get_params(deep=False)}
    foreign = [name for name in vars(model) if not name.startswith("_") and name not in known]
    if foreign:
        raise ModelFileError(
            f"{where} has an attribute {foreign[0]!r} that its class does not save, so it would be lost. Delete it, "
            "or pass it in about="
        )
    for name, what in model.description.keeps.items():
        if is_dataclass(what):
            facts[name] = asdict(facts[name])
    for name in _PREDICTORS:
        facts[name] = _predictor_facts(getattr(model, f"_{name}"), name, where)
    return facts


def _predictor_facts(predictor: Predictor, name: str, where: str) -> dict[str, Any]:
    if type(predictor) in _KINDS:
        return vars(predictor).copy()
    if isinstance(predictor, ClassifierPredictor):
        inner = describe_inner(predictor.classifier, f"the {name} of {where}")
        return {"classifier": inner, "columns": predictor.columns}
    raise ModelFileError(f"the {name} of {where} is a {type(predictor).__name__}, which cannot be saved")


def restore_method(model: BasePUClassifier, facts: Any) -> None:
    """Check the fitted values in a file, and set them."""
    what = type(model).__name__
    if is_ours(type(model)) and getattr(model, "solver", None) == "lbfgs":
        # A solver of earlier versions, with the same answers.
        model.set_params(solver="newton")
    check_options(model, model._options)
    columns = getattr(model, "propensity_features", None)
    if not (columns is None or is_columns(columns, 0)):
        raise ModelFileError(f"propensity_features of {what} is not a list of columns")
    expected = {**_expected(type(model)), **dict.fromkeys(_PREDICTORS, _is_table)}
    # Files of the first version have no doubts, and only fits to mixed columns have kinds.
    p = check_facts(facts, expected, {"doubts_": _are_doubts, "columns": are_kinds}, what)
    model.doubts_ = tuple(Doubt(*pair) for pair in facts.get("doubts_", ()))
    for name, value in facts.items():
        if name in _PREDICTORS:
            setattr(model, f"_{name}", _restore_predictor(type(model), name, value, p))
        elif name == "columns":
            model._columns = tuple(Column(each, kind, tuple(levels)) for each, kind, levels in value)
        elif name != "doubts_":
            made: Any = model.description.keeps.get(name)
            setattr(model, name, made(**value) if isinstance(made, type) and is_dataclass(made) else value)


def _is_table(value: Any, p: int) -> bool:
    return isinstance(value, dict)


def _restore_predictor(made: type, name: str, facts: dict[str, Any], p: int) -> Predictor:
    """The predictor of its p coefficients and an intercept, or of its classifier."""
    if "classifier" in facts:
        return _restore_classifier(name, facts, p)
    kind: Any = next((kind for kind in _KINDS if kind.__dataclass_fields__.keys() == facts.keys()), None)
    sets: list[Any] = [facts.get(each) for each in ("coef", "other") if each in facts]
    if kind is None or not all(is_array("f", p + 1)(coef, p) for coef in sets):
        raise ModelFileError(f"the {name} of {made.__name__} does not have {p + 1} coefficients")
    logistic = kind is LogisticPredictor
    if not all(_will_do(coef, certain=name == "propensity" and logistic) for coef in sets):
        raise ModelFileError(
            f"the {name} of {made.__name__} has coefficients that are not finite, or beyond {_LARGEST:g}"
        )
    arrays = {each: np.asarray(facts[each], dtype=np.float64) for each in facts if each in ("coef", "other")}
    numbers = {each: value for each, value in facts.items() if each not in arrays}
    wrong = [each for each, value in numbers.items() if type(value) is not float or not _may_be(each, value)]
    if wrong:
        raise ModelFileError(f"the {name} of {made.__name__} has no valid {wrong[0].replace('_', ' ')}")
    predictor: Predictor = kind(**arrays, **numbers)
    return predictor


def _restore_classifier(name: str, facts: dict[str, Any], p: int) -> Predictor:
    """The predictor of a classifier with the classes 0 and 1, fitted to the columns that it is given."""
    columns, classifier = facts.get("columns"), build_inner(facts["classifier"])
    chosen = columns is None or (is_array("iu", None)(columns, p) and all(0 <= place < p for place in columns))
    if facts.keys() != {"classifier", "columns"} or not chosen or not hasattr(classifier, "predict_proba"):
        raise ModelFileError(f"the {name} is not a classifier of {p} features or some of them")
    width = p if columns is None else len(columns)
    if not np.array_equal(classifier.classes_, [0, 1]) or classifier.n_features_in_ != width:
        raise ModelFileError(f"the {name} is a classifier with classes other than 0 and 1, or for other features")
    return ClassifierPredictor(classifier, columns)


def _will_do(coef: NDArray[np.float64], *, certain: bool) -> bool:
    """Whether scores can be computed from them; e(x) = 1 has the intercept +inf and no slopes."""
    if certain and coef[0] == math.inf:
        return not coef[1:].any()
    return bool((np.abs(coef) <= _LARGEST).all())


def _may_be(name: str, value: float) -> bool:
    """Whether a predictor may have this number; powers are shares."""
    return 0 <= value <= 1 if name.endswith("power") else math.isfinite(value)
