"""Files that appear whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from propense.errors import PropenseError

__all__ = ["write_atomically"]


@contextmanager
def write_atomically(target: Path, failure: type[PropenseError]) -> Iterator[Path]:
    """Yield a path to write to, then move it to `target`; after an error `target` is as it was before.

    An OSError, other than one of our own, is raised again as a `failure`.
    """
    try:
        with TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder:
            path = Path(folder) / target.name
            yield path
            path.replace(target)
    except PropenseError:
        raise
    except OSError as error:
        raise failure(
            f"{target} was not written: {error.strerror or error}. Check its folder, permissions and the free space."
        ) from None
