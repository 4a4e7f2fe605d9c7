"""The health survey in `propense datasets`."""

import numpy as np
import pytest

from command import call
from propense.datasets import nhanes_files
from propense.datasets.nhanes_columns import COLUMNS, derive
from propense.datasets.nhanes_table import TASKS
from survey import Agency, draw_survey, expect, files_of, tables_of


@pytest.fixture
def agency(monkeypatch, rng):
    """A server with a small survey, whose counts are expected."""
    people = draw_survey(rng, 60)
    cycles = [derive(year, tables_of(cycle, year)) for year, cycle in people.items()]
    expect(monkeypatch, {name: np.concatenate([cycle[name] for cycle in cycles]) for name in COLUMNS})
    server = Agency(files_of(people))
    monkeypatch.setattr(nhanes_files, "ADDRESS", server.address)
    yield server
    server.stop()


def propense(*arguments, cwd):
    return call(*arguments, cwd=cwd, COLUMNS="120", PROPENSE_DATA=str(cwd / "home"))


def of_survey(listed):
    """The lines of the survey's tasks: their cells."""
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in listed.splitlines() if "nhanes" in line]


@pytest.mark.slow
def test_the_survey_is_listed_fetched_and_then_there(tmp_path, agency):
    counts = [
        ["nhanes", task.name, str(task.n), "31", str(task.labelled), str(task.positives)] for task in TASKS.values()
    ]
    assert of_survey(propense("datasets", "list", cwd=tmp_path).stdout) == [[*cells, "no"] for cells in counts]
    fetched = propense("datasets", "fetch", "nhanes", cwd=tmp_path)
    assert fetched.returncode == 0, fetched.stderr
    assert "accept the NCHS data user agreement" in fetched.stderr
    assert f"nhanes: {tmp_path / 'home' / 'natural' / 'nhanes.csv.gz'}" in fetched.stderr
    assert of_survey(propense("datasets", "list", cwd=tmp_path).stdout) == [[*cells, "yes"] for cells in counts]
    asked = len(agency.requests)
    assert propense("datasets", "fetch", "nhanes", cwd=tmp_path).returncode == 0
    assert len(agency.requests) == asked


def test_a_survey_that_cannot_be_fetched_is_one_line(tmp_path, agency):
    agency.files = {}
    failed = propense("datasets", "fetch", "nhanes", cwd=tmp_path)
    assert failed.returncode == 2
    assert "Error: http" in failed.stderr
    assert "404 Not Found" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_the_survey_is_described_with_its_conditions(tmp_path):
    described = propense("datasets", "describe", "nhanes", cwd=tmp_path).stdout
    for words in (
        "26874 adults",
        "diabetes: 25467 rows, 3116 labelled, 3918 positive",
        "hypertension: 25523 rows, 7710 labelled, 9422 positive",
        "without those that define the class: sbp, dbp, bp_medicine, told_hypertension",
        "insured, usual_place, visits, hospital",
        "https://wwwn.cdc.gov/Nchs/Data/Nhanes/Public",
        "make no attempt to learn the identity of any person",
        "National Center for Health Statistics",
    ):
        assert words in described
