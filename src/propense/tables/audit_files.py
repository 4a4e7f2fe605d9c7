"""The files of an audit: what reviewers get, and the checks of what comes back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.audit import Draw
from propense.errors import InvalidTable, PropenseError
from propense.tables.audit_rows import AuditRows, digest
from propense.tables.cells import naming_the_column, plain_text, take_rows
from propense.tables.files import TableFile
from propense.tables.formats.excel_writer import TITLE
from propense.tables.label_columns import LabelColumns
from propense.tables.labels import Label
from propense.tables.spelling import Spelling
from propense.tables.verdicts import OPEN, read_words, said

__all__ = ["COLUMNS", "ROW", "Plan", "Returned", "check_no_verdicts", "design_of", "make_file", "read_file"]

# The columns that an audit adds to those of the table, and the name of the id where a table has none.
COLUMNS = ("verdict", "audit_stratum", "audit_weight", "audit_code")
ROW = "row"
_CODE = re.compile(r"t([0-9a-f]{8})-m([0-9a-f]{8})-d(\d+)\.(\d+)\.(\d+)\.([0-9a-f]{8})-r([0-9a-f]{8})")
_WAY_OUT = "Copy the verdicts into the file that audit draw wrote; the same draw with the same seed writes it again."
_DATE = re.compile(r"(\d+)[-./](\d+)[-./](\d+)")


@dataclass(frozen=True)
class Plan:
    """What a draw is recognised by.

    Attributes
    ----------
    table, model : str
        Codes of the table and of the model file.
    seed, size, top : int
        As in `propense.audit.draw`; top is 0 if it was not given.
    design : str
        A code of the strata, and of how many rows were drawn from each.
    """

    table: str
    model: str
    seed: int
    size: int
    top: int
    design: str

    @property
    def code(self) -> str:
        return f"t{self.table}-m{self.model}-d{self.seed}.{self.size}.{self.top}.{self.design}"

    def code_of(self, id: str, stratum: int, weight: float) -> str:
        """The code of a row, which follows from its id, stratum and weight."""
        return f"{self.code}-r{digest(self.code, id, str(stratum), _number(weight))}"

    def shuffled(self, strata: int) -> NDArray[np.intp]:
        """The number that each stratum has in a file: at random, so that a reviewer does not see who is likely."""
        return np.random.RandomState(int(digest("strata", self.code), 16)).permutation(strata)


@dataclass(frozen=True)
class Returned:
    """The verdicts of one draw that came back.

    Attributes
    ----------
    plan : Plan
    rows : int ndarray
        Where the rows are in the table.
    stratum : int ndarray
    verdict : int8 ndarray
    """

    plan: Plan
    rows: NDArray[np.intp]
    stratum: NDArray[np.intp]
    verdict: NDArray[np.int8]


def design_of(drawn: Draw) -> str:
    """The code of a draw's strata; it does not depend on which rows were drawn."""
    counts = np.bincount(drawn.stratum, minlength=len(drawn.sizes))
    return digest(np.concatenate([drawn.sizes, counts]).astype("<i8").tobytes())


def make_file(
    drawn: Draw, plan: Plan, rows: AuditRows, table: Any, id: str | None, columns: Sequence[str], where: str
) -> Any:
    """The table for reviewers: the id, an empty verdict, some columns, and what the draw is recognised by."""
    import pyarrow as pa

    shown = take_rows(table.select(list(columns)), pa.array(rows.places[drawn.rows]), where)
    numbers = plan.shuffled(len(drawn.sizes))[drawn.stratum]
    names = [rows.ids[row] for row in drawn.rows]
    codes = [
        plan.code_of(name, number, weight) for name, number, weight in zip(names, numbers, drawn.weight, strict=True)
    ]
    out = {id or ROW: pa.array(names, pa.string()), "verdict": pa.array([""] * len(names), pa.string())}
    out |= {name: shown.column(name) for name in columns}
    weights = [float(_number(weight)) for weight in drawn.weight]
    return pa.table({**out, **dict(zip(COLUMNS[1:], (numbers + 1, weights, codes), strict=True))})


