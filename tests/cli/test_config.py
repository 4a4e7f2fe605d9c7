"""--config: options from a file, and a file of the options that were used."""

import html
import json
import re
from dataclasses import replace

import pytest
from pyarrow import csv

from clinic import make_clinic
from command import call
from propense.tables import FitOptions, as_toml

pytestmark = pytest.mark.usefixtures("few_simulations")

BASE = 'label = "reported"\nid = "patient"\nlearners = "linear"\nscar-test = false\n'


@pytest.fixture
def folder(tmp_path):
    csv.write_csv(make_clinic()[0], tmp_path / "t.csv")
    return tmp_path


def fit(folder, toml, *more):
    (folder / "fit.toml").write_text(toml, encoding="utf-8")
    return call("fit", *more, "--config", "fit.toml", cwd=folder)


def test_a_file_says_what_flags_say(folder):
    flags = "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test", "--drop", "bmi,region"
    told = call(
        "fit", "t.csv", *flags, "--set", "cv=3", "--prior", "0.4-0.5", "--top", 7, "--list", "a.csv", cwd=folder
    )
    assert told.returncode == 0, told.stderr
    toml = (
        BASE + 'drop = ["bmi", "region"]\nprior = [0.4, 0.5]\ntop = 7\nlist = "b.csv"\ntable = "t.csv"\n'
        "[fit.set]\ncv = 3\n"
    )
    read = fit(folder, toml)
    assert read.returncode == 0, read.stderr
    assert read.stdout == told.stdout.replace("a.csv", "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_flags_win_over_the_file_and_the_table_of_the_command_counts(folder):
    toml = f'drop = ["bmi"]\n[fit]\n{BASE}propensity_features = "sex"\n[compare]\nmethods = ["pglin"]\n'
    found = json.loads(fit(folder, toml, "t.csv", "--drop", "age", "--json").stdout)
    names = [each["name"] for each in found["columns"]]
    assert "bmi" in names
    assert "age" not in names
    assert "sex" in found["configuration"]
    assert "pglin" not in found["configuration"]


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("lable = 1", "there is no option 'lable'. Did you mean 'label'?"),
        ("[fit]\npropensity_featurs = ['x']", "Did you mean 'propensity-features'?"),
        ("colour = 1", "there is no option 'colour'. The options are: table, label"),
        ("config = 'x'", "there is no option 'config'."),
        ("[serve]\nport = 1\n[fut]\nx = 1", "there is no option"),
        ("top = 2.5", "top = 2.5 must be a whole number."),
        ("top = true", "top = True must be a whole number."),
        ("scar-test = 'no'", "scar-test = 'no' must be true or false."),
        ("label = true", "label = True must be text."),
        ("drop = []", "drop = [] names nothing"),
        ("drop = [1, {a = 1}]", "must be text"),
        ("label = 'a'\n[fit]\nlabel = 'b'", "the option 'label' is given twice"),
        ("prior = {f = 'many'}", "is not a share"),
        ("label = ", "fit.toml is not TOML"),
        ("a = " + "[" * 3000, "fit.toml is not TOML"),
        ("a = " + "9" * 5000, "fit.toml is not TOML"),
    ],
)
def test_a_wrong_file_is_one_line(folder, toml, words):
    ended = fit(folder, toml, "t.csv", "--label", "reported")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_line(folder):
    (folder / "latin.toml").write_bytes(b"label = '\xe9'")
    for name, words in (
        ("latin.toml", "is not text in UTF-8"),
        ("none.toml", "cannot be read"),
        (".", "cannot be read"),
    ):
        ended = call("fit", "t.csv", "--config", name, cwd=folder)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert words in ended.stderr


def test_the_file_is_not_overwritten(folder):
    ended = fit(folder, BASE + 'model = "fit.toml"\n', "t.csv")
    assert ended.returncode == 2
    assert "is also read" in ended.stderr


@pytest.mark.slow
def test_the_configuration_that_a_fit_prints_repeats_it_to_the_bit(folder):
    asked = "--label", "reported", "--id", "patient", "--method", "sar-em", "--propensity-features", "sex,age"
    more = "--set", "ridge=1.5", "--list", "a.csv", "--report", "r.html", "--model", "m.propense", "--no-scar-test"
    first = json.loads(call("fit", "t.csv", *asked, *more, "--json", cwd=folder).stdout)
    page = (folder / "r.html").read_text(encoding="utf-8")
    (printed,) = re.findall(r"<pre[^>]*>(# propense fit.*?)</pre>", page, re.DOTALL)
    assert html.unescape(printed) == first["configuration"]
    assert 'propensity-features = ["sex", "age"]' in html.unescape(printed)
    before = {name: (folder / name).read_bytes() for name in ("a.csv",)}
    again = json.loads(fit(folder, first["configuration"], "--json").stdout)
    assert again == first
    assert before == {name: (folder / name).read_bytes() for name in before}
    # The model file says how, and not where.
    about = json.loads(call("inspect", "m.propense", "--json", cwd=folder).stdout)["configuration"]
    assert "a.csv" not in about
    third = json.loads(fit(folder, about, "--json").stdout)
    same = ("share", "groups", "doubts", "rows")
    assert {name: third[name] for name in same} == {name: first[name] for name in same}


def test_a_printed_name_with_a_comma_is_one_name(folder):
    table = csv.read_csv(folder / "t.csv")
    csv.write_csv(
        table.rename_columns([{"bmi": "bmi,kg"}.get(name, name) for name in table.column_names]), folder / "t.csv"
    )
    asked = "--label", "reported", "--id", "patient", "--method", "pglin", "--no-scar-test", "--missing", "x,-99"
    first = json.loads(
        call("fit", "t.csv", *asked, "--drop", "bmi,kg", "--drop", "sex,region", "--json", cwd=folder).stdout
    )
    assert 'drop = ["bmi,kg", "sex", "region"]' in first["configuration"]
    assert 'missing = ["x", "-99"]' in first["configuration"]
    assert json.loads(fit(folder, first["configuration"], "--json").stdout) == first


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        FitOptions("reported", id="patient", learners="linear", scar_test=False, prior=(0.40001, 0.5)),
        FitOptions("reported", id="patient", learners="linear", scar_test=False, prior={"f": 0.5, "m": (0.4, 0.5)},
                   prior_groups="sex"),
        FitOptions("reported", id="patient", method="jerm", drop=("bmi",), parameters={"ridge": 1e-5}),
    ],
)  # fmt: skip
def test_options_of_python_are_read_back_by_the_command(folder, options, monkeypatch):
    import propense.tables

    seen, real = [], propense.tables.fit_table
    monkeypatch.setattr(
        propense.tables, "fit_table", lambda table, got, **more: seen.append(got) or real(table, got, **more)
    )
    ended = fit(folder, as_toml(options, {"table": "t.csv"}))
    assert ended.returncode == 0, ended.stderr
    empty = {"categorical": (), "keep": (), "missing": ()}
    assert [replace(each, drop=tuple(each.drop), **empty) for each in seen] == [options]
