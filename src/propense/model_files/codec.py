"""Models as strict JSON and arrays, and back: a closed list of classes, each field checked against its annotation.

What JSON has is itself. Everything else is an object with a key that begins with $: ``{"$float": "nan"}``, ``{"$tuple":
[…]}``, ``{"$array": 3}`` for the fourth of the arrays, ``{"$is": "Forest", …}`` for an object of a class of the list,
``{"$same": 2}`` for the third of them again. Nothing is imported by a name in a file.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from propense._inputs.options import check_options
from propense.errors import ModelFileError
from propense.estimators._base import BasePUClassifier
from propense.estimators._methods import class_path, is_ours, known_methods
from propense.model_files.checks import EVERY, OPTIONAL, check_part, fits, restore

__all__ = ["TRUSTED_TYPES", "Decoder", "Encoder"]

# What a model may consist of, by its home: nothing of it runs code when it is made.
_PARTS = {
    "_diagnostics.diagnosis": "Diagnosis",
    "_diagnostics.doubts": "Doubt",
    "_inputs.columns": "Column",
    "_inputs.preparation": "Preparation",
    "_inputs.prior_groups": "PriorGroups",
    "_maths.forest": "Forest",
    "_steps.corrected": "Audited CorrectedPredictor",
    "_steps.known_prior": "ShiftedPredictor",
    "_steps.label_scores": "LabelScore Member",
    "_steps.named_pair": "NamedPredictor",
    "_steps.predictors": "ClassifierPredictor ForestPredictor LogisticPredictor RootPredictor",
    "_steps.source_looks": "AnyLabelPredictor",
    "worlds.curves": "Bent Curves LabelCurve",
    "worlds.predictors": "CurvePredictor LinePredictor",
    "tables.drift": "SeenColumn",
    "tables.fitted_rows": "HeldOut",
    "tables.label_columns": "LabelColumns",
    "tables.labels": "Label",
    "tables.model": "TableModel",
    "tables.past_audits": "PastDraw",
    "tables.schema": "Schema",
    "tables.spelling": "Spelling",
}
_HOMES = {name: f"propense.{home}" for home, names in _PARTS.items() for name in names.split()}
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_REQUESTS = ("fit", "partial_fit", "score", "transform", "inverse_transform")


def _part_named(name: str) -> Any:
    """The class of that name; None if a model may not hold it."""
    return getattr(import_module(_HOMES[name]), name) if name in _HOMES else None


def method_classes() -> dict[str, type[BasePUClassifier]]:
    """Every method imported so far, by its name in a file: the class of ours, the import path of others."""
    found = {method for method, _ in known_methods().values()}
    return {each.__name__ if is_ours(each) else class_path(each): each for each in sorted(found, key=class_path)}


class Encoder:
    """Turns a model into JSON, and collects its arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        # By identity, with the object itself: the number of one that is gone may be given again.
        self._seen: dict[int, tuple[int, Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
        """The JSON of a value; `where` is what errors call it."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, list | tuple):
            inner = [self.encode(each, where) for each in value]
            return inner if isinstance(value, list) else {"$tuple": inner}
        if type(value) is dict:
            return {"$dict": [[self.encode(each, where) for each in pair] for pair in value.items()]}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return {"$number": self._keep(np.array([value]))}
        if type(value) is np.ndarray:
            return self._of_array(value, where)
        if isinstance(value, range | set | frozenset) or type(value).__module__.startswith("pandas"):
            # Columns, in another container than a list; the order of a set depends on the process.
            return self.encode(sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value), where)
        return self._of_object(value, where)

    def _keep(self, array: NDArray[Any]) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _of_array(self, array: NDArray[Any], where: str) -> dict[str, Any]:
        if array.dtype.kind in "biufU":
            return {"$array": self._keep(array)}
        if array.dtype.kind not in "OT" or hasattr(array.dtype, "na_object"):
            raise ModelFileError(f"{where}: an array of dtype {array.dtype} cannot be saved")
        values = [self.encode(each, where) for each in array.ravel().tolist()]
        return {"$values": [array.dtype.kind == "T", list(array.shape), values]}

    def _of_object(self, value: Any, where: str) -> dict[str, Any]:
        if id(value) in self._seen:
            return {"$same": self._seen[id(value)][0]}
        name = type(value).__name__
        if is_dataclass(value) and _part_named(name) is type(value):
            facts = {each.name: self.encode(getattr(value, each.name), where) for each in fields(value)}
            found = {"$is": name, **facts}
        elif isinstance(value, BasePUClassifier):
            found = self._of_method(value, where)
        elif isinstance(value, BaseEstimator):
            found = self._of_sklearn(value, where)
        else:
            raise ModelFileError(f"{where}: a value of type {name} cannot be saved")
        # After what is in it, so that it can be used again but never contain itself.
        self._seen[id(value)] = len(self._seen), value
        return found

    def _of_sklearn(self, value: Any, where: str) -> dict[str, Any]:
        from propense.model_files.sklearn_parts import dump

        last = value
        while isinstance(last, Pipeline) and last.steps:
            last = last.steps[-1][1]
        own = last if isinstance(last, BasePUClassifier) else None
        data = {"$skops": self._keep(dump(value, where, without=own))}
        return data if own is None else {**data, "last": self._of_method(own, f"the last step of {where}")}

    def _of_method(self, method: BasePUClassifier, where: str) -> dict[str, Any]:
        name = next((name for name, made in method_classes().items() if made is type(method)), None)
        if name is None:
            raise ModelFileError(f"{where} is of the class {type(method).__name__}, which cannot be saved")
        try:
            facts = _facts(method, where)
        except AttributeError as error:
            # Not check_is_fitted: a fit that failed half-way leaves enough behind to pass it.
            raise ModelFileError(f"{where} is not fitted: it has no {error.name}. Fit the model first") from None
        given = {each: value for each, value in method.get_params(deep=False).items() if each != "n_jobs"}
        parameters = {each: self.encode(value, f"{each} of {where}") for each, value in given.items()}
        inside = {each: self.encode(value, f"{each} of {where}") for each, value in facts.items()}
        return {"$method": name, "parameters": parameters, "requests": _requests_of(method), "fitted": inside}


def _facts(method: BasePUClassifier, where: str) -> dict[str, Any]:
    """The fitted attributes of a method."""
    facts = {each: getattr(method, each) for each in (*EVERY, *method.description.keeps)}
    facts |= {each: getattr(method, each) for each in OPTIONAL if getattr(method, each, None) is not None}
    for each, what in method.description.keeps.items():
        if is_dataclass(what) and _part_named(getattr(what, "__name__", "")) is not what:
            # Of a method of one's own.
            facts[each] = asdict(facts[each])
    known = {*facts, *method.get_params(deep=False)}
    # A class that does not take one of the base's arguments may have its default.
    known |= {each for each in ("decision", "positive_label") if getattr(method, each) == getattr(type(method), each)}
    # Answers for the rows of fit are not part of the model.
    foreign = [each for each in vars(method) if not each.startswith(("_", "oof_")) and each not in known]
    if foreign:
        raise ModelFileError(
            f"{where} has an attribute {foreign[0]!r} that its class does not save, so it would be lost. Delete it, "
            "or pass it in about="
        )
    return facts


def _requests_of(method: Any) -> dict[str, dict[str, Any]]:
    """What metadata its methods ask for beyond their defaults, by `set_fit_request` and the like."""
    asked, default = method.get_metadata_routing(), type(method)().get_metadata_routing()
    out: dict[str, dict[str, Any]] = {}
    for each in _REQUESTS:
        before = getattr(default, each).requests
        after = {name: value for name, value in getattr(asked, each).requests.items() if value != before.get(name)}
        if after:
            out[each] = after
    return out


class Decoder:
    """Makes a model of JSON and arrays, checking everything; any error means that the file holds no model.

    Parameters
    ----------
    arrays : list of ndarray
    size : int
        The bytes of the file: it cannot have more columns or levels than that.
    """

    def __init__(self, arrays: list[NDArray[Any]], size: int) -> None:
        self._arrays, self._size = arrays, size
        self._seen: list[Any] = []
        # Whether anything was made by scikit-learn's own code.
        self.has_sklearn = False
        self._readers: dict[str, Callable[[Any], Any]] = {
            "$float": _NOT_FINITE.__getitem__,
            "$tuple": lambda found: tuple(map(self.decode, found)),
            "$dict": lambda found: {self.decode(key): self.decode(each) for key, each in found},
            "$number": lambda found: self._array(found)[0],
            "$array": self._array,
            "$values": self._values,
            "$same": lambda found: self._seen[operator.index(found)],
        }
        # What can be met again.
        self._makers = {"$is": self._part, "$method": self._method, "$skops": self._sklearn}

    def decode(self, packed: Any) -> Any:
        """The value of its JSON."""
        if isinstance(packed, list):
            return [self.decode(each) for each in packed]
        # 1e999 is JSON, and infinite to Python.
        if isinstance(packed, float) and not math.isfinite(packed):
            raise ModelFileError("it holds a number too large for float64")
        if not isinstance(packed, dict):
            return packed
        tag = next(iter(packed), "")
        if tag in self._readers:
            return self._readers[tag](packed[tag])
        if tag not in self._makers:
            raise ModelFileError(f"it holds an object that begins with {tag[:40]!r}")
        self._seen.append(self._makers[tag](packed))
        return self._seen[-1]

    def _array(self, number: Any) -> NDArray[Any]:
        return self._arrays[operator.index(number)]

    def _values(self, packed: Any) -> NDArray[Any]:
        text, shape, values = packed
        out = np.empty(len(values), dtype=np.dtypes.StringDType() if text else object)
        for place, each in enumerate(values):
            out[place] = self.decode(each)
        return out.reshape(shape)

    def _part(self, packed: dict[str, Any]) -> Any:
        name = packed.pop("$is")
        made = _part_named(name)
        if made is None:
            raise ModelFileError(f"it holds a {str(name)[:80]!r}, which this version of propense does not know")
        # A field that has come later has a default.
        facts = {name: self.decode(each) for name, each in packed.items()}
        hints = _hints(made)
        for name, value in facts.items():
            # The spread of a score that learned nothing.
            if not fits(value, hints[name]) and not (name == "spread" and value == math.inf):
                raise ModelFileError(f"{name} of a {made.__name__} is not valid")
        part = made(**facts)
        check_part(part, self._size)
        return part

    def _sklearn(self, packed: dict[str, Any]) -> Any:
        from propense.model_files.sklearn_parts import load

        thing, self.has_sklearn = load(self._array(packed["$skops"])), True
        if "last" in packed:
            inner, estimator = thing, self._method(packed["last"])
            while isinstance(inner.steps[-1][1], Pipeline):
                inner = inner.steps[-1][1]
            inner.steps[-1] = (inner.steps[-1][0], estimator)
        return thing

    def _method(self, packed: dict[str, Any]) -> BasePUClassifier:
        name, made = packed["$method"], method_classes().get(packed["$method"])
        if made is None:
            # Nothing is imported by a name that a file gives.
            own = ". If it is a class of your own, import its module first (propense score --method)"
            hint = own if "." in str(name) else ""
            raise ModelFileError(f"it holds a {str(name)[:80]!r}, which this version of propense does not know{hint}")
        parameters, fitted, unknown = packed["parameters"], packed["fitted"], set(packed["parameters"])
        unknown -= signature(made).parameters.keys()
        if unknown:
            raise ModelFileError(f"{name} has no parameter {min(unknown)[:40]!r} in this version")
        # How many processes to start is not for a file to say.
        values: dict[str, Any] = {
            each: None if each == "n_jobs" else self.decode(value) for each, value in parameters.items()
        }
        method = made(**values)
        check_options(method, method._options)
        restore(method, {each: self.decode(value) for each, value in fitted.items()}, self._size)
        with config_context(enable_metadata_routing=True):
            for each, asked in packed["requests"].items():
                if each not in _REQUESTS:
                    raise ModelFileError("its metadata requests are not valid")
                getattr(method, f"set_{each}_request")(**asked)
        return method


@cache
def _hints(made: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(made).items() if name in made.__dataclass_fields__}  # type: ignore[attr-defined]


# For `skops.io.load` and tools that call it: all that a model of ours, without a table, may consist of.
TRUSTED_TYPES = sorted(
    [f"{home}.{name}" for name, home in _HOMES.items() if ".tables." not in home]
    + [class_path(each) for each in method_classes().values() if is_ours(each)]
)
