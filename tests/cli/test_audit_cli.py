"""`propense audit draw` and `read`, run as a user runs them, also with wrong input."""

import html
import json
import re
import shlex

import pyarrow as pa
import pytest
from pyarrow import csv

from clinic import make_clinic
from command import call
from propense.tables import TableFile, TableWriter

pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, clinic):
    """The clinic's table, a model of it, and a draw with its verdicts."""
    folder = tmp_path_factory.mktemp("audit")
    csv.write_csv(clinic, folder / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test"
    assert call("fit", "t.csv", *asked, "--model", "m.propense", cwd=folder).returncode == 0
    asked = "t.csv", "--model", "m.propense", "--size", 120, "--seed", 1, "--out", "drawn.csv"
    ended = call("audit", "draw", *asked, cwd=folder)
    assert ended == (
        0,
        "Wrote 120 rows to drawn.csv, in random order. Fill in the column verdict: yes, no, or ? if you cannot say. "
        "Keep the last three columns.\nThen: propense audit read drawn.csv --table t.csv --model m.propense\n",
        "",
    )
    fill(folder / "drawn.csv", folder / "check.csv")
    return folder


def fill(source, out, words=("yes", "no")):
    truth, table = make_clinic()[1], TableFile(source).read()
    told = [words[0 if truth[int(name[1:])] else 1] for name in table["patient"].to_pylist()]
    csv.write_csv(table.set_column(1, "verdict", pa.array(told)), out)


READ = ("--table", "t.csv", "--model", "m.propense")


@pytest.mark.slow
def test_an_audit_is_one_json_object(folder, clinic):
    ended = call("audit", "read", "check.csv", *READ, "--json", "--confidence", 90, cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert list(found) == [
        *("command", "version", "verdicts", "positives", "hidden", "label_frequency", "list", "cannot_say", "model"),
        *("advice", "confidence", "files"),
    ]
    assert found["confidence"] == pytest.approx(0.9)
    assert found["verdicts"]["drawn"] == 120 == found["verdicts"]["positive"] + found["verdicts"]["negative"]
    for name in ("positives", "hidden", "label_frequency"):
        assert found[name]["low"] < found[name]["estimate"] < found[name]["high"]
    assert found["positives"]["low"] < make_clinic()[1].mean() < found["positives"]["high"]
    assert [each["length"] for each in found["list"]] == [50, 100, 200]
    assert found["list"][0]["recall"]["estimate"] < found["list"][2]["recall"]["estimate"]
    assert found["advice"][0]["more"] == 50
    assert found["advice"][0]["width"] < found["positives"]["high"] - found["positives"]["low"]
    wide = json.loads(call("audit", "read", "check.csv", *READ, "--json", cwd=folder).stdout)
    assert wide["positives"]["estimate"] == found["positives"]["estimate"]
    assert wide["positives"]["high"] > found["positives"]["high"]


@pytest.mark.slow
def test_an_audit_is_said_in_words_and_corrects_the_model(folder, tmp_path):
    asked = "audit", "read", "check.csv", *READ
    found = json.loads(call(*asked, "--json", cwd=folder).stdout)
    ended = call(*asked, "--save", tmp_path / "c.propense", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    ends = found["positives"]
    shares = f"{ends['estimate']:.1%} ({ends['low']:.1%} to {ends['high']:.1%})"
    assert f"Positive rows, of all rows: {shares}. In brackets: the 95% interval" in ended.stdout
    low, high = found["model"]["range"]
    assert low < found["model"]["positives"] < high
    assert f"The model alone said {low:.1%} to {high:.1%}, with " in ended.stdout
    assert "  first 50: " in ended.stdout
    assert f"points wide after {found['verdicts']['drawn']} verdicts; about " in ended.stdout
    words = f"{ends['estimate']:.1%} positive rows (95% interval {ends['low']:.1%} to {ends['high']:.1%})"
    assert f"The corrected model gives {words}: unlabelled rows are " in ended.stdout
    bytes_before = (tmp_path / "c.propense").read_bytes()
    assert call(*asked, "--save", tmp_path / "c.propense", "--json", cwd=folder).stdout.startswith("{")
    assert (tmp_path / "c.propense").read_bytes() == bytes_before
    shown = call("inspect", tmp_path / "c.propense").stdout
    assert f"audit:               120 rows were checked: {found['verdicts']['positive']} positive" in shown
    assert f"The share of positives is {shares}; without the audit the model said" in shown
    asked = "score", folder / "t.csv", "--model", tmp_path / "c.propense", "--out", tmp_path / "l.csv", "--top", 50
    ended = call(*asked)
    assert "120 unlabelled rows have a verdict from the audit" in ended.stdout
    assert "Of these 50 rows, about" in ended.stdout
    assert "chance in the verdicts of the audit" in ended.stdout
    more = tmp_path / "more.csv"
    asked = "audit", "draw", folder / "t.csv", "--model", tmp_path / "c.propense", "--out", more, "--size", 1000
    ended = call(*asked)
    labelled = TableFile(folder / "t.csv").read()["reported"].to_pylist().count("yes")
    assert f"Note: Only {600 - labelled - 120} unlabelled rows were left to draw." in ended.stdout
    checked = set(TableFile(folder / "check.csv").read()["patient"].to_pylist())
    assert checked.isdisjoint(TableFile(more).read()["patient"].to_pylist())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--confidence", 0.95), "--confidence 0.95: give per cent"),
        (("--positive", "sick"), "Write sick, no or ? (cannot say), or say what the word means: --positive 'yes' or"),
        (("--save", "m.propense"), "--save m.propense is also read"),
        (("--save", "check.csv"), "--save check.csv is also read"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_nothing_is_written(folder, asked, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, out, err = call("audit", "read", "check.csv", *READ, *asked, cwd=folder)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_file_of_another_model_is_one_line_and_nothing_is_written(folder, tmp_path):
    asked = "--label", "reported", "--id", "patient", "--method", "pglin", "--no-scar-test"
    call("fit", folder / "t.csv", *asked, "--model", tmp_path / "other.propense")
    asked = "--table", folder / "t.csv", "--model", tmp_path / "other.propense", "--save", tmp_path / "c.propense"
    status, out, err = call("audit", "read", folder / "check.csv", *asked, "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (2, "InvalidTable")
    assert err.startswith(f"Error: {folder / 'check.csv'} was drawn with another model. Pass the model file that")
    assert err.count("\n") == 1
    assert not (tmp_path / "c.propense").exists()


def test_the_direction_of_the_correction_is_said(folder, tmp_path):
    for word, way in (("yes", "more often"), ("no", "less often")):
        fill(folder / "drawn.csv", tmp_path / "all.csv", (word, word))
        ended = call("audit", "read", tmp_path / "all.csv", *READ, "--save", tmp_path / "c.propense", cwd=folder)
        assert f"unlabelled rows are {way} positive than the model said" in ended.stdout
        # Without a positive among the verdicts, nothing is known of the share that a list finds.
        assert ("; not known (0.0% to 100.0%)" in ended.stdout) is (word == "no")


def test_rows_that_did_not_come_back_are_open(folder, tmp_path):
    csv.write_csv(TableFile(folder / "check.csv").read().slice(0, 70), tmp_path / "part.csv")
    ended = call("audit", "read", tmp_path / "part.csv", *READ, cwd=folder)
    assert ended.stdout.startswith("120 rows were drawn: ")
    assert " 50 open.\nNote: 50 of the open rows are in no file.\n" in ended.stdout


def test_half_a_file_without_a_negative_verdict_gets_a_note(folder, tmp_path):
    table = TableFile(folder / "drawn.csv").read()
    csv.write_csv(table.set_column(1, "verdict", pa.array(["yes"] * 9 + [""] * 111)), tmp_path / "some.csv")
    asked = "audit", "read", tmp_path / "some.csv", *READ
    assert "Note: No verdict is negative, and open rows count as not checked." in call(*asked, cwd=folder).stdout
    assert "Note: No verdict is negative" not in call(*asked, "--negative", "", cwd=folder).stdout


def test_commands_that_are_printed_work_for_decimal_commas_and_spaces(tmp_path, clinic):
    """Semicolons and decimal commas, as in a German spreadsheet, from one command to the next."""
    folder = tmp_path / "my audit"
    folder.mkdir()
    columns = {name: [str(each).replace(".", ",") for each in clinic[name].to_pylist()] for name in clinic.column_names}
    options = csv.WriteOptions(delimiter=";")
    csv.write_csv(pa.table(columns), folder / "t.csv", options)
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test", "--decimal", ","
    paths = [folder / name for name in ("t.csv", "m.propense", "r.html")]
    ended = call("fit", paths[0], *asked, "--model", paths[1], "--report", paths[2])
    for words in (ended.stdout, html.unescape(paths[2].read_text())):
        command = re.search(r"propense (audit draw .*)", words)[1]
        # The model remembers the decimal sign.
        assert "--decimal" not in command
        ended = call(*shlex.split(command), cwd=folder)
        assert (ended.returncode, ended.stderr) == (0, "")
    drawn = TableFile(folder / "check.csv")
    weights = drawn.read()["audit_weight"].to_pylist()
    # A German spreadsheet takes 9.25 for September 2025.
    assert drawn.separator == ";"
    assert any("," in each for each in weights)
    assert not any("." in each for each in weights)
    before = drawn.path.read_bytes()
    fill(folder / "check.csv", folder / "filled.csv")
    (folder / "filled.csv").replace(folder / "check.csv")
    read = call(*shlex.split(re.search(r"propense (audit read .*)", ended.stdout)[1]), cwd=folder)
    assert (read.returncode, read.stderr) == (0, "")
    said = "audit", "draw", paths[0], "--model", paths[1], "--out", folder / "c.csv", "--size", 200, "--decimal", ","
    ended = call(*said)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "--decimal" not in ended.stdout
    assert (folder / "c.csv").read_bytes() == before
    for command in (("audit", "draw", "--out", folder / "c.csv"), ("bounds",)):
        ended = call(*command, paths[0], "--model", paths[1], "--decimal", "x")
        assert ended.stderr == "Error: --decimal 'x' is not a point or a comma.\n"


@pytest.mark.parametrize("name", ["check.csv", "check.xlsx"])
def test_a_new_draw_does_not_erase_verdicts(folder, tmp_path, name):
    """Every output suggests the same name, so the same line is easily run again."""
    model, out = folder / "m.propense", tmp_path / name
    asked = ("audit", "draw", folder / "t.csv", "--model", model, "--size", 30, "--out", out)
    assert call(*asked).returncode == 0
    drawn = TableFile(tmp_path / name).read()
    # Nothing is lost as long as nothing is filled in.
    assert call(*asked).returncode == 0
    words = pa.array(["", "yes", *[" "] * 28])
    with TableWriter(tmp_path / name) as writer:
        writer.write(drawn.set_column(1, "verdict", words))
    before = (tmp_path / name).read_bytes()
    status, out, err = call(*asked)
    assert (status, out) == (2, "")
    assert f"{name} holds 1 verdict, which a new draw would erase. Read it (propense audit read), or write" in err
    assert (tmp_path / name).read_bytes() == before
    (tmp_path / name).write_bytes(b"\x81\x8d,verdict\n\x81\x00,yes\n")
    status, _, err = call(*asked)
    assert status == 2
    assert f"{name} exists and cannot be read, so that it may hold verdicts. Write the draw to another file." in err


def test_a_decimal_sign_that_the_table_does_not_show_is_printed(tmp_path, clinic):
    """1.234 may be two numbers, so the command that draws stops without the sign."""
    texts = {name: [str(each) for each in clinic[name].to_pylist()] for name in clinic.column_names}
    texts |= {"bmi": [f"1.{int(float(each)):03}" if each != "None" else "" for each in texts["bmi"]]}
    texts |= {"age": [each.partition(".")[0] for each in texts["age"]]}
    csv.write_csv(pa.table(texts), tmp_path / "t.csv", csv.WriteOptions(delimiter=";"))
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test", "--decimal", ","
    ended = call("fit", "t.csv", *asked, "--model", "m.propense", cwd=tmp_path)
    command = re.search(r"propense (audit draw .*)", ended.stdout)[1]
    assert command.endswith("--decimal ,")
    ended = call(*shlex.split(command), cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.rstrip().endswith("--decimal ,")


def test_words_of_ones_own_are_given(folder, tmp_path):
    fill(folder / "drawn.csv", tmp_path / "w.csv", ("sick", "well"))
    status, _, err = call("audit", "read", tmp_path / "w.csv", *READ, cwd=folder)
    assert status == 2
    assert "column 'verdict' holds 'sick', 'well'" in err
    ended = call("audit", "read", tmp_path / "w.csv", *READ, "--positive", "sick", "--negative", "well", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == call("audit", "read", "check.csv", *READ, cwd=folder).stdout


def test_without_an_id_rows_have_numbers(folder, tmp_path, clinic):
    csv.write_csv(clinic.drop_columns(["patient"]), tmp_path / "t.csv")
    asked = "--label", "reported", "--learners", "linear", "--no-scar-test", "--model", tmp_path / "m.propense"
    call("fit", tmp_path / "t.csv", *asked)
    asked = tmp_path / "t.csv", "--model", tmp_path / "m.propense", "--out", tmp_path / "c.csv", "--size", 20
    ended = call("audit", "draw", *asked, "--columns", "age,sex")
    assert "Note: The model has no id, so the column row holds row numbers." in ended.stdout
    table = TableFile(tmp_path / "c.csv").read()
    assert table.column_names[:4] == ["row", "verdict", "age", "sex"]
    rows = clinic.to_pylist()
    assert all(rows[int(each["row"]) - 1]["age"] == float(each["age"]) for each in table.to_pylist())


def test_a_table_without_ids_says_that_verdicts_are_not_recognised(folder, tmp_path, clinic):
    call("audit", "read", "check.csv", *READ, "--save", tmp_path / "c.propense", cwd=folder)
    csv.write_csv(clinic.drop_columns(["patient"]), tmp_path / "t.csv")
    asked = "score", tmp_path / "t.csv", "--model", tmp_path / "c.propense", "--out", tmp_path / "o.csv"
    out = call(*asked).stdout
    assert "Note: The table has no column 'patient', so rows that the audit has a verdict on are not recognised." in out
    assert "have a verdict from the audit" not in out


def test_pandas_may_read_and_write_the_file(tmp_path, clinic):
    """Ids such as 007 become numbers, empty verdicts NaN, and verdicts floating point."""
    pd = pytest.importorskip("pandas")
    truth = make_clinic()[1]
    ids = pa.array([f"{row:05d}" for row in range(600)])
    csv.write_csv(clinic.set_column(0, "patient", ids), tmp_path / "t.csv")
    asked = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test"
    call("fit", "t.csv", *asked, "--model", "m.propense", cwd=tmp_path)
    call("audit", "draw", "t.csv", *READ[2:], "--size", 100, "--seed", 2, "--out", "c.csv", cwd=tmp_path)
    frame = pd.read_csv(tmp_path / "c.csv")
    assert frame["patient"].dtype == int
    frame["verdict"] = truth[frame["patient"]].astype(float)
    frame.loc[80:, "verdict"] = float("nan")
    frame.sample(frac=1.0, random_state=0).to_csv(tmp_path / "c.csv", index=False)
    ended = call("audit", "read", "c.csv", *READ, "--json", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert found["verdicts"] == {
        "drawn": 100,
        "positive": int(truth[frame["patient"][:80]].sum()),
        "negative": int((~truth[frame["patient"][:80]]).sum()),
        "cannot_say": 0,
        "open": 20,
    }
    assert found["positives"]["low"] < truth.mean() < found["positives"]["high"]
