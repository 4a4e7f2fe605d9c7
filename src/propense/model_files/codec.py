"""Models as plain descriptions, and back: a closed list of classes, none of which is looked up by what a file says."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from sklearn import config_context
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from propense.errors import ModelFileError
from propense.estimators._base import BasePUClassifier
from propense.model_files.checks import is_count, is_names, is_truth
from propense.model_files.columns import (
    WORDS,
    check_column_parameters,
    describe_columns,
    learnt_by_columns,
    restore_columns,
)
from propense.model_files.methods import learnt_by_method, method_classes, method_parameters, restore_method
from propense.model_files.table_models import build_table, describe_table, is_table, table_parts
from propense.model_files.transformers import (
    OUTPUTS,
    SCALERS,
    check_parameters,
    learnt_by_encoder,
    learnt_by_imputer,
    learnt_by_scaler,
    output_of,
    restore_encoder,
    restore_imputer,
    restore_scaler,
)
from propense.model_files.values import pack
from propense.tables import TableModel

__all__ = ["build_model", "describe_model", "summarise"]


@dataclass(frozen=True)
class _Kind:
    """A class, what one of it has learnt, and how another is made to know it again."""

    made: type
    learnt: Callable[[Any, str], dict[str, Any]]
    restore: Callable[[Any, Any], None]


_KINDS = {
    **{made.__name__: _Kind(made, learnt_by_scaler, restore_scaler) for made in SCALERS},
    "SimpleImputer": _Kind(SimpleImputer, learnt_by_imputer, restore_imputer),
    "OneHotEncoder": _Kind(OneHotEncoder, learnt_by_encoder, restore_encoder),
    "ColumnTransformer": _Kind(
        ColumnTransformer,
        lambda thing, where: learnt_by_columns(thing, where, _describe),
        lambda thing, facts: restore_columns(thing, facts, _build),
    ),
    # It learns nothing: its steps do, and they are its arguments.
    "Pipeline": _Kind(Pipeline, lambda thing, where: {}, lambda thing, facts: None),
}
_KEYS = {"class", "parameters", "output", "requests", "fitted"}
# A step that does nothing.
_NOTHING = (None, "passthrough")
_REQUESTS = ("fit", "partial_fit", "score", "transform", "inverse_transform")


def _kinds() -> dict[str, _Kind]:
    """Everything that a file may hold: the methods imported so far, and what may stand before them."""
    methods = {name: _Kind(made, learnt_by_method, restore_method) for name, made in method_classes().items()}
    return {**methods, **_KINDS}


def describe_model(model: Any) -> dict[str, Any]:
    """All that a fitted model is, in plain values: a dict of its class, its parameters and what it has learnt."""
    if isinstance(model, TableModel):
        return describe_table(model, _describe)
    last = model
    while isinstance(last, Pipeline) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, BasePUClassifier):
        hint = ". Save its best_estimator_" if hasattr(last, "best_estimator_") else ""
        raise ModelFileError(
            f"a {type(last).__name__} is no estimator of propense, nor a pipeline that ends in one{hint}"
        )
    return _describe(model, f"this {type(model).__name__}")


def build_model(description: Any) -> Any:
    """The fitted model of its description."""
    # The checks of scikit-learn are wanted here, whatever the user has switched off, and no routing.
    with config_context(skip_parameter_validation=False, enable_metadata_routing=False):
        model = build_table(description, _build) if is_table(description) else _build(description)
    summarise(description)
    return model


def summarise(description: Any) -> dict[str, Any]:
    """What a description tells of the model's method and features; nothing is built."""
    if is_table(description):
        return _summarise_table(description)
    first = last = description
    steps: list[str] = []
    try:
        while last["class"] == "Pipeline":
            steps += [f"{name}: {each['class'] if isinstance(each, dict) else each}" for name, each in _steps(last)]
            last = _steps(last)[-1][1]
        while first["class"] == "Pipeline":
            first = next(each for _, each in _steps(first) if isinstance(each, dict))
        method, parameters = last["class"], last["parameters"]
        count, names = first["fitted"]["n_features_in_"], first["fitted"].get("feature_names_in_")
        doubts = [str(message) for _, message in last["fitted"].get("doubts_", ())]
    except (KeyError, TypeError, IndexError, StopIteration, ValueError, AttributeError):
        raise ModelFileError("it holds no model") from None
    if method in _KINDS:
        raise ModelFileError("it holds a model that does not end in an estimator of propense")
    if not is_count(count, 0) or not (names is None or is_names(names, int(count))):
        raise ModelFileError("it holds a model of no features")
    return {
        "method": method,
        "parameters": parameters,
        "steps": steps,
        "doubts": doubts,
        "n_features": count,
        "feature_names": None if names is None else [str(name) for name in names],
    }


