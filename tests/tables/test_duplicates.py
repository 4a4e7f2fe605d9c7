"""Rows and ids that occur several times are said, and nothing is repaired in silence."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from propense.errors import InvalidOption, InvalidTable
from propense.tables import capacity, fit_table, list_rows
from propense.tables.duplicates import find_repeats, folds_of_ids
from propense.tables.row_names import row_numbers, says_id
from propense.tables.schema import Column

pytestmark = pytest.mark.usefixtures("few_simulations")
QUICK = {"method": "pglin", "scar_test": False}


@pytest.fixture(scope="module")
def unnamed(clinic):
    return clinic.drop_columns(["patient"])


def test_a_table_stacked_on_itself_is_an_error_with_two_ways_out(unnamed):
    twice = pa.concat_tables([unnamed, unnamed])
    with pytest.raises(InvalidTable, match=r"t holds every row exactly twice.*rows 1 and 601 .*duplicates='drop'"):
        fit_table(twice, "reported", where="t", **QUICK)
    once = fit_table(unnamed, "reported", **QUICK)
    dropped = fit_table(twice, "reported", duplicates="drop", **QUICK)
    assert dropped.estimator.prior_ == once.estimator.prior_
    assert "600 rows repeat an earlier row in every column and were left out, such as row 601." in dropped.notes
    kept = fit_table(twice, "reported", duplicates="keep", **QUICK)
    assert (kept.counts.rows, dropped.counts.rows) == (1200, 600)
    with pytest.raises(InvalidOption, match="duplicates='both' is not drop or keep"):
        fit_table(twice, "reported", duplicates="both")


def test_a_stacked_table_whose_rows_were_numbered_anew_is_noted(clinic, unnamed):
    twice = pa.concat_tables([unnamed, unnamed]).append_column("patient", pa.array([f"p{i}" for i in range(1200)]))
    notes = fit_table(twice, "reported", id="patient", **QUICK).notes
    assert notes[0].startswith("Apart from 'patient', every row is there exactly twice, such as rows 1 and 601.")
    assert not any("Apart" in note for note in fit_table(clinic, "reported", id="patient", **QUICK).notes)
    assert not any("Apart" in n for n in fit_table(twice, "reported", id="patient", duplicates="keep", **QUICK).notes)


def test_some_copies_are_noted_with_an_example(unnamed):
    some = pa.concat_tables([unnamed, unnamed.slice(10, 30)])
    notes = fit_table(some, "reported", **QUICK).notes
    assert any(
        note.startswith("30 rows (4.8%) repeat an earlier row in every column, such as rows 11 and 601")
        for note in notes
    )
    assert not any("repeat" in note for note in fit_table(some, "reported", duplicates="keep", **QUICK).notes)


def test_rows_that_are_listed_are_those_of_the_table_as_it_was_given(unnamed):
    mixed = pa.concat_tables([unnamed.slice(0, 5), unnamed])
    found = fit_table(mixed, "reported", duplicates="drop", **QUICK)
    review = list_rows(found, 20)
    ages = review.take(mixed).column("age").to_pylist()
    once = list_rows(fit_table(unnamed, "reported", **QUICK), 20)
    assert ages == once.take(unnamed).column("age").to_pylist()
    assert found.ids[5] == "11"


@pytest.mark.parametrize("values", [2, 3, 5])
def test_rows_alike_by_chance_do_not_alarm(values, rng):
    table = pa.table({f"x{j}": rng.integers(0, values, 800) for j in range(5)} | {"s": rng.random(800) < 0.2})
    assert not find_repeats(table).first.all()
    assert find_repeats(table).copies == 0
    # But a copy of the whole table does.
    assert find_repeats(pa.concat_tables([table, table])).times % 2 == 0


def test_cells_of_any_type_are_compared(rng):
    table = pa.table(
        {
            "list": [[i, None] for i in range(30)],
            "bytes": pa.array([bytes([i]) for i in range(30)]),
            "word": pa.array([str(i) for i in range(30)]).dictionary_encode(),
            "none": pa.nulls(30),
        }
    )
    assert find_repeats(table).first.all()
    assert find_repeats(pa.concat_tables([table, table.slice(3, 1)])).example == (4, 31)


@pytest.mark.slow
def test_an_id_that_names_several_rows_is_noted_and_kept_in_one_fold(clinic):
    ids = pa.array([f"p{i // 3}" if i < 300 else f"q{i}" for i in range(600)])
    repeated = clinic.set_column(0, "patient", ids)
    found = fit_table(repeated, "reported", id="patient", scar_test=False)
    note = next(note for note in found.notes if "name more than one row" in note)
    assert note.startswith(
        "100 of the 400 values of the id 'patient' name more than one row, such as 'p0', which names 3."
    )
    assert "Their rows differ, as repeated measurements do" in note
    assert "ranges are too narrow" in note
    assert "in the same fold" in note
    # Folds are as long as the table, and not kept.
    assert found.estimator.cv is None
    assert not any("more than one row" in note for note in fit_table(clinic, "reported", id="patient", **QUICK).notes)
    seen = fit_table(repeated, "reported", id="patient", method="pglin", scar_test=False)
    assert "in the same fold" not in " ".join(seen.notes)


def test_folds_keep_the_rows_of_an_id_together(rng):
    ids = np.array([f"p{i}" for i in rng.integers(0, 60, 300)] + [""] * 50, dtype=object)
    labelled = rng.random(350) < 0.3
    folds = folds_of_ids(ids, labelled, 5, seed=0)
    scored = np.concatenate([score for _, score in folds])
    assert sorted(scored.tolist()) == list(range(350))
    for fit, score in folds:
        assert not set(ids[fit]) & set(ids[score]) - {""}
    assert folds_of_ids(np.arange(350).astype(str).astype(object), labelled, 5, seed=0) is None
    assert folds_of_ids(np.array(["one"] * 350, dtype=object), labelled, 5, seed=0) is None


def test_a_column_that_names_the_rows_is_left_out_and_said(unnamed, rng):
    table = unnamed.append_column("patient_id", pa.array(rng.permutation(600) * 7 + 1000))
    table = table.append_column("line", pa.array(range(600)))
    found = fit_table(table, "reported", **QUICK)
    assert not {"patient_id", "line"} & set(found.schema.names)
    notes = " ".join(found.notes)
    assert "The column 'patient_id' has a different whole number in every row and was left out." in notes
    assert "The column 'line' counts the rows one by one and was left out. Pass id='line'" in notes
    kept = fit_table(table, "reported", keep=["line", "patient_id"], **QUICK)
    assert {"patient_id", "line"} <= set(kept.schema.names)
    np.testing.assert_array_equal(found.scores.hidden, fit_table(unnamed, "reported", **QUICK).scores.hidden)


def test_numbers_that_may_name_rows_are_noted_and_used(rng):
    columns = [Column(name, "number") for name in ("stored", "shuffled", "customer_id", "amount", "epoch", "rank2")]
    matrix = np.column_stack(
        [
            np.sort(rng.choice(10**6, 200, replace=False)),
            rng.permutation(200),
            rng.integers(0, 100, 200),
            rng.choice(10**6, 200, replace=False),
            np.sort(rng.choice(10**9, 200, replace=False)),
            np.round(rng.normal(0, 1e6, 200), 1),
        ]
    ).astype(float)
    left, notes = row_numbers(columns, matrix)
    assert left == []
    assert [note.split("'")[1] for note in notes] == ["stored", "shuffled", "customer_id"]


@pytest.mark.parametrize(
    "name", ["id", "ID", "patient_id", "customerId", "PatientID", "record id", "uuid", "patientid"]
)
def test_names_that_say_id(name):
    assert says_id(name)


@pytest.mark.parametrize("name", ["age", "paid", "acid", "humidity", "width", "number_of_children", "kidney", "video"])
def test_names_that_do_not_say_id(name):
    assert not says_id(name)


@pytest.mark.slow
def test_reports_and_capacities_speak_of_the_rows_of_the_table_as_it_was_given(unnamed):
    from propense.report import gather_fit

    mixed = pa.concat_tables([unnamed.slice(0, 300), unnamed])
    options = {"scar_test": False, "parameters": {"learners": [LogisticRegression()], "cv": 2}}
    once = fit_table(unnamed, "reported", **options)
    dropped = fit_table(mixed, "reported", duplicates="drop", **options)
    lines = [gather_fit(each, "t").review.lines for each in (once, dropped)]
    shifted = [[str(row if row <= 300 else row + 300), *rest] for row, *rest in ([int(c), *r] for c, *r in lines[0])]
    assert lines[1] == shifted
    assert capacity(dropped).rows.tolist() == list_rows(dropped, 600).rows.tolist()
    assert gather_fit(dropped, "t").review.head[0] == "row"


def test_repeated_rows_of_texts_that_arrow_cannot_select_are_left_out(unnamed):
    sexes = unnamed.column("sex").cast(pa.string_view())
    views = unnamed.set_column(unnamed.column_names.index("sex"), "sex", sexes)
    found = fit_table(pa.concat_tables([views, views]), "reported", duplicates="drop", **QUICK)
    assert found.counts.rows == 600
