"""The fitted values of a method as plain values, and a method restored from them."""

from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from propense._diagnostics.doubts import Doubt
from propense._inputs.columns import level_counts
from propense._inputs.options import check_options
from propense._steps.corrected import Audited, correct_pair
from propense.errors import ModelFileError
from propense.estimators import BasePUClassifier, known_methods
from propense.estimators._description import Check, is_array
from propense.estimators._methods import class_path, is_ours
from propense.model_files.checks import (
    are_kinds,
    are_lists,
    build_columns,
    check_facts,
    describe_columns,
    is_columns,
    is_real,
    is_truth,
    is_whole,
)
from propense.model_files.foreign import build_inner, describe_inner
from propense.model_files.known_priors import build_prior, describe_prior
from propense.model_files.predictors import OPTIONAL, PREDICTORS, build_predictors, describe_predictors
from propense.model_files.preparations import build_preparation, describe_preparation

__all__ = ["describe_audit", "make_method", "method_classes", "method_facts", "method_parameters", "restore_method"]

# Parameters that are a classifier or a list of them, and those that are columns.
_INNER = ("estimator", "propensity_estimator", "learners")
_COLUMNS = ("class_features", "propensity_features")


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
        if name in parameters:
            parameters[name] = _describe_inner(parameters[name], f"the {name} of {where}")
    for name in _COLUMNS:
        columns = parameters.get(name)
        if columns is not None and not isinstance(columns, list | tuple | np.ndarray):
            parameters[name] = list(columns)
    if "prior" in parameters:
        parameters["prior"] = describe_prior(parameters["prior"])
    if isinstance(parameters.get("positive_label"), np.generic):
        parameters["positive_label"] = parameters["positive_label"].item()
    return dict(parameters)


def _describe_inner(value: Any, where: str) -> Any:
    """A classifier, or each of several; None and names are what they are."""
    if isinstance(value, list | tuple):
        return type(value)(describe_inner(each, where) for each in value)
    return value if value is None or isinstance(value, str) else describe_inner(value, where)


def make_method(made: type[BasePUClassifier], parameters: dict[str, Any]) -> BasePUClassifier:
    """An estimator with these arguments, the classifiers among them built."""
    inner = {name: _build_inner(parameters[name]) for name in _INNER if name in parameters}
    if "prior" in parameters:
        inner["prior"] = build_prior(parameters["prior"])
    return made(**{**parameters, **inner})


def _build_inner(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(build_inner, value))
    return value if value is None or isinstance(value, str) else build_inner(value)


def method_facts(model: BasePUClassifier, where: str) -> dict[str, Any]:
    """The fitted attributes and the two predictors."""
    facts: dict[str, Any] = {name: getattr(model, name) for name in ("n_features_in_", *_expected(type(model)))}
    if hasattr(model, "feature_names_in_"):
        facts["feature_names_in_"] = model.feature_names_in_
    if model._columns is not None:
        facts["columns"] = describe_columns(model._columns)
    if model._preparation is not None:
        facts["preparation"] = describe_preparation(model._preparation)
    if model._mean is not None:
        facts["mean"] = model._mean
    facts["doubts_"] = tuple((doubt.kind, doubt.message) for doubt in model.doubts_)
    if hasattr(model, "audit_"):
        facts["audit_"] = describe_audit(model.audit_)
    known = {*facts, *model.get_params(deep=False)}
    # A class that does not take one of the base's arguments may have its default.
    known |= {name for name in ("decision", "positive_label") if getattr(model, name) == getattr(type(model), name)}
    # Answers for the rows of fit are not part of the model.
    foreign = [name for name in vars(model) if not name.startswith(("_", "oof_")) and name not in known]
    if foreign:
        raise ModelFileError(
            f"{where} has an attribute {foreign[0]!r} that its class does not save, so it would be lost. Delete it, "
            "or pass it in about="
        )
    for name, what in model.description.keeps.items():
        if is_dataclass(what):
            facts[name] = asdict(facts[name])
    return {**facts, **describe_predictors(model._posterior, model._propensity, where)}


def describe_audit(facts: Audited) -> dict[str, Any]:
    """What an audit found, in plain values."""
    return {each.name: getattr(facts, each.name) for each in fields(facts)}


def _is_audit(value: Any, p: int) -> bool:
    return Audited.is_valid(value)


def restore_method(model: BasePUClassifier, facts: Any) -> None:
    """Check the fitted values in a file, and set them."""
    what = type(model).__name__
    check_options(model, model._options)
    for name in _COLUMNS:
        columns = getattr(model, name, None)
        if not (columns is None or is_columns(columns, 0) or (model._takes_sources and are_lists(columns))):
            raise ModelFileError(f"{name} of {what} is not a list of columns")
    expected = {**_expected(type(model)), "doubts_": _are_doubts, **dict.fromkeys(PREDICTORS, _is_table)}
    # Only fits to mixed columns have kinds, and only methods whose slopes are explained a mean row.
    optional = {"columns": are_kinds, "preparation": _is_table, "audit_": _is_audit, **OPTIONAL}
    optional["mean"] = is_array("f", None)
    p = check_facts(facts, expected, optional, what)
    model.doubts_ = tuple(Doubt(*pair) for pair in facts["doubts_"])
    if "columns" in facts:
        model._columns = build_columns(facts["columns"])
    levels = None if model._columns is None else level_counts(model._columns)
    if "preparation" in facts:
        if not model._prepares_columns():
            raise ModelFileError(f"{what} has a preparation that it does not use")
        model._preparation = build_preparation(levels, p, facts["preparation"], what)
        p, levels = len(model._preparation.sources), None
    if "mean" in facts:
        model._mean = _check_mean(facts["mean"], p, levels, what)
    model._posterior, model._propensity = build_predictors(facts, p, levels, what)
    if "audit_" in facts:
        model.audit_ = Audited(**facts["audit_"])
        model._posterior, model._propensity = correct_pair(model._posterior, model._propensity, model.audit_)
    for name in facts.keys() - {"doubts_", "columns", "preparation", "audit_", "mean", *PREDICTORS, *OPTIONAL}:
        value, made = facts[name], model.description.keeps.get(name)
        setattr(model, name, made(**value) if isinstance(made, type) and is_dataclass(made) else value)


def _check_mean(mean: Any, p: int, levels: Any, what: str) -> Any:
    """The mean row, with a number for each feature and one for each level of a category."""
    width = p if levels is None else int(np.maximum(levels, 1).sum())
    if len(mean) != width or not np.isfinite(mean).all():
        raise ModelFileError(f"{what} does not have a mean row of {width} finite numbers")
    return mean.astype(np.float64)


def _is_table(value: Any, p: int) -> bool:
    return isinstance(value, dict)
