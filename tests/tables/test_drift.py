"""Rows to score that are spread otherwise than the rows of fit are said to be, and others are not."""

import copy
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import propense
from clinic import make_clinic
from propense.errors import ModelFileError
from propense.tables import Drift, MovedColumn, Schema, TableFile, fit_table, score_file
from propense.tables.drift import DriftWatch, is_seen, summarise_columns
from propense.tables.schema import Column
from propense.tables.scoring import _promise

OPTIONS = {"id": "patient", "method": "pglin", "scar_test": False}


@pytest.fixture(scope="module")
def model(clinic):
    return fit_table(clinic, "reported", **OPTIONS).model


def older(table, years):
    place = table.column_names.index("age")
    return table.set_column(place, "age", pa.array(np.array(table.column("age")) + years))


def test_rows_like_those_of_the_fit_have_not_moved(clinic, model):
    assert model.drift(clinic).columns == ()
    assert str(model.drift(make_clinic(seed=7)[0])) == "The rows are spread like those of the fit."
    assert model.drift(make_clinic(n=20, seed=7)[0]).columns == ()


def test_rows_that_moved_are_said_and_no_number_is_promised(clinic, model, tmp_path):
    moved = older(make_clinic(n=462, seed=1)[0], 30)
    found = model.drift(moved)
    assert [column.name for column in found.columns] == ["age"]
    assert found.much
    csv.write_csv(moved, tmp_path / "t.csv")
    done = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert done.drift == found
    words = str(done.promise)
    assert words.startswith("No number of positives is given")
    assert "in 'age'" in words
    above = float(str(found.columns[0]).split(" are above ")[1].split(";")[0])
    said = [
        int(word) / 100 for word in re.findall(r"(\d+)% of|(\d+)% were", str(found.columns[0])) for word in word if word
    ]
    true = [np.mean(np.array(each.column("age")) > above) for each in (moved, clinic)]
    np.testing.assert_allclose(said, true, atol=0.0051)


def test_no_number_is_promised_after_an_audit_either(model):
    # Sums of five numbers and of the slopes of the correction.
    moved = Drift(300, (MovedColumn("age", 0.6, "…"),))
    corrected = replace(model, estimator=copy.copy(model.estimator))
    corrected.estimator.audit_ = True
    promise = _promise(corrected, np.ones(8), 0, moved)
    assert promise.unpromised == "they differ much from the rows of the fit in 'age'"


def test_batches_count_as_one_table(model, tmp_path):
    moved = older(make_clinic(n=300, seed=1)[0], 15)
    parquet.write_table(moved, tmp_path / "t.parquet", row_group_size=7)
    done = score_file(model, TableFile(tmp_path / "t.parquet"), tmp_path / "o.csv", top=5)
    assert done.drift == model.drift(moved)
    watch = DriftWatch(model.schema, model.seen)
    matrix = model.schema.encode(model.schema.read(moved, "t"))
    for start in range(0, 300, 11):
        watch.add(matrix[start : start + 11])
    assert watch.result() == model.drift(moved)


@pytest.mark.parametrize(
    ("column", "cells", "words"),
    [
        ("bmi", [None] * 300, "bmi: 100% of the cells are empty; at the fit, "),
        ("sex", ["f"] * 300, "sex: 100% of the rows are 'f'; at the fit, 5"),
        ("sex", ["x"] * 300, "sex: 100% of the cells hold a category that was not in the fit"),
        ("region", [None] * 300, "region: 100% of the rows are empty; at the fit, "),
        ("smoker", [True] * 300, "smoker: 100% of the rows are true; at the fit, "),
        ("bmi", [90.0] * 300, "bmi: 100% of the rows are above "),
    ],
)
def test_what_moved_is_said_in_words(model, column, cells, words):
    table = make_clinic(n=300, seed=2)[0]
    kind = table.schema.field(column).type
    found = model.drift(table.set_column(table.column_names.index(column), column, pa.array(cells, kind)))
    assert str(found.columns[0]).startswith(words)


