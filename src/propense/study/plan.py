"""The plan of a study, read from TOML: it lists the cells to measure."""

import hashlib
import importlib
import itertools
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from propense.datasets import names
from propense.errors import InvalidOption, InvalidPlan
from propense.estimators import find_method
from propense.labelling import MECHANISMS
from propense.study.natural_data import NATURAL, YEARS, setting_before
from propense.study.told import NOTHING, check_told, words_of

__all__ = ["PAPER_METHODS", "PROTOCOLS", "Cell", "Method", "Study", "method_named"]

PROTOCOLS = ("paper", "clean", "natural")
# The largest integer that SQLite, and so a ledger, can store; and a number of cells that can still be listed.
_LARGEST_SEED = 2**63 - 1
_MOST_REPEATS = 1_000_000


@dataclass(frozen=True)
class Method:
    """An estimator by its import path, with its parameters.

    Attributes
    ----------
    name : str
        Its name in tables.
    path : str
        Its import path, such as ``propense.JERM``.
    parameters : tuple of (str, value) pairs
        Constructor arguments.
    told : str, default="nothing"
        What the method is given in addition to natural labels: "access", "prevalence", "audit" or "truth", or several,
        such as "access + audit".
    """

    name: str
    path: str
    parameters: tuple[tuple[str, Any], ...] = ()
    told: str = NOTHING

    @property
    def record_name(self) -> str:
        """The name in keys and seeds. The paper's variants leave out "-published", so that older records stay valid."""
        return self.name.removesuffix("-published") if PAPER_METHODS.get(self.name) == self else self.name

    def make(self) -> Any:
        """A new, unfitted estimator. This imports its module, and calls nothing but a scikit-learn classifier."""
        model = self._create()
        check_told(model, self.name, self.told)
        return model

    def _create(self) -> Any:
        module, _, attribute = self.path.rpartition(".")
        try:
            method = getattr(importlib.import_module(module), attribute)
            if _is_classifier(method):
                return method(**dict(self.parameters))
        except (Exception, SystemExit) as error:
            # A user's module may raise anything.
            words = f"{type(error).__name__}: {error}"
            raise InvalidPlan(f"The method {self.name!r} cannot be created from {self.path!r}: {words}.") from None
        raise InvalidPlan(
            f"The method {self.name!r} cannot be created from {self.path!r}: it is not a scikit-learn classifier. Give "
            "the import path of a subclass of sklearn.base.BaseEstimator with fit and predict_proba."
        )


def _is_classifier(method: Any) -> bool:
    # Some classifiers find predict_proba only on an instance, such as one that passes it on to another.
    return (
        isinstance(method, type)
        and issubclass(method, BaseEstimator)
        and hasattr(method, "fit")
        and (hasattr(method, "predict_proba") or issubclass(method, ClassifierMixin))
    )


def method_named(name: str) -> Method:
    """The method with this short name, such as "lbe-published", or with this import path, which is not imported."""
    module, _, attribute = name.rpartition(".")
    if module and not f"{module}.".startswith("propense."):
        return Method(attribute.lower(), name)
    method, parameters = find_method(name)
    short = method.description.name if module else name
    return Method(short, f"propense.{method.__name__}", tuple(sorted(parameters.items())))


# The methods of the paper, in the variants that produced its numbers.
PAPER_METHODS = {
    name: method_named(name) for name in ("oracle", "naive", "sar-em-published", "lbe-published", "pglin", "tm", "jerm")
}