def read_file(
    path: Path,
    rows: AuditRows,
    plans: dict[str, Draw],
    id: str | None,
    draw_again: Any,
    positive: str | None = None,
    negative: str | None = None,
    label: Label | LabelColumns | None = None,
) -> Returned:
    """The verdicts of a file, each row checked; see `Returned`.

    `draw_again` gives the draw of a plan, or raises an error that the plan belongs to another table or model; what it
    gave is kept in `plans`, by code.
    """
    source = TableFile(path, expected=Spelling(sheet=TITLE))
    where, named = str(path), id or ROW
    cells = _cells(source, named, where)
    verdict = read_words(cells["verdict"], where, positive, negative, label)
    used = [bool(code.strip()) or word != OPEN for code, word in zip(cells["audit_code"], verdict, strict=True)]
    lines = np.flatnonzero(used)
    if not len(lines):
        raise InvalidTable(f"{where} has no row with an audit_code. {_WAY_OUT}")
    plan = _one_plan(cells, lines, named, where)
    if plan.code not in plans:
        plans[plan.code] = draw_again(plan, where)
    drawn = plans[plan.code]
    expected = _Expected(plan, drawn, rows)
    found: dict[int, tuple[int, int]] = {}
    for line in lines:
        row, stratum = expected.check(
            cells[named][line],
            cells["audit_stratum"][line],
            cells["audit_weight"][line],
            cells["audit_code"][line],
            where,
        )
        before = found.get(row)
        if before is not None and OPEN not in (before[1], verdict[line]) and before[1] != verdict[line]:
            one, other = said(before[1]), said(int(verdict[line]))
            raise InvalidTable(
                f"{where}: {rows.ids[row]!r} has two verdicts that differ, {one} and {other}. Keep the right one."
            )
        if before is None or before[1] == OPEN:
            found[row] = stratum, int(verdict[line])
    return Returned(
        plan,
        np.array(list(found), dtype=np.intp),
        np.array([stratum for stratum, _ in found.values()], dtype=np.intp),
        np.array([word for _, word in found.values()], dtype=np.int8),
    )


