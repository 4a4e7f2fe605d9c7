"""`propense fit`, `score`, `inspect`, `methods`: run as a user runs them, also with wrong input."""

import gc
import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

import propense
from clinic import make_clinic
from command import call
from propense import _cluster
from propense.cli._flags import with_flags
from propense.tables import (
    TableFile,
    TableFolder,
    TableModel,
    capacity,
    conclude,
    describe_groups,
    describe_learning,
    fit_table,
    headline,
    list_rows,
)
from propense.tables.cells import defused, normalise_decimals

FIT = ("--label", "reported", "--id", "patient", "--learners", "linear")
PLAIN = FIT[:4]
# Trees in few folds, for time.
FOLDS = ("--set", "cv=2")
pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, clinic):
    """The clinic's table as CSV, and a model of it."""
    folder = tmp_path_factory.mktemp("clinic")
    csv.write_csv(clinic, folder / "clinic.csv")
    status, _, err = call("fit", folder / "clinic.csv", *FIT, "--model", folder / "m.propense")
    assert status == 0, err
    return folder


@pytest.mark.slow
def test_a_fit_prints_its_summary(folder, tmp_path, clinic):
    table = folder / "clinic.csv"
    model, report = tmp_path / "m.propense", tmp_path / "r.html"
    status, out, err = call(
        "fit",
        table,
        "--label",
        "reported",
        "--id",
        "patient",
        "--model",
        model,
        "--report",
        report,
        "--method",
        "sar-em",
    )
    assert (status, err) == (0, "")
    found = fit_table(clinic, "reported", id="patient", method="sar-em")
    words = " ".join(out.split())
    assert "clinic.csv: 600 rows" in words
    assert f"{found.labelled.sum()} labelled (reported = yes). numbers: age, bmi true/false: smoker" in words
    assert str(headline(found)) in words
    assert describe_groups(found)[0] in words
    # A number without a range is not printed.
    assert f"{found.expected.sum():,.0f} (" not in words
    assert f"Wrote the model {model}." in out
    assert f"Wrote the report {report}." in out
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_columns_are_left_out_or_taken_for_names_with_commas(folder):
    asked = "fit", folder / "clinic.csv", *FIT, "--no-scar-test"
    status, out, err = call(*asked, "--drop", "bmi,smoker", "--drop", "region", "--categorical", "age,sex")
    # An age is not a category, but a name was found in the list.
    assert (status, out) == (2, "")
    assert "column 'age' holds" in err
    status, out, err = call(*asked, "--drop", "bmi,smoker", "--drop", "region", "--categorical", "sex")
    assert (status, err) == (0, "")
    assert "  numbers: age\n  categories: sex\n" in out


@pytest.mark.slow
def test_labels_are_tested_if_asked_for(folder, tmp_path, clinic):
    model, report = tmp_path / "m.propense", tmp_path / "r.html"
    asked = "fit", folder / "clinic.csv", *FIT, "--propensity-features", "sex", "--model", model, "--report", report
    status, out, err = call(*asked, "--scar-test", "--prior", "0.5")
    assert (status, err) == (0, "")
    asked = {"propensity_features": ["sex"], "scar_test": True, "prior": 0.5, "learners": "linear"}
    fitted = fit_table(clinic, "reported", id="patient", **asked)
    found, words = fitted.scar, conclude(fitted).test
    assert f"p = {found.p_value:.3f}; 600 rows were tested" in words
    assert f"Labels at random? {words}" in out
    assert found.prevalence == pytest.approx(0.5)
    assert words in report.read_text(encoding="utf-8")
    assert propense.model_files.inspect(model)["about"]["scar_p_value"] == found.p_value
    loaded = propense.load(model).estimator
    assert (loaded.prior, loaded.prior_) == (0.5, pytest.approx(0.5))


