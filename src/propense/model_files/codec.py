"""Models as plain descriptions, and back: a closed list of classes. Nothing is imported by a name in a file."""

from inspect import signature
from typing import Any

from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense._steps.corrected import Audited
from propense.errors import ModelFileError
from propense.estimators._base import BasePUClassifier
from propense.model_files import foreign
from propense.model_files.checks import is_count
from propense.model_files.container import check_memory
from propense.model_files.known_priors import build_prior
from propense.model_files.methods import (
    make_method,
    method_classes,
    method_facts,
    method_parameters,
    restore_method,
)
from propense.model_files.table_models import build_table, describe_table, is_table, table_parts
from propense.model_files.values import pack
from propense.tables import TableModel

__all__ = ["build_model", "describe_model", "summarise"]

_KEYS = {"class", "parameters", "requests", "fitted"}
_PIPELINE_KEYS = {"class", "skops", "steps", "n_features_in_", "feature_names_in_", "estimator"}
# A step that does nothing.
_NOTHING = (None, "passthrough")
_REQUESTS = ("fit", "partial_fit", "score", "transform", "inverse_transform")


def describe_model(model: Any) -> dict[str, Any]:
    """A fitted model in plain values: a dict of its class, its parameters and what it has learned."""
    if isinstance(model, TableModel):
        return describe_table(model, _describe)
    last = model
    while isinstance(last, Pipeline) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, BasePUClassifier):
        hint = ". Save its best_estimator_" if hasattr(last, "best_estimator_") else ""
        raise ModelFileError(
            f"a {type(last).__name__} is not an estimator of propense, nor a pipeline that ends in one{hint}"
        )
    if model is last:
        return _describe(model, f"this {type(model).__name__}")
    _check_fitted(model)
    estimator = _describe(last, f"the last step of this {type(model).__name__}")
    data = foreign.dump(model, f"this {type(model).__name__}", without=last)
    return {"class": "Pipeline", "skops": data, **_outline(model), "estimator": estimator}


def build_model(description: Any, size: int = 0) -> Any:
    """The fitted model of its description, in a file of `size` bytes."""
    # The checks of scikit-learn are wanted here, whatever the user has switched off, and no routing.
    with config_context(skip_parameter_validation=False, enable_metadata_routing=False):
        if is_table(description):
            model = build_table(description, _build)
        elif isinstance(description, dict) and "skops" in description:
            model = _build_pipeline(description)
        else:
            model = _build(description)
    foreign.check_parts(model)
    check_memory(foreign.announced_row(model), size)
    summarise(description)
    return model


def summarise(description: Any) -> dict[str, Any]:
    """What a description says about the model's method and features; nothing is built."""
    if is_table(description):
        return _summarise_table(description)
    last = description
    steps: list[str] = []
    try:
        if "skops" in description:
            steps, last = description["steps"], description["estimator"]
            count, names = description["n_features_in_"], description["feature_names_in_"]
        else:
            count, names = last["fitted"]["n_features_in_"], last["fitted"].get("feature_names_in_")
        doubts = [str(message) for _, message in last["fitted"].get("doubts_", ())]
        shown = {name: _shown(each) for name, each in last["parameters"].items()}
        if "prior" in shown:
            shown["prior"] = build_prior(shown["prior"])
        audit = last["fitted"].get("audit_")
        names = None if names is None else [str(name) for name in names]
    except (KeyError, TypeError, IndexError, StopIteration, ValueError, AttributeError):
        raise ModelFileError("it does not hold a model") from None
    if not (count is None or is_count(count, 0)) or not (names is None or len(names) == count):
        raise ModelFileError("it holds a model without features")
    facts = {"method": last["class"], "parameters": shown, "steps": steps, "doubts": doubts}
    said = {} if audit is None or not Audited.is_valid(audit) else {"audit": str(Audited(**audit))}
    return {**facts, **said, "n_features": count, "feature_names": names}


def _shown(value: Any) -> Any:
    """A parameter as `inspect` shows it: a classifier, or each of several, by its text."""
    if isinstance(value, list | tuple):
        return type(value)(map(_shown, value))
    return value["text"] if isinstance(value, dict) and "skops" in value else value


def _summarise_table(description: dict[str, Any]) -> dict[str, Any]:
    """The same of a table, with its label and the kinds of its columns."""
    facts = summarise(table_parts(description)[1])
    try:
        columns = {
            str(name): " ".join([str(kind), *map(_in_brackets, form)])
            for name, kind, _, *form in description["columns"]
        }
        label = description["label"]
        several = label if isinstance(label[0], tuple) else (label,)
        words = " or ".join(f"{column} = {positive}" for column, positive, _ in several)
        spelling = {name: value for name, value in (description.get("spelling") or {}).items() if value is not None}
        about = {"label": words, "id": description["id"]}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise ModelFileError("it does not hold a model") from None
    features = {"n_features": len(columns), "feature_names": list(columns), "kinds": columns}
    return {**facts, **about, **features, "spelling": spelling}


