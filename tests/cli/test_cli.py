"""The command line, run as a user runs it."""

import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import propense
from command import call
from propense._diagnostics.diagnosis import Diagnosis
from propense.cli import _demo
from propense.cli._demo import explain, run_demo, show_demo
from propense.cli._flags import with_flags


def run(*arguments, code=None):
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "propense"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env={"COLUMNS": "100", "PATH": ""})


@pytest.fixture(scope="module")
def demo():
    with warnings.catch_warnings():
        # The doubts of its fit are printed, not issued.
        warnings.simplefilter("error")
        return run_demo(0)


@pytest.mark.slow
def test_demo_prints_the_table_and_the_findings(demo):
    result = call("demo", COLUMNS="100")
    assert result.returncode == 0, result.stderr
    for line in demo.scores:
        assert f"{line.balanced_accuracy:.3f}" in result.stdout
        assert line.method in result.stdout
    for finding in demo.findings:
        assert f" {finding.row} " in result.stdout


@pytest.mark.slow
def test_demo_finds_what_it_says(demo):
    naive, jerm, first, oracle = demo.scores
    assert [line.method for line in demo.scores] == ["Naive", "JERM", "PUClassifier", "Oracle"]
    assert max(naive.balanced_accuracy, jerm.balanced_accuracy) < first.balanced_accuracy < oracle.balanced_accuracy
    positives, negatives = demo.held_out
    for line in demo.scores:
        shares = line.hits / positives, 1 - line.alarms / negatives
        assert line.balanced_accuracy == pytest.approx(sum(shares) / 2)
    assert len(demo.findings) == 10
    assert all(0 <= finding.hidden <= 1 for finding in demo.findings)
    assert demo.promise.startswith("Of these 10 rows, about ")
    assert demo.labelled < demo.positives < demo.rows


@pytest.mark.slow
def test_every_method_of_the_demo_is_cut_at_its_own_share(monkeypatch):
    """Naive at ½ beside others at their prior would be an unfair comparison."""
    fitted = []
    for name in ("Naive", "JERM", "PUClassifier", "Oracle"):
        method = getattr(_demo, name)
        monkeypatch.setattr(
            _demo, name, lambda method=method, **options: fitted.append(method(**options)) or fitted[-1]
        )
    run_demo(0)
    assert len(fitted) == 4
    assert {model.decision for model in fitted} == {"balanced"}


def test_the_demo_says_why_shares_differ_and_what_a_check_would_say(demo):
    naive = demo.scores[0]
    assert naive.prior == f"{demo.labelled / demo.rows:.3f}"
    assert f"that of the labelled rows, {demo.labelled / demo.rows:.1%}" in demo.reason
    low, high = (float(end) / 100 for end in re.search(r"95% interval ([\d.]+)% to ([\d.]+)%", demo.checked).groups())
    assert low <= demo.prior <= high
    assert "If people check 20, 50 or 200 unlabelled rows" in demo.checked
    found = Diagnosis("learned", tuple(np.linspace(0.2, 0.4, 99).tolist()), 0.3, 0.1, 300.0, False)
    for truth, held in ((0.1, "not within"), (0.3, "within"), (0.5, "not within")):
        words = explain(0.1, found, truth)
        assert "At least 10.0% of the rows are positive: those that are labelled." in words
        assert "In 9 of 10 worlds whose labels look like these, 21% to 39% are. The middle is 30%." in words
        assert f"The truth is {held} that range." in words


def test_the_demo_prints_the_doubts_of_its_fit(demo, capsys):
    assert demo.notes == []
    show_demo(replace(demo, notes=["Too few.", "Too flat."]))
    told = " ".join(capsys.readouterr().out.split())
    assert "Note: Too few. Note: Too flat." in told


def test_version_and_help_are_printed():
    assert run("--version").stdout.strip() == f"propense {propense.__version__}"
    helped = call("--help", COLUMNS="100")
    assert (helped.returncode, "demo" in helped.stdout) == (0, True)


def test_an_unknown_command_is_an_error():
    result = call("dmeo", COLUMNS="100")
    assert result.returncode == 2
    assert "No such command" in result.stderr


FLAGS = [
    ("Pass id='patient' if it names the rows.", "Pass --id 'patient' if it names the rows."),
    ("Leave it out with drop=[''].", "Leave it out with --drop ''."),
    ('drop=["it\'s"]', '--drop "it\'s"'),
    ("Pass drop=['a, b', \"it's\"] if", "Pass --drop 'a, b' --drop \"it's\" if"),
    ("has no column 'told' (label=). Its", "has no column 'told' (--label). Its"),
    ("Pass prior= if you", "Pass --prior if you"),
    ("prior=0.5 is used only by scar_test=False", "--prior 0.5 is used only by --no-scar-test"),
    ("prior=(0.4, 0.3) and prior=-0.1 are not", "--prior (0.4, 0.3) and --prior -0.1 are not"),
    ("with jobs=1 to find", "with --jobs 1 to find"),
    ("Give the sign (decimal=',' or decimal='.'), or", "Give the sign (--decimal ',' or --decimal '.'), or"),
    ("the model's id: pass id='patient'", "the model's id: pass --id 'patient'"),
    (
        "The share (prior_) is 9%. Use PUClassifier, or compare with SAREM.",
        "The share is 9%. Use the method pu, or compare with the method sar-em.",
    ),
    ("Pass propensity_features, or label more rows.", "Pass --propensity-features, or label more rows."),
    (
        "PUClassifier stopped short of tol=1e-08. Raise max_iter.",
        "PUClassifier stopped short of tol=1e-08. Raise max_iter. Parameters of the method are set with --set, such as "
        "--set ridge=10.",
    ),
]
UNCHANGED = [
    "the column 'valid=1' and ridge=-1",
    "has no column 'id=3', 'my id=3' or \"its 'label=1'\"",
    "scar_test(prior=0.001): must be",
    "scar_test(prior=(0.2, 0.1)): must be",
    "JERM(max_iter=3, positive='x') did not converge",
    "data/label=1/part.parquet cannot be read",
    "'Use PUClassifier' is not a class, and SAREM(ridge=-1): ridge must be a number ≥ 0",
]
FLAGS += [(message, message) for message in UNCHANGED]


@pytest.mark.parametrize(("message", "shown"), FLAGS)
def test_arguments_in_messages_become_flags(message, shown):
    assert with_flags(message) == shown


def test_without_typer_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from propense.cli import main; main()"
    result = run(code=code)
    assert result.returncode == 1
    assert result.stderr.strip() == 'The propense command needs typer and rich: pip install "propense[cli]"'
