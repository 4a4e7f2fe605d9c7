"""The columns of the NHANES table, made of the variables of the survey's tables.

`nhanes_files` brings the tables, `nhanes` checks and loads what is made of them. Where a question was refused, or the
answer was "don't know", the value is missing: NaN.
"""

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from propense.datasets.transport import Variables
from propense.errors import DatasetMismatch

__all__ = ["COLUMNS", "TABLES", "derive"]

Values = NDArray[np.float64]

TABLES = ("DEMO", "BMX", "BPX", "GHB", "GLU", "TCHOL", "HDL", "BIOPRO", "DIQ", "BPQ", "MCQ", "HIQ", "HUQ", "SMQ")

COLUMNS = (
    *("seqn", "cycle", "weight", "psu", "stratum"),
    *("age", "female", "race", "education", "married", "us_born", "household", "poverty_ratio"),
    *("smoker", "family_diabetes", "self_rated_health", "insured", "usual_place", "visits", "hospital"),
    *("bmi", "waist", "height", "arm", "pulse", "sbp", "dbp"),
    *("total_cholesterol", "hdl", "triglycerides", "alt", "ggt", "uric_acid", "albumin", "hba1c", "fasting_glucose"),
    *("told_diabetes", "diabetes_medicine", "told_hypertension", "bp_medicine"),
    *("s_diabetes", "y_diabetes", "s_hypertension", "y_hypertension"),
)

_ADULT, _EXAMINED, _PREGNANT = 20, 2, 1
# Glycated haemoglobin in per cent, and blood pressure in mmHg.
_DIABETIC, _SYSTOLIC, _DIASTOLIC = 6.5, 140, 90

# Columns that are a variable as it is: the table, and the name of the variable.
_AS_IT_IS = {
    "seqn": ("DEMO", "SEQN"),
    "psu": ("DEMO", "SDMVPSU"),
    "stratum": ("DEMO", "SDMVSTRA"),
    "age": ("DEMO", "RIDAGEYR"),
    "race": ("DEMO", "RIDRETH1"),
    "household": ("DEMO", "DMDHHSIZ"),
    "poverty_ratio": ("DEMO", "INDFMPIR"),
    "bmi": ("BMX", "BMXBMI"),
    "waist": ("BMX", "BMXWAIST"),
    "height": ("BMX", "BMXHT"),
    "arm": ("BMX", "BMXARMC"),
    "pulse": ("BPX", "BPXPLS"),
    "total_cholesterol": ("TCHOL", "LBXTC"),
    "hdl": ("HDL", "LBDHDD"),
    "triglycerides": ("BIOPRO", "LBXSTR"),
    "alt": ("BIOPRO", "LBXSATSI"),
    "ggt": ("BIOPRO", "LBXSGTSI"),
    "uric_acid": ("BIOPRO", "LBXSUA"),
    "albumin": ("BIOPRO", "LBXSAL"),
    "hba1c": ("GHB", "LBXGH"),
    "fasting_glucose": ("GLU", "LBXGLU"),
}
# Questions answered by yes (1) or no (2). The names of some variables changed between cycles.
_YES_OR_NO = {
    "told_hypertension": ("BPQ", "BPQ020"),
    "family_diabetes": ("MCQ", "MCQ300C"),
    "insured": ("HIQ", "HIQ011"),
    "hospital": ("HUQ", "HUQ071", "HUQ070"),
}


def derive(year: int, tables: dict[str, Variables]) -> dict[str, Values]:
    """The columns of the people of one cycle who are adults, were examined and are not known to be pregnant.

    Parameters
    ----------
    year : int
        The first year of the cycle.
    tables : dict
        The variables of each of `TABLES`.

    Returns
    -------
    dict
        The values of each of `COLUMNS`, people in the order of the table DEMO.
    """
    people = tables["DEMO"]
    age, status, pregnancy = (_variable("DEMO", people, name) for name in ("RIDAGEYR", "RIDSTATR", "RIDEXPRG"))
    kept = (age >= _ADULT) & (status == _EXAMINED) & (pregnancy != _PREGNANT)
    take = _join(_variable("DEMO", people, "SEQN")[kept], tables)
    made = {column: take(table, name) for column, (table, name) in _AS_IT_IS.items()}
    made |= {column: _recode(take(*names), {1: 1, 2: 0}) for column, names in _YES_OR_NO.items()}
    made["cycle"] = np.full(kept.sum(), float(year))
    made["weight"] = take("DEMO", "WTMEC2YR").round(1)
    made["female"] = _among(take("DEMO", "RIAGENDR"), {2})
    made["education"] = _codes(take("DEMO", "DMDEDUC2"), 1, 5)
    # Married, or living with a partner. Codes from 7 on: refused, don't know.
    made["married"] = _among(_codes(take("DEMO", "DMDMARTL"), 1, 6), {1, 6}, keep_missing=True)
    made["us_born"] = _among(_codes(take("DEMO", "DMDBORN", "DMDBORN2", "DMDBORN4"), 1, 6), {1}, keep_missing=True)
    made["self_rated_health"] = _codes(take("HUQ", "HUQ010"), 1, 5)
    # One place (1), or several (3).
    made["usual_place"] = _among(take("HUQ", "HUQ030"), {1, 3})
    made["visits"] = _codes(take("HUQ", "HUQ051", "HUQ050"), 0, 8)
    made["smoker"] = _smoker(take("SMQ", "SMQ020"), take("SMQ", "SMQ040"))
    made["sbp"] = _mean([take("BPX", f"BPXSY{i}") for i in range(1, 5)])
    # A diastolic pressure of zero says that the sound never ceased, and is not a pressure.
    diastolic = [take("BPX", f"BPXDI{i}") for i in range(1, 5)]
    made["dbp"] = _mean([np.where(each == 0, np.nan, each) for each in diastolic])
    # Borderline (3) counts as not told.
    made["told_diabetes"] = _recode(take("DIQ", "DIQ010"), {1: 1, 2: 0, 3: 0})
    insulin, pills = take("DIQ", "DIQ050"), take("DIQ", "DIQ070", "DID070")
    made["diabetes_medicine"] = np.maximum(_among(insulin, {1}), _among(pills, {1}))
    # The question is put to those alone who said that they were told.
    medicine = take("BPQ", "BPQ050A") == 1
    made["bp_medicine"] = np.where(~medicine & np.isnan(made["told_hypertension"]), np.nan, medicine)
    made |= _labels_and_truth(made)
    return {column: made[column] for column in COLUMNS}