def _in_brackets(form: Any) -> str:
    """The form of a column: (m/d/y), (kg)."""
    return f"({str(form).rpartition('unit:')[2] or 'as text'})"


def _outline(model: Pipeline) -> dict[str, Any]:
    """The steps of a pipeline and the features it takes, for `inspect`."""
    steps: list[str] = []
    first = last = model
    while isinstance(last, Pipeline):
        steps += [f"{name}: {each if each in _NOTHING else type(each).__name__}" for name, each in last.steps]
        last = last.steps[-1][1]
    while isinstance(first, Pipeline):
        first = next(each for _, each in first.steps if each not in _NOTHING)
    names, count = getattr(first, "feature_names_in_", None), getattr(first, "n_features_in_", None)
    facts = {"steps": steps, "n_features_in_": None if count is None else int(count)}
    return {**facts, "feature_names_in_": None if names is None else [str(name) for name in names]}


def _check_fitted(pipeline: Pipeline) -> None:
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            _check_fitted(step)
        elif step not in _NOTHING and not isinstance(step, BasePUClassifier):
            try:
                check_is_fitted(step)
            except NotFittedError:
                raise ModelFileError(f"step {name!r} of this Pipeline is not fitted. Fit the model first") from None


def _build_pipeline(description: dict[str, Any]) -> Pipeline:
    """The pipeline that skops has kept, with the estimator described next to it as its last step."""
    if description.keys() != _PIPELINE_KEYS:
        raise ModelFileError("it holds a pipeline without its steps or its estimator")
    estimator = _build(description["estimator"])
    model = inner = foreign.load(description["skops"])
    while type(inner) is Pipeline and isinstance(inner.steps[-1][1], Pipeline):
        inner = inner.steps[-1][1]
    if type(inner) is not Pipeline or inner.steps[-1][1] is not None or not isinstance(estimator, BasePUClassifier):
        raise ModelFileError("it holds a pipeline that does not end in its estimator")
    inner.steps[-1] = (inner.steps[-1][0], estimator)
    if any(description[name] != value for name, value in _outline(model).items()):
        raise ModelFileError("it holds a pipeline that differs from its description")
    return model


def _describe(thing: Any, where: str) -> dict[str, Any]:
    """The description of an estimator of propense; `where` is what errors call it."""
    name = next((name for name, made in method_classes().items() if made is type(thing)), None)
    if name is None:
        raise ModelFileError(f"{where} is of the class {type(thing).__name__}, which cannot be saved")
    parameters = method_parameters(thing, where)
    for argument, value in parameters.items():
        try:
            pack(value, [])
        except ModelFileError as error:
            raise ModelFileError(f"{argument} of {where}: {error}. Set another {argument}") from None
    try:
        facts = method_facts(thing, where)
    except AttributeError as error:
        # Not check_is_fitted: a fit that failed half-way leaves enough behind to pass it.
        raise ModelFileError(f"{where} is not fitted: it has no {error.name}. Fit the model first") from None
    return {"class": name, "parameters": parameters, "requests": _requests_of(thing), "fitted": facts}


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


def _build(description: Any) -> Any:
    """The estimator that a description is of."""
    if not isinstance(description, dict) or not description.keys() <= _KEYS:
        raise ModelFileError("it holds something that is not part of a model")
    name, parameters = description.get("class"), description.get("parameters")
    made = method_classes().get(name) if isinstance(name, str) else None
    if made is None or not isinstance(parameters, dict):
        # Nothing is imported by a name that a file gives.
        own = ". If it is a class of your own, import its module first (propense score --method)"
        hint = own if "." in str(name) else ""
        raise ModelFileError(f"it holds a {str(name)[:80]!r}, which this version of propense does not know{hint}")
    if "fitted" not in description:
        raise ModelFileError(f"it holds a {name} that is not fitted")
    unknown = parameters.keys() - signature(made).parameters.keys()
    if unknown:
        raise ModelFileError(f"{name} has no parameter {min(unknown)[:40]!r} in this version")
    # How many processes to start is not for a file to say.
    parameters = {argument: None if argument == "n_jobs" else value for argument, value in parameters.items()}
    thing = make_method(made, parameters)
    restore_method(thing, description["fitted"])
    _set_requests(thing, description.get("requests", {}))
    return thing


def _set_requests(thing: Any, requests: Any) -> None:
    if not isinstance(requests, dict) or not requests.keys() <= set(_REQUESTS):
        raise ModelFileError("its metadata requests are not valid")
    with config_context(enable_metadata_routing=True):
        for method, asked in requests.items():
            getattr(thing, f"set_{method}_request")(**asked)
