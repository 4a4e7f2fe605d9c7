"""Damaged tables of every format, fitted and scored."""

import gzip
import io
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from clinic import make_clinic
from command import call
from fuzz.case import Case, command
from fuzz.damage import damaged, pick
from fuzz.odd_columns import odd_column, odd_name

__all__ = ["CELLS", "fit_options", "make_table", "outputs", "use", "whole"]

_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".arrow", ".feather")
_WRITTEN = (*_SUFFIXES, ".csv.xz", ".jsonl", ".ndjson.gz", ".xlsx")
# Mostly the cheapest method: what is tried here is the reading.
_METHODS = ("naive",) * 30 + ("pglin", "tm", "jerm", "pu")
CELLS = (
    *("", "NA", "nan", "inf", "-inf", "1e400", "1e308", "-1e-320", "9" * 400, "1,5", "1.234,5", "12 %", "=1+1", "-"),
    *('"', 'a"b', '""', "a\nb", "\r", "\0", "\x1b]0;x\x07", "é", "\u2028", "\ufeff", "x" * 5000, "0x1F", "true"),
    *("2024-02-30", "1", "0", "yes", "1_000", "\udcff", "'"),
)


def make_table(rng):
    """A table that is damaged as text, as a table of odd columns, or as bytes, and what a user does with it."""
    suffix = pick(rng, _SUFFIXES)
    kind = rng.random()
    if suffix in (".parquet", ".arrow", ".feather"):
        data = _typed(suffix, _odd_table(rng) if kind < 0.4 else whole(int(rng.integers(4))), rng)
        if kind > 0.3:
            data = damaged(data, rng)
    else:
        text = _text("\t" if "tsv" in suffix else ",", int(rng.integers(4)))
        if kind < 0.6:
            text = _other_cells(text, rng)
        elif kind < 0.8:
            text = damaged(text, rng)
        data = _compressed(text, rng) if suffix.endswith(".gz") else text
    return Case({f"t{suffix}": data}, partial(use, f"t{suffix}", fit_options(rng), outputs(rng)))


def use(name, options, outputs):
    command("fit", name, "--label", "reported", *options)
    for out, more in outputs:
        Path("scoring.propense").write_bytes(_model())
        command("score", name, "--model", "scoring.propense", "--out", out, *more)
    if Path("m.propense").exists():
        command("inspect", "m.propense")


def fit_options(rng):
    options = ["--method", pick(rng, _METHODS)]
    # The test of labels at random takes most of the time of a fit.
    options += ["--no-scar-test"] * (rng.random() < 0.99)
    options += ["--id", "patient"] * (rng.random() < 0.7)
    options += ["--categorical", "age"] * (rng.random() < 0.05)
    options += ["--decimal", ","] * (rng.random() < 0.05)
    options += ["--model", "m.propense"] * (rng.random() < 0.2)
    options += ["--report", "r.html"] * (rng.random() < 0.005)
    return options


def outputs(rng):
    more = ["--top", "5"] * (rng.random() < 0.3) + ["--defuse"] * (rng.random() < 0.2)
    return [(f"out{pick(rng, _WRITTEN)}", more)] if rng.random() < 0.7 else []


@cache
def whole(seed):
    return make_clinic(60, seed)[0]


@cache
def _model():
    """A model of the table, to score with."""
    with TemporaryDirectory() as folder:
        pa.parquet.write_table(whole(0), Path(folder, "t.parquet"))
        options = ("--label", "reported", "--id", "patient", "--method", "jerm", "--no-scar-test")
        assert call("fit", "t.parquet", *options, "--model", "m", cwd=folder).returncode == 0
        return Path(folder, "m").read_bytes()


@cache
def _text(separator, seed):
    out = io.BytesIO()
    options = pa.csv.WriteOptions(delimiter=separator, quoting_style="needed")
    pa.csv.write_csv(whole(seed), out, options)
    return out.getvalue()


def _other_cells(text, rng):
    """The text with other cells, names or rows."""
    separator = "\t" if "\t" in text[:20].decode() else ","
    rows = [line.split(separator) for line in text.decode().splitlines()]
    for _ in range(int(rng.geometric(0.5))):
        # The names more often than others.
        row = rows[0 if rng.random() < 0.15 else int(rng.integers(len(rows)))]
        if not row:
            continue
        place, kind = int(rng.integers(len(row))), rng.random()
        if kind < 0.6:
            row[place] = pick(rng, CELLS)
        elif kind < 0.7:
            del row[place]
        elif kind < 0.8:
            row.insert(place, pick(rng, CELLS))
        elif kind < 0.9:
            for other in rows[1:]:
                other[place % max(len(other), 1) : place + 1] = [pick(rng, CELLS)]
        else:
            rows[int(rng.integers(len(rows)))] = row * int(rng.integers(3))
    text = pick(rng, ("\n",) * 4 + ("\r\n", "\r", "\n\n")).join(map(separator.join, rows))
    start = pick(rng, ("",) * 8 + ("\ufeff", "sep=;\n", "\n\n", "\0", '"'))
    return (start + text + "\n").encode(errors="surrogateescape")


def _compressed(text, rng):
    kind = rng.random()
    if kind < 0.3:
        # Members one after another are one text.
        half = int(rng.integers(len(text) + 1))
        data = gzip.compress(text[:half], 6, mtime=0) + gzip.compress(text[half:], 1, mtime=0)
    elif kind < 0.31:
        lines = text.splitlines(keepends=True)
        data = gzip.compress(text + lines[-1] * int(10 ** rng.uniform(4, 6)), 9, mtime=0)
    else:
        data = gzip.compress(text, 6, mtime=0)
    return damaged(data, rng, near_ends=0.5) if rng.random() < 0.6 else data


def _odd_table(rng):
    """The table with a column or two of types and names that are seldom seen."""
    table = whole(int(rng.integers(4)))
    for _ in range(int(rng.geometric(0.6))):
        place = int(rng.integers(table.num_columns))
        name = table.column_names[place] if rng.random() < 0.7 else odd_name(rng)
        table = table.set_column(place, name, odd_column(table.num_rows, rng))
    return table


def _typed(suffix, table, rng):
    out = io.BytesIO()
    if suffix == ".parquet":
        try:
            pa.parquet.write_table(
                table,
                out,
                compression=pick(rng, ("none", "snappy", "gzip", "zstd", "lz4", "brotli")),
                use_dictionary=bool(rng.integers(2)),
                data_page_version=pick(rng, ("1.0", "2.0")),
                row_group_size=int(pick(rng, (7, 25, 1000))),
                write_page_checksum=bool(rng.integers(2)),
            )
        except pa.ArrowException:
            # Some types are not Parquet's.
            return _typed(suffix, whole(0), rng)
        return out.getvalue()
    kind = pick(rng, ("file",) * 10 + ("stream", "feather 1"))
    try:
        if kind == "feather 1":
            pa.feather.write_feather(table, out, version=1)
            return out.getvalue()
        options = pa.ipc.IpcWriteOptions(compression=pick(rng, (None, "lz4", "zstd")))
        open_writer = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with open_writer(out, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=int(pick(rng, (7, 25, 1000))))
    except (pa.ArrowException, ValueError, TypeError):
        return _typed(suffix, whole(0), rng)
    return out.getvalue()