def check_no_verdicts(path: Path) -> None:
    """Refuse to write over the file of an audit in which somebody has filled in verdicts, or perhaps has."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        source = TableFile(path, expected=Spelling(sheet=TITLE))
        if not {"verdict", "audit_code"} <= set(source.columns):
            return
        cells = plain_text(source.read(["verdict"]).column("verdict")).to_pylist()
    except PropenseError:
        # A spreadsheet may have saved it in an encoding that is not recognised.
        raise InvalidTable(
            f"{path} exists and cannot be read, so that it may hold verdicts. Write the draw to another file."
        ) from None
    filled = sum(bool(cell and cell.strip()) for cell in cells)
    if filled:
        verdicts, them = ("1 verdict", "it") if filled == 1 else (f"{filled:,} verdicts", "them")
        raise InvalidTable(
            f"{path} holds {verdicts}, which a new draw would erase. Read {them} (propense audit read), or write the "
            "new draw to another file."
        )


def _cells(source: TableFile, named: str, where: str) -> dict[str, list[str]]:
    """The cells of the columns that matter, as text; names may differ in case."""
    by_name = {name.strip().lower(): name for name in reversed(source.columns)}
    found = {name: name if name in source.columns else by_name.get(name.lower()) for name in (named, *COLUMNS)}
    missing = [name for name, there in found.items() if there is None]
    if missing:
        raise InvalidTable(f"{where} has no column {missing[0]!r}. {_WAY_OUT}")
    table = source.read([str(there) for there in dict.fromkeys(found.values())])
    out = {}
    for name, there in found.items():
        cells = table.column(there)
        with naming_the_column(cells, str(there), where):
            out[name] = ["" if cell is None else cell for cell in plain_text(cells).to_pylist()]
    return out


def _one_plan(cells: dict[str, list[str]], lines: NDArray[np.intp], named: str, where: str) -> Plan:
    """The draw that all rows of a file belong to."""
    found: dict[Plan, str] = {}
    for line in lines:
        name, code = cells[named][line].strip(), cells["audit_code"][line].strip().strip("'").lower()
        match = _CODE.fullmatch(code)
        if match is None:
            what = f"the audit_code {code[:60]!r}" if code else "no audit_code"
            raise InvalidTable(
                f"{where}: {name!r} has {what}: the row was not drawn, or its code was lost. Delete a row that was "
                f"added. {_WAY_OUT}"
            )
        table, model, seed, size, top, design = match.groups()[:6]
        if max(map(len, (seed, size, top))) > 10:
            raise InvalidTable(f"{where}: {name!r} has the audit_code {code[:60]!r}, which is not valid. {_WAY_OUT}")
        found.setdefault(Plan(table, model, int(seed), int(size), int(top), design), name)
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        raise InvalidTable(
            f"{where} mixes two draws: {first!r} belongs to {one.code} and {second!r} to {other.code}. Keep each draw "
            "in a file of its own."
        )
    return next(iter(found))


class _Expected:
    """What the rows of a draw must look like in a file."""

    def __init__(self, plan: Plan, drawn: Draw, rows: AuditRows) -> None:
        self._plan, self._rows = plan, rows
        self._numbers = plan.shuffled(len(drawn.sizes))
        counts = np.bincount(drawn.stratum, minlength=len(drawn.sizes))
        self._weights = drawn.sizes / np.maximum(counts, 1)
        self._places = {name: row for row, name in enumerate(rows.ids.tolist())}
        self._drawn = {
            self._code_of(rows.ids[row], stratum): (int(row), int(stratum))
            for row, stratum in zip(drawn.rows, drawn.stratum, strict=True)
        }

    def check(self, name: str, stratum: str, weight: str, code: str, where: str) -> tuple[int, int]:
        """Where a row of a file is in the table, and its stratum; an error if it was not drawn so."""
        name, code = name.strip(), code.strip().strip("'").lower()
        found = self._drawn.get(code)
        if found is None:
            # Scores that differ in the last digit draw other rows; the code says which ones were drawn.
            found = self._by_its_code(name, stratum, code)
        if found is None:
            raise InvalidTable(
                f"{where}: {name!r} was not drawn, or its id, audit_stratum, audit_weight or audit_code was changed. "
                f"Delete a row that was added. {_WAY_OUT}"
            )
        row, number = found
        true = str(self._rows.ids[row])
        if not _same_id(name, true):
            raise InvalidTable(
                f"{where}: {name!r} has the audit_code of {true!r}, so it was not drawn, or its id was changed. Delete "
                f"a row that was added. {_WAY_OUT}"
            )
        told, drawn = _read_number(stratum), float(self._numbers[number] + 1)
        if told != drawn:
            raise InvalidTable(
                f"{where}: the audit_stratum of {name!r} is {stratum.strip()!r}, and {drawn:g} was drawn. {_WAY_OUT}"
            )
        told, drawn = _read_number(weight), float(self._weights[number])
        if told is None or abs(told - drawn) > 1e-3 * drawn:
            raise InvalidTable(
                f"{where}: the audit_weight of {name!r} is {weight.strip()!r}, and it was drawn with {_number(drawn)}. "
                f"{_WAY_OUT}"
            )
        return found

    def _by_its_code(self, name: str, stratum: str, code: str) -> tuple[int, int] | None:
        row, number = self._places.get(name), _read_number(stratum)
        if row is None or number is None or number not in self._numbers + 1:
            return None
        place = int(np.flatnonzero(self._numbers + 1 == number)[0])
        return (row, place) if self._code_of(name, place) == code else None

    def _code_of(self, name: str, stratum: int) -> str:
        return self._plan.code_of(name, int(self._numbers[stratum]), float(self._weights[stratum]))


def _number(value: float) -> str:
    """A weight as a file shows it: spreadsheets keep nine digits."""
    return f"{value:.9g}"


def _read_number(cell: str) -> float | None:
    """A number with a decimal point or comma."""
    try:
        return float(cell.strip().strip("'").replace(",", "."))
    except ValueError:
        return None


def _same_id(told: str, true: str) -> bool:
    """Whether an id is what a spreadsheet makes of another: 7 of 007, 5.1.2020 of 2020-01-05, 1E+12 of a long one."""
    if told == true or _bare(told) == _bare(true):
        return True
    dates = _DATE.match(told), _DATE.match(true)
    if dates[0] is not None and dates[1] is not None:
        one, other = (sorted(int(part) % 2000 for part in each.groups()) for each in dates if each is not None)
        return one == other
    rounded, number = _read_number(told), _read_number(true)
    if "e" not in told.lower() or rounded is None or number is None:
        return False
    return abs(rounded - number) <= 1e-2 * abs(number)


def _bare(name: str) -> str:
    """Without case, quotes, zeros in front and .0 at the end."""
    short = " ".join(name.lower().split()).strip("'\"")
    return re.sub(r"^0+(?=\d)", "", re.sub(r"^([-+]?\d+)[.,]0+$", r"\1", short))
