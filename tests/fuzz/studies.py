"""Damaged plans and ledgers, from which tables are made."""

import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fuzz.case import Case, command
from fuzz.damage import damaged, pick
from propense.study import Ledger, Record, Study
from propense.study import ledger as ledger_module

_PLAN = """# A plan.
datasets = ["wdbc", "banknote"]
mechanisms = ["S1", "S2"]
frequencies = [0.3, 0.5]
methods = ["naive", "tm", {class = "propense.JERM", name = "jerm", parameters = {ridge = 0.5}}]
repeats = 2
seed = 0
protocol = "paper"
"""
_TOKENS = (
    *("[]", "{}", "true", "nan", "inf", "-1", "0", "0.0", "1e400", "1" * 5000, "0x10", "1_0", '""', "''", '"\\u0000"'),
    *('"\\u001b[31m"', '"x.y"', '"os.system"', '{class = "os.system"}', '{class = ""}', "{name = 1}", "1979-05-27"),
    *("[" * 50, "]", "[[a]]", "[a.b]", "=", "#", '"""', "\n", "\0", "é", "\udcff", "999999", '"jerm"', '"naive"'),
)
_CELLS = (
    None,
    0,
    1,
    -1,
    2**63 - 1,
    0.5,
    1e308,
    -1e308,
    float("inf"),
    "",
    "high",
    "\x1b[31m",
    "é\n",
    b"",
    b"\xff",
    "wdbc",
)
# What is exported is data, so that control characters stay in it.
_COMMANDS = (["status"], ["table"], ["compare"], ["export", "--out", "e.csv"])
# Each record of a ledger that was changed on purpose gets the right checksum again.
_STORED = ledger_module._COLUMNS


def make_plan(rng):
    """A plan with other words or bytes, and the ledger of the plan as it was."""
    text = damaged(_PLAN.encode(), rng) if rng.random() < 0.3 else _other_words(rng)
    return Case({"p.toml": text, "p.ledger": _ledger()}, _use)


def make_ledger(rng):
    """A ledger with other bytes, or other values with the right checksum."""
    data = damaged(_ledger(), rng) if rng.random() < 0.6 else _other_cells(rng)
    return Case({"p.toml": _PLAN.encode(), "p.ledger": data}, _use)


def _use():
    for name, *options in _COMMANDS:
        command("study", name, "p.toml", *options)


def _other_words(rng):
    words = _PLAN.split(" ")
    for _ in range(int(rng.geometric(0.5))):
        place, kind = int(rng.integers(len(words))), rng.random()
        if kind < 0.6:
            words[place] = pick(rng, _TOKENS)
        elif kind < 0.8:
            words.insert(place, pick(rng, words))
        else:
            words[place] = words[place].replace(pick(rng, '0123456789"[],'), pick(rng, _TOKENS))
    return " ".join(words).encode(errors="surrogateescape")


@cache
def _ledger():
    """A ledger with a record for each cell of the plan, as its bytes."""
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        plan, path = Path(folder, "p.toml"), Path(folder, "p.ledger")
        plan.write_text(_PLAN)
        with Ledger(path) as ledger:
            for number, cell in enumerate(Study.from_toml(plan).cells()):
                score, auc, seconds = rng.random(3)
                good = Record(score, auc=auc, seconds=seconds, rounds=7, converged=True)
                ledger.write(cell, Record(error="ValueError: no") if number == 3 else good)
        with closing(sqlite3.connect(path)) as file:
            file.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


def _other_cells(rng):
    with TemporaryDirectory() as folder:
        path = Path(folder, "p.ledger")
        path.write_bytes(_ledger())
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            for _ in range(int(rng.geometric(0.5))):
                row = int(rng.integers(1, 25))
                values = list(file.execute(f"SELECT {', '.join(_STORED)} FROM records WHERE rowid = {row}").fetchone())
                values[int(rng.integers(len(values)))] = pick(rng, _CELLS)
                with suppress(TypeError, sqlite3.Error):
                    marks = ", ".join(f"{name} = ?" for name in _STORED)
                    digest = ledger_module._checksum(values)
                    file.execute(f"UPDATE records SET {marks}, checksum = ? WHERE rowid = {row}", (*values, digest))
        return path.read_bytes()
