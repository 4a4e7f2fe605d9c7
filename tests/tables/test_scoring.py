"""Files scored batch by batch: the same numbers, the same order, whole or not at all."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute, csv, parquet

from propense.errors import InvalidLabels, InvalidOption, InvalidTable
from propense.tables import TableFile, TableFolder, TableWriter, fit_table, score_file
from propense.tables.formats import csv_files, excel_files, json_files, typed_files
from propense.tables.model import ADDED

pytestmark = pytest.mark.usefixtures("few_simulations")
# What models that have not seen a row say of it is kept with about as many.
SEVEN_DIGITS = 1e-6


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", id="patient", learners="linear")


@pytest.fixture
def small_batches(monkeypatch):
    for module in (csv_files, json_files):
        monkeypatch.setattr(module, "BLOCK", 4096)
    for module in (excel_files, json_files, typed_files):
        monkeypatch.setattr(module, "ROWS", 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "t.xlsx"])
@pytest.mark.parametrize("out", ["o.csv", "o.parquet", "o.csv.gz", "o.jsonl.xz", "o.xlsx"])
def test_every_row_keeps_its_place_and_gets_its_scores(tmp_path, clinic, found, small_batches, name, out):
    with TableWriter(tmp_path / name) as writer:
        writer.write(clinic)
    told = []
    done = score_file(found.model, TableFile(tmp_path / name), tmp_path / out, progress=told.append)
    assert len(told) > 3
    assert told[-1] == done.rows == done.listed == 600
    assert done.labelled == found.labelled.sum()
    assert done.positives == pytest.approx(found.expected.sum())
    back = TableFile(tmp_path / out).read()
    assert back.column_names == [*clinic.column_names, "posterior", "propensity", "hidden"]
    assert back.column("patient").to_pylist() == clinic.column("patient").to_pylist()
    for column in ("posterior", "propensity", "hidden"):
        values = [float(cell) for cell in back.column(column).to_pylist()]
        np.testing.assert_allclose(values, getattr(found.scores, column), rtol=SEVEN_DIGITS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, out])


@pytest.mark.parametrize("top", [None, 40])
def test_a_folder_is_scored_as_its_table(tmp_path, clinic, found, top):
    (tmp_path / "clinic" / "later").mkdir(parents=True)
    parquet.write_table(clinic, tmp_path / "whole.parquet")
    parquet.write_table(clinic.slice(0, 250), tmp_path / "clinic" / "a.parquet", row_group_size=200)
    parquet.write_table(clinic.slice(250), tmp_path / "clinic" / "later" / "b.parquet")
    whole = score_file(found.model, TableFile(tmp_path / "whole.parquet"), tmp_path / "o.parquet", top=top)
    pieces = TableFolder(tmp_path / "clinic")
    done = score_file(found.model, pieces, tmp_path / "p.parquet", top=top)
    assert (done.rows, done.labelled, done.listed) == (600, whole.labelled, whole.listed)
    assert str(done.promise) == str(whole.promise)
    one, other = (parquet.read_table(tmp_path / name) for name in ("o.parquet", "p.parquet"))
    scores = ["posterior", "propensity", "hidden"]
    for name in scores:
        # Products over other numbers of rows may round differently.
        np.testing.assert_allclose(other[name], one[name], rtol=1e-12)
    assert other.drop_columns(scores).equals(one.drop_columns(scores))
    # It would be read as a part of the table the next time.
    for name in ("a.parquet", "later/new.parquet"):
        with pytest.raises(InvalidTable, match=r"parquet is a part of the table, which is not overwritten"):
            score_file(found.model, pieces, tmp_path / "clinic" / name, top=top)
    score_file(found.model, pieces, tmp_path / "clinic" / "list.csv", top=top)
    assert TableFolder(tmp_path / "clinic").rows == 600


def test_text_is_written_as_it_was_read(tmp_path, clinic, found):
    """Also in columns that the model does not use: 007 stays 007, NA stays NA."""
    rows = clinic.slice(0, 3).append_column("ward", pa.array(["007", "NA", "1.50"]))
    csv.write_csv(rows, tmp_path / "t.csv")
    score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert TableFile(tmp_path / "o.csv").read().column("ward").to_pylist() == ["007", "NA", "1.50"]


def test_the_review_list_holds_the_unlabelled_rows_most_likely_positive(tmp_path, clinic, found, small_batches):
    csv.write_csv(clinic, tmp_path / "t.csv")
    done = score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", top=20)
    unlabelled = np.flatnonzero(~found.labelled)
    best = unlabelled[np.argsort(-found.scores.hidden[unlabelled], kind="stable")[:20]]
    listed = TableFile(tmp_path / "o.csv").read()
    assert listed.column("patient").to_pylist() == [f"p{i}" for i in best]
    assert done.listed == 20
    # Two digits, as in the list of a fit. A whole table has all of them.
    for name in ADDED:
        shown = getattr(found.scores, name)[best].clip(0.01, 0.99).round(2).tolist()
        assert listed.column(name).to_pylist() == [str(each) for each in shown]
    score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "whole.csv")
    whole = csv.read_csv(tmp_path / "whole.csv")["hidden"].to_numpy()[best]
    np.testing.assert_allclose(whole, found.scores.hidden[best], rtol=SEVEN_DIGITS)
    assert done.promise.expected == pytest.approx(found.scores.hidden[best].sum())
    assert (done.promise.rows, done.fitted) == (20, 600)


@pytest.mark.slow
def test_a_list_is_empty_if_every_row_is_labelled(tmp_path, clinic):
    """Trees refuse a table without rows."""
    fitted = fit_table(clinic, "reported", id="patient", scar_test=False).model
    csv.write_csv(clinic.filter(compute.equal(clinic.column("reported"), "yes")), tmp_path / "t.csv")
    done = score_file(fitted, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", top=5)
    assert done.listed == 0
    written = csv.read_csv(tmp_path / "o.csv")
    assert (written.num_rows, written.column_names[-1]) == (0, "why")


def test_without_a_label_column_every_row_is_unlabelled(tmp_path, clinic, found):
    csv.write_csv(clinic.drop_columns(["reported"]), tmp_path / "t.csv")
    done = score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", top=1000)
    assert (done.labelled, done.listed) == (0, 600)
    assert done.positives == pytest.approx(found.scores.hidden.sum())


def test_levels_that_are_not_in_the_fit_are_counted(tmp_path, clinic, found):
    csv.write_csv(clinic.set_column(2, "sex", pa.array(["F"] * 100 + ["f"] * 500)), tmp_path / "t.csv")
    assert score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv").new_levels == {"sex": 100}


def test_a_spreadsheet_gets_back_its_own_kind_of_file(tmp_path, clinic, found):
    """Semicolons, decimal commas and the byte order mark: the same scores, in the same kind of file."""
    rows = clinic.to_pylist()
    lines = [";".join(clinic.column_names)]
    for row in rows:
        cells = ["" if cell is None else str(cell) for cell in row.values()]
        lines.append(";".join(cell.replace(".", ",") for cell in cells))
    (tmp_path / "t.csv").write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8", newline="")
    done = score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", decimal=",")
    assert done.positives == pytest.approx(found.expected.sum())
    written = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert written.replace('"', "").startswith("\ufeffpatient;age;")
    back = TableFile(tmp_path / "o.csv").read()
    assert back.column("age").to_pylist()[0] == str(rows[0]["age"]).replace(".", ",")
    # Its own columns have the decimal sign of the table.
    for name in ("posterior", "propensity", "hidden"):
        cells = back.column(name).to_pylist()
        assert not any("." in cell for cell in cells)
        values = [float(cell.replace(",", ".")) for cell in cells]
        np.testing.assert_allclose(values, getattr(found.scores, name), rtol=SEVEN_DIGITS)


def test_labels_may_differ_in_case_but_not_in_value(tmp_path, clinic, found):
    said = np.where(found.labelled, "YES", "")
    csv.write_csv(clinic.set_column(6, "reported", pa.array(said)), tmp_path / "t.csv")
    done = score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert done.labelled == found.labelled.sum()
    csv.write_csv(clinic.set_column(6, "reported", pa.array(np.where(found.labelled, "1", "0"))), tmp_path / "t.csv")
    with pytest.raises(InvalidLabels, match=r"column 'reported', row 1: '0' is not 'yes' or empty"):
        score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")


def test_the_naive_method_cannot_list_rows_to_review(tmp_path, clinic):
    csv.write_csv(clinic, tmp_path / "t.csv")
    naive = fit_table(clinic, "reported", id="patient", method="naive").model
    with pytest.raises(InvalidOption, match="cannot list rows to review"):
        score_file(naive, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv", top=5)


def test_a_score_that_is_not_a_number_is_not_written(tmp_path, clinic, small_batches):
    """Coefficients at the end of float64: their products are +inf and −inf."""
    csv.write_csv(clinic, tmp_path / "t.csv")
    model = fit_table(clinic, "reported", id="patient", method="lbe").model
    model.estimator._propensity.coef[1:] = 1e308 * np.resize([1, -1], len(model.estimator._propensity.coef) - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        row = 1 + int(np.flatnonzero(np.isnan(model.score(clinic).propensity))[0])
    with pytest.raises(InvalidTable, match=rf"t\.csv, column 'propensity', row {row}: the model gives a score that is"):
        score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_what_cannot_be_scored_writes_nothing(tmp_path, clinic, found):
    cases = {
        "lacks.csv": (
            clinic.drop_columns(["bmi", "sex"]),
            "these columns, which the model needs: 'sex', 'bmi'",
        ),
        "wrong.csv": (
            clinic.set_column(1, "age", pa.array(["x"] * 600)),
            "wrong.csv, column 'age', row 1: 'x' is not a number",
        ),
        "taken.csv": (clinic.append_column("hidden", pa.array([0] * 600)), "already has a column 'hidden'"),
    }
    for name, (table, words) in cases.items():
        csv.write_csv(table, tmp_path / name)
        with pytest.raises(InvalidTable, match=words):
            score_file(found.model, TableFile(tmp_path / name), tmp_path / "o.csv")
    csv.write_csv(clinic, tmp_path / "t.csv")
    before = (tmp_path / "t.csv").read_bytes()
    with pytest.raises(InvalidTable, match="is the table itself"):
        score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(before + b"p600,1,f,2,true\n")
    with pytest.raises(InvalidTable, match="line 602: 5 cells under 7 names"):
        score_file(found.model, TableFile(tmp_path / "t.csv"), tmp_path / "o.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*cases, "t.csv"])
