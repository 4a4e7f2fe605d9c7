"""`propense bounds`, run as a user runs it, also with wrong input."""

import json

import numpy as np
import pytest
from pyarrow import csv

from clinic import make_clinic
from command import call
from propense.inference._bound_rows import ReadRows
from propense.inference._bounds import find_bounds
from propense.model_files import load
from propense.tables import TableFile, bound_table

MODEL = ("--model", "m.propense")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The clinic's table, and a model of it."""
    folder = tmp_path_factory.mktemp("bounds")
    csv.write_csv(make_clinic(1500)[0], folder / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test"
    assert call("fit", "t.csv", *asked, *MODEL, cwd=folder).returncode == 0
    return folder


def test_bounds_are_one_json_object_with_the_numbers_of_python(folder):
    asked = "--spread", "1,4", "--purity", "1, 0.95", "--confidence", "90", "--at-most", "60", "--json"
    ended = call("bounds", "t.csv", *MODEL, *asked, cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    got = json.loads(ended.stdout)
    rows = TableFile(folder / "t.csv").read()
    found = bound_table(load(folder / "m.propense"), rows, spread=(1, 4), purity=(1.0, 0.95), confidence=0.9)
    assert (got["spread"], got["purity"]) == ([1, 4], [1, 0.95])
    assert all(ends == getattr(found, name).tolist() for name, ends in got["positives"].items())
    assert got["robustness"] == {"positives": 0.6, "spread": pytest.approx(found.robustness(0.6))}
    assert (got["labelled"], got["model"], got["confidence"]) == (found.labelled, found.estimate, 0.9)
    assert got["top"] == {"rows": found.top_rows, "score": found.top_score, "labelled": found.top_share}


def test_it_is_said_in_words_and_rows_that_were_checked_replace_the_purity(folder):
    ended = call("bounds", "t.csv", *MODEL, "--checked", "9/10", "--at-most", "99.9", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "9 of 10 unlabelled top rows that were checked are positive" in ended.stdout
    assert ended.stdout.splitlines()[-1].endswith("so 99.9% cannot be reached.")


@pytest.mark.slow
def test_rows_of_the_fit_are_ordered_by_models_that_have_not_seen_them(tmp_path):
    """Trees know the labels of these rows: the top rows would all be labelled."""
    table = make_clinic(800)[0]
    csv.write_csv(table, tmp_path / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--no-scar-test", "--set", "cv=2"
    assert call("fit", "t.csv", *asked, *MODEL, cwd=tmp_path).returncode == 0
    model, read = load(tmp_path / "m.propense"), TableFile(tmp_path / "t.csv").read()
    s, labelled = model.score(read).posterior * model.score(read).propensity, np.array(table["reported"]) == "yes"
    held = find_bounds(ReadRows(labelled.astype(float), s, np.ones(800), 0.5), purity=1.0)
    assert bound_table(model, read, purity=1.0).high == pytest.approx(held.high)


BAD = [
    (("--spread", "high"), "--spread high: pass numbers with commas between them, such as 1,0.8 or 2."),
    (("--spread", "0.5"), "must be a factor ≥ 1"),
    (("--purity", "0.1"), "of the top rows are labelled, and therefore positive. Pass a share of at least"),
    (("--checked", "46"), "--checked 46: pass how many are positive and how many were checked, such as 46/78."),
    (("--checked", "3/5", "--purity", "1"), "--purity and --checked exclude each other"),
    (("--at-most", "0"), "--at-most 0: give per cent of the rows"),
    (("--confidence", "0.95"), "--confidence 0.95: give per cent"),
]


@pytest.mark.parametrize(("asked", "words"), BAD, ids=str)
def test_wrong_input_is_one_line(folder, asked, words):
    ended = call("bounds", "t.csv", *MODEL, *asked, cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert asked[0] in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_table_without_labels_is_refused(folder):
    csv.write_csv(make_clinic(1500)[0].drop_columns(["reported"]), folder / "bare.csv")
    ended = call("bounds", "bare.csv", *MODEL, cwd=folder)
    assert ended.returncode == 2
    assert "bare.csv has no column 'reported', the label." in ended.stderr
