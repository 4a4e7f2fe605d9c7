"""The option --prior: a share, a range, or either for each group, as a user writes them."""

import csv as lines
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv
from sklearn.linear_model import LogisticRegression

import propense
from command import call
from propense.cli._fit_summary import show_fit
from propense.errors import InvalidOption
from propense.tables import FitOptions, fit_table
from propense.tables.labels import read_label
from propense.tables.prepare import check_columns, prepare_table
from propense.tables.prior_words import read_prior

FIT = ("--label", "reported", "--id", "patient", "--no-scar-test")


@pytest.fixture(scope="module")
def table(tmp_path_factory, clinic):
    path = tmp_path_factory.mktemp("clinic") / "clinic.csv"
    csv.write_csv(clinic, path)
    return path


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, None),
        ("0.15", 0.15),
        ("1e-3", 0.001),
        ("0.1-0.2", (0.1, 0.2)),
        ("0.1–0.2", (0.1, 0.2)),
        ("0.1,0.2", (0.1, 0.2)),
        ("f=0.12,m=0.15-0.2", {"f": 0.12, "m": (0.15, 0.2)}),
        ("f=0.12, m = 0.15", {"f": 0.12, "m": 0.15}),
        ("1=0.1,2=1e-3", {"1": 0.1, "2": 0.001}),
        ("65 or older=0.3", {"65 or older": 0.3}),
        ("north, east=0.1,a=b=0.2", {"north, east": 0.1, "a=b": 0.2}),
        ("x-y=0.1-0.2", {"x-y": (0.1, 0.2)}),
    ],
)
def test_a_prior_is_a_share_a_range_or_either_by_group(given, read):
    assert read_prior(given) == read


@pytest.mark.parametrize("given", ["much", "f=", "=0.1", "f=much", "f=0.1,m", "f=0.1,,m=0.2=", "f=0.1-0.2-0.3", "0.1-"])
def test_other_words_are_refused_with_an_example(given):
    with pytest.raises(InvalidOption, match=re.escape(f"--prior {given}: pass a share such as 0.15, a range such as")):
        read_prior(given)


@pytest.mark.parametrize("given", ["0,15", "0,1-0,2", "f=0,12,m=0.2", "f=0.1,m=0,15-0,2", ",15"])
def test_a_decimal_comma_is_refused_by_name(given):
    with pytest.raises(InvalidOption, match=re.escape(f"--prior {given}: write shares with a decimal point")):
        read_prior(given)


def test_a_group_is_named_once():
    with pytest.raises(InvalidOption, match=r"--prior f=0\.1,f=0\.2: the group 'f' is named twice"):
        read_prior("f=0.1,f=0.2")


@pytest.mark.slow
def test_shares_by_group_reach_the_fit_the_summary_the_report_and_the_file(table, tmp_path):
    model, report, scored = (tmp_path / name for name in ("m.propense", "r.html", "s.csv"))
    asked = ("--prior", "f=0.5,m=0.6-0.7", "--prior-groups", "sex", "--learners", "linear")
    status, out, err = call("fit", table, *FIT, *asked, "--model", model, "--report", report)
    assert (status, err) == (0, "")
    estimator = propense.load(model).estimator
    assert (estimator.prior, estimator.prior_groups) == ({"f": 0.5, "m": (0.6, 0.7)}, "sex")
    said = "The share of positives was given as 50% where sex is f and 60% to 70% where sex is m, and"
    before = {group: moved[0] for group, moved in estimator.diagnosis_.moved.items()}
    alone = f"The middle of the labels alone was {before['f']:.0%} (f) and {before['m']:.0%} (m)."
    for words in (out, re.sub("<[^>]+>", "", report.read_text(encoding="utf-8"))):
        words = " ".join(words.split())
        assert said in words
        assert alone in words
        # Both groups were given.
        assert "Rows of other groups" not in words
    assert estimator.diagnosis_.moved["f"][1] == pytest.approx(0.5, abs=1e-6)
    # Rows of the fit, scored from the file, have these shares too, group by group.
    assert call("score", table, "--model", model, "--out", scored)[0] == 0
    with open(scored, encoding="utf-8") as file:
        rows = list(lines.DictReader(file))
    expected = np.array([1.0 if row["reported"] else float(row["hidden"]) for row in rows])
    women = np.array([row["sex"] == "f" for row in rows])
    assert expected[women].mean() == pytest.approx(0.5, abs=1e-4)
    assert 0.6 - 1e-4 <= expected[~women].mean() <= 0.7 + 1e-4
    assert "prior={'f': 0.5, 'm': (0.6, 0.7)}" in call("inspect", model)[1]


