"""Damaged files of reviewers: verdicts that are read, or refused in one line with nothing written."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clinic import make_clinic
from command import call
from fuzz.case import Case, command
from fuzz.damage import damaged, pick

_ASKED = ("--table", "t.csv", "--model", "m.propense")
_TOKENS = (b",", b";", b'"', b"\n", b"yes", b"no", b"?", b"\xff", b"9", b"-", b"p7", b"t00000000-m00000000-d1.1.1", b"")


def make_audit(rng):
    """A file with other bytes, or with lines or cells that were lost, repeated or exchanged."""
    files = dict(_files())
    files["c.csv"] = damaged(files["c.csv"], rng) if rng.random() < 0.4 else _edited(files["c.csv"], rng)
    return Case(files, _use)


def _use():
    if not command("audit", "read", "c.csv", *_ASKED, "--save", "out.propense", "--json"):
        assert not Path("out.propense").exists()


def _edited(data, rng):
    """The file as a person would spoil it."""
    for _ in range(int(rng.geometric(0.5))):
        lines = data.split(b"\n")
        one, other = (int(rng.integers(1, len(lines))) if len(lines) > 1 else 0 for _ in range(2))
        cells, others = lines[one].split(b","), lines[other].split(b",")
        place = int(rng.integers(len(cells)))
        kind = rng.random()
        if kind < 0.2:
            del lines[one]
        elif kind < 0.4:
            lines.insert(one, lines[other])
        elif kind < 0.7:
            cells[place] = others[place] if place < len(others) and rng.random() < 0.5 else pick(rng, _TOKENS)
            lines[one] = b",".join(cells)
        else:
            lines[one] = lines[one].replace(b",", pick(rng, _TOKENS), int(rng.integers(1, 3)))
        data = b"\n".join(lines)
    return data


@cache
def _files():
    """A table, a model of it, and a draw with its verdicts."""
    from pyarrow import csv

    table, positive = make_clinic(200, 0)
    with TemporaryDirectory() as name:
        folder = Path(name)
        csv.write_csv(table, folder / "t.csv")
        asked = "--label", "reported", "--id", "patient", "--method", "pglin", "--no-scar-test"
        call("fit", "t.csv", *asked, "--model", "m.propense", cwd=folder)
        call("audit", "draw", "t.csv", *_ASKED[2:], "--size", 30, "--columns", "age", "--out", "c.csv", cwd=folder)
        lines = (folder / "c.csv").read_text().replace('"', "").splitlines()
        rows = [line.split(",", 2) for line in lines[1:]]
        said = [f"{name},{'yes' if positive[int(name[1:])] else 'no'},{rest}" for name, _, rest in rows]
        (folder / "c.csv").write_text("\n".join([lines[0], *said]) + "\n")
        return {each: (folder / each).read_bytes() for each in ("t.csv", "m.propense", "c.csv")}
