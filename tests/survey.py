"""A made-up health survey: people as the codes of NHANES describe them, and SAS transport files of their answers."""

import math
import threading
from dataclasses import replace
from fractions import Fraction
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from propense.datasets.nhanes_columns import COLUMNS
from propense.datasets.nhanes_files import CYCLES
from propense.datasets.nhanes_table import ROWS, TASKS

# The names that variables have in some cycles only.
BORN = {2005: "DMDBORN", 2007: "DMDBORN2", 2009: "DMDBORN2", 2011: "DMDBORN4", 2013: "DMDBORN4"}
PILLS = {2005: "DID070", 2007: "DID070", 2009: "DIQ070", 2011: "DIQ070", 2013: "DIQ070"}
VISITS = {2013: "HUQ051"}
HOSPITAL = {2005: "HUQ070"}

NAN = math.nan


@cache
def to_ibm(value, length=8):
    """A number as an IBM mainframe stores it, in exact arithmetic; NaN as SAS's missing value."""
    if math.isnan(value):
        return b"." + bytes(length - 1)
    if value == 0:
        return bytes(length)
    size, exponent = abs(Fraction(value)), 64
    while size >= 1:
        size, exponent = size / 16, exponent + 1
    while size < Fraction(1, 16):
        size, exponent = size * 16, exponent - 1
    first = exponent | (0x80 if value < 0 else 0)
    return (bytes([first]) + int(size * 2**56).to_bytes(7, "big"))[:length]


def transport(name, variables, lengths=None):
    """A transport file of one table. Variables whose values are bytes hold text."""
    lengths = lengths or {}
    described, place = b"", 0
    for i, (variable, values) in enumerate(variables.items()):
        text = bool(len(values)) and isinstance(values[0], bytes)
        length = lengths.get(variable, len(values[0]) if text else 8)
        described += (2 if text else 1).to_bytes(2, "big") + bytes(2) + length.to_bytes(2, "big")
        described += (i + 1).to_bytes(2, "big") + variable.encode().ljust(8) + b"a label".ljust(40) + b" " * 8
        described += bytes(8) + b" " * 8 + bytes(4) + place.to_bytes(4, "big") + bytes(52)
        place += length
    rows = b"".join(
        b"".join(
            value if isinstance(value, bytes) else to_ibm(value, lengths.get(variable, 8))
            for variable, value in zip(variables, row, strict=True)
        )
        for row in zip(*variables.values(), strict=True)
    )

    def header(kind, tail="0" * 30):
        return f"HEADER RECORD*******{kind:8}HEADER RECORD!!!!!!!{tail}  ".encode()

    def whole(content, fill):
        return content + fill * (-len(content) % 80)

    when = b"23JUL15:09:53:54"
    return b"".join(
        [
            header("LIBRARY"),
            whole(b"SAS     SAS     SASLIB  9.3     W32_7PRO" + b" " * 24 + when, b" "),
            whole(when, b" "),
            header("MEMBER", "000000000000000001600000000140"),
            header("DSCRPTR"),
            whole(b"SAS     " + name.encode().ljust(8) + b"SASDATA 9.3     W32_7PRO" + b" " * 24 + when, b" "),
            whole(when, b" "),
            header("NAMESTR", f"000000{len(variables):04}00000000000000000000"),
            whole(described, b" "),
            header("OBS"),
            whole(rows, b" "),
        ]
    )


def tables_of(people, year):
    """The tables of a cycle from people, each a dict of variables; the key of a variable is (table, name)."""
    found = {}
    for table, name in people[0]:
        found.setdefault(table, {})[name] = np.array([person[table, name] for person in people])
    seqn = found["DEMO"]["SEQN"]
    return {table: {"SEQN": seqn, **variables} for table, variables in found.items()}


def person(year, seqn, **changes):
    """One healthy person of a cycle, with some answers changed, by the name of the variable."""
    answers = {
        "DEMO": {"SEQN": seqn, "RIDSTATR": 2, "RIDEXPRG": NAN, "RIDAGEYR": 40, "RIAGENDR": 1, "RIDRETH1": 3}
        | {"DMDHHSIZ": 2, "INDFMPIR": 2.5, "DMDEDUC2": 4, "DMDMARTL": 1, BORN[year]: 1}
        | {"WTMEC2YR": 20000.06, "SDMVPSU": 1, "SDMVSTRA": 50},
        "BMX": {"BMXBMI": 25.31, "BMXWAIST": 90.5, "BMXHT": 170.2, "BMXARMC": 32.0},
        "BPX": {"BPXPLS": 70}
        | {f"BPXSY{i}": 120 for i in (1, 2, 3)} | {f"BPXDI{i}": 70 for i in (1, 2, 3)} | {"BPXSY4": NAN, "BPXDI4": NAN},
        "GHB": {"LBXGH": 5.4},
        "GLU": {"LBXGLU": 95},
        "TCHOL": {"LBXTC": 190},
        "HDL": {"LBDHDD": 50},
        "BIOPRO": {"LBXSTR": 120, "LBXSATSI": 20, "LBXSGTSI": 22, "LBXSUA": 5.1, "LBXSAL": 4.3},
        "DIQ": {"DIQ010": 2, "DIQ050": 2, PILLS[year]: NAN},
        "BPQ": {"BPQ020": 2, "BPQ050A": NAN},
        "MCQ": {"MCQ300C": 2},
        "HIQ": {"HIQ011": 1},
        "HUQ": {"HUQ010": 2, "HUQ030": 1, VISITS.get(year, "HUQ050"): 2, HOSPITAL.get(year, "HUQ071"): 2},
        "SMQ": {"SMQ020": 2, "SMQ040": NAN},
    }  # fmt: skip
    flat = {(table, name): value for table, variables in answers.items() for name, value in variables.items()}
    for name, value in changes.items():
        (key,) = [key for key in flat if key[1] == name]
        flat[key] = value
    return flat