def test_scores_from_a_file_equal_those_of_the_fit(folder, tmp_path, clinic):
    loaded = propense.load(folder / "m.propense")
    assert isinstance(loaded, TableModel)
    found = fit_table(clinic, "reported", id="patient", learners="linear")
    assert loaded.schema == found.schema
    for name in ("posterior", "propensity", "hidden"):
        # What models that have not seen a row say of it is kept with seven digits.
        np.testing.assert_allclose(getattr(loaded.score(clinic), name), getattr(found.scores, name), rtol=1e-6)
    status, out, err = call(
        "score", folder / "clinic.csv", "--model", folder / "m.propense", "--out", tmp_path / "o.parquet"
    )
    assert (status, err) == (0, "")
    assert f"600 rows: {found.labelled.sum()} labelled (reported = yes)." in out
    assert "600 of these rows are rows of the fit, scored by models that had not seen them." in out
    assert (
        f"Of the {(~found.labelled).sum()} unlabelled rows, about {found.counts.hidden:,.0f} are expected to be" in out
    )
    assert "In brackets: what 8 of 10 worlds whose labels look like these allow" in out
    assert "If people check 20, 50 or 200 unlabelled rows that propense draws at random" in out
    assert f"whatever decides which rows are labelled: propense audit draw {folder / 'clinic.csv'} --model" in out
    np.testing.assert_array_equal(
        parquet.read_table(tmp_path / "o.parquet").column("hidden"), loaded.score(clinic).hidden
    )


def test_csv_and_parquet_of_one_table_give_one_model(folder, tmp_path, clinic):
    parquet.write_table(clinic, tmp_path / "t.parquet")
    call("fit", tmp_path / "t.parquet", *FIT, "--model", tmp_path / "p.propense")
    one, other = propense.load(folder / "m.propense"), propense.load(tmp_path / "p.propense")
    assert one.schema == other.schema
    np.testing.assert_array_equal(one.score(clinic).hidden, other.score(clinic).hidden)


@pytest.mark.parametrize("named", [True, False])
def test_the_review_list_of_new_rows_says_what_to_expect(folder, tmp_path, clinic, named):
    """The rows of another clinic: no row is recognised, unless it has no id to be recognised by."""
    other, _ = make_clinic(seed=1)
    names = pa.array([f"new{i}" for i in range(600)])
    csv.write_csv(other.set_column(0, "patient" if named else "name", names), tmp_path / "t.csv")
    model = tmp_path / "m.propense"
    call("fit", folder / "clinic.csv", *PLAIN, "--method", "pglin", "--no-scar-test", "--model", model)
    status, out, _ = call("score", tmp_path / "t.csv", "--model", model, "--out", tmp_path / "top.csv", "--top", "10")
    assert status == 0
    listed = TableFile(tmp_path / "top.csv").read()
    hidden = [float(cell) for cell in listed.column("hidden").to_pylist()]
    assert hidden == sorted(hidden, reverse=True)
    assert f"Of these 10 rows, about {sum(hidden):,.0f} are expected to be positive. The method gives no range." in out
    assert ("Note: Rows that were used in the fit cannot be recognised here." in out) is not named
    assert set(listed.column("reported").to_pylist()) == {""}


@pytest.mark.slow
def test_a_fit_lists_the_rows_to_review(folder, tmp_path, clinic):
    review = tmp_path / "review.csv"
    status, out, err = call(
        *("fit", folder / "clinic.csv", *PLAIN, *FOLDS, "--no-scar-test", "--list", review, "--top", "20"),
        *("--jobs", "2"),
    )
    assert (status, err) == (0, "")
    found = fit_table(clinic, "reported", id="patient", scar_test=False, parameters={"cv": 2})
    expected = list_rows(found, 20)
    assert str(expected.promise) in out
    assert f"Wrote the list {review}." in out
    listed = TableFile(review).read()
    assert listed.column_names == [*clinic.column_names, "rank", "hidden", "hidden_low", "hidden_high", "why"]
    assert listed.column("patient").to_pylist() == [f"p{i}" for i in expected.rows]
    low, high = (f"{600 * share:,.0f}" for share in found.prior_range)
    for words in (f"{600 * found.estimator.prior_:,.0f} (", f"{low} to {high}", *describe_learning(found)):
        assert words in out
    # The number of positives is stated once, with its range.
    assert "Estimated share of positive rows" not in out


