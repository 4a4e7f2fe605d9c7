"""Tables as people have them, on the command line: German numbers, units, dates, ids, copies, rows that moved."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from clinic import make_clinic
from command import call

LINEAR = ("--learners", "linear", "--no-scar-test")


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """A German export with units, limits, dates, durations, an id that nobody names, and remarks."""
    rng = np.random.default_rng(0)
    clinic = make_clinic(500)[0]
    bmi = [f"{each:.1f} kg/m2".replace(".", ",") for each in rng.normal(27, 4, 500)]
    crp = [f"<{each}" if each < 5 else str(each) for each in rng.integers(1, 60, 500)]
    days = [np.datetime64("2021-01-01") + each for each in rng.integers(0, 700, 500)]
    table = pa.table(
        {
            "Fall_ID": 10_000 + 7 * rng.permutation(500),
            "Alter": [str(each).replace(".", ",") for each in clinic.column("age").to_pylist()],
            "BMI": bmi,
            "CRP": crp,
            "Aufnahme": [".".join(reversed(str(day).split("-"))) for day in days],
            "Liegedauer": [f"{each} Tage" for each in rng.integers(1, 30, 500)],
            "Symptom": rng.choice(["none", "mild", "stark"], 500),
            "Bemerkung": [f"Text {i}" for i in range(500)],
            "gemeldet": np.where(np.array(clinic.column("reported")) == "yes", "ja", "nein"),
        }
    )
    folder = tmp_path_factory.mktemp("messy")
    csv.write_csv(table, folder / "fall.csv", csv.WriteOptions(delimiter=";"))
    return folder / "fall.csv", table


def test_a_messy_table_is_read_and_said_and_scored_alike(messy, tmp_path):
    path, _ = messy
    model = tmp_path / "m.propense"
    status, out, err = call("fit", path, "--label", "gemeldet", "--decimal", ",", "--model", model, *LINEAR)
    assert (status, err) == (0, "")
    for words in (
        "numbers: Alter, BMI (kg/m2), CRP\n",
        "dates, in days: Aufnahme (d.m.y)\n",
        "durations, in days: Liegedauer\n",
        "Note: The column 'Fall_ID' has a different whole number in every row and was left out. Pass --id 'Fall_ID'",
        "Note: The column 'Bemerkung' has a different text in every row and was left out.",
        "Note: Cells that say 'none' were read as missing: ",
        "pass --no-missing-words.",
        "with a limit or a rough value, such as '<",
    ):
        assert words in out
    assert "BMI='number (kg/m2)'" in call("inspect", model).stdout
    scored = call("score", path, "--model", model, "--out", tmp_path / "o.csv", "--decimal", ",")
    assert (scored.returncode, scored.stderr) == (0, "")
    assert "Changed since the fit" not in scored.stdout


def test_words_for_missing_can_be_chosen(messy, tmp_path):
    path, _ = messy
    model = tmp_path / "m.propense"
    options = ("--label", "gemeldet", "--decimal", ",", "--no-missing-words", "--missing", "stark,weg", *LINEAR)
    out = call("fit", path, *options, "--model", model).stdout
    assert "'none'" not in out
    assert "Note: The word 'weg' of --missing is in no column." in out
    assert "Note: Cells that say 'stark' were read as missing: " in out


def test_all_problems_are_one_line(messy):
    path, _ = messy
    ended = call("fit", path, "--label", "gemeldt", "--drop", "Altr", "--dates", "dmy")
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    for words in (
        "has 4 problems: (1) has no column 'gemeldt' (--label). Did you mean 'gemeldet'? (2) has no column 'Altr'",
        "(3) column 'Alter': most cells look like numbers",
        "give the decimal sign (--decimal ',' or --decimal '.')",
    ):
        assert words in ended.stderr
    wrong = call("fit", path, "--label", "gemeldet", "--dates", "x").stderr
    assert wrong == "Error: --dates 'x' is not dmy or mdy.\n"


def test_copies_are_refused_or_dropped_as_asked(tmp_path):
    clinic = make_clinic(300)[0].drop_columns(["patient"])
    csv.write_csv(pa.concat_tables([clinic, clinic]), tmp_path / "t.csv")
    fit = ("fit", tmp_path / "t.csv", "--label", "reported", *LINEAR)
    ended = call(*fit)
    assert ended.returncode == 2
    assert "holds every row exactly twice" in ended.stderr
    assert "Pass --duplicates 'drop' to fit each row once, or --duplicates 'keep'" in ended.stderr
    out = call(*fit, "--duplicates", "drop", "--list", tmp_path / "l.csv").stdout
    assert "t.csv: 300 rows" in out
    assert "300 rows repeat an earlier row in every column and were left out" in out
    assert csv.read_csv(tmp_path / "l.csv").num_rows == 50


def test_rows_that_moved_are_said_and_get_no_bare_number(tmp_path):
    clinic, moved = make_clinic(600)[0], make_clinic(462, seed=1)[0]
    moved = moved.set_column(1, "age", pa.array(np.array(moved.column("age")) + 30))
    csv.write_csv(clinic, tmp_path / "t.csv")
    csv.write_csv(moved.drop_columns(["patient"]), tmp_path / "new.csv")
    model = tmp_path / "m.propense"
    call("fit", tmp_path / "t.csv", "--label", "reported", "--id", "patient", "--model", model, *LINEAR)
    for more in ((), ("--top", "20")):
        out = call("score", tmp_path / "new.csv", "--model", model, "--out", tmp_path / "o.csv", *more).stdout
        assert "Changed since the fit: age: " in out
        assert "No number of positives is given for" in out
        assert "expected to be positive" not in out