def test_a_date_that_moved_on_is_said_but_does_not_withhold_the_number(rng):
    schema = Schema((Column("when", "date"), Column("stay", "duration")))
    matrix = np.column_stack([rng.integers(18000, 18365, 500), rng.exponential(3, 500)])
    watch = DriftWatch(schema, summarise_columns(schema, matrix))
    watch.add(np.column_stack([matrix[:, 0] + 365, matrix[:, 1]]))
    found = watch.result()
    assert str(found.columns[0]).startswith("when: 100% of the rows are after 20")
    assert not found.much
    watch.add(np.column_stack([matrix[:, 0], matrix[:, 1] * 100]))
    assert watch.result().much
    assert "stay: " in str(watch.result())


def test_no_value_of_a_few_rows_is_kept(rng):
    schema = Schema((Column("x", "number"), Column("rare", "number")))
    values = np.append(rng.normal(0, 1, 495), [1234.5678] * 5)
    seen = summarise_columns(schema, np.column_stack([values, np.where(np.arange(500) < 6, np.pi, np.nan)]))
    for each in seen:
        parts = each.counts[1:]
        assert all(count == 0 or count >= 10 for count in parts) or len(each.cuts) == 0
        assert not {1234.5678, np.pi} & set(each.cuts.tolist())
    assert len(seen[0].cuts) == 11
    assert not set(seen[0].cuts.tolist()) & set(values.tolist())
    assert summarise_columns(schema, np.zeros((19, 2))) is None


def test_a_model_file_keeps_what_was_seen_and_earlier_files_have_nothing(model, clinic, tmp_path):
    propense.save(model, tmp_path / "m.propense")
    again = propense.load(tmp_path / "m.propense")
    moved = older(clinic, 30)
    assert again.drift(moved) == model.drift(moved)
    old = replace(model, seen=None)
    assert "cannot be compared" in str(old.drift(moved))
    assert not old.drift(moved).much
    csv.write_csv(moved, tmp_path / "t.csv")
    propense.save(old, tmp_path / "old.propense")
    done = score_file(propense.load(tmp_path / "old.propense"), TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert not done.drift.checked


HOSTILE = {
    "no tuple": lambda seen: 7,
    "one too few": lambda seen: seen[1:],
    "cuts that fall": lambda seen: (replace(seen[0], cuts=seen[0].cuts[::-1].copy()), *seen[1:]),
    "negative counts": lambda seen: (replace(seen[0], counts=-seen[0].counts), *seen[1:]),
    "too many counts": lambda seen: (replace(seen[0], counts=np.append(seen[0].counts, 1)), *seen[1:]),
    "huge counts": lambda seen: (replace(seen[0], counts=seen[0].counts + 2**60), *seen[1:]),
    "not finite": lambda seen: (replace(seen[0], cuts=seen[0].cuts * np.nan), *seen[1:]),
    "words": lambda seen: (replace(seen[0], cuts="a", counts="b"), *seen[1:]),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_summaries_that_do_not_match_the_columns_are_refused(model, change, tmp_path):
    with pytest.raises(ModelFileError, match="not valid"):
        propense.save(replace(model, seen=change(model.seen)), tmp_path / "m.propense")


def test_a_cut_that_is_not_a_day_is_refused():
    column, counts = Column("when", "date"), np.array([0, 10, 10])
    assert is_seen(column, np.array([18_000.0]), counts)
    assert not is_seen(column, np.array([1e300]), counts)
    assert is_seen(Column("x", "number"), np.array([1e300]), counts)


@pytest.mark.parametrize("words", ["na", ("na", 3), ("na",), ("", "\ud800")])
def test_words_for_missing_cells_in_a_file_must_be_words(model, words, tmp_path):
    with pytest.raises(ModelFileError, match="not valid"):
        propense.save(replace(model, schema=replace(model.schema, missing=words)), tmp_path / "m.propense")


@pytest.mark.parametrize("form", ["unit:\x1b", "unit:" + "x" * 99, "d.m", "import os", 3, "m/d/y"])
def test_forms_of_columns_in_a_file_must_be_known(model, form, tmp_path):
    first, *rest = model.schema.columns
    assert first.kind == "number"
    schema = replace(model.schema, columns=(replace(first, form=form), *rest))
    with pytest.raises(ModelFileError, match="not valid"):
        propense.save(replace(model, schema=schema), tmp_path / "m.propense")