@pytest.mark.slow
def test_a_fit_says_what_a_number_of_reviews_finds_and_lists_as_many(folder, tmp_path, clinic):
    review, costs = tmp_path / "review.csv", ("--cost-miss", "3", "--cost-alarm", "1")
    asked = ("fit", folder / "clinic.csv", *PLAIN, "--no-scar-test", "--list", review)
    status, out, err = call(*asked, *FOLDS, "--capacity", "30", *costs)
    assert (status, err) == (0, "")
    curves = capacity(fit_table(clinic, "reported", id="patient", scar_test=False, parameters={"cv": 2}))
    # The promise of the list is that of the capacity, and is said once.
    assert out.count("Of these 30 rows, about") == 1
    assert "the first 30 rows of the list" not in out
    for words in (curves.about_cut(30), curves.about_costs(3, 1), *str(curves).splitlines()):
        assert words in out
    assert TableFile(review).read().num_rows == 30
    status, out, err = call(*asked, *FOLDS, *costs)
    assert (status, err) == (0, "")
    assert TableFile(review).read().num_rows == curves.cheapest(3, 1).length
    status, out, err = call(*asked[:-2], *FOLDS, "--capacity", "30")
    assert (status, err) == (0, "")
    assert curves.about_length(30) in out
    # Nothing is said that was not learned.
    status, out, err = call(*asked, "--capacity", "30", *costs, "--method", "sar-em")
    assert (status, err) == (0, "")
    assert "To find" not in out
    assert "the method was fitted to them" in out


def test_costs_that_are_none_are_refused_before_the_fit(folder, tmp_path, clinic, monkeypatch):
    monkeypatch.setattr(propense.PUClassifier, "_fit", None)
    table = folder / "clinic.csv"
    refused(["fit", table, *PLAIN, "--cost-miss", "3"], "needs both costs", "--cost-alarm")
    refused(["fit", table, *PLAIN, "--cost-alarm", "3"], "needs both costs", "--cost-miss")
    refused(["fit", table, *PLAIN, "--cost-miss", "3", "--cost-alarm", "0"], "--cost-alarm 0 is not a cost")
    refused(["fit", table, *PLAIN, "--cost-miss", "nan", "--cost-alarm", "1"], "--cost-miss nan is not a cost")
    refused(["fit", table, *PLAIN, "--capacity", "0"], "--capacity")
    parquet.write_table(clinic, tmp_path / "t.parquet")
    refused(["fit", tmp_path / "t.parquet", *PLAIN, "--dask", "local", "--capacity", "5"], "--capacity", "--dask")


@pytest.mark.slow
def test_a_list_of_rows_that_the_method_has_seen_promises_nothing(folder, tmp_path):
    asked = ("--no-scar-test", "--method", "sar-em", "--list", tmp_path / "l.parquet")
    status, out, err = call("fit", folder / "clinic.csv", *PLAIN, *asked)
    assert (status, err) == (0, "")
    assert "No number of positives is given for these 50 rows: the method was fitted to them" in out
    assert parquet.read_table(tmp_path / "l.parquet").num_rows == 50


def test_a_list_that_cannot_be_made_is_refused_before_the_fit(folder, tmp_path, clinic, monkeypatch):
    monkeypatch.setattr(propense.PUClassifier, "_fit", None)
    table, out = folder / "clinic.csv", tmp_path / "l.csv"
    refused(["fit", table, *PLAIN, "--list", tmp_path / "l.xls"], "l.xls", ".parquet")
    refused(["fit", table, *PLAIN, "--list", table], "not overwritten")
    refused(["fit", table, *PLAIN, "--list", out, "--top", "0"], "--top")
    refused(["fit", table, *PLAIN, "--method", "naive", "--list", out], "cannot list rows to review")
    refused(["fit", table, *PLAIN, "--list", out, "--model", out], "are the same file")
    csv.write_csv(clinic.append_column("rank", pa.array(range(600))), tmp_path / "t.csv")
    refused(["fit", tmp_path / "t.csv", *PLAIN, "--list", out], "t.csv has a column 'rank', which the list would add")
    parquet.write_table(clinic, tmp_path / "t.parquet")
    refused(
        ["fit", tmp_path / "t.parquet", *PLAIN, "--dask", "local", "--list", out], "--list", "--dask", "score --top"
    )


