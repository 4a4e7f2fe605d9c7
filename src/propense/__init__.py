"""Learning from positive and unlabelled data when the chance of a label depends on the instance."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from propense.estimators import *  # noqa: F403
    from propense.inference import bounds as bounds
    from propense.inference import column_check as column_check
    from propense.inference import intervals as intervals
    from propense.inference import reasons as reasons
    from propense.inference import scar_test as scar_test
    from propense.inference import sources_test as sources_test
    from propense.model_files import load as load
    from propense.model_files import save as save
    from propense.model_files.codec import TRUSTED_TYPES as TRUSTED_TYPES
    from propense.model_files.onnx_graphs import to_onnx as to_onnx

__version__ = "0.3.0"

_ROOMS = (
    "audit",
    "datasets",
    "errors",
    "estimators",
    "inference",
    "labelling",
    "metrics",
    "model_files",
    "plots",
    "report",
    "study",
    "tables",
)
# The rooms of the public names that are not estimators.
_HOMES = {
    "TRUSTED_TYPES": "model_files.codec",
    "column_check": "inference",
    "cross_val_hidden": "estimators",
    "hidden": "estimators",
    "posterior": "estimators",
    "propensity": "estimators",
    "bounds": "inference",
    "intervals": "inference",
    "load": "model_files",
    "reasons": "inference",
    "save": "model_files",
    "scar_test": "inference",
    "sources_test": "inference",
    "to_onnx": "model_files.onnx_graphs",
}


def __getattr__(name: str) -> _Any:
    """Public names, imported when they are asked for: scikit-learn takes a second, which `propense --help` need not."""
    if name in _ROOMS:
        return _import_module(f"propense.{name}")
    if name in _HOMES:
        value = getattr(_import_module(f"propense.{_HOMES[name]}"), name)
    elif name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'propense' has no attribute {name!r}")
    else:
        estimators = _import_module("propense.estimators")
        if name == "__all__":
            value = sorted([*_classes(estimators), *_HOMES, "__version__"])
        elif name in estimators.__all__:
            value = getattr(estimators, name)
        else:
            raise AttributeError(f"module 'propense' has no attribute {name!r}")
    globals()[name] = value
    return value


def _classes(estimators: _Any) -> list[str]:
    """The estimators and their base, which are public here too."""
    base = estimators.BasePUClassifier
    found = {name: getattr(estimators, name) for name in estimators.__all__}
    return [name for name, value in found.items() if isinstance(value, type) and issubclass(value, base)]


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__"), *_ROOMS})
