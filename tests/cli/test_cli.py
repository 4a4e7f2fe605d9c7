"""The command line, run as a user runs it."""

import subprocess
import sys
from dataclasses import replace

import pytest

import propense
from propense.cli._demo import run_demo, show_demo
from propense.cli._flags import with_flags


def run(*arguments, code=None):
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "propense"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env={"COLUMNS": "100", "PATH": ""})


@pytest.mark.slow
def test_demo_prints_the_table_and_the_findings():
    result = run("demo")
    assert result.returncode == 0, result.stderr
    demo = run_demo(0)
    for line in demo.scores:
        assert f"{line.balanced_accuracy:.3f}" in result.stdout
        assert line.method in result.stdout
    for finding in demo.findings:
        assert f" {finding.row} " in result.stdout


def test_demo_finds_what_it_says():
    demo = run_demo(0)
    naive, jerm, balanced, first, oracle = demo.scores
    assert (naive.method, oracle.propensity_error) == ("Naive", None)
    assert naive.balanced_accuracy < jerm.balanced_accuracy < first.balanced_accuracy < oracle.balanced_accuracy
    assert jerm.propensity_error == balanced.propensity_error < naive.propensity_error
    assert len(demo.findings) == 10
    assert all(0 <= finding.hidden <= 1 for finding in demo.findings)
    assert demo.promise.startswith("Of these 10 rows, about ")
    assert demo.labelled < demo.positives < demo.rows


def test_the_demo_prints_the_doubts_of_its_fit(recwarn, capsys):
    demo = run_demo(0)
    assert demo.notes == []
    assert not recwarn.list
    show_demo(replace(demo, notes=["Too few.", "Too flat."]))
    told = " ".join(capsys.readouterr().out.split())
    assert "Note: Too few. Note: Too flat." in told


def test_version_and_help_are_printed():
    assert run("--version").stdout.strip() == f"propense {propense.__version__}"
    assert "demo" in run("--help").stdout
    assert run("--help").returncode == 0


def test_an_unknown_command_is_an_error():
    result = run("dmeo")
    assert result.returncode == 2
    assert "No such command" in result.stderr


FLAGS = [
    ("Pass id='patient' if it names the rows.", "Pass --id 'patient' if it names the rows."),
    ("Leave it out with drop=[''].", "Leave it out with --drop ''."),
    ('drop=["it\'s"]', '--drop "it\'s"'),
    ("has no column 'told' (label=). Its", "has no column 'told' (--label). Its"),
    ("Pass prior= if you", "Pass --prior if you"),
    ("prior=0.5 is used only by scar_test=False", "--prior 0.5 is used only by --no-scar-test"),
    ("with jobs=1 to find", "with --jobs 1 to find"),
    ("Give the sign (decimal=',' or decimal='.'), or", "Give the sign (--decimal ',' or --decimal '.'), or"),
    ("the model's id: pass id='patient'", "the model's id: pass --id 'patient'"),
]
UNCHANGED = [
    "the column 'valid=1' and ridge=-1",
    "has no column 'id=3', 'my id=3' or \"its 'label=1'\"",
    "scar_test(prior=0.001): must be",
    "scar_test(prior=(0.2, 0.1)): must be",
    "JERM(max_iter=3, positive='x') did not converge",
    "data/label=1/part.parquet cannot be read",
]
FLAGS += [(message, message) for message in UNCHANGED]


@pytest.mark.parametrize(("message", "shown"), FLAGS)
def test_arguments_in_messages_become_flags(message, shown):
    assert with_flags(message) == shown


def test_without_typer_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from propense.cli import main; main()"
    result = run(code=code)
    assert result.returncode == 1
    assert result.stderr.strip() == "The propense command needs typer and rich: pip install 'propense[cli]'"