def test_what_is_known_reaches_the_method(folder, tmp_path):
    asked = ("--class-features", "age,bmi", "--propensity-features", "sex", "--prior", "0.5-0.6", "--no-scar-test")
    status, out, err = call("fit", folder / "clinic.csv", *FIT, *asked, "--model", tmp_path / "m")
    assert (status, err) == (0, "")
    estimator = propense.load(tmp_path / "m").estimator
    assert estimator.prior == (0.5, 0.6)
    assert 0.5 - 1e-6 <= estimator.prior_ <= 0.6 + 1e-6
    assert "The share of positives was given as 50% to 60%" in out
    assert estimator.class_features == ["age", "bmi"]
    assert estimator.propensity_features == ["sex"]


def test_columns_of_labelling_are_suggested_until_some_are_named(clinic, tmp_path):
    csv.write_csv(
        clinic.rename_columns([{"sex": "clinic"}.get(name, name) for name in clinic.column_names]), tmp_path / "t.csv"
    )
    status, out, err = call("fit", tmp_path / "t.csv", *FIT, "--no-scar-test")
    assert (status, err) == (0, "")
    assert "may say who gets labelled rather than who is positive: clinic (place)." in out
    assert "If you agree: --propensity-features clinic (and" in out
    _, out, _ = call("fit", tmp_path / "t.csv", *FIT, "--no-scar-test", "--propensity-features", "clinic")
    assert "If you agree" not in out


def test_a_model_file_is_inspected(folder):
    status, out, _ = call("inspect", folder / "m.propense")
    assert status == 0
    for words in ("PUClassifier", "decision='balanced'", "reported", "patient", "age", propense.__version__):
        assert words in out


@pytest.mark.slow
def test_the_doubts_of_a_fit_are_printed_once_and_saved(tmp_path, clinic):
    few = clinic.set_column(6, "reported", pa.array([i % 60 == 0 for i in range(len(clinic))]))
    csv.write_csv(few, tmp_path / "few.csv")
    status, out, err = call(
        *("fit", tmp_path / "few.csv", *FIT, "--model", tmp_path / "m.propense", "--report", tmp_path / "r.html")
    )
    assert (status, err) == (0, "")
    doubts = propense.load(tmp_path / "m.propense").estimator.doubts_
    assert "few_labels" in [doubt.kind for doubt in doubts]
    _, told, _ = call("inspect", tmp_path / "m.propense")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in (with_flags(doubt.message) for doubt in doubts):
        assert out.count(words) == told.count(f"Note: {words}") == 1
    assert page.count("There are too few labelled rows") == 1


@pytest.mark.slow
def test_names_with_markup_characters_are_printed_as_they_are(tmp_path, clinic):
    odd = clinic.rename_columns(["patient", "weight [kg]", "[/b]", "$a_$", "smoker", "region", "reported"])
    odd = odd.set_column(5, "$x_{$", pa.array(["$0-$1,000", "[unknown]", "86%"] * 200))
    csv.write_csv(odd, tmp_path / "t.csv")
    status, out, err = call("fit", tmp_path / "t.csv", *FIT, "--report", tmp_path / "r.html")
    assert (status, err) == (0, "")
    for name in ("weight [kg]", "[/b]", "$a_$", "$x_{$"):
        assert name in out
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for name in ("$0-$1,000", "[unknown]", "86%"):
        assert name in page


@pytest.mark.slow
def test_a_terminal_with_another_encoding_works(folder, tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "propense", "fit", "clinic.csv", *FIT, "--model", str(tmp_path / "m.propense")],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "m.propense").exists()


def test_parameters_of_the_method_can_be_set(folder, tmp_path):
    status, _, err = call(
        "fit",
        folder / "clinic.csv",
        *PLAIN,
        "--method",
        "jerm",
        "--set",
        "spy_quantile=0.1",
        "--set",
        "variant=paper",
        "--model",
        tmp_path / "m",
    )
    assert (status, err) == (0, "")
    assert propense.load(tmp_path / "m").estimator.get_params()["spy_quantile"] == 0.1
    assert propense.load(tmp_path / "m").estimator.variant == "paper"


def test_methods_are_listed():
    status, out, _ = call("methods")
    assert status == 0
    for name in ("pu", "jerm", "joint-mle", "lbe", "naive", "pglin", "sar-em", "tm"):
        assert name in out


