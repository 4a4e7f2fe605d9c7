"""`propense fit --dask` shows its passes, and goes on where it was stopped."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import propense
from command import call
from propense.cli import _fit_progress
from propense.cli._fit_progress import show_passes
from propense.datasets import make_double_logistic
from propense.errors import ModelFileError

pytest.importorskip("distributed")
stops = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")

# The real command, which says that it has kept the third part of its fit and does not go on. It sleeps in short turns:
# a signal that the system hands to another thread is seen when the main thread is back in Python.
STOPS = """
import time
from contextlib import nullcontext
from propense import _checkpoints, _cluster
_cluster.on_dask = lambda address: nullcontext()
keep, kept = _checkpoints.Checkpoint.keep, []
def keep_and_wait(*part):
    keep(*part)
    kept.append(part)
    if len(kept) == 3:
        print("kept", flush=True)
        while True:
            time.sleep(0.1)
_checkpoints.Checkpoint.keep = keep_and_wait
from propense.cli import main
main()
"""


@pytest.fixture
def in_pieces(tmp_path):
    """A folder of three Parquet files."""
    data = make_double_logistic(600, n_features=4, random_state=0)
    columns = {f"x{number}": column for number, column in enumerate(data.X.T)}
    table = pa.table({**columns, "label": data.labelled.astype(int)})
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(3):
        parquet.write_table(table.slice(200 * number, 200), folder / f"{number}.parquet")
    return folder


def arguments(folder, model, *more):
    fit = ["fit", folder, "--label", "label", "--method", "jerm", "--no-scar-test", "--dask", "local"]
    return [*map(str, [*fit, "--model", model, *more])]


@pytest.fixture
def threads(monkeypatch):
    """As good as workers of a cluster, and there at once."""
    monkeypatch.setattr("propense._cluster.on_dask", lambda address: nullcontext())


def run(*given):
    status, _, err = call(*given)
    assert status == 0, err
    return err


def stop(given, number):
    """Start a fit and send it a signal once it has kept some parts; what it said on standard error."""
    process = subprocess.Popen(
        [sys.executable, "-c", STOPS, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            said = process.stdout.readline()
            process.send_signal(number)
            _, err = process.communicate(timeout=600)
        finally:
            process.kill()
    assert said == "kept\n", err
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    return err


@stops
@pytest.mark.slow
def test_a_killed_fit_goes_on_and_ends_as_one_without_a_stop(in_pieces, tmp_path, threads):
    model, checkpoint = tmp_path / "m.propense", tmp_path / "m.propense.checkpoint"
    run(*arguments(in_pieces, tmp_path / "whole.propense"))
    stop(arguments(in_pieces, model), signal.SIGKILL)
    assert checkpoint.exists()
    assert not model.exists()
    assert f"Going on from {checkpoint}: " in run(*arguments(in_pieces, model))
    assert not checkpoint.exists()
    one, other = (propense.load(file).estimator for file in (model, tmp_path / "whole.propense"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.propensity_coef_, other.propensity_coef_)


@stops
@pytest.mark.slow
def test_an_interrupted_fit_says_how_to_go_on_and_may_start_afresh(in_pieces, tmp_path, threads):
    model, checkpoint = tmp_path / "m.propense", tmp_path / "kept"
    given = arguments(in_pieces, model, "--checkpoint", checkpoint)
    err = stop(given, signal.SIGINT)
    assert f"The finished parts of the fit are kept in {checkpoint}. The same command goes on from there." in err
    assert "KeyboardInterrupt" not in err
    assert "propense/" not in err.replace(str(tmp_path), "")
    refused = call(*given, "--set", "ridge=3")
    assert refused.returncode == 2
    assert "belongs to another fit: ridge was" in refused.stderr
    assert "Going on" not in run(*given, "--fresh")
    assert not checkpoint.exists()


@pytest.mark.slow
def test_a_fit_is_kept_until_its_model_is_written(in_pieces, tmp_path, monkeypatch, threads):
    model, checkpoint = tmp_path / "m.propense", tmp_path / "m.propense.checkpoint"

    def full(*arguments, **options):
        raise ModelFileError("there is no space left")

    with monkeypatch.context() as disk:
        disk.setattr("propense.model_files.save", full)
        status, _, err = call(*arguments(in_pieces, model))
    assert (status, "no space left" in err) == (2, True)
    assert checkpoint.exists()
    status, _, err = call(*arguments(in_pieces, model))
    assert (status, f"Going on from {checkpoint}: " in err) == (0, True)
    assert model.exists()
    assert not checkpoint.exists()


def test_what_keeps_a_fit_is_for_dask(in_pieces, tmp_path):
    fit = ["fit", in_pieces, "--label", "label"]
    for more, words in (
        (["--fresh"], "--fresh is for fits with --dask"),
        (["--checkpoint", tmp_path / "c"], "--checkpoint is for fits with --dask"),
        (["--fresh", "--dask", "local"], "add --checkpoint, --model or --report"),
        (["--model", "", "--dask", "local"], "--model . is a folder"),
    ):
        status, out, err = call(*fit, *more)
        assert (status, out) == (2, "")
        assert words in err


def test_a_file_that_is_not_a_checkpoint_is_refused_and_stays(in_pieces, tmp_path):
    file = tmp_path / "m.propense.checkpoint"
    file.write_text("my notes")
    for more in ([], ["--fresh"]):
        status, _, err = call(*arguments(in_pieces, tmp_path / "m.propense", *more))
        assert status == 2
        assert "is not the checkpoint of a fit" in err
    assert file.read_text() == "my notes"


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
