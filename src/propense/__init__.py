"""Learning from positive and unlabelled data when the chance of a label depends on the instance."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
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
    from propense.inference import intervals, scar_test
    from propense.model_files import load, save

__all__ = [
    "JERM",
    "LBE",
    "SAREM",
    "TM",
    "JointMLE",
    "KnownPropensity",
    "Naive",
    "Oracle",
    "PGLin",
    "PUClassifier",
    "SparseJoint",
    "__version__",
    "intervals",
    "load",
    "save",
    "scar_test",
]

__version__ = "0.1.0"

_ROOMS = (
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
# Where the names are that are no estimators.
_HOMES = {"intervals": "inference", "load": "model_files", "save": "model_files", "scar_test": "inference"}


def __getattr__(name: str) -> _Any:
    """Public names, imported when they are asked for: scikit-learn takes a second, which `propense --help` need not."""
    if name in _ROOMS:
        return _import_module(f"propense.{name}")
    if name in __all__:
        home = _HOMES.get(name, "estimators")
        value = globals()[name] = getattr(_import_module(f"propense.{home}"), name)
        return value
    raise AttributeError(f"module 'propense' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
