"""Every rule by which an answer in the survey becomes a column of the table."""

import math

import numpy as np
import pytest

from propense.datasets.nhanes_columns import COLUMNS, derive
from propense.datasets.nhanes_files import CYCLES
from propense.errors import DatasetMismatch
from survey import BORN, HOSPITAL, NAN, PILLS, VISITS, draw_person, person, tables_of

# The codes of each variable, and what each column makes of them.
RULES = [
    ("WTMEC2YR", "weight", {34030.994822: 34031.0, 26770.58: 26770.6}),
    ("SDMVPSU", "psu", {1: 1, 3: 3}),
    ("SDMVSTRA", "stratum", {44: 44, 118: 118}),
    ("RIDAGEYR", "age", {20: 20, 85: 85}),
    ("RIAGENDR", "female", {1: 0, 2: 1}),
    ("RIDRETH1", "race", {code: code for code in range(1, 6)}),
    ("DMDHHSIZ", "household", {1: 1, 7: 7}),
    ("INDFMPIR", "poverty_ratio", {0: 0, 4.65: 4.65, NAN: NAN}),
    ("DMDEDUC2", "education", {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: NAN, 7: NAN, 9: NAN, NAN: NAN}),
    ("DMDMARTL", "married", {1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1, 7: NAN, 77: NAN, 99: NAN, NAN: NAN}),
    ("BMXBMI", "bmi", {30.9: 30.9, NAN: NAN}),
    ("BMXWAIST", "waist", {96.5: 96.5, NAN: NAN}),
    ("BMXHT", "height", {156: 156, NAN: NAN}),
    ("BMXARMC", "arm", {35.8: 35.8, NAN: NAN}),
    ("BPXPLS", "pulse", {58: 58, NAN: NAN}),
    ("LBXGH", "hba1c", {6.0: 6.0, NAN: NAN}),
    ("LBXGLU", "fasting_glucose", {90: 90, NAN: NAN}),
    ("LBXTC", "total_cholesterol", {105: 105, NAN: NAN}),
    ("LBDHDD", "hdl", {39: 39, NAN: NAN}),
    ("LBXSTR", "triglycerides", {78: 78, NAN: NAN}),
    ("LBXSATSI", "alt", {14: 14, NAN: NAN}),
    ("LBXSGTSI", "ggt", {17: 17, NAN: NAN}),
    ("LBXSUA", "uric_acid", {4.9: 4.9, NAN: NAN}),
    ("LBXSAL", "albumin", {3.5: 3.5, NAN: NAN}),
    ("DIQ010", "told_diabetes", {1: 1, 2: 0, 3: 0, 7: NAN, 9: NAN, NAN: NAN}),
    ("DIQ050", "diabetes_medicine", {1: 1, 2: 0, 7: 0, 9: 0, NAN: 0}),
    ("BPQ020", "told_hypertension", {1: 1, 2: 0, 7: NAN, 9: NAN, NAN: NAN}),
    ("BPQ020", "bp_medicine", {1: 0, 2: 0, 7: NAN, 9: NAN, NAN: NAN}),
    ("BPQ050A", "bp_medicine", {1: 1, 2: 0, 7: 0, 9: 0, NAN: 0}),
    ("MCQ300C", "family_diabetes", {1: 1, 2: 0, 7: NAN, 9: NAN, NAN: NAN}),
    ("HIQ011", "insured", {1: 1, 2: 0, 7: NAN, 9: NAN, NAN: NAN}),
    ("HUQ010", "self_rated_health", {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 7: NAN, 9: NAN, NAN: NAN}),
    ("HUQ030", "usual_place", {1: 1, 2: 0, 3: 1, 7: 0, 9: 0, NAN: 0}),
]


def made(year, people):
    return derive(year, tables_of(people, year))


def column(year, name, **changes):
    """The value of a column for one person."""
    (value,) = made(year, [person(year, 31130, **changes)])[name]
    return value


@pytest.mark.parametrize(("variable", "name", "codes"), RULES, ids=[f"{rule[0]}-{rule[1]}" for rule in RULES])
def test_codes_mean_what_the_survey_says(variable, name, codes):
    people = [person(2005, 31130 + i, **{variable: code}) for i, code in enumerate(codes)]
    np.testing.assert_array_equal(made(2005, people)[name], list(codes.values()))


