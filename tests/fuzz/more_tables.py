"""Damaged workbooks and JSON lines, fitted and scored as other tables are."""

import gzip
import io
import json
import zipfile
from functools import cache, partial

from fuzz.case import Case
from fuzz.damage import damaged, mutated, pick
from fuzz.tables import CELLS, fit_options, outputs, use, whole

_PARTS = ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels", "_rels/.rels")
# What stands in a sheet, and what may stand there instead.
_SPOTS = (
    b'r="A1"',
    b'r="B2"',
    b't="n"',
    b't="inlineStr"',
    b's="1"',
    b"<v>",
    b"</v>",
    b"</row>",
    b"<is>",
    b"<sheetData>",
)
_INSTEAD = (
    *(b'r="XFD1048576"', b'r="A0"', b'r="ZZZ9999999"', b'r=""', b't="s"', b't="b"', b't="e"', b't="d"', b't="str"'),
    *(b's="99999999999"', b's="-1"', b"<v>1e999", b"<v>nan", b"<v>-1", b"<v>99999999", b"<v>2020-12-31", b"<f>A1</f>"),
    *(b"", b"<!DOCTYPE x>", b"<row r='9999999999'/>", b"<t>_x0000_</t>", b"<t>\xff</t>", b"<x:c/>", b"&#0;", b"<c/>"),
)
_NAMES = ("", "é", "a\nb", "\ud800", "=x", "age", "reported", "x" * 300)


def make_workbook(rng):
    """A workbook with other cells, other XML, other parts or other bytes."""
    kind = rng.random()
    parts = dict(_parts(int(rng.integers(4))))
    if kind < 0.3:
        parts = dict(_read(_with_odd_cells(rng)))
    elif kind < 0.6:
        part = parts[_PARTS[0]]
        for _ in range(int(rng.geometric(0.4))):
            part = part.replace(pick(rng, _SPOTS), pick(rng, _INSTEAD), int(rng.integers(1, 4)))
        parts[_PARTS[0]] = part
    elif kind < 0.8:
        name = pick(rng, _PARTS)
        parts[name] = damaged(parts[name], rng)
    elif kind < 0.85:
        del parts[pick(rng, _PARTS)]
    elif kind < 0.86:
        rows = b"<row/>" * int(10 ** rng.uniform(4, 6))
        parts[_PARTS[0]] = parts[_PARTS[0]].replace(b"</sheetData>", rows + b"</sheetData>")
    data = _zipped(parts, zipfile.ZIP_STORED if rng.random() < 0.3 else zipfile.ZIP_DEFLATED)
    if kind >= 0.86:
        data = damaged(data, rng, near_ends=0.5)
    return Case({"t.xlsx": data}, partial(use, "t.xlsx", fit_options(rng), outputs(rng)))


def make_lines(rng):
    """JSON lines with other values, keys or bytes."""
    rows = [json.loads(line) for line in _lines(int(rng.integers(4)))]
    kind = rng.random()
    if kind < 0.4:
        rows = mutated(rows, rng)
    elif kind < 0.7:
        for _ in range(int(rng.geometric(0.4))):
            row = rows[int(rng.integers(len(rows)))]
            row[pick(rng, (*row, *_NAMES))] = pick(rng, (*CELLS, 10**30, -1.5, True, None, [1], {"a": {"b": 1}}, 1e308))
    text = "\n".join(json.dumps(row, ensure_ascii=bool(rng.integers(2))) for row in rows)
    data = pick(rng, ("",) * 8 + ("\ufeff", "[", "\n\n", "\0")).encode() + text.encode(errors="surrogatepass") + b"\n"
    if kind > 0.7:
        data = damaged(data, rng)
    if rng.random() < 0.05:
        data += b'{"k%d": 1}\n' * 30_000 % tuple(range(30_000))
    if rng.random() < 0.1:
        data = data.decode(errors="replace").encode(pick(rng, ("utf-16", "utf-16-le", "cp1252", "utf-32")), "replace")
    suffix = pick(rng, (".jsonl", ".ndjson", ".jsonl.gz"))
    if suffix.endswith(".gz"):
        data = gzip.compress(data, 6, mtime=0)
        data = damaged(data, rng, near_ends=0.5) if rng.random() < 0.3 else data
    return Case({f"t{suffix}": data}, partial(use, f"t{suffix}", fit_options(rng), outputs(rng)))


@cache
def _lines(seed):
    return [json.dumps(row) for row in whole(seed).to_pylist()]


@cache
def _parts(seed):
    return tuple(_read([whole(seed).column_names, *(list(row.values()) for row in whole(seed).to_pylist())]).items())


def _with_odd_cells(rng):
    """The rows of the table, some cells of which are others."""
    table = whole(int(rng.integers(4)))
    rows = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
    for _ in range(int(rng.geometric(0.4))):
        row = rows[0 if rng.random() < 0.15 else int(rng.integers(len(rows)))]
        place, kind = int(rng.integers(len(row))), rng.random()
        if kind < 0.7:
            row[place] = pick(rng, (*CELLS, True, 10**20, -0.5, None))
        elif kind < 0.8:
            row.insert(place, pick(rng, CELLS))
        elif kind < 0.9:
            del row[place:]
        else:
            rows.insert(int(rng.integers(len(rows))), [None])
        if not row:
            row.append(None)
    return rows


def _read(rows):
    """The parts of a workbook with these rows, without those that hold the time."""
    import openpyxl
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([_fit_to_print(cell, ILLEGAL_CHARACTERS_RE) for cell in row])
    out = io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.startswith("docProps")}


def _fit_to_print(cell, illegal):
    if not isinstance(cell, str):
        return cell
    return illegal.sub("", cell).encode(errors="ignore").decode()


def _zipped(parts, compression):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in parts.items():
            # The date of today would make another file tomorrow.
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, compression)
    return out.getvalue()
