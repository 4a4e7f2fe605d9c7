"""What a ledger returns is what was written, or an error."""

import math
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest

from command import call
from propense.errors import LedgerError
from propense.study import PAPER_METHODS, Ledger, Record, Study, run
from propense.study import ledger as ledger_module

STUDY = Study(("wdbc",), ("S1", "S2"), (0.3, 0.5), (PAPER_METHODS["naive"], PAPER_METHODS["tm"]), repeats=5)
PLAN = """
datasets = ["wdbc"]
mechanisms = ["S1", "S2"]
frequencies = [0.3, 0.5]
methods = ["naive", "tm"]
repeats = 5
"""


def fill(path, rng):
    """A ledger of the study with made-up scores; returns its rows."""
    with Ledger(path) as ledger:
        for cell in STUDY.cells():
            score, auc, seconds = rng.random(3)
            ledger.write(cell, Record(score, auc=auc, seconds=seconds, rounds=7, converged=True))
        return ledger.rows()


def make_old(path):
    """Turn a ledger to the layout of 0.1.0, which had no checksums."""
    columns = ", ".join(ledger_module._COLUMNS)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode = DELETE")
        file.execute("ALTER TABLE records RENAME TO newer")
        file.execute(f"CREATE TABLE records (key TEXT PRIMARY KEY, {columns.removeprefix('key, ')})")
        file.execute(f"INSERT INTO records SELECT {columns} FROM newer")
        file.execute("DROP TABLE newer")
        file.execute("PRAGMA user_version = 1")
        file.execute("PRAGMA journal_mode = WAL")


def layout(path):
    with closing(sqlite3.connect(path)) as file:
        return file.execute("PRAGMA user_version").fetchone()[0]


def test_every_value_that_is_written_can_be_read(tmp_path):
    """Also those that SQLite stores as others: truth values as 0 and 1, NaN as NULL."""
    cells = list(STUDY.cells())
    with Ledger(tmp_path / "l.db") as ledger:
        ledger.write(cells[0], Record(0.1 + 0.2, 1.0, 0.0, 1e-300, math.inf, -0.0, math.nan, 1e300, 2**62, False))
        ledger.write(cells[1], Record(error="\x1b[31m é\n\u2028 😀 '; DROP TABLE records"))
    with Ledger(tmp_path / "l.db") as ledger:
        one, other = ledger.rows(cells)
    assert list(one.values())[7:] == [0.1 + 0.2, 1.0, 0.0, 1e-300, math.inf, 0.0, None, 1e300, 2**62, 0, None]
    assert other["error"] == "\x1b[31m é\n\u2028 😀 '; DROP TABLE records"


def test_an_old_ledger_is_read_as_it_is_and_gets_checksums_when_it_is_continued(tmp_path, rng):
    rows = fill(tmp_path / "l.db", rng)
    make_old(tmp_path / "l.db")
    before = (tmp_path / "l.db").read_bytes()
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.rows() == ledger.rows(STUDY.cells()) == rows
        assert run(STUDY, ledger, on_record=lambda *_: pytest.fail("nothing was left")).done == len(STUDY)
    assert (tmp_path / "l.db").read_bytes() == before
    more = replace(next(STUDY.cells()), repeat=99)
    with Ledger(tmp_path / "l.db") as one, Ledger(tmp_path / "l.db") as other:
        one.write(more, Record(0.5))
        other.write(replace(more, repeat=100), Record(0.25))
        assert other.rows()[:-2] == rows
        assert [row["balanced_accuracy"] for row in one.rows()[-2:]] == [0.5, 0.25]
    assert layout(tmp_path / "l.db") == 2
    with closing(sqlite3.connect(tmp_path / "l.db")) as file:
        assert file.execute("SELECT count(DISTINCT checksum) FROM records").fetchone() == (len(rows) + 2,)


def test_an_old_ledger_that_is_damaged_is_left_as_it_is(tmp_path, rng):
    fill(tmp_path / "l.db", rng)
    make_old(tmp_path / "l.db")
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as file:
        file.execute("UPDATE records SET auc = 'high' WHERE rowid = 3")
    with Ledger(tmp_path / "l.db") as ledger:
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"l\.db is .* damaged: record 3 has auc='high'\. Move it away\.$"):
                ledger.write(next(STUDY.cells()), Record(0.5))
    assert layout(tmp_path / "l.db") == 1


def test_a_value_that_was_changed_is_found(tmp_path, rng):
    fill(tmp_path / "l.db", rng)
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as file:
        file.execute("UPDATE records SET balanced_accuracy = 0.9 WHERE rowid = 2")
    with Ledger(tmp_path / "l.db") as ledger:
        for read in (ledger.rows, lambda: run(STUDY, ledger)):
            with pytest.raises(LedgerError, match="record 2 does not match its checksum"):
                read()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bit", "block", "page"])
def test_a_damaged_file_gives_the_same_numbers_or_an_error(tmp_path, rng, kind):
    rows = fill(tmp_path / "whole.db", rng)
    whole = (tmp_path / "whole.db").read_bytes()
    refused = []
    for number in range(150):
        damaged = bytearray(whole)
        place = int(rng.integers(len(whole)))
        if kind == "bit":
            damaged[place] ^= 1 << int(rng.integers(8))
        elif kind == "block":
            damaged[place : place + 16] = rng.bytes(len(damaged[place : place + 16]))
        else:
            one, other = rng.choice(len(whole) // 4096, 2, replace=False) * 4096
            damaged[one : one + 4096] = whole[other : other + 4096]
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged)
        try:
            with Ledger(path) as ledger:
                assert ledger.rows(STUDY.cells()) == rows
        except LedgerError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert not any("\n" in words for words in refused)


