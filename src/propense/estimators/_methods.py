"""Methods by name: short names of ours, import paths of others."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from propense._inputs.options import Choice
from propense.errors import InvalidOption
from propense.estimators._base import BasePUClassifier

__all__ = ["class_path", "find_method", "is_ours", "known_methods"]

NamedMethod = tuple[type[BasePUClassifier], dict[str, Any]]


def known_methods() -> dict[str, NamedMethod]:
    """Every method imported so far, as a class and its parameters: ours by short name, others by import path.

    A short name is the class with its defaults; ``name-variant`` is the class with that variant.
    """
    ours: dict[str, NamedMethod] = {}
    others: dict[str, NamedMethod] = {}
    for method in sorted(_subclasses(BasePUClassifier), key=class_path):
        name = method.description.name
        if not is_ours(method):
            others[class_path(method)] = method, {}
            continue
        ours[name] = method, {}
        ours |= {f"{name}-{variant}": (method, {"variant": variant}) for variant in _other_variants(method)}
    # The first choice comes first.
    return {"pu": ours["pu"], **ours, **others}


def find_method(name: str) -> NamedMethod:
    """The class and the parameters that a name stands for.

    Parameters
    ----------
    name : str
        A short name, such as "jerm" or "lbe-published", or the import path of a subclass of `BasePUClassifier`, such as
        "my_module.MyMethod", whose module is imported.

    Returns
    -------
    tuple of a class and a dict

    Raises
    ------
    InvalidOption
        If there is no such method.
    """
    known = known_methods()
    if name in known:
        return known[name]
    module, _, attribute = name.rpartition(".")
    if not module:
        ours = [each for each, (method, _) in known.items() if "." not in each and not method.description.needs]
        raise InvalidOption(
            f"There is no method {name!r}. Choose one of {', '.join(ours)}, or give the import path of a class, such "
            "as my_module.MyMethod."
        )
    try:
        method = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        # A module of the user's own may fail in any way.
        raise InvalidOption(f"The method {name!r} cannot be imported: {type(error).__name__}: {error}.") from None
    if not (isinstance(method, type) and issubclass(method, BasePUClassifier)) or inspect.isabstract(method):
        raise InvalidOption(f"{name} is not a subclass of propense.BasePUClassifier with a _fit of its own.")
    return method, {}


def is_ours(method: type) -> bool:
    """Whether a method is one of this package."""
    return method.__module__.startswith("propense.")


def class_path(method: type) -> str:
    """The import path of a class."""
    return f"{method.__module__}.{method.__qualname__}"


def _subclasses(base: Any) -> Iterator[type[BasePUClassifier]]:
    """The methods below this class; a class of ours without a short name is only a base of others."""
    for method in base.__subclasses__():
        yield from _subclasses(method)
        if not inspect.isabstract(method) and (method.description.name or not is_ours(method)):
            yield method


def _other_variants(method: type[BasePUClassifier]) -> list[str]:
    """The variants of a class, less its default."""
    option = method._options.get("variant")
    default = method().get_params().get("variant")
    return [each for each in option.names if each != default] if isinstance(option, Choice) else []