def _labels_and_truth(made: dict[str, Values]) -> dict[str, Values]:
    """s and y of both tasks; missing where an answer or a measurement that they need is."""
    told, hba1c = made["told_diabetes"], made["hba1c"]
    y = _where_known((told == 1) | (hba1c >= _DIABETIC), told, hba1c)
    s = _where_known(told == 1, y)
    told, sbp, dbp, medicine = (made[name] for name in ("told_hypertension", "sbp", "dbp", "bp_medicine"))
    high = (sbp >= _SYSTOLIC) | (dbp >= _DIASTOLIC) | (medicine == 1)
    y_high = _where_known(high, told, sbp, dbp, medicine)
    # Somebody who was told, but whose pressure is low without medicine, is not positive, and so not labelled.
    s_high = _where_known(high & (told == 1), y_high)
    return {"s_diabetes": s, "y_diabetes": y, "s_hypertension": s_high, "y_hypertension": y_high}


def _where_known(values: NDArray[np.bool_], *needed: Values) -> Values:
    """Zeros and ones; NaN where one of the needed values is."""
    return np.where(np.isnan(np.sum(needed, axis=0)), np.nan, values)


def _join(people: Values, tables: dict[str, Variables]) -> Callable[..., Values]:
    """A function of a table and the names that a variable may have: its values for these people, NaN for the others."""
    order = np.argsort(people, kind="stable")
    places = {}
    for table, variables in tables.items():
        numbers = _variable(table, variables, "SEQN")
        if len(np.unique(numbers)) < len(numbers):
            seen, times = np.unique(numbers, return_counts=True)
            raise DatasetMismatch(
                f"{table} has {times.max()} rows with SEQN {seen[np.argmax(times)]:.0f}, where each person has one. "
                "Delete the file and fetch again."
            )
        places[table] = numbers

    def take(table: str, *names: str) -> Values:
        values, numbers = _variable(table, tables[table], *names), places[table]
        where = np.searchsorted(people, numbers, sorter=order)
        here = where < len(people)
        here[here] = people[order[where[here]]] == numbers[here]
        out = np.full(len(people), np.nan)
        out[order[where[here]]] = values[here]
        return out

    return take


def _variable(table: str, variables: Variables, *names: str) -> Values:
    """The first of these variables that the table has."""
    for name in names:
        if name in variables:
            return variables[name]
    raise DatasetMismatch(
        f"{table} has no variable {' or '.join(names)}. Is it the survey's file of this name? "
        "Delete the file and fetch again."
    )


def _recode(values: Values, codes: dict[int, int]) -> Values:
    """Codes by what they mean here; any other is missing."""
    out = np.full(len(values), np.nan)
    for code, meaning in codes.items():
        out[values == code] = meaning
    return out


def _codes(values: Values, low: int, high: int) -> Values:
    """Codes within a range; any other is missing."""
    return np.where((values >= low) & (values <= high), values, np.nan)


def _among(values: Values, codes: Collection[int], *, keep_missing: bool = False) -> Values:
    """One where the value is one of these codes, else zero; missing values are zero too, unless they are kept."""
    found = np.isin(values, list(codes)).astype(np.float64)
    return np.where(np.isnan(values), np.nan, found) if keep_missing else found


def _mean(readings: list[Values]) -> Values:
    """The mean of the readings that there are, to one decimal."""
    stacked = np.array(readings)
    count = (~np.isnan(stacked)).sum(axis=0)
    return np.where(count > 0, np.nansum(stacked, axis=0) / np.maximum(count, 1), np.nan).round(1)


def _smoker(ever: Values, now: Values) -> Values:
    """0 never smoked, 2 smokes every day or some days, 1 smoked before; missing if either answer is."""
    return np.where(ever == 1, _recode(now, {1: 2, 2: 2, 3: 1}), _recode(ever, {2: 0}))