@pytest.mark.parametrize("size", [1, 100, 511, 512, 5000])
def test_a_file_that_was_cut_short_is_refused_at_once(tmp_path, rng, size):
    fill(tmp_path / "l.db", rng)
    os.truncate(tmp_path / "l.db", size)
    start = time.monotonic()
    with (
        pytest.raises(LedgerError, match=r"l\.db is not a ledger of propense, or is damaged"),
        Ledger(tmp_path / "l.db") as cut,
    ):
        cut.rows()
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(("old", "new"), [(b"CREATE TABLE", b"CRE\xe3TE TABLE"), (b"naive", b"n\n\xffve")])
def test_text_that_cannot_be_decoded_is_one_line(tmp_path, rng, old, new):
    fill(tmp_path / "l.db", rng)
    (tmp_path / "l.db").write_bytes((tmp_path / "l.db").read_bytes().replace(old, new))
    with pytest.raises(LedgerError, match=r"^[^\n]*l\.db .*UTF-8[^\n]*$"), Ledger(tmp_path / "l.db") as ledger:
        ledger.rows()


WRONG_VALUES = {
    "dataset": 3,
    "mechanism": b"S1",
    "frequency": "many",
    "method": None,
    "repeat": "first",
    "protocol": 1.5,
    "seed": "x" * 1000,
    "balanced_accuracy": "high",
    "auc": 7.0,
    "seconds": b"\xff",
    "rounds": 1.5,
    "converged": "yes",
    "error": 3,
    "key": b"\x00",
}


@pytest.mark.slow
@pytest.mark.parametrize("column", WRONG_VALUES)
def test_a_value_of_another_type_is_one_line_in_every_command(tmp_path, rng, column):
    (tmp_path / "plan.toml").write_text(PLAN)
    fill(tmp_path / "plan.ledger", rng)
    make_old(tmp_path / "plan.ledger")
    with closing(sqlite3.connect(tmp_path / "plan.ledger", isolation_level=None)) as file:
        file.execute(f"UPDATE records SET {column} = ? WHERE rowid = 5", (WRONG_VALUES[column],))
    for command in ("status", "table", "compare", "report", "export"):
        result = call("study", command, "plan.toml", cwd=tmp_path)
        assert result.returncode == 2
        assert result.stderr.startswith(
            f"Error: plan.ledger is not a ledger of propense, or is damaged: record 5 has {column}="
        )
        assert len(result.stderr.splitlines()) == 1


def test_a_record_under_the_key_of_another_is_found(tmp_path, rng):
    fill(tmp_path / "l.db", rng)
    make_old(tmp_path / "l.db")
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as file:
        file.execute("UPDATE records SET repeat = 4 WHERE rowid = 1")
    with Ledger(tmp_path / "l.db") as ledger, pytest.raises(LedgerError, match="repeat=4 does not fit the key"):
        ledger.rows(STUDY.cells())


def test_a_second_run_is_refused_under_another_name_too(tmp_path):
    (tmp_path / "folder").mkdir()
    with Ledger(tmp_path / "folder" / "l.db"):
        pass
    (tmp_path / "link.db").symlink_to("folder/l.db")
    (tmp_path / "linked").symlink_to("folder")
    with Ledger(tmp_path / "folder" / "l.db") as one, one.running():
        for name in ("link.db", "linked/l.db", "folder/../folder/l.db"):
            with Ledger(tmp_path / name) as other, pytest.raises(LedgerError, match="in use by another run"):
                run(STUDY, other)


def test_a_run_is_refused_in_a_file_of_two_names(tmp_path):
    with Ledger(tmp_path / "l.db"):
        pass
    (tmp_path / "other.db").hardlink_to(tmp_path / "l.db")
    for name in ("l.db", "other.db"):
        with (
            Ledger(tmp_path / name) as ledger,
            pytest.raises(LedgerError, match=rf"{name} is one file under 2 names \(hard links\)"),
            ledger.running(),
        ):
            pass
        assert not (tmp_path / f"{name}.lock").exists()


READER = """
import sys
from pathlib import Path
from propense.errors import LedgerError
from propense.study import Ledger, PAPER_METHODS, Study, run
try:
    Path(sys.argv[1]).with_name("x").touch()
    sys.exit(3)
except OSError:
    pass
try:
    with Ledger(Path(sys.argv[1])) as ledger:
        print(len(ledger.rows()))
        run(Study(("wdbc",), ("S1",), (0.3,), (PAPER_METHODS["naive"],), repeats=1), ledger, again=["naive"])
except LedgerError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="mounts a folder")
def test_a_finished_ledger_is_read_from_a_read_only_mount(tmp_path, rng):
    folder = tmp_path / "a folder? 100%"
    fill(folder / "l.db", rng)

    def read():
        mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        command = ["unshare", "-rm", "sh", "-c", mount, str(folder), sys.executable, "-c", READER, str(folder / "l.db")]
        result = subprocess.run(command, capture_output=True, text=True, env=os.environ)
        if result.returncode:
            pytest.skip(f"no read-only mount here: {result.stderr}")
        return result.stdout.splitlines()

    count, words = read()
    assert count == str(len(STUDY))
    assert "l.db.lock cannot be created" in words
    # What a killed run left in the log must not be passed over.
    (folder / "l.db-wal").write_bytes(b"x" * 100)
    (words,) = read()
    assert "some of its records are in" in words