@dataclass(frozen=True)
class Cell:
    """One measurement: one method on one data set, split and set of labels.

    Natural labels have no frequency (None); their mechanism says on which years the method is fitted.
    """

    dataset: str
    mechanism: str
    frequency: float | None
    method: Method
    repeat: int
    protocol: str
    seed: int

    @property
    def key(self) -> str:
        """A digest of everything that determines the result."""
        parts = [getattr(self, each.name) for each in fields(self) if each.name != "method"]
        parts += [self.method.record_name, self.method.path, list(self.method.parameters)]
        # Records from before methods could be told something stay valid.
        parts += [self.method.told] if self.method.told != NOTHING else []
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def rng(self, *purpose: str) -> np.random.Generator:
        """A random generator for each purpose, so that one number does not depend on what else is drawn."""
        words = json.dumps([self.seed, self.dataset, self.repeat, *purpose]).encode()
        return np.random.default_rng(np.frombuffer(hashlib.sha256(words).digest(), dtype=np.uint32))

    def make(self) -> Any:
        """A new, unfitted estimator, with a seed of this cell if it needs one and has none."""
        model = self.method.make()
        if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
            model.set_params(random_state=int(self.rng("method", self.method.record_name).integers(2**31)))
        return model


@dataclass(frozen=True)
class Study:
    """The plan of a study.

    Attributes
    ----------
    datasets, mechanisms : tuple of str
    frequencies : tuple of float
    methods : tuple of Method
    repeats : int
        Number of splits; for images, of draws of the labels.
    seed : int
    protocol : {"paper", "clean", "natural"}
        "paper" prepares columns on all rows with the true classes, as in the paper, so test rows leak into training;
        "clean" uses training rows only. "natural" draws no labels: data sets have their own, there are neither
        mechanisms nor frequencies, and methods are fitted to the past and tested on the years that followed.
    years : tuple of int
        For natural labels: the first year of the test rows.
    """

    datasets: tuple[str, ...]
    mechanisms: tuple[str, ...]
    frequencies: tuple[float, ...]
    methods: tuple[Method, ...] = field(default_factory=lambda: tuple(PAPER_METHODS.values()))
    repeats: int = 10
    seed: int = 0
    protocol: str = "paper"
    years: tuple[int, ...] = ()

    @classmethod
    def from_toml(cls, path: Path) -> "Study":
        """Read a plan from a TOML file. Errors begin with the file's name. Methods are imported when they are run."""
        try:
            return cls(**_read_keys(tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))))
        except InvalidPlan as error:
            raise InvalidPlan(f"{path}: {error}") from None
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            words = str(error)
        except RecursionError:
            words = "its values are nested too deeply"
        except ValueError:
            # Python converts integers of more than 4300 digits neither from text nor to text.
            words = "a number in it has too many digits"
        raise InvalidPlan(f"{path} cannot be read as a plan: {words}.")

    def __post_init__(self) -> None:
        _check_known("protocol", (self.protocol,), PROTOCOLS)
        natural = self.protocol == "natural"
        _check_known("natural data set" if natural else "data set", self.datasets, NATURAL if natural else names())
        _check_known("mechanism", self.mechanisms, MECHANISMS)
        for frequency in self.frequencies:
            if not isinstance(frequency, float) or not 0 < frequency < 1:
                raise InvalidPlan(f"the frequency {frequency!r} is not between 0 and 1.")
        # NumPy's floats are written differently, and the key of a cell depends on how they are written.
        object.__setattr__(self, "frequencies", tuple(map(float, self.frequencies)))
        _check_count("repeats", self.repeats, 1, _MOST_REPEATS)
        _check_count("seed", self.seed, 0, _LARGEST_SEED)
        _check_distinct("methods", [method.name for method in self.methods])
        used = ("datasets", "years") if natural else ("datasets", "mechanisms", "frequencies")
        for name in used:
            _check_distinct(name, getattr(self, name))
        for name in ("mechanisms", "frequencies", "years"):
            if name not in used and getattr(self, name):
                raise InvalidPlan(f"{name}: a plan with protocol = {self.protocol!r} has none. Leave the key out.")
        for year in self.years:
            if year not in YEARS or isinstance(year, bool):
                raise InvalidPlan(f"the year {year!r} cannot be tested. Choose from: {', '.join(map(str, YEARS))}.")
        told = next((method for method in self.methods if method.told != NOTHING), None)
        if told is not None and not natural:
            raise InvalidPlan(f"the method {told.name!r} is told {told.told!r}, which needs protocol = 'natural'.")

    @property
    def settings(self) -> list[tuple[str, float | None]]:
        """The mechanisms with their frequencies, or the years before which methods are fitted."""
        if self.protocol == "natural":
            return [(setting_before(year), None) for year in self.years]
        return list(itertools.product(self.mechanisms, self.frequencies))

    def cells(self) -> Iterator[Cell]:
        """All cells, with those that share a split next to each other."""
        for dataset in self.datasets:
            for repeat in range(self.repeats):
                for mechanism, frequency in self.settings:
                    for method in self.methods:
                        yield Cell(dataset, mechanism, frequency, method, repeat, self.protocol, self.seed)

    def __len__(self) -> int:
        return self.repeats * len(self.datasets) * len(self.settings) * len(self.methods)


