"""The progress of a fit: on a terminal only, or with Dask in a log, too."""

import re
from contextlib import nullcontext

import pytest
from pyarrow import parquet

from command import call
from propense.cli import _fit_progress
from propense.cli._fit_progress import fit_in_words, show_passes, show_progress, show_steps


def test_a_terminal_shows_what_is_being_done(monkeypatch, capsys):
    # By this, rich takes any stream for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress(fit_in_words) as show:
        show("fit", 3, 15)
    assert "Fitting: 3 of 15 models" in capsys.readouterr().err
    with show_progress(fit_in_words) as show:
        show("test", 0, 1)
    assert "Testing whether labels are at random" in capsys.readouterr().err


def test_a_command_of_several_steps_names_each(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_steps():
        pass
    assert "Reading the table" in capsys.readouterr().err
    with show_steps() as doing:
        doing("Correcting the model")
    assert "Correcting the model" in capsys.readouterr().err


def test_a_log_shows_nothing(capsys):
    with show_progress(fit_in_words) as show:
        assert show is None
    with show_steps() as doing:
        doing("Correcting the model")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_passes(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_passes() as show:
        show("round 2", 64, 12.0)
    assert "Fitting: round 2, 64 passes over the rows" in capsys.readouterr().err


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    with show_passes() as show:
        show("round 1", 1, 2.0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_fit_progress, "_PAUSE", 0.0)
    with show_passes() as show:
        show("round 2", 64, 12.0)
    assert capsys.readouterr().err == "Fitting: round 2, 64 passes over the rows, 12 s\n"


def test_a_fit_on_dask_names_its_stages_and_counts_its_passes(tmp_path, clinic, monkeypatch):
    pytest.importorskip("distributed")
    # The threads of this process, which are there at once.
    monkeypatch.setattr("propense._cluster.on_dask", lambda address: nullcontext())
    monkeypatch.setattr(_fit_progress, "_PAUSE", 0.0)
    parquet.write_table(clinic, tmp_path / "clinic.parquet")
    fit = ["fit", tmp_path / "clinic.parquet", "--label", "reported", "--id", "patient", "--no-scar-test"]
    status, _, err = call(*fit, "--method", "jerm", "--dask", "local", "--model", tmp_path / "m.propense")
    assert status == 0, err
    told = [re.fullmatch(r"Fitting: (.+), (\d+) pass(?:es)? over the rows, \d+ s", line) for line in err.splitlines()]
    stages = list(dict.fromkeys(each[1] for each in told))
    assert stages[:4] == ["reading", "search for spies", "naive fit", "round 1"]
    assert stages[-2:] == ["naive fit to compare with", "counting"]
    assert int(told[-1][2]) > 20
    assert [each.name for each in tmp_path.glob("m.*")] == ["m.propense"]