def draw_person(rng, year, seqn):
    """A person with answers drawn at random, a few of them refused, unknown or missing."""
    told, pressed = rng.random() < 0.15, rng.random() < 0.3
    systolic = rng.normal(150 if pressed else 120, 15)
    refused = rng.random(8) < 0.004
    changes = {
        "RIDAGEYR": rng.integers(12, 81),
        "RIDSTATR": rng.choice([1, 2], p=[0.05, 0.95]),
        "RIDEXPRG": rng.choice([NAN, 1, 2, 3], p=[0.6, 0.1, 0.2, 0.1]),
        "RIAGENDR": rng.integers(1, 3),
        "DMDEDUC2": 9 if refused[0] else rng.integers(1, 6),
        "DMDMARTL": 77 if refused[1] else rng.integers(1, 7),
        "WTMEC2YR": rng.uniform(2000, 200_000),
        "LBXGH": NAN if rng.random() < 0.05 else round(rng.normal(7 if told else 5.5, 0.8), 1),
        "LBXGLU": NAN if rng.random() < 0.5 else 100,
        "DIQ010": 9 if refused[2] else rng.choice([1]) if told else rng.choice([2, 3]),
        "DIQ050": 1 if told and rng.random() < 0.3 else 2,
        "BPQ020": 7 if refused[3] else 1 if pressed and rng.random() < 0.8 else 2,
        "SMQ020": 9 if refused[4] else rng.integers(1, 3),
        VISITS.get(year, "HUQ050"): 77 if refused[5] else rng.integers(0, 6),
        "BPXDI1": rng.choice([0, 60, 80]),
    } | {f"BPXSY{i}": float(2 * round(systolic / 2) + 2 * i) for i in (1, 2, 3)}
    drawn = person(year, seqn, **changes)
    if drawn["BPQ", "BPQ020"] == 1:
        drawn["BPQ", "BPQ050A"] = rng.integers(1, 3)
    if drawn["SMQ", "SMQ020"] == 1:
        drawn["SMQ", "SMQ040"] = rng.integers(1, 4)
    return drawn


def draw_survey(rng, size=80):
    """People of all five cycles: a list for each year."""
    return {
        year: [draw_person(rng, year, 31000 + 10_000 * i + j) for j in range(size)] for i, year in enumerate(CYCLES)
    }


def files_of(people):
    """The survey's files by the path at which a server has them."""
    return {
        f"/{year}/DataFiles/{table}_{CYCLES[year]}.xpt": transport(table, variables)
        for year, cycle in people.items()
        for table, variables in tables_of(cycle, year).items()
    }


def expect(monkeypatch, table):
    """Have the table's own numbers of rows, labels and positives expected."""
    for year in ROWS:
        monkeypatch.setitem(ROWS, year, int((table["cycle"] == year).sum()))
    for name, task in TASKS.items():
        s, y = table[f"s_{name}"], table[f"y_{name}"]
        known = ~np.isnan(s + y)
        counts = {"n": known.sum(), "labelled": (s[known] == 1).sum(), "positives": (y[known] == 1).sum()}
        monkeypatch.setitem(TASKS, name, replace(task, **{key: int(value) for key, value in counts.items()}))


def draw_table(rng, rows):
    """A table whose columns have possible values, and whose classes follow age nearly."""
    n = len(ROWS) * rows
    table = dict.fromkeys(COLUMNS) | {name: rng.integers(0, 2, n).astype(float) for name in COLUMNS}
    table["cycle"] = np.repeat(np.array(list(ROWS), dtype=float), rows)
    table |= {"age": rng.integers(20, 86, n).astype(float), "weight": rng.uniform(2000, 9000, n).round(1)}
    table |= {name: np.ones(n) for name in ("race", "education", "household", "self_rated_health")}
    wide = ("bmi", "waist", "height", "arm", "pulse", "sbp", "dbp", "hdl", "triglycerides", "total_cholesterol")
    table |= {name: rng.uniform(90, 95, n).round(2) for name in (*wide, "alt", "ggt", "fasting_glucose")}
    table |= {name: rng.uniform(4, 6, n).round(1) for name in ("uric_acid", "albumin", "hba1c")}
    for task in TASKS:
        y = (table["age"] + 5 * rng.normal(size=n) > 62).astype(float)
        s = y * (rng.random(n) < 0.6)
        s[:5] = np.nan
        table |= {f"s_{task}": s, f"y_{task}": y}
    return table


class Agency:
    """A server that has the survey's files. `broken` has other answers, by path: functions of the handler."""

    def __init__(self, files):
        self.files, self.broken, self.requests = files, {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                if self.path in outer.broken:
                    outer.broken[self.path](self)
                elif self.path in outer.files:
                    answer(self, outer.files[self.path])
                else:
                    self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def answer(handler, body, *, kind="application/octet-stream", size=None):
    """Answer with a body; with `size`, say that it has another length than it has."""
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body) if size is None else size))
    handler.end_headers()
    handler.wfile.write(body)