def test_learners_that_take_columns_as_they_are_find_the_groups_of_a_table(clinic, tmp_path):
    learned = {"parameters": {"learners": [LogisticRegression()]}, "scar_test": False}
    found = fit_table(clinic, "reported", id="patient", prior={"f": 0.5}, prior_groups="sex", **learned)
    women = np.array(clinic["sex"].to_pylist()) == "f"
    assert found.expected[women].mean() == pytest.approx(0.5, abs=1e-6)
    propense.save(found.model, tmp_path / "m")
    again, model = (replace(each, held_out=None) for each in (propense.load(tmp_path / "m"), found.model))
    np.testing.assert_array_equal(again.score(clinic).hidden_range, model.score(clinic).hidden_range)


def test_groups_that_were_not_given_are_said_to_stay(table):
    status, out, err = call(
        "fit", table, *FIT, "--learners", "linear", "--prior", "true=0.7", "--prior-groups", "smoker"
    )
    assert (status, err) == (0, "")
    words = " ".join(out.split())
    assert "was given as 70% where smoker is true, and" in words
    assert "Rows of other groups stay as estimated." in words


@pytest.mark.slow
def test_one_share_says_what_it_moved(table):
    status, out, err = call("fit", table, *FIT, "--learners", "linear", "--prior", "0.55")
    assert (status, err) == (0, "")
    free = fit_table(table, "reported", id="patient", learners="linear").estimator.prior_
    assert f"The middle of the labels alone was {free:.0%}." in " ".join(out.split())


@pytest.mark.slow
def test_a_share_that_moved_nothing_to_be_seen_is_not_compared_with_the_labels_alone(clinic, monkeypatch, capsys):
    found = fit_table(clinic, "reported", id="patient", prior=(0.2, 0.3), scar_test=False, parameters={"cv": 2})
    for before, said in ((0.91, True), (found.estimator.prior_, False)):
        moved = {"all rows": (before, found.estimator.prior_)}
        monkeypatch.setattr(found.estimator, "diagnosis_", replace(found.estimator.diagnosis_, moved=moved))
        show_fit(found, Path("clinic.csv"))
        out = " ".join(capsys.readouterr().out.split())
        assert "was given as 20% to 30%, and the estimate was made to match." in out
        assert ("The middle of the labels alone was" in out) == said


@pytest.mark.slow
def test_other_methods_meet_a_share_and_say_so(table, tmp_path):
    asked = ("--method", "sar-em", "--prior", "0.55", "--model", tmp_path / "m", "--report", tmp_path / "r.html")
    status, out, err = call("fit", table, *FIT, *asked)
    assert (status, err) == (0, "")
    said = "The share of positives was given as 55%, and the estimate was made to match."
    assert said in " ".join(out.split())
    page = " ".join(re.sub("<[^>]+>", "", (tmp_path / "r.html").read_text(encoding="utf-8")).split())
    assert said in page
    assert "The share of positives is 55%, as was given." in page
    assert propense.load(tmp_path / "m").estimator.prior_ == pytest.approx(0.55, abs=1e-6)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--prior", "f=0.5"], "A share for each group needs the column that shows them. Pass --prior-groups too."),
        (["--prior", "0.5", "--prior-groups", "sex"], "--prior-groups is for shares by group"),
        (["--prior-groups", "sex"], "--prior-groups is for shares by group"),
        (["--prior", "f=0.5", "--prior-groups", "gender"], "has no column 'gender' (--prior-groups)"),
        (["--prior", "f=0.5", "--prior-groups", "reported"], "column 'reported' is the label, the id or left out"),
        (["--prior", "w=0.5", "--prior-groups", "sex"], "no row is in the group 'w'. The groups are 'f', 'm'."),
        (["--prior", "f=0.01", "--prior-groups", "sex"], "in the group 'f' are labelled, so at least that share"),
        (["--prior", "f=2", "--prior-groups", "sex"], "is not a share of the rows"),
        (["--prior", "east=0.4", "--prior-groups", "region"], "rows is missing, so it is not known which share"),
        (["--prior", "f=0.5", "--prior-groups", "sex", "--method", "jerm"], "The method jerm takes one --prior for"),
        (["--prior", "0.5", "--method", "pglin"], "The method pglin cannot use a share"),
    ],
)
def test_a_contradiction_is_one_line(table, asked, said):
    learners = [] if "--method" in asked else ["--learners", "linear"]
    status, out, err = call("fit", table, *FIT, *learners, *asked)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_folders_larger_than_memory_take_one_share_only(clinic):
    options = FitOptions("reported", id="patient", prior={"f": 0.5}, prior_groups="sex")
    columns = check_columns(clinic.column_names, options, "the table")
    label = read_label(clinic.column("reported"), "reported", "the table", None)
    with pytest.raises(InvalidOption, match=r"needs the table in memory\. Pass one prior= for all rows"):
        prepare_table(clinic, columns, label, options, "the table", arrays=True)