@pytest.mark.parametrize("year", CYCLES)
def test_variables_are_found_under_the_name_of_their_cycle(year):
    assert [column(year, "us_born", **{BORN[year]: code}) for code in (1, 2, 3, 4, 5)] == [1, 0, 0, 0, 0]
    assert all(math.isnan(column(year, "us_born", **{BORN[year]: code})) for code in (7, 9, 77, 99, NAN))
    assert [column(year, "diabetes_medicine", **{PILLS[year]: code}) for code in (1, 2, 9, NAN)] == [1, 0, 0, 0]
    visits, hospital = VISITS.get(year, "HUQ050"), HOSPITAL.get(year, "HUQ071")
    assert [column(year, "visits", **{visits: code}) for code in range(9)] == list(range(9))
    assert all(math.isnan(column(year, "visits", **{visits: code})) for code in (77, 99, NAN))
    assert [column(year, "hospital", **{hospital: code}) for code in (1, 2)] == [1, 0]
    assert all(math.isnan(column(year, "hospital", **{hospital: code})) for code in (7, 9, NAN))
    assert column(year, "cycle") == year


def test_medicine_speaks_for_itself():
    assert column(2005, "bp_medicine", BPQ020=9, BPQ050A=1) == 1
    assert math.isnan(column(2005, "y_hypertension", BPQ020=9, BPQ050A=1))


def test_smokers_smoke_now_or_smoked_before():
    assert [column(2005, "smoker", SMQ020=1, SMQ040=code) for code in (1, 2, 3)] == [2, 2, 1]
    assert all(math.isnan(column(2005, "smoker", SMQ020=1, SMQ040=code)) for code in (7, 9, NAN))
    assert all(math.isnan(column(2005, "smoker", SMQ020=code, SMQ040=3)) for code in (7, 9, NAN))
    assert column(2005, "smoker", SMQ020=2) == 0


def test_blood_pressure_is_the_mean_of_the_readings_that_there_are():
    assert column(2005, "sbp", BPXSY1=138, BPXSY2=140, BPXSY3=140) == 139.3
    assert column(2005, "sbp", BPXSY1=NAN, BPXSY2=140, BPXSY3=142, BPXSY4=146) == 142.7
    assert column(2005, "sbp", BPXSY1=120, BPXSY2=122, BPXSY3=124, BPXSY4=128) == 123.5
    assert math.isnan(column(2005, "sbp", BPXSY1=NAN, BPXSY2=NAN, BPXSY3=NAN))
    assert column(2005, "dbp", BPXDI1=72, BPXDI2=74, BPXDI3=74) == 73.3


def test_a_diastolic_pressure_of_zero_is_no_reading():
    assert column(2005, "dbp", BPXDI1=0, BPXDI2=70, BPXDI3=72) == 71.0
    assert math.isnan(column(2005, "dbp", BPXDI1=0, BPXDI2=0, BPXDI3=NAN))
    assert math.isnan(column(2005, "y_hypertension", BPXDI1=0, BPXDI2=0, BPXDI3=NAN))
    # A systolic pressure is taken as it is.
    assert column(2005, "sbp", BPXSY1=0, BPXSY2=120, BPXSY3=120) == 80.0


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"RIDAGEYR": 20}, True),
        ({"RIDAGEYR": 19}, False),
        ({"RIDAGEYR": NAN}, False),
        ({"RIDSTATR": 1}, False),
        ({"RIDSTATR": NAN}, False),
        ({"RIDEXPRG": 1}, False),
        ({"RIDEXPRG": 2}, True),
        ({"RIDEXPRG": 3}, True),
        ({"RIDEXPRG": NAN}, True),
    ],
)
def test_adults_who_were_examined_and_are_not_known_to_be_pregnant_are_kept(changes, kept):
    assert (made(2009, [person(2009, 7), person(2009, 8, **changes)])["seqn"] == 8).any() == kept


