"""Before a fit: the columns understood, their preparation fitted, the method made."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import DoubtfulFit, InvalidOption, InvalidTable
from propense.estimators import JERM, LBE, SAREM, TM, JointMLE, Naive, PGLin, PUClassifier, SparseJoint
from propense.estimators._base import BasePUClassifier
from propense.tables.labels import Label
from propense.tables.model import ADDED, TableModel
from propense.tables.preparation import make_preparation, places_of, prepared_columns
from propense.tables.schema import infer_schema

__all__ = ["METHODS", "Choices", "Outset", "check_columns", "fit_noting", "set_out"]

# By the names of the command line, each as it should be rather than as it was published.
METHODS: dict[str, type[BasePUClassifier]] = {
    "pu": PUClassifier,
    "jerm": JERM,
    "joint-mle": JointMLE,
    "lbe": LBE,
    "naive": Naive,
    "pglin": PGLin,
    "sar-em": SAREM,
    "sparse-joint": SparseJoint,
    "tm": TM,
}


@dataclass(frozen=True)
class Choices:
    """What the user said of a table, as in `fit_table`."""

    label: str
    positive: str | None = None
    id: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    method: str = "pu"
    decision: str = "balanced"
    propensity_features: Sequence[str] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    points: bool = False
    scar_test: bool | None = None
    prior: float | None = None


@dataclass(frozen=True)
class Outset:
    """A table ready to be learnt from.

    Attributes
    ----------
    model : TableModel
        Its estimator is not fitted yet.
    matrix : ndarray of shape (n_rows, n_columns)
        The columns as numbers, before imputing and scaling.
    notes : list of str
        Columns left out.
    """

    model: TableModel
    matrix: NDArray[np.float64]
    notes: list[str]


def set_out(table: Any, choices: Choices, label: Label, where: str) -> Outset:
    """Understand the columns of a table and fit their preparation."""
    names = check_columns(table.column_names, choices, where)
    schema, empty = infer_schema(table, names, where, choices.categorical, points=choices.points)
    if not schema.columns:
        raise InvalidTable(f"{where} has no column left to learn from.")
    matrix = schema.encode(table, where)
    preparation = make_preparation(schema).fit(matrix)
    estimator = _make(choices, prepared_columns(schema, preparation))
    notes = [f"The column {name!r} is empty and was left out." for name in empty]
    return Outset(TableModel(label, choices.id, schema, preparation, estimator), matrix, notes)


def fit_noting(estimator: BasePUClassifier, features: Any, labelled: Any) -> list[str]:
    """Fit, and return what it warned of beside its doubts, which it keeps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DoubtfulFit)
        estimator.fit(features, labelled)
    return [str(warning.message) for warning in caught]


def check_columns(columns: Sequence[str], choices: Choices, where: str) -> list[str]:
    """The columns to learn from; every name that was given must be one of the table's."""
    label, id = choices.label, choices.id
    given = [("label", label), *(("id", name) for name in [id] if name is not None)]
    given += [("drop", name) for name in choices.drop] + [("categorical", name) for name in choices.categorical]
    for option, name in given:
        if name not in columns:
            raise InvalidTable(
                f"{where} has no column {name!r} (--{option}). It has: {', '.join(map(repr, columns[:20]))}"
                f"{' …' if len(columns) > 20 else ''}."
            )
    if id == label:
        raise InvalidTable(f"{where}, column {label!r} cannot be both the label and the id.")
    left = [name for name in columns if name not in {label, id, *choices.drop}]
    taken = [name for name in left if name in ADDED]
    if taken:
        raise InvalidTable(f"{where} has a column {taken[0]!r}, a name that propense score writes. Rename it.")
    index = next((name for name in left if name.startswith("__index_level_")), None)
    if index is not None:
        raise InvalidTable(f"{where}, column {index!r} is pandas' own row numbers. Leave it out: --drop {index}")
    if "" in left:
        raise InvalidTable(
            f"{where}, column {columns.index('') + 1} has no name; row numbers saved with the table, perhaps. Leave it "
            "out: --drop ''"
        )
    return left


def _make(choices: Choices, prepared: Sequence[tuple[str, str]]) -> BasePUClassifier:
    method, parameters = choices.method, choices.parameters
    if method not in METHODS:
        raise InvalidOption(f"There is no method {method!r}. There are: {', '.join(METHODS)}.")
    estimator = METHODS[method](decision=choices.decision)
    known = estimator.get_params()
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise InvalidOption(f"{type(estimator).__name__} has no parameter {unknown[0]!r}. It has: {', '.join(known)}.")
    if "random_state" in known:
        estimator.set_params(random_state=0)
    estimator.set_params(**parameters)
    if choices.propensity_features is not None:
        if "propensity_features" not in known:
            raise InvalidOption(f"The method {method} fits no propensity of its own: it takes no propensity features.")
        estimator.set_params(propensity_features=places_of(choices.propensity_features, prepared))
    return estimator
