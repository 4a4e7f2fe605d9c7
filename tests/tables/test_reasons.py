"""Why a row is in a list, in words, with the cells as the table has them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv

from clinic import make_clinic
from propense import JERM, PUClassifier, reasons
from propense.datasets import make_double_logistic
from propense.errors import InvalidInput, InvalidTable
from propense.tables import (
    RowReasons,
    TableFile,
    fit_table,
    list_rows,
    row_reasons,
    score_file,
    summarise_estimator,
    write_list,
)

ASKED = {"id": "patient", "scar_test": False}


@pytest.fixture(scope="module")
def table():
    """The clinic with a hostile column name, hostile cells, dates and a column of text with decimal commas."""
    made, _ = make_clinic(800)
    rng = np.random.default_rng(3)
    age = np.array(made["age"].to_pylist())
    town = np.where(age > 60, "=cmd|'/c calc'!A1", np.where(age > 45, "a;b: c, d\n\u202e", "north")).tolist()
    weight = [f"{each:.1f}".replace(".", ",") for each in rng.normal(70, 10, 800)]
    since = (np.datetime64("2020-01-01") + rng.integers(0, 400, 800)).astype("datetime64[D]")
    made = made.append_column("town", pa.array(town)).append_column("weight", pa.array(weight))
    return made.append_column("=since", pa.array(since))


@pytest.fixture(scope="module")
def found(table):
    return fit_table(table, "reported", **ASKED, decimal=",", propensity_features=["sex"], parameters={"cv": 2})


@pytest.mark.slow
def test_phrases_name_the_columns_that_add_most(table, found):
    listed = list_rows(found, 20)
    said = row_reasons(found, listed.rows)
    exact = reasons(found.estimator, found.model.schema.read(table_with_points(table), "t"), rows=listed.rows)
    assert not exact.one_score
    for words, y, e in zip(said, exact.posterior, exact.propensity, strict=True):
        assert 1 <= len(words.raising) <= 3
        first = exact.columns[int(np.argmax(y))].split("\n")[0]
        assert words.raising[0].startswith(first)
        # e depends on sex alone: f is labelled more often.
        sex = exact.columns.index("sex")
        assert words.hiding == (("sex m",) if e[sex] < 0 else ())
        assert str(words).startswith("positive: ")
        assert ("; unlabelled: sex m" in str(words)) == (e[sex] < 0)


def table_with_points(table):
    from propense.tables.cells import normalise_decimals

    return normalise_decimals(table, ["weight"], ",")


def test_cells_are_written_as_the_table_has_them(table, found):
    rows = np.arange(800)
    said = row_reasons(found, rows, table)
    phrases = {phrase for each in said for phrase in (*each.raising, *each.hiding)}
    ages = [phrase for phrase in phrases if phrase.startswith("age ")]
    assert any("(usually " in phrase for phrase in ages)
    low, high = np.quantile(table["age"].to_numpy(), [0.25, 0.75], method="inverted_cdf")
    for phrase in ages:
        value = float(phrase.split()[1])
        assert ("usually" in phrase) == (not low <= value <= high)
    assert any(phrase.startswith("bmi missing") for phrase in phrases) or not any("missing" in each for each in phrases)
    assert not any("\n" in phrase or "\u202e" in phrase for phrase in phrases)
    assert 'town "a;b: c, d"' in phrases or "town =cmd|'/c calc'!A1" in phrases
    dates = [phrase for phrase in phrases if phrase.startswith("=since")]
    assert all(phrase.split()[1].startswith("202") for phrase in dates)
    for phrase in phrases:
        if phrase.startswith("weight"):
            assert "." not in phrase


def test_a_list_says_why_and_stays_harmless_in_a_spreadsheet(table, found, tmp_path):
    csv.write_csv(table, tmp_path / "t.csv")
    source = TableFile(tmp_path / "t.csv")
    review = list_rows(found, 30, table)
    write_list(review, table, source, tmp_path / "l.csv", defuse=True)
    listed = TableFile(tmp_path / "l.csv").read()
    assert listed.column_names[-1] == "why"
    assert listed["why"].to_pylist() == [str(each) for each in review.reasons]
    # It begins with a word of ours, whatever the cells hold, and is one line.
    assert all(each.startswith(("positive: ", "unlabelled: ")) for each in listed["why"].to_pylist())
    with pytest.raises(InvalidTable, match="has a column 'why', which the list would add"):
        review.take(table.append_column("why", pa.array([""] * 800)))
    silent = replace(review, reasons=())
    assert silent.take(table)["why"].null_count == 30


def test_a_list_of_new_rows_says_why_too(table, found, tmp_path):
    model = found.model
    csv.write_csv(table, tmp_path / "t.csv")
    source = TableFile(tmp_path / "t.csv")
    score_file(model, source, tmp_path / "s.csv", top=15, decimal=",", defuse=True)
    scored = TableFile(tmp_path / "s.csv").read()
    assert scored.column_names[-1] == "why"
    ids = table["patient"].to_pylist()
    rows = [ids.index(each) for each in scored["patient"].to_pylist()]
    for words, why in zip(row_reasons(found, rows, table), scored["why"].to_pylist(), strict=True):
        assert [each.split(" (usually")[0] for each in words.raising] == [
            each.split(" (usually")[0]
            for each in why.split("; unlabelled")[0].removeprefix("positive: ").split(", ")
            if each
        ] or '"' in why
    plain = table_with_points(table)
    for own, words in zip(row_reasons(model, rows, plain), row_reasons(found, rows, plain), strict=True):
        bare = [tuple(each.split(" (usually")[0] for each in phrases) for phrases in (own.raising, words.raising)]
        assert bare[0] == bare[1]
        assert own.hiding == words.hiding
    # Decimal commas are those of the table of the fit.
    for own, words in zip(row_reasons(model, rows, table), row_reasons(found, rows, table), strict=True):
        assert len(own.raising) == len(words.raising)


def test_new_rows_are_compared_with_what_is_usual_in_the_rows_of_fit(table, found, tmp_path):
    low, high = np.quantile([each for each in table["age"].to_pylist() if each is not None], [0.25, 0.75])
    old = {
        each.split(" (usually ")[1]
        for row in row_reasons(found, np.arange(800), table)
        for each in row.raising
        if each.startswith("age") and "usually" in each
    }
    new = {
        each.split(" (usually ")[1]
        for row in row_reasons(found.model, np.arange(800), table)
        for each in row.raising
        if each.startswith("age") and "usually" in each
    }
    for said in (old, new):
        (ends,) = said
        np.testing.assert_allclose([float(each) for each in ends.rstrip(")").split(" to ")], [low, high], atol=1.0)
    none = replace(found.model, seen=None)
    assert not any("usually" in str(row) for row in row_reasons(none, np.arange(800), table))


def test_what_a_model_file_does_not_hold_is_asked_for(table, found, tmp_path):
    model, rows = found.model, [0, 1]
    csv.write_csv(table, tmp_path / "t.csv")
    source = TableFile(tmp_path / "t.csv")
    with pytest.raises(InvalidInput, match="needs the table of the rows"):
        row_reasons(model, rows)
    score_file(model, source, tmp_path / "all.csv", decimal=",")
    assert "why" not in TableFile(tmp_path / "all.csv").columns
    csv.write_csv(table.append_column("why", pa.array([""] * 800)), tmp_path / "w.csv")
    with pytest.raises(InvalidTable, match="already has a column 'why', which scoring would add"):
        score_file(model, TableFile(tmp_path / "w.csv"), tmp_path / "x.csv", top=3, decimal=",")


def test_one_score_for_both_is_said():
    words = RowReasons(("age 70",), ("visits 0",), shared=True)
    assert str(words) == "positive: age 70; less likely labelled or positive: visits 0"
    assert str(replace(words, shared=False)) == "positive: age 70; unlabelled: visits 0"
    assert str(RowReasons((), ())) == ""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jerm", "sar-em"])
def test_methods_of_prepared_columns_have_reasons_by_column(clinic, method):
    found = fit_table(clinic, "reported", **ASKED, method=method)
    listed = list_rows(found, 5)
    names = found.schema.names
    for words in row_reasons(found, listed.rows):
        assert words.raising
        assert all(phrase.split()[0] in names for phrase in (*words.raising, *words.hiding))


def test_fits_without_a_table_have_reasons_where_columns_are_known():
    data = make_double_logistic(300, 3, random_state=0)
    model = JERM().fit(data.X, data.labelled)
    dense = row_reasons(summarise_estimator(model, data.X, data.labelled), [0, 5])
    assert dense[0].raising[0].startswith("column ")
    sparse = row_reasons(summarise_estimator(model, sp.csr_array(data.X), data.labelled), [0, 5])
    assert sparse == [RowReasons((), ())] * 2
    assert row_reasons(summarise_estimator(model, data.X, data.labelled), []) == []
    linear = PUClassifier(learners="linear", random_state=0).fit(np.where(data.X > 2, np.nan, data.X), data.labelled)
    gaps = summarise_estimator(linear, np.where(data.X > 2, np.nan, data.X), data.labelled)
    rows = np.flatnonzero(data.X[:, 0] > 2)
    assert any("column 0 missing" in str(each) for each in row_reasons(gaps, rows))


def test_numbers_have_their_unit_with_and_without_the_table(clinic):
    kilos = pa.array([f"{40 + age:.0f} kg" for age in clinic["age"].to_pylist()])
    table = clinic.drop_columns(["age"]).append_column("weight", kilos)
    found = fit_table(table, "reported", id="patient", method="pglin", scar_test=False)
    rows = [i for i, each in enumerate(row_reasons(found, np.arange(600))) if "weight" in str(each)]
    said = [[each.raising for each in row_reasons(found, rows, given)] for given in (None, table)]
    assert said[0] == said[1]
    assert any(f"weight {kilos[row]}" in phrase for row, line in zip(rows, said[0], strict=True) for phrase in line)
