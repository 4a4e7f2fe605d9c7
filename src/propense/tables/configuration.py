"""The options of a fit as TOML, so that `propense fit --config` repeats it."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from propense.errors import InvalidOption
from propense.tables.prepare import FitOptions

__all__ = ["as_toml", "prior_in_words", "toml_value", "write_toml"]


def as_toml(options: FitOptions, files: Mapping[str, Any] | None = None) -> str:
    """The options of a fit, and its files, as a file for `propense fit --config`.

    Parameters
    ----------
    options : FitOptions
        Options that have their default value are left out.
    files : dict of str to str or Path, default=None
        Other options of the command, such as ``{"table": "patients.csv", "model": "patients.propense"}``.

    Returns
    -------
    str
        TOML with the table ``[fit]``.

    Examples
    --------
    >>> from propense.tables import FitOptions, as_toml
    >>> print(as_toml(FitOptions("reported", drop=["notes"], prior=(0.1, 0.2)), {"table": "patients.csv"}), end="")
    # propense fit --config FILE
    [fit]
    table = "patients.csv"
    label = "reported"
    drop = ["notes"]
    prior = "0.1,0.2"
    """
    found: dict[str, Any] = {name: value for name, value in (files or {}).items() if value is not None}
    for each in fields(options):
        value = getattr(options, each.name)
        usual = each.default_factory() if each.default_factory is not MISSING else each.default
        if usual is not MISSING and (value is usual or value == usual):
            continue
        if each.name == "parameters":
            found["set"] = [f"{name}={'None' if inner is None else toml_value(inner)}" for name, inner in value.items()]
        elif each.name == "prior":
            found["prior"] = prior_in_words(value)
        elif isinstance(value, Sequence) and not isinstance(value, str) and not len(value) and not usual:
            # An empty list of columns where there is none by default says the same, unless None means all columns.
            if usual is None:
                found[each.name.replace("_", "-")] = []
        else:
            found[each.name.replace("_", "-")] = value
    return write_toml("fit", found)


def prior_in_words(prior: Any) -> str:
    """A known share as the option --prior takes it, to the bit: 0.15, 0.1,0.2 or f=0.12,m=0.15-0.2."""
    if isinstance(prior, Mapping):
        return ",".join(f"{name}={_ends(share, '-')}" for name, share in prior.items())
    return _ends(prior, ",")


def write_toml(table: str, values: Mapping[str, Any]) -> str:
    """A file with one TOML table, for the command of this name."""
    lines = [f"{_key(name)} = {toml_value(value)}" for name, value in values.items()]
    return "\n".join([f"# propense {table} --config FILE", f"[{table}]", *lines]) + "\n"


def _ends(share: Any, sign: str) -> str:
    ends = share if isinstance(share, tuple | list) else [share]
    # Without an exponent, whose minus would look like that of a range.
    return sign.join(format(Decimal(repr(float(each))), "f") for each in ends)


def _key(name: str) -> str:
    return name if name and all(each.isascii() and (each.isalnum() or each in "-_") for each in name) else _text(name)


def toml_value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return _text(str(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(name))} = {toml_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if hasattr(value, "item"):
        return toml_value(value.item())
    raise InvalidOption(f"{value!r} cannot be written as TOML.")


# What TOML's strings may not hold as it is.
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _text(words: str) -> str:
    """A basic string. What does not print is escaped, so that no name acts on a terminal or a page."""
    return '"' + "".join(_ESCAPES.get(each) or _letter(each) for each in words) + '"'


def _letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    if 0xD800 <= code <= 0xDFFF:
        raise InvalidOption(f"{letter!r} is half of a character and cannot be written as TOML. Rename the column.")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
