"""Checks of the files that a command is asked to write."""

from pathlib import Path

from propense._files import is_part_of
from propense.errors import InvalidOption

__all__ = ["keep_apart"]


def keep_apart(read: list[Path], written: dict[str, Path | None]) -> None:
    """Raise an error, before any work, if an output cannot be written or would overwrite an input or another output."""
    wanted = {option: path for option, path in written.items() if path is not None}
    for option, path in wanted.items():
        if str(path) == "-":
            if option not in ("--out", "--list"):
                raise InvalidOption(f"{option} -: only tables go to standard output. Give the name of a file.")
            continue
        if path.is_dir():
            raise InvalidOption(f"{option} {path} is a folder. Give the name of a file.")
        if path.exists() and not path.is_file():
            raise InvalidOption(f"{option} {path} is not a regular file. Give the name of a file.")
        if not path.parent.is_dir():
            raise InvalidOption(f"{option} {path}: there is no folder {path.parent}.")
        for each in read:
            if is_part_of(path, each):
                where = f"would be a part of the table in {each}" if each.is_dir() else "is also read"
                raise InvalidOption(f"{option} {path} {where}, so it is not overwritten. Give another name.")
    if len({path.resolve() for path in wanted.values()}) < len(wanted):
        raise InvalidOption(f"{' and '.join(wanted)} are the same file. Give them different names.")
