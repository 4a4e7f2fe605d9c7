"""The NHANES table: what its rows must be, and its file in the data home."""

import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propense.datasets.home import data_home
from propense.datasets.nhanes_columns import COLUMNS
from propense.errors import DatasetMismatch

__all__ = ["ROWS", "TASKS", "NaturalTask", "SurveyTable", "check_survey", "nhanes_path", "read_survey", "write_survey"]

# Values of each of `COLUMNS`, one per person.
SurveyTable = dict[str, NDArray[np.float64]]

# The survey's design, and the labels and truths.
_NOT_FEATURES = (
    *("seqn", "cycle", "weight", "psu", "stratum"),
    *("s_diabetes", "y_diabetes", "s_hypertension", "y_hypertension"),
)
# People of each cycle: 20 years or older, examined, not known to be pregnant.
ROWS = {2005: 4448, 2007: 5650, 2009: 5991, 2011: 5262, 2013: 5523}


@dataclass(frozen=True)
class NaturalTask:
    """One illness of the survey.

    Attributes
    ----------
    name : str
    label, truth : str
        In words: who is labelled, and who is positive.
    n, labelled, positives : int
        People whose label and truth are both known, and how many of them are labelled and positive.
    defining : tuple of str
        The columns that define the truth, and so are not features.
    """

    name: str
    label: str
    truth: str
    n: int
    labelled: int
    positives: int
    defining: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        """The columns that are features of this task."""
        return [name for name in COLUMNS if name not in {*_NOT_FEATURES, *self.defining}]


TASKS = {
    task.name: task
    for task in (
        NaturalTask(
            "diabetes",
            "told by a doctor",
            "told by a doctor, or HbA1c of 6.5 % or more",
            25_467,
            3116,
            3918,
            ("hba1c", "fasting_glucose", "diabetes_medicine", "told_diabetes"),
        ),
        NaturalTask(
            "hypertension",
            "positive, and told by a doctor",
            "blood pressure of 140/90 mmHg or more, or medicine against it",
            25_523,
            7710,
            9422,
            ("sbp", "dbp", "bp_medicine", "told_hypertension"),
        ),
    )
}

# The range of the values, and the share of a cycle that may be missing: wide, to find a wrong file or variable.
_YES_NO = (0, 1, 0.05)
_MEASURED = 0.2
_LIMITS = {
    "weight": (1, 1e6, 0),
    "age": (20, 85, 0),
    "female": (0, 1, 0),
    "race": (1, 5, 0),
    "education": (1, 5, 0.05),
    **dict.fromkeys(("married", "us_born", "family_diabetes", "insured", "hospital"), _YES_NO),
    "smoker": (0, 2, 0.05),
    "usual_place": (0, 1, 0),
    "household": (1, 7, 0.05),
    "poverty_ratio": (0, 5, _MEASURED),
    "self_rated_health": (1, 5, 0.05),
    "visits": (0, 8, 0.05),
    "bmi": (8, 200, _MEASURED),
    "waist": (30, 300, _MEASURED),
    "height": (80, 250, _MEASURED),
    "arm": (8, 100, _MEASURED),
    "pulse": (20, 300, _MEASURED),
    "sbp": (40, 350, _MEASURED),
    "dbp": (1, 250, _MEASURED),
    "total_cholesterol": (20, 2000, _MEASURED),
    "hdl": (2, 400, _MEASURED),
    "triglycerides": (2, 20_000, _MEASURED),
    "alt": (1, 10_000, _MEASURED),
    "ggt": (1, 20_000, _MEASURED),
    "uric_acid": (0.1, 40, _MEASURED),
    "albumin": (0.5, 10, _MEASURED),
    "hba1c": (1, 30, _MEASURED),
    # Measured in about half of the people, who came fasting in the morning.
    "fasting_glucose": (10, 2000, 0.7),
    **dict.fromkeys(("told_diabetes", "diabetes_medicine", "told_hypertension", "bp_medicine"), _YES_NO),
    **{f"{kind}_{task}": (0, 1, _MEASURED) for task in TASKS for kind in "sy"},
}  # fmt: skip


def nhanes_path() -> Path:
    """The table's file in the data home."""
    return data_home() / "natural" / "nhanes.csv.gz"


def check_survey(table: SurveyTable, remedy: str) -> None:
    """Raise if the table has other rows than the survey, or values that its columns cannot have."""
    for year, expected in ROWS.items():
        _compare(f"rows of {year}", int((table["cycle"] == year).sum()), expected, remedy)
    _compare("rows", len(table["cycle"]), sum(ROWS.values()), remedy)
    for name, (low, high, missing) in _LIMITS.items():
        values = table[name]
        wrong = values[(values < low) | (values > high)]
        if len(wrong):
            raise DatasetMismatch(
                f"nhanes has {wrong[0]:g} in column {name}, where {low:g} to {high:g} is possible. {remedy}"
            )
        for year in ROWS:
            share = float(np.isnan(values[table["cycle"] == year]).mean())
            if share > missing:
                raise DatasetMismatch(
                    f"nhanes lacks {share:.0%} of column {name} in {year}, where at most {missing:.0%} is expected. "
                    f"{remedy}"
                )
    for task in TASKS.values():
        s, y = table[f"s_{task.name}"], table[f"y_{task.name}"]
        known = ~np.isnan(s + y)
        _compare(f"rows for {task.name}", int(known.sum()), task.n, remedy)
        _compare(f"labels of {task.name}", int((s[known] == 1).sum()), task.labelled, remedy)
        _compare(f"positives of {task.name}", int((y[known] == 1).sum()), task.positives, remedy)
        _compare(f"labelled negatives of {task.name}", int(((s == 1) & (y == 0)).sum()), 0, remedy)


def _compare(what: str, found: int, expected: int, remedy: str) -> None:
    if found != expected:
        raise DatasetMismatch(f"nhanes has {found} {what} where {expected} are expected. {remedy}")


def read_survey(path: Path) -> SurveyTable:
    """Read the table; an empty cell is a missing value."""
    try:
        with gzip.open(path, "rt", newline="") as file:
            header, *rows = csv.reader(file)
        absent = [name for name in COLUMNS if name not in header]
        if absent:
            raise ValueError(f"it has no column {', '.join(absent)}")
        numbers = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])
        if numbers.shape != (len(rows), len(header)):
            raise ValueError("it has no rows")
    except (OSError, EOFError, ValueError, zlib.error, csv.Error) as error:
        raise DatasetMismatch(
            f"{path} cannot be read as the survey's table: {error}. Delete it and fetch again."
        ) from None
    return {name: numbers[:, header.index(name)] for name in COLUMNS}


def write_survey(path: Path, table: SurveyTable) -> None:
    """Write a table that `read_survey` reads back bit for bit."""
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*(values.tolist() for values in table.values()), strict=True):
            writer.writerow("" if value != value else int(value) if value.is_integer() else value for value in row)
