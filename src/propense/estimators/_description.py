"""What a method says about itself: everything that other rooms need to know about it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["EVERYTHING", "Check", "Description", "is_array", "reference", "summary"]

# (value, number of features) → whether a fitted attribute may have this value.
Check = Callable[[Any, int], bool]

# What a method may take in addition to X and y, and "mixed columns": data frames with categories, dates and missing
# values.
EVERYTHING = ("weights", "known negatives", "dask", "torch")
_TAKES = (*EVERYTHING, "mixed columns")


@dataclass(frozen=True)
class Description:
    """What the command line, reports, model files, studies and documentation know about a method.

    The first line of the class's docstring is its summary, and the docstring's References section its reference.

    Attributes
    ----------
    name : str
        The short name of a method in propense, such as "jerm". A class outside the package leaves it empty and goes by
        its import path, such as "my_module.MyMethod".
    separates : str
        What separates y from e, in a few words.
    assumes : tuple of str
        What must hold for the answer to be right, in sentences for readers who never saw the paper.
    keeps : dict of str to type or function
        The fitted attributes that `Model.kept` sets, each with what it may be in a model file: float, int, bool,
        ``is_array(…)`` or another function of the value and the number of features, or a dataclass with a static method
        ``is_valid(facts)``.
    takes : tuple of str
        Which of "weights", "known negatives", "dask", "torch" and "mixed columns" the method can use.
    needs : str
        What `fit` must be given besides X and the labels; a method that needs more cannot be fitted to a table.
    """

    name: str = ""
    separates: str = ""
    assumes: tuple[str, ...] = ()
    keeps: Mapping[str, type | Check] = field(default_factory=dict)
    takes: tuple[str, ...] = ("weights",)
    needs: str = ""

    def __post_init__(self) -> None:
        for each in self.takes:
            if each not in _TAKES:
                raise TypeError(f"takes={self.takes}: {each!r} is not one of {', '.join(_TAKES)}.")
        for name, what in self.keeps.items():
            if isinstance(what, type) and what not in (float, int, bool) and not hasattr(what, "is_valid"):
                raise TypeError(
                    f"keeps={{{name!r}: {what.__name__}}}: neither float, int, bool nor a class with is_valid."
                )


def summary(method: type) -> str:
    """The first line of a method's docstring."""
    return (inspect.getdoc(method) or "").partition("\n")[0]


def reference(method: type) -> str:
    """The papers that a method's docstring cites, on one line."""
    _, _, after = (inspect.getdoc(method) or "").partition("References\n----------\n")
    return " ".join(after.partition("\n\n")[0].split())


def is_array(kinds: str, *shape: int | None) -> Check:
    """An array whose dtype is of these kinds, of this shape: −1 is the number of features, None any length."""

    def check(value: Any, p: int) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or value.ndim != len(shape):
            return False
        wanted = [p if length == -1 else length for length in shape]
        return all(length in (None, found) for length, found in zip(wanted, value.shape, strict=True))

    return check
