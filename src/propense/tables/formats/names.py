"""Which format a file has: by its name, or by how it begins."""

from collections.abc import Callable
from pathlib import Path

from propense.errors import InvalidOption, InvalidTable

__all__ = ["FORMATS", "READ_ONLY", "SUFFIXES", "WRITTEN", "check_format", "find_format", "format_of", "sniff"]

# The formats, and the end of a file name that each is written with.
FORMATS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "xlsx": ".xlsx",
    "parquet": ".parquet",
    "arrow": ".arrow",
}
# How text may be compressed.
_COMPRESSED = ("", ".gz", ".bz2", ".xz", ".zip")
# The format by the end of the file name.
SUFFIXES = {
    **{f".csv{more}": "csv" for more in _COMPRESSED},
    **{f".tsv{more}": "tsv" for more in _COMPRESSED},
    **{f".{name}{more}": "jsonl" for name in ("jsonl", "ndjson") for more in _COMPRESSED},
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
# What can be read, but is not written: macros would be lost, and an archive would need the name of what is in it.
READ_ONLY = (".xlsm", ".zip")
# Files that hold tables which cannot be read here, and what to do.
_OTHERS = {
    ".xls": "Open it in Excel or LibreOffice and save it as .xlsx.",
    ".xlsb": "Open it in Excel and save it as .xlsx.",
    ".ods": "Open it in LibreOffice and save it as .xlsx or .csv.",
    ".numbers": "Export it as .xlsx or .csv.",
    ".json": "Save it as JSON lines (.jsonl), one object per line: jq -c '.[]', or to_json(orient='records', "
    "lines=True) in pandas.",
    ".sav": "Save it as .csv or .parquet.",
    ".dta": "Save it as .csv or .parquet.",
    ".sas7bdat": "Save it as .csv or .parquet.",
}
# How files begin that are not text; the last is that of a workbook with a password, or of old Excel.
_MARKS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "xlsx", b"\xd0\xcf\x11\xe0": "xlsx"}
WRITTEN = ".csv, .tsv or .jsonl (also with .gz, .bz2 or .xz), .xlsx, .parquet, .arrow or .feather"
_SHOWN = ".csv, .tsv, .jsonl or .ndjson (also with .gz, .bz2, .xz or .zip), .xlsx, .parquet, .arrow or .feather"


def check_format(name: str | None) -> None:
    """Raise an error unless it is the name of a format, or None."""
    if name is not None and name not in FORMATS:
        raise InvalidOption(f"format={name!r} is not one of {', '.join(FORMATS)}.")


def format_of(path: Path, where: str | None = None) -> str:
    """The format that the name of a file shows; an error if it shows none."""
    found = find_format(path)
    if found is not None:
        return found
    shown = where or str(path)
    advice = _OTHERS.get(path.suffix.lower())
    if advice is not None:
        raise InvalidTable(f"{shown}: {path.suffix} files are not read. {advice}")
    raise InvalidTable(f"{shown}: the name must end with {_SHOWN}. If it is another name, pass format='csv' or so.")


def find_format(path: Path) -> str | None:
    """The format that the name of a file shows, or None."""
    name = path.name.lower()
    return next((found for suffix, found in SUFFIXES.items() if name.endswith(suffix)), None)


def sniff(start: bytes, asked: str | None, unpack: Callable[[bytes], bytes]) -> tuple[str, str]:
    """The format of a table without a name, by its first bytes, and the end of a name for it.

    What is not text shows what it is; of text, `asked` says whether it is CSV or JSON lines.
    """
    for mark, found in _MARKS.items():
        if start.startswith(mark):
            return found, FORMATS[found]
    more = ""
    for mark, suffix in ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\xfd7zXZ", ".xz")):
        if start.startswith(mark):
            more, start = suffix, unpack(start)
    if asked in ("csv", "tsv", "jsonl"):
        return asked, FORMATS[asked] + more
    lines = start.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip()
    return ("jsonl", f".jsonl{more}") if lines.startswith((b"{", b"[{")) else ("csv", f".csv{more}")
