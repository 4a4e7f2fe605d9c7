"""--json: one object on standard output for every command, and one for every error."""

import json
from copy import copy
from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import csv
from typer.main import get_command

from clinic import make_clinic
from command import call
from propense.cli._app import app
from propense.cli._json import plain
from propense.cli._results import fit_result
from propense.tables import TableFile, describe_groups, fit_table, headline, list_rows

pytestmark = pytest.mark.usefixtures("few_simulations")

FIT = ("--label", "reported", "--id", "patient", "--learners", "linear")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    csv.write_csv(make_clinic()[0], folder / "t.csv")
    return folder


def read(ended):
    """The only line of standard output, without NaN and without what acts on a terminal."""
    assert ended.stdout.isascii()
    assert ended.stdout.count("\n") == 1
    return json.loads(ended.stdout, parse_constant=lambda name: pytest.fail(name))


def commands(command, path=()):
    for name, each in getattr(command, "commands", {}).items():
        yield from commands(each, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def test_every_command_has_the_option():
    without = [
        path for path, each in commands(get_command(app)) if "--json" not in [o for p in each.params for o in p.opts]
    ]
    # A server has no result.
    assert [" ".join(each) for each in without] == ["serve"]


@pytest.mark.slow
def test_a_fit_is_one_object_with_what_the_words_say(folder):
    wanted = "--list", "list.csv", "--model", "m.propense", "--report", "r.html"
    ended = call("fit", "t.csv", *FIT, *wanted, "--json", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = read(ended)
    truth = fit_table(TableFile(folder / "t.csv").read(), "reported", id="patient", learners="linear")
    assert found["command"] == "fit"
    assert found["rows"] == 600
    assert found["headline"] == str(headline(truth))
    assert found["groups_that_differ"] == []
    assert found["about_groups"] == describe_groups(truth)
    assert found["doubts"] == [vars(doubt) for doubt in truth.estimator.doubts_]
    assert found["list"]["promise"]["words"] == str(list_rows(truth, 50).promise)
    assert found["audit_advice"]["widths"].keys() == {"20", "50", "200"}
    assert found["files"] == {"list": "list.csv", "model": "m.propense", "report": "r.html"}
    assert {each["name"]: each["kind"] for each in found["columns"]}["smoker"] == "truth"
    assert (folder / "m.propense").exists()


def test_where_too_little_was_learned_there_are_no_numbers(tmp_path):
    few = make_clinic()[0].set_column(6, "reported", pa.array([i < 10 for i in range(600)]))
    csv.write_csv(few, tmp_path / "few.csv")
    ended = call("fit", "few.csv", *FIT, "--no-scar-test", "--list", "l.csv", "--model", "f", "--json", cwd=tmp_path)
    found = read(ended)
    assert "is left open: too little was learned" in found["headline"]
    assert found["share"] == found["label_frequency"] == {"estimate": None, "low": None, "high": None}
    assert found["list"]["promise"]["expected"] is None
    shown = read(call("inspect", "f", "--json", cwd=tmp_path))
    assert shown["prior"] is shown["label_frequency"] is None


@pytest.mark.slow
def test_the_terminal_the_page_the_model_and_the_object_say_the_same(folder):
    ended = call("fit", "t.csv", *FIT, "--model", "w.propense", "--report", "w.html", "--no-scar-test", cwd=folder)
    found = read(call("fit", "t.csv", *FIT, "--no-scar-test", "--json", cwd=folder))
    shown = read(call("inspect", "w.propense", "--json", cwd=folder))
    facts = found["diagnosis"]
    assert (facts["labelling"], facts["strange"], found["labelled_share"]) == ("learned", False, 147 / 600)
    for share in (found["share"], shown["prior"]):
        assert list(share.values()) == pytest.approx([facts["middle"], facts["low"], facts["high"]], abs=1e-6)
    low, middle, high = (f"{facts[name]:.0%}" for name in ("low", "middle", "high"))
    said = (
        f"In 9 of 10 worlds whose labels look like these, {600 * facts['low']:,.0f} to {600 * facts['high']:,.0f} are "
    )
    said += f"({low} to {high}); the middle is {600 * facts['middle']:,.0f} ({middle})."
    page = (folder / "w.html").read_text(encoding="utf-8")
    for words in (ended.stdout, page, found["headline"]):
        assert "At least 147 of 600 rows are positive (24%): those that are labelled." in words
        assert said in words
    assert shown["range"] == "In 9 of 10 worlds whose labels look like these"
    # And the list of all unlabelled rows holds no more, and no fewer, than are hidden.
    assert found["hidden"]["low"] == pytest.approx(600 * facts["low"] - 147)


@pytest.mark.slow
def test_the_numbers_of_a_fit_are_those_of_its_headline(folder):
    truth = fit_table(make_clinic()[0], "reported", id="patient", scar_test=False, parameters={"cv": 2})
    found, quoted = fit_result(truth, "t.csv", None), headline(truth)
    assert found["positives"] == {"estimate": quoted.middle, "low": quoted.low, "high": quoted.high}
    assert (found["share"]["low"], found["share"]["high"]) == pytest.approx(truth.prior_range)
    assert found["hidden"]["low"] == quoted.low - quoted.labelled
    assert found["label_frequency"]["low"] == quoted.labelled / quoted.high
    given = fit_result(replace(truth, estimator=given_share(truth.estimator)), "t.csv", None)
    assert given["share_given"]
    assert given["positives"]["low"] is None


def given_share(estimator):
    """The same estimator, as if its share of positives had been given."""
    other = copy(estimator)
    other.diagnosis_ = replace(other.diagnosis_, shares=(0.4,) * 99)
    return other


def test_a_method_without_a_range_has_null(folder):
    found = read(call("fit", "t.csv", *FIT[:4], "--method", "pglin", "--no-scar-test", "--json", cwd=folder))
    assert found["share"]["low"] is None
    assert found["share"]["estimate"] > 0.0
    assert found["scar_test"] is None


def test_what_moved_since_the_fit_is_in_the_object_too(folder):
    call("fit", "t.csv", *FIT, "--model", "d.propense", "--no-scar-test", cwd=folder)
    table = make_clinic()[0]
    older = pa.array([None if age is None else age + 40 for age in table["age"].to_pylist()])
    csv.write_csv(table.set_column(table.column_names.index("age"), "age", older), folder / "older.csv")
    ended = call("score", "older.csv", "--model", "d.propense", "--out", "s.csv", "--json", cwd=folder)
    found = read(ended)
    (moved,) = found["drift"]["columns"]
    assert (moved["name"], found["drift"]["much"], found["drift"]["checked"]) == ("age", True, True)
    assert moved["shift"] > 0.5
    assert f"Changed since the fit: age: {moved['words']}" in found["notes"]
    assert all(note in ended.stderr for note in found["notes"])
    assert found["decimal"] is None


def test_scores_audits_and_models_are_objects(folder):
    call("fit", "t.csv", *FIT, "--model", "n.propense", "--no-scar-test", cwd=folder)
    scored = read(call("score", "t.csv", "--model", "n.propense", "--out", "s.csv", "--top", 20, "--json", cwd=folder))
    assert (scored["rows"], scored["files"]) == (600, {"out": "s.csv"})
    assert TableFile(folder / "s.csv").read().num_rows == 20
    drawn = read(
        call("audit", "draw", "t.csv", "--model", "n.propense", "--out", "d.csv", "--size", 30, "--json", cwd=folder)
    )
    assert (drawn["rows"], drawn["files"]) == (30, {"out": "d.csv"})
    shown = read(call("inspect", "n.propense", "--json", cwd=folder))
    assert shown["label"] == "reported = yes"
    prior = shown["prior"]
    assert prior["low"] < prior["estimate"] < prior["high"]
    assert shown["audit"] is None
    bound = read(call("bounds", "t.csv", "--model", "n.propense", "--spread", "2", "--json", cwd=folder))
    assert bound["command"] == "bounds"


def test_notes_on_scores_go_to_standard_error(folder):
    call("fit", "t.csv", *FIT, "--model", "o.propense", "--no-scar-test", cwd=folder)
    csv.write_csv(make_clinic()[0].drop_columns(["reported"]), folder / "u.csv")
    ended = call("score", "u.csv", "--model", "o.propense", "--out", "s.csv", "--json", cwd=folder)
    assert read(ended)["labelled"] == 0
    assert "The table has no column 'reported'" in ended.stderr


def test_lists_are_objects(folder):
    methods = read(call("methods", "--json"))["methods"]
    assert {"pu", "jerm", "naive"} <= {each["name"] for each in methods}
    assert all(each["assumes"] for each in methods if "." not in each["name"])
    (one,) = read(call("methods", "jerm", "--json"))["methods"]
    assert one["class"] == "JERM"
    sets = read(call("datasets", "list", "--json", PROPENSE_DATA=str(folder)))
    assert "wdbc" in {each["name"] for each in sets["datasets"]}
    assert read(call("datasets", "describe", "wdbc", "--json"))["n"] == 569
    assert {each["name"] for each in read(call("datasets", "describe", "nhanes", "--json"))["tasks"]}


def test_an_error_is_an_object_and_a_line(folder):
    ended = call("fit", "t.csv", "--label", "reportd", "--json", cwd=folder)
    assert ended.returncode == 2
    error = read(ended)["error"]
    assert error["kind"] == "InvalidTable"
    assert "has no column 'reportd'" in error["message"]
    assert ended.stderr == f"Error: {error['message']}\n"


def test_a_usage_error_is_an_object_too(folder):
    for asked in (["fit", "--json"], ["fit", "t.csv", "--labell", "x", "--json"], ["methods", "--json", "--nothing"]):
        ended = call(*asked, cwd=folder)
        assert ended.returncode == 2
        assert read(ended)["error"]["kind"] == "UsageError"
        assert ended.stderr


def test_names_that_act_on_a_terminal_are_escaped(tmp_path):
    table = make_clinic()[0]
    hostile = table.rename_columns([f"\x1b[31m\x9b{name}" if name == "age" else name for name in table.column_names])
    csv.write_csv(hostile, tmp_path / "t.csv")
    found = read(call("fit", "t.csv", *FIT, "--no-scar-test", "--json", cwd=tmp_path))
    assert "\x1b[31m\x9bage" in [each["name"] for each in found["columns"]]


def test_what_json_lacks_becomes_what_it_has():
    import numpy as np

    found = plain(
        {1: float("nan"), "a": np.array([1.0, np.inf]), "b": (np.int64(3), np.bool_(True)), "c": pa.scalar(1)}
    )
    assert found == {"1": None, "a": [1.0, None], "b": [3, True], "c": "1"}


def test_without_the_option_nothing_is_json(folder):
    assert call("methods").stdout.startswith(("┏", "+"))
    assert not call("fit", "t.csv", "--label", "reportd", cwd=folder).stdout
