"""Files that appear whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from propense.errors import PropenseError

__all__ = ["is_part_of", "write_atomically"]


def is_part_of(path: Path, table: Path) -> bool:
    """Whether writing `path` would change the table: its file, or, of a folder, a Parquet file in it."""
    if table.is_dir():
        return path.suffix.lower() == ".parquet" and path.resolve().is_relative_to(table.resolve())
    return path.exists() and table.exists() and path.samefile(table)


@contextmanager
def write_atomically(target: Path, failure: type[PropenseError]) -> Iterator[Path]:
    """Yield a path to write to, then move it to `target`; after an error `target` is as it was before.

    The file that a link points to is replaced, and not the link. A replaced file passes on its permissions. A device or
    a pipe is not replaced. An OSError, other than one of our own, is raised again as a `failure`.
    """
    try:
        real = Path(os.path.realpath(target))
        mode = target.stat().st_mode if target.exists() else None
        # A link that points to itself, and what a name in /dev/fd points to, do not exist under their real path.
        if real.is_symlink() or (mode is not None and not (stat.S_ISREG(mode) and real.exists())):
            raise failure(f"{target} was not written: it is not a regular file. Give the name of a file.")
        with TemporaryDirectory(dir=real.parent, prefix=".partial-") as folder:
            path = Path(folder) / target.name
            yield path
            if mode is not None:
                path.chmod(stat.S_IMODE(mode))
            path.replace(real)
    except PropenseError:
        raise
    except OSError as error:
        raise failure(
            f"{target} was not written: {error.strerror or error}. Check its folder, permissions and the free space."
        ) from None