def _summarise_table(description: dict[str, Any]) -> dict[str, Any]:
    """Of a table, with its label and the kinds of its columns."""
    facts = summarise(table_parts(description)[1])
    try:
        columns = {str(name): str(kind) for name, kind, _ in description["columns"]}
        column, positive, _ = description["label"]
        about = {"label": f"{column} = {positive}", "id": description["id"]}
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("it holds no model") from None
    return {**facts, **about, "n_features": len(columns), "feature_names": list(columns), "kinds": columns}


def _steps(description: dict[str, Any]) -> Any:
    return description["parameters"]["steps"]


def _describe(thing: Any, where: str, *, fitted: bool = True) -> dict[str, Any]:
    """The description of a model or a part of it; `where` is what errors call it."""
    kinds = _kinds()
    name = next((name for name, kind in kinds.items() if kind.made is type(thing)), None)
    if name is None:
        raise ModelFileError(
            f"{where} is of the class {type(thing).__name__}, which a model file does not take; it takes "
            f"{', '.join(kinds)}. Such a model can be kept with skops or joblib, by people who trust the file"
        )
    description: dict[str, Any] = {"class": name, "parameters": _parameters(thing, where, fitted=fitted)}
    if output_of(thing) is not None:
        description["output"] = output_of(thing)
    if not isinstance(thing, Pipeline | ColumnTransformer):
        description["requests"] = _requests_of(thing)
    if fitted:
        try:
            description["fitted"] = kinds[name].learnt(thing, where)
        except AttributeError as error:
            # Not check_is_fitted: a fit that failed half-way leaves enough behind to pass it.
            raise ModelFileError(f"{where} is not fitted: it has no {error.name}. Fit the model first") from None
    return description


def _parameters(thing: Any, where: str, *, fitted: bool) -> dict[str, Any]:
    """The constructor arguments, in plain values."""
    if isinstance(thing, Pipeline):
        parameters = dict(thing.get_params(deep=False))
        if parameters["memory"] is not None:
            # A cache is read by unpickling what lies there.
            raise ModelFileError(f"{where} has a memory, which a model file does not take. Set memory=None")
        parameters["steps"] = [(name, _step(each, f"step {name!r} of {where}", fitted)) for name, each in thing.steps]
    elif isinstance(thing, ColumnTransformer):
        parameters = describe_columns(thing, where, _describe)
    elif isinstance(thing, BasePUClassifier):
        parameters = method_parameters(thing, where)
    else:
        parameters = thing.get_params(deep=False)
    for name, value in parameters.items():
        try:
            pack(value, [])
        except ModelFileError as error:
            raise ModelFileError(f"{name} of {where} cannot be kept: {error}. Set another {name}") from None
    return parameters


def _step(each: Any, where: str, fitted: bool) -> Any:
    return each if each in _NOTHING else _describe(each, where, fitted=fitted)


def _requests_of(thing: Any) -> dict[str, dict[str, Any]]:
    """What metadata its methods ask for beyond their defaults, by `set_fit_request` and the like."""
    asked, default = thing.get_metadata_routing(), type(thing)().get_metadata_routing()
    out: dict[str, dict[str, Any]] = {}
    for method in _REQUESTS:
        before = getattr(default, method).requests
        after = {name: value for name, value in getattr(asked, method).requests.items() if value != before.get(name)}
        if after:
            out[method] = after
    return out


