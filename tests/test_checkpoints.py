"""The file of an unfinished fit: what is not one is refused with one error, whatever it holds."""

import io
import os
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from propense._checkpoints import Checkpoint
from propense.errors import CheckpointError


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.checkpoint"


def kept(file):
    """A file with two parts, as it is written."""
    checkpoint = Checkpoint(file)
    checkpoint.claim({"the method": "JERM"})
    checkpoint.keep("data", {"sums": np.arange(3.0)}, (3, 1.5))
    checkpoint.keep("rounds", {"beta": np.arange(3.0), "path": [1.0, 2.0]}, (4, 2.0))
    return file.read_bytes()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def announcing(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def members(compression=zipfile.ZIP_STORED, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr("facts.npy", npy(np.array('{"the method": "JERM"}')))
        archive.writestr("so far.npy", npy(np.array([3.0, 1.5])))
        for name, data in arrays.items():
            archive.writestr(f"rounds/{name}.npy", data)
    return out.getvalue()


# NumPy gives the text of a damaged header to Python's parser, which warns before it fails.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_read_or_refused_but_raise_nothing_else(file, rng):
    wholes = [kept(file), *(members(each, beta=npy(np.zeros(300))) for each in (8, 12, 14))]
    for data in wholes:
        for _ in range(150):
            damaged = np.frombuffer(data, np.uint8).copy()
            damaged[rng.integers(len(data), size=2)] = rng.integers(256, size=2)
            file.write_bytes(damaged.tobytes())
            with suppress(CheckpointError):
                Checkpoint(file)


@pytest.mark.parametrize(
    "data",
    [
        members(beta=announcing((1 << 40,))),
        members(beta=announcing((1 << 40, 1 << 40))),
        members(zipfile.ZIP_DEFLATED, beta=npy(np.zeros(1 << 20))),
        announcing((1 << 40,)),
        npy(np.zeros(3)),
        members(beta=npy(np.zeros(3)))[:-1],
    ],
    ids=["shape", "overflow", "compressed", "header of an array", "array", "cut"],
)
def test_files_that_announce_more_than_they_hold_or_are_no_checkpoint_are_refused(file, data):
    file.write_bytes(data)
    with pytest.raises(CheckpointError, match="is damaged"):
        Checkpoint(file)


@pytest.mark.parametrize("so_far", [[1.0], [np.nan, 1.0], [1.0, np.inf], ["a", "b"]])
def test_what_was_done_so_far_is_two_numbers(file, so_far):
    with file.open("wb") as out:
        np.savez(out, facts=np.array('{"the method": "JERM"}'), **{"so far": np.array(so_far)})
    with pytest.raises(CheckpointError, match="is damaged"):
        Checkpoint(file)


def test_a_checkpoint_is_a_regular_file(tmp_path):
    with pytest.raises(CheckpointError, match="is not a regular file"):
        Checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="cannot be opened"):
        Checkpoint(tmp_path / ("x" * 300))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_pipe_is_refused_and_not_waited_for(file):
    os.mkfifo(file)
    with pytest.raises(CheckpointError, match="is not a regular file"):
        Checkpoint(file)


def test_two_runs_that_share_a_file_do_not_write_to_the_same_place(file, monkeypatch):
    one, other = Checkpoint(file), Checkpoint(file)
    save, inside = np.savez, []

    def save_while_another_run_does(out, **arrays):
        save(out, **arrays)
        if not inside:
            inside.append(True)
            other.keep("rounds", {"beta": np.ones(2)}, (1, 1.0))

    one.claim({"the method": "JERM"})
    other.claim({"the method": "JERM"})
    monkeypatch.setattr("numpy.savez", save_while_another_run_does)
    one.keep("rounds", {"beta": np.zeros(500)}, (2, 1.0))
    np.testing.assert_array_equal(Checkpoint(file).get("rounds")["beta"], np.zeros(500))
    assert list(file.parent.iterdir()) == [file]


def test_the_file_that_a_link_points_to_is_replaced(file, tmp_path):
    real = tmp_path / "elsewhere"
    real.write_bytes(kept(file))
    file.unlink()
    try:
        file.symlink_to(real)
    except OSError:
        pytest.skip("needs links")
    Checkpoint(file).keep("more", {"beta": np.ones(2)}, (5, 3.0))
    assert file.is_symlink()
    assert Checkpoint(real).so_far == (5, 3.0)
    Checkpoint(file).remove()
    assert not real.exists()


def test_what_a_killed_process_has_left_goes_with_the_file(file):
    kept(file)
    for name in (file.name, "m.propense"):
        (file.parent / f".partial-{name}").mkdir()
        (file.parent / f".partial-{name}" / name).write_bytes(b"half")
    Checkpoint(file).remove()
    assert [left.name for left in file.parent.iterdir()] == [".partial-m.propense"]