def test_without_an_output_file_nothing_is_written(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, _ = call("fit", folder / "clinic.csv", *FIT)
    assert status == 0
    assert "Nothing was written" in out
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_space_and_without_quotes_gets_a_hint(clinic, tmp_path):
    csv.write_csv(clinic, tmp_path / "t.csv")
    status, _, err = call("fit", tmp_path / "t.csv", "--label", "has", "reported", "--id", "patient")
    assert status == 2
    words = " ".join(err.replace("│", " ").split())
    assert '(reported). Names with spaces need quotes, such as --label "Confirmed fraud".' in words
    status, _, err = call("fit", tmp_path / "t.csv", "--lable", "reported")
    assert status == 2
    assert "quotes" not in err


def refused(arguments, *words):
    """Exit status 2, one error with these words, no traceback."""
    status, _, err = call(*arguments)
    assert status == 2, err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1 or "Usage:" in err
    for word in words:
        assert word in err


def test_an_output_is_a_regular_file_and_stays_as_private_as_it_was(folder, tmp_path):
    table, model = folder / "clinic.csv", folder / "m.propense"
    os.mkfifo(tmp_path / "pipe.csv")
    for option in ("--model", "--report"):
        refused(["fit", table, *FIT, option, tmp_path / "pipe.csv"], f"{option} {tmp_path}", "is not a regular file")
    refused(["score", table, "--model", model, "--out", tmp_path / "pipe.csv"], "--out", "is not a regular file")
    assert (tmp_path / "pipe.csv").is_fifo()
    private, link = tmp_path / "private.csv", tmp_path / "link.csv"
    private.touch(0o600)
    link.symlink_to(private)
    assert call("score", table, "--model", model, "--out", link).returncode == 0
    assert link.is_symlink()
    assert private.stat().st_mode & 0o777 == 0o600
    assert "posterior" in private.read_text()


def test_names_and_values_that_are_too_long_are_errors(folder, tmp_path):
    table, model, name = folder / "clinic.csv", folder / "m.propense", tmp_path / ("a" * 300)
    refused(["fit", table, *FIT, "--model", name], "File name too long")
    refused(["fit", table, *FIT, "--report", name], "File name too long")
    refused(["fit", name, *FIT], "File name too long")
    refused(["score", table, "--model", model, "--out", name.with_suffix(".csv")], "File name too long")
    refused(["inspect", name], "File name too long")
    for value in ("1" * 5000, "[" * 5000):
        refused(["fit", table, *FIT, "--set", f"ridge={value}"], "--set ridge: the value has too many digits")
    refused(["demo", "--seed", 2**32], "--seed")


@pytest.mark.slow
def test_wrong_options_are_errors(folder, tmp_path):
    table, model, out = folder / "clinic.csv", folder / "m.propense", tmp_path / "o.csv"
    refused(["fit", table, "--label", "told"], "clinic.csv", "'told'", "--label")
    refused(["fit", table], "--label")
    refused(["fit", table, *PLAIN, "--method", "magic"], "magic", "jerm")
    refused(["fit", table, *FIT, "--decision", "fair"], "decision='fair'", "balanced")
    refused(["fit", table, *FIT, "--propensity-features", "sex,height"], "'height'", "'age'")
    refused(["fit", table, *FIT, "--class-features", "height"], "class feature 'height'", "'age'")
    refused(["fit", table, *PLAIN, "--learners", "trees"], "learners='trees'", "'linear'")
    refused(["fit", table, *PLAIN, "--method", "tm", "--learners", "linear"], "tm has no learners", "out --learners")
    refused(["fit", table, *PLAIN, "--method", "pglin", "--prior", "0.5"], "pglin cannot use", "Leave out --prior")
    refused(["fit", table, *PLAIN, "--method", "tm", "--jobs", "2"], "Leave out --jobs")
    refused(["fit", table, *FIT, "--jobs", "0"], "--jobs 0")
    refused(["fit", table, *FIT, "--prior", "much"], "--prior much", "0.1-0.2")
    refused(["fit", table, *FIT, "--model", table], "not overwritten")
    refused(["fit", table, *FIT, "--report", table], "not overwritten")
    refused(["fit", table, *FIT, "--model", tmp_path / "no" / "m.propense"], "there is no folder")
    refused(["fit", table, *FIT, "--report", tmp_path], "is a folder")
    refused(["fit", table, *FIT, "--report", out, "--model", out], "--model and --report are the same file")
    refused(["fit", tmp_path / "none.csv", *FIT, "--model", model], "none.csv", "no such file")
    refused(["fit", table, *FIT, "--set", "spy_quantile"], "NAME=VALUE")
    refused(["fit", table, *FIT, "--set", "cv=1"], "cv=1")
    refused(["fit", table, *FIT, "--decimal", "x"], "--decimal 'x'")
    refused(["fit", table, *FIT, "--propensity-features", ","], "--propensity-features ,: a name is missing")
    refused(["fit", table, *FIT, "--positive", "maybe"], "'maybe'", "'yes'")
    refused(["score", table, "--model", table, "--out", out], "clinic.csv", "not a propense model file")
    refused(["score", table, "--model", model, "--out", model], "not overwritten")
    refused(["score", table, "--model", model, "--out", table], "not overwritten")
    refused(["score", table, "--model", model, "--out", tmp_path / "o.xls"], "o.xls", ".parquet")
    refused(["score", table, "--model", model, "--out", out, "--top", "0"], "--top")
    refused(["score", tmp_path / "none.csv", "--model", model, "--out", out], "none.csv", "no such file")
    refused(["inspect", table], "clinic.csv", "not a propense model file")
    refused(["inspect", tmp_path / "none"], "none")
    refused(["unknown"], "unknown")
    refused(["fit", table, *FIT, "--colour", "red"], "--colour")
    propense.save(propense.Naive().fit([[0.0], [1.0], [2.0]], [0, 1, 0]), tmp_path / "naive.propense")
    refused(
        ["score", table, "--model", tmp_path / "naive.propense", "--out", out], "holds a Naive, not a model of a table"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["naive.propense"]


ROWS = b"patient,age,sex,reported\n" + b"".join(
    b"p%d,%d,%s,%s\n" % (i, 20 + i * 7 % 50, b"fm"[i % 2 : i % 2 + 1], b"yes" if i % 5 == 0 else b"") for i in range(40)
)
LINES = ROWS.splitlines()


def test_formulas_are_defused_if_asked_for(folder, tmp_path, clinic):
    odd = ["=1+1", "+x", "-2+3", "@sum", "\ta", "-1.5", "+1e-3", "1=1", "-", "", "é"]
    table = clinic.slice(0, len(odd)).append_column("=note", pa.array(odd))
    csv.write_csv(table, tmp_path / "t.csv")
    scoring = ["score", tmp_path / "t.csv", "--model", folder / "m.propense"]
    for top in ([], ["--top", "100"]):
        assert call(*scoring, "--out", tmp_path / "plain.csv", *top).returncode == 0
        assert call(*scoring, "--out", tmp_path / "safe.csv", "--defuse", *top).returncode == 0
        plain, safe = (TableFile(tmp_path / f"{name}.csv").read() for name in ("plain", "safe"))
        scores = ["posterior", "propensity", "hidden", *(["why"] if top else [])]
        assert safe.column_names == [*table.column_names[:-1], "'=note", *scores]
        written = {"=1+1": "'=1+1", "+x": "'+x", "-2+3": "'-2+3", "@sum": "'@sum", "\ta": "'\ta"}
        assert safe["'=note"].to_pylist() == [written.get(cell, cell) for cell in plain["=note"].to_pylist()]
        assert safe.drop(["'=note"]).equals(plain.drop(["=note"]))
    for name in ("a.parquet", "b.parquet"):
        call(*scoring, "--out", tmp_path / name, *["--defuse"] * (name[0] == "a"))
    assert parquet.read_table(tmp_path / "a.parquet").equals(parquet.read_table(tmp_path / "b.parquet"))


def malformed(draw, kind):
    """A table that cannot be fitted, and words that the error must contain."""
    row = draw(st.integers(1, 40))
    lines = list(LINES)
    cells = lines[row].split(b",")
    junk = draw(st.binary(min_size=1, max_size=4).filter(lambda b: not set(b) & set(b'",\n\r')))
    if kind == 0:
        lines[row] = b",".join([*cells, b"1"])
        return lines, ["cannot be read", f"line {row + 1}"]
    if kind == 1:
        lines[row] = b",".join(cells[: draw(st.integers(1, 3))])
        return lines, ["cannot be read", f"line {row + 1}"]
    if kind == 2:
        # No word in any encoding that is recognised.
        lines[row] = b"\x81\x8d\x8f" + junk + b",".join(cells)
        return lines, ["UTF-8"]
    if kind == 3:
        lines[0] = b"patient,age,age,reported"
        return lines, ["two columns called 'age'"]
    if kind == 4:
        lines[0] = draw(st.sampled_from([b"patient,age,sex,told", b"patient,age,sex,Reported", b"patient,age,sex,"]))
        return lines, ["'reported'", "--label"]
    if kind == 5:
        return [lines[0]], ["has no rows"]
    if kind == 6:
        return [], ["is empty"]
    if kind == 7:
        lines[1:] = [line.removesuffix(b"yes") for line in lines[1:]]
        return lines, ["column 'reported'", "no labelled"]
    if kind == 8:
        lines[1:] = [line.removesuffix(b"yes") + b"yes" for line in lines[1:]]
        return lines, ["column 'reported'", "no unlabelled"]
    if kind == 9:
        word = draw(
            st.text(st.characters(categories=["L"]), min_size=1, max_size=6).filter(lambda w: w not in ("yes", "no"))
        )
        lines[row] = b",".join([*cells[:3], f"{word}!".encode()])
        return lines, ["column 'reported'"]
    if kind == 10:
        lines[row] = b",".join([cells[0], draw(st.sampled_from([b"inf", b"-inf", b"1e300"])), *cells[2:]])
        return lines, ["column 'age'", f"row {row}", "too large"]
    lines[1:] = [
        b",".join([*line.split(b",")[:1], b"02.01.%d" % (i % 90 + 10), *line.split(b",")[2:]])
        for i, line in enumerate(lines[1:])
    ]
    return lines, ["column 'age'", "dates", "--drop"]


@pytest.mark.slow
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("kind", range(12))
def test_malformed_tables_are_refused_by_fit_with_the_place(tmp_path, kind, data):
    lines, words = malformed(data.draw, kind)
    data = b"\n".join(lines) + b"\n" * bool(lines)
    (tmp_path / "t.csv").write_bytes(data)
    (tmp_path / "m.propense").unlink(missing_ok=True)
    refused(["fit", tmp_path / "t.csv", *FIT, "--model", tmp_path / "m.propense"], "t.csv", *words)
    assert (tmp_path / "t.csv").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("kind", ["flip", "cut", "insert", "random"])
def test_damaged_model_files_are_refused(tmp_path, folder, kind):
    whole, rng = (folder / "m.propense").read_bytes(), random.Random(0)
    place = rng.randrange(len(whole))
    bad = {
        "flip": lambda: whole[:place] + bytes([whole[place] ^ rng.randrange(1, 256)]) + whole[place + 1 :],
        "cut": lambda: whole[:place],
        "insert": lambda: whole[:place] + rng.randbytes(rng.randrange(1, 9)) + whole[place:],
        "random": lambda: rng.randbytes(rng.randrange(200)),
    }[kind]()
    (tmp_path / "m.propense").write_bytes(bad)
    refused(
        ["score", folder / "clinic.csv", "--model", tmp_path / "m.propense", "--out", tmp_path / "o.csv"], "m.propense"
    )
    refused(["inspect", tmp_path / "m.propense"], "m.propense")
    assert [path.name for path in tmp_path.iterdir()] == ["m.propense"]


def test_a_table_of_another_shape_is_refused_by_score(folder, tmp_path, clinic):
    for table, words in (
        (clinic.drop_columns(["age"]), ["does not have", "'age'"]),
        (clinic.set_column(1, "age", pa.array(["old"] * 600)), ["'age'", "row 1", "'old'"]),
        (clinic.append_column("posterior", pa.array([0.0] * 600)), ["'posterior'"]),
    ):
        csv.write_csv(table, tmp_path / "t.csv")
        refused(
            ["score", tmp_path / "t.csv", "--model", folder / "m.propense", "--out", tmp_path / "o.csv"],
            "t.csv",
            *words,
        )
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.fixture
def in_pieces(tmp_path, clinic):
    """The clinic's table as a folder of Parquet files."""
    home = tmp_path / "clinic"
    home.mkdir()
    for number, start in enumerate(range(0, 600, 200)):
        parquet.write_table(clinic.slice(start, 200), home / f"{number}.parquet")
    return home


@pytest.mark.slow
def test_a_folder_is_fitted_in_memory_or_with_dask(in_pieces, tmp_path, workers):
    arguments = ["fit", in_pieces, *PLAIN, "--method", "pglin", "--no-scar-test", "--model"]
    assert call(*arguments, tmp_path / "memory")[::2] == (0, "")
    done = call(*arguments, tmp_path / "dask", "--dask", workers.scheduler_address)
    assert done.returncode == 0, done.stderr
    assert "clinic: 600 rows" in done.stdout
    one, other = (propense.load(tmp_path / name) for name in ("memory", "dask"))
    np.testing.assert_allclose(one.estimator.label_coef_, other.estimator.label_coef_, atol=1e-6)


# A client that found no scheduler leaves tasks behind, which are collected here and not in another test.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_dask_cannot_read_is_one_line(in_pieces, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.5)
    for arguments, words in (
        ((folder / "clinic.csv", "--dask", "local"), "neither a folder of Parquet files nor a Parquet file"),
        ((in_pieces, "--dask", "tcp://127.0.0.1:1"), "no scheduler answers there"),
        ((tmp_path / "no", "--dask", "local"), "there is no such folder"),
    ):
        status, out, err = call("fit", *arguments, *FIT)
        assert (status, out) == (2, "")
        assert words in err
        assert len(err.strip().splitlines()) == 1
    gc.collect()


def test_no_file_of_a_folder_is_overwritten(tmp_path, clinic):
    table = tmp_path / "t" / "A.PARQUET"
    table.parent.mkdir()
    parquet.write_table(clinic, table)
    before = table.read_bytes()
    status, _, err = call("fit", table.parent, *FIT, "--model", table)
    assert (status, table.read_bytes()) == (2, before)
    assert f"would be a part of the table in {table.parent}, so it is not overwritten" in err


@pytest.mark.slow
def test_a_folder_is_read_as_its_table_by_every_command(in_pieces, folder, tmp_path):
    """Scores, lists, audits and bounds of the folder are those of the same rows in one file."""
    model = ("--model", folder / "m.propense")
    parquet.write_table(TableFolder(in_pieces).read(), tmp_path / "whole.parquet")
    for command, asked in (
        (("score",), ("--top", 30)),
        (("score",), ()),
        (("audit", "draw"), ("--size", 40)),
    ):
        printed = []
        for table in (in_pieces, tmp_path / "whole.parquet"):
            status, out, err = call(*command, table, *model, "--out", tmp_path / f"{table.stem}.csv", *asked)
            assert (status, err) == (0, "")
            printed.append((tmp_path / f"{table.stem}.csv").read_text())
        assert printed[0] == printed[1]
    asked = "score", in_pieces, *model, "--out", "-", "--format", "tsv"
    assert call(*asked)[1].splitlines()[0].endswith('"reported"\t"posterior"\t"propensity"\t"hidden"')
    found = [call("bounds", table, *model, "--spread", 2) for table in (in_pieces, tmp_path / "whole.parquet")]
    assert found[0] == found[1]
    assert found[0][0] == 0
    out = in_pieces / "scores.parquet"
    refused(["score", in_pieces, *model, "--out", out], "--out", "would be a part of the table")
    refused(["score", in_pieces, *model, "--out", tmp_path / "o.csv", "--sheet", "x"], "--sheet is for a file")


def test_text_views_take_decimal_commas_and_are_defused(tmp_path):
    table = pa.table({"a": pa.array(["1,5", "=2"] * 20).cast(pa.string_view())})
    assert normalise_decimals(table, ["a"], ",").column("a").to_pylist()[:2] == ["1.5", "=2"]
    assert defused(table).column("a").to_pylist()[:2] == ["1,5", "'=2"]


@pytest.mark.parametrize("prior", ["2", "0", "-1", "nan", "0.2-0.1", "0.1-2"])
def test_a_prior_is_checked_before_the_fit(folder, prior):
    status, _, err = call("fit", folder / "clinic.csv", *FIT, "--prior", prior)
    assert status == 2
    assert "is not a share of the rows" in err


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "propense", "methods"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