def _build(description: Any, *, fitted: bool = True) -> Any:
    """The thing that a description tells of, as fitted as it should be."""
    if not isinstance(description, dict) or not description.keys() <= _KEYS:
        raise ModelFileError("it holds something that is no part of a model")
    name, parameters = description.get("class"), description.get("parameters")
    kinds = _kinds()
    if not isinstance(name, str) or name not in kinds or not isinstance(parameters, dict):
        # Nothing is imported by a name that a file gives.
        hint = (
            ". If it is a class of your own, import its module first (propense score --method)"
            if "." in str(name)
            else ""
        )
        raise ModelFileError(f"it holds a {str(name)[:80]!r}, which is no part of a model here{hint}")
    if ("fitted" in description) is not fitted:
        raise ModelFileError(f"it holds a {name} that is {'not ' if fitted else ''}fitted")
    kind = kinds[name]
    unknown = parameters.keys() - signature(kind.made).parameters.keys()
    if unknown:
        raise ModelFileError(f"{name} has no argument {min(unknown)[:40]!r} here")
    thing = _construct(kind.made, parameters, fitted=fitted)
    if fitted:
        kind.restore(thing, description["fitted"])
    _set_requests(thing, description.get("requests", {}))
    output = description.get("output")
    if output is not None:
        if output not in OUTPUTS or isinstance(thing, Pipeline | BasePUClassifier):
            raise ModelFileError(f"{name} has no output of that kind")
        # Not the ColumnTransformer's own, which would choose for its parts too; they have chosen.
        TransformerMixin.set_output(thing, transform=output)
    return thing


def _construct(made: type, parameters: dict[str, Any], *, fitted: bool) -> Any:
    """An instance with these arguments, the parts among them built."""
    if made is Pipeline:
        return Pipeline(**{**parameters, "steps": _built_steps(parameters, fitted=fitted)})
    if made is ColumnTransformer:
        check_column_parameters(parameters)
        remainder = parameters.get("remainder", "drop")
        entries = [(name, _built(each, WORDS), columns) for name, each, columns in parameters["transformers"]]
        return ColumnTransformer(**{**parameters, "transformers": entries, "remainder": _built(remainder, WORDS)})
    thing = made(**parameters)
    if not isinstance(thing, BasePUClassifier):
        check_parameters(thing)
    return thing


def _built(each: Any, words: tuple[str | None, ...], *, fitted: bool = False) -> Any:
    """A word that has a meaning here, or the part that a description tells of."""
    word = each is None or isinstance(each, str)
    return each if word and each in words else _build(each, fitted=fitted)


def _built_steps(parameters: dict[str, Any], *, fitted: bool) -> list[tuple[str, Any]]:
    entries, asked = parameters.get("steps"), parameters.get("transform_input")
    if not isinstance(entries, list) or not entries:
        raise ModelFileError("Pipeline has no steps")
    if parameters.get("memory") is not None or not is_truth(parameters.get("verbose", False), 0):
        raise ModelFileError("Pipeline has a memory, or a verbose that is no truth value")
    if asked is not None and not (isinstance(asked, list) and all(isinstance(each, str) for each in asked)):
        raise ModelFileError("Pipeline has a transform_input that is no list of names")
    names = [each[0] for each in entries if isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str)]
    if len(set(names)) < len(entries):
        raise ModelFileError("Pipeline has steps that are not names, each another, and parts")
    steps = [(name, _built(each, _NOTHING, fitted=fitted)) for name, each in entries]
    if any(isinstance(each, BasePUClassifier) for _, each in steps[:-1]):
        raise ModelFileError("Pipeline has an estimator of propense before its end")
    return steps


def _set_requests(thing: Any, requests: Any) -> None:
    if not isinstance(requests, dict) or not requests.keys() <= set(_REQUESTS):
        raise ModelFileError("it asks for metadata in a way that no model does")
    with config_context(enable_metadata_routing=True):
        for method, asked in requests.items():
            getattr(thing, f"set_{method}_request")(**asked)
