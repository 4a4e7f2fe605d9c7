"""`propense bounds`, run as a user runs it, also with wrong input."""

import json

import numpy as np
import pytest
from pyarrow import csv

from clinic import make_clinic
from command import call
from propense.cli._bounds import _range
from propense.inference._label_bands import LabelledRows, averages
from propense.model_files import load
from propense.tables import TableFile, bound_table

pytestmark = pytest.mark.usefixtures("few_simulations")

MODEL = ("--model", "m.propense")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The clinic's table, and a model of it."""
    folder = tmp_path_factory.mktemp("bounds")
    csv.write_csv(make_clinic(1500)[0], folder / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test"
    assert call("fit", "t.csv", *asked, *MODEL, cwd=folder).returncode == 0
    return folder


def test_bounds_are_one_json_object_that_holds_the_truth(folder):
    asked = "--propensity", "0.15-0.7", "--group", "sex", "--confidence", "90", "--json"
    ended = call("bounds", "t.csv", *MODEL, *asked, cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    table, positive = make_clinic(1500)
    labelled = np.array(table["reported"].to_pylist()) == "yes"
    assert found["labelled"] == pytest.approx(labelled.mean())
    assert found["positives"]["low_limit"] < found["positives"]["low"] == pytest.approx(labelled.mean() / 0.7)
    assert found["positives"]["low_limit"] < positive.mean() < found["positives"]["high_limit"]
    assert found["assumptions"] == ["a positive is labelled with a chance of 0.15 to 0.7"]
    assert (found["contradicted"], found["confidence"]) == ("", 0.9)
    assert found["robustness"]["halved"] > 1
    sexes = np.array(table["sex"].to_pylist())
    assert [each["group"] for each in found["groups"]] == ["f", "m"]
    for each in found["groups"]:
        truth = labelled[sexes == each["group"]].sum() / positive[sexes == each["group"]].sum()
        assert each["labelled"]["low_limit"] < truth < each["labelled"]["high_limit"]


def test_it_is_said_in_words(folder):
    ended = call("bounds", "t.csv", *MODEL, "--odds-ratio", "3", "--rising", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "If the odds of a label differ by at most a factor of 3 between any two positives; and if " in ended.stdout
    nothing = call("bounds", "t.csv", *MODEL, cwd=folder).stdout
    assert "Without an assumption about the labelling, all of them may be" in nothing


def test_what_contradicts_the_labels_has_no_range(folder):
    found = json.loads(call("bounds", "t.csv", *MODEL, "--propensity", "0-0.1", "--json", cwd=folder).stdout)
    assert "labels contradict them" in found["contradicted"]
    assert found["positives"] == {"low": None, "high": None, "low_limit": None, "high_limit": None}


def test_a_correlation_may_be_a_range(folder):
    narrow, wide = (
        json.loads(call("bounds", "t.csv", *MODEL, "--correlation", each, "--json", cwd=folder).stdout)["positives"]
        for each in ("0,0.2", "0.2")
    )
    assert wide["low"] <= narrow["low"] <= narrow["high"] <= wide["high"]
    assert wide != narrow


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("0.3", 0.3),
        ("0-0.5", (0.0, 0.5)),
        ("0,0.5", (0.0, 0.5)),
        ("0.1 – 0.5", (0.1, 0.5)),
        ("-0.5-0.5", (-0.5, 0.5)),
        ("-0.5--0.1", (-0.5, -0.1)),
        ("1e-3-0.5", (0.001, 0.5)),
    ],
)
def test_a_range_has_a_dash_or_a_comma(given, read):
    assert _range("--correlation", given) == read


@pytest.mark.slow
def test_rows_of_the_fit_are_judged_by_models_that_have_not_seen_them(tmp_path):
    """Trees know the labels of these rows: the rows above a limit would be the labelled ones."""
    table = make_clinic(800)[0]
    csv.write_csv(table, tmp_path / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--no-scar-test", "--set", "cv=2"
    assert call("fit", "t.csv", *asked, *MODEL, cwd=tmp_path).returncode == 0
    model, read = load(tmp_path / "m.propense"), TableFile(tmp_path / "t.csv").read()
    found = bound_table(model, read, propensity=0.3)
    labelled = (np.array(table["reported"].to_pylist()) == "yes").astype(float)
    y, e = (getattr(model.score(read), name) for name in ("posterior", "propensity"))
    held = LabelledRows.of(labelled, y * e, y, e, np.ones(800))
    assert found.prior == pytest.approx(averages(held, np.full(800, 0.3), np.ones(800)))
    features = model.features(read)
    seen = model.estimator.predict_proba(features)[:, 1] * model.estimator.predict_propensity(features)
    assert np.abs(seen - y * e).max() > 0.05


BAD = [
    (("--propensity", "high"), "--propensity high: pass a number or a range, such as 0.2 or 0.2-0.9."),
    (("--propensity", "0.9-0.2"), "the first number is above the second"),
    (("--correlation", "0.1,0.2,0.3"), "--correlation 0.1,0.2,0.3: pass a number or a range, such as 0.2 or 0.2-0.9."),
    (("--odds-ratio", "0.5"), "--odds-ratio 0.5: must be a factor ≥ 1"),
    (("--confidence", "0.95"), "--confidence 0.95: give per cent"),
    (("--group", "colour"), "t.csv has no column 'colour', the group."),
    (("--correlation", "0.5", "--rising"), "--correlation is a model of its own"),
]


@pytest.mark.parametrize(("asked", "words"), BAD, ids=str)
def test_wrong_input_is_one_line(folder, asked, words):
    ended = call("bounds", "t.csv", *MODEL, *asked, cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_table_without_labels_is_refused(folder):
    table = make_clinic(1500)[0]
    csv.write_csv(table.drop_columns(["reported"]), folder / "bare.csv")
    ended = call("bounds", "bare.csv", *MODEL, cwd=folder)
    assert ended.returncode == 2
    assert "bare.csv has no column 'reported', the label." in ended.stderr