def _read_keys(text: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a Study, from the keys of a TOML file."""
    known = [each.name for each in fields(Study)]
    unknown = [key for key in text if key not in known]
    if unknown:
        raise InvalidPlan(f"unknown key {unknown[0]!r}. A plan has {', '.join(known)}.")
    for name in ("datasets", "mechanisms", "frequencies", "methods", "years"):
        if name in text and not isinstance(text[name], list):
            raise InvalidPlan(f"{name} must be a list.")
    needed = ("datasets", "years") if text.get("protocol") == "natural" else ("datasets", "mechanisms", "frequencies")
    missing = [name for name in needed if name not in text]
    if missing:
        raise InvalidPlan(f"the plan lacks {', '.join(missing)}.")
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in text.items()}
    if "methods" in given:
        given["methods"] = tuple(method for each in given["methods"] for method in _read_methods(each))
    # The labels of natural data are not drawn.
    return {"mechanisms": (), "frequencies": (), **given}


def _read_methods(given: Any) -> list[Method]:
    """Read a method given as a name, or as a table with class, name, parameters and what it is told, in turn."""
    if isinstance(given, str):
        try:
            return [method_named(given)]
        except InvalidOption as error:
            raise InvalidPlan(str(error)) from None
    kinds: dict[str, Any] = {"class": str, "name": str, "parameters": dict, "told": (str, list)}
    if (
        not isinstance(given, dict)
        or "class" not in given
        or not all(key in kinds and isinstance(value, kinds[key]) for key, value in given.items())
    ):
        raise InvalidPlan(
            "a method is a name, or a table with class (an import path), name and parameters, and told for natural "
            f"labels; got {given!r}."
        )
    name = given.get("name", given["class"].rpartition(".")[2].lower())
    method = Method(name, given["class"], tuple(sorted(given.get("parameters", {}).items())))
    try:
        json.dumps(method.parameters)
    except TypeError as error:
        raise InvalidPlan(f"the parameters of {name!r} must be numbers, strings, booleans or lists: {error}.") from None
    told = given.get("told", NOTHING)
    return [_telling(method, each) for each in (told if isinstance(told, list) else [told])]


def _telling(method: Method, told: Any) -> Method:
    """The method that is told something, with a name that says so."""
    if not words_of(told):
        return method
    told = " + ".join(words_of(told))
    return replace(method, name=f"{method.name}, {told}", told=told)


def _check_known(what: str, values: Any, known: Any) -> None:
    for value in values:
        if not isinstance(value, str) or value not in known:
            raise InvalidPlan(f"there is no {what} {value!r}. Choose from: {', '.join(known)}.")


def _check_count(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidPlan(f"{name}={value!r} must be an integer from {least} to {most}.")


def _check_distinct(name: str, values: Any) -> None:
    if not values or len(set(values)) < len(values):
        raise InvalidPlan(f"{name} must not be empty or hold a value twice.")