@pytest.mark.parametrize(
    ("changes", "s", "y"),
    [
        ({"DIQ010": 1, "LBXGH": 5.0}, 1, 1),
        ({"DIQ010": 1, "LBXGH": 8.0}, 1, 1),
        ({"DIQ010": 2, "LBXGH": 6.5}, 0, 1),
        ({"DIQ010": 2, "LBXGH": 6.4}, 0, 0),
        ({"DIQ010": 3, "LBXGH": 6.4}, 0, 0),
        ({"DIQ010": 3, "LBXGH": 7.0}, 0, 1),
        ({"DIQ010": 9, "LBXGH": 7.0}, NAN, NAN),
        ({"DIQ010": 1, "LBXGH": NAN}, NAN, NAN),
        ({"DIQ010": 2, "LBXGH": NAN}, NAN, NAN),
        ({"DIQ010": 2, "LBXGH": 6.0, "DIQ050": 1}, 0, 0),
    ],
)
def test_diabetics_were_told_or_have_much_glycated_haemoglobin(changes, s, y):
    np.testing.assert_array_equal([column(2005, f"{kind}_diabetes", **changes) for kind in "sy"], [s, y])


def pressure(systolic, diastolic):
    return {f"BPXSY{i}": systolic for i in (1, 2, 3)} | {f"BPXDI{i}": diastolic for i in (1, 2, 3)}


@pytest.mark.parametrize(
    ("changes", "s", "y"),
    [
        (pressure(140, 70), 0, 1),
        (pressure(139, 89), 0, 0),
        (pressure(120, 90), 0, 1),
        (pressure(140, 70) | {"BPQ020": 1, "BPQ050A": 2}, 1, 1),
        # Told, but the pressure is low without medicine.
        (pressure(120, 70) | {"BPQ020": 1, "BPQ050A": 2}, 0, 0),
        (pressure(120, 70) | {"BPQ020": 1, "BPQ050A": 1}, 1, 1),
        (pressure(150, 90) | {"BPQ020": 9}, NAN, NAN),
        (pressure(150, NAN), NAN, NAN),
        (pressure(NAN, 90), NAN, NAN),
        (pressure(NAN, NAN) | {"BPQ020": 1, "BPQ050A": 1}, NAN, NAN),
    ],
)
def test_high_blood_pressure_is_measured_or_treated_and_some_were_told(changes, s, y):
    np.testing.assert_array_equal([column(2005, f"{kind}_hypertension", **changes) for kind in "sy"], [s, y])


def test_tables_are_joined_by_person_and_not_by_row(rng):
    people = [draw_person(rng, 2011, 62161 + i) for i in range(80)]
    tables = tables_of(people, 2011)
    whole = derive(2011, tables)
    for table in tables:
        order = rng.permutation(80)
        tables[table] = {name: values[order] for name, values in tables[table].items()}
    # Some people are missing from a table, and another table has a person of whom nothing else is known.
    absent = tables["GHB"]["SEQN"][:20]
    tables["GHB"] = {name: values[20:] for name, values in tables["GHB"].items()}
    tables["HIQ"] = {name: np.append(values, 99_999.0) for name, values in tables["HIQ"].items()}
    joined = derive(2011, tables)
    # People come in the order of DEMO.
    assert list(joined["seqn"]) == [number for number in tables["DEMO"]["SEQN"] if number in whole["seqn"]]
    order = np.argsort(joined["seqn"])
    assert (np.diff(order) < 0).any()
    joined = {name: values[order] for name, values in joined.items()}
    lost = np.isin(whole["seqn"], absent)
    assert lost.any()
    assert list(joined) == list(COLUMNS)
    for name in COLUMNS:
        gone = lost if name in ("hba1c", "s_diabetes", "y_diabetes") else np.zeros(len(lost), dtype=bool)
        np.testing.assert_array_equal(joined[name], np.where(gone, np.nan, whole[name]), err_msg=name)


def test_rows_of_the_same_person_are_refused():
    tables = tables_of([person(2005, 1), person(2005, 2)], 2005)
    tables["BMX"]["SEQN"] = np.array([2.0, 2.0])
    with pytest.raises(DatasetMismatch, match=r"BMX has 2 rows with SEQN 2, where each person has one. Delete"):
        derive(2005, tables)


def test_a_variable_that_is_not_there_is_named():
    tables = tables_of([person(2005, 1)], 2005)
    del tables["HUQ"]["HUQ050"]
    with pytest.raises(DatasetMismatch, match=r"HUQ has no variable HUQ051 or HUQ050\. .*Delete"):
        derive(2005, tables)
