"""Fitted models in files that hold numbers and words, never code: to keep, to send, to take from others."""

import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from propense.errors import ModelFileError
from propense.model_files.container import FORMAT, WAY_OUT, from_bytes, read_file, to_bytes, write_file

__all__ = ["inspect", "load", "save"]


def save(model: Any, path: str | Path, *, about: dict[str, Any] | None = None) -> None:
    """Keep a fitted model in a file.

    The file holds the model's parameters and what it has learnt, as numbers and words. Reading it runs no code from it,
    so that it may be taken from people one would not take a pickle from. `load` gives back a model whose scores are the
    same, bit for bit.

    Parameters
    ----------
    model : estimator, Pipeline or TableModel
        A fitted estimator of propense, a model of a table (`propense.tables.fit_table`), or a pipeline that ends in an
        estimator of propense and prepares the features by `Pipeline`, `ColumnTransformer` with columns by name or
        number, `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler`, `RobustScaler`, `SimpleImputer` or `OneHotEncoder`. A
        model with another classifier inside (``estimator``, ``propensity_estimator``) is refused.
    path : str or Path
        Where to; the name is taken as it is. The file appears whole or not at all, and replaces one that is there.
    about : dict, default=None
        Further facts of your own, in plain values, for `inspect` to show.

    Raises
    ------
    ModelFileError
        If the model is not fitted, holds something that a file does not take, or cannot be written there.

    Notes
    -----
    Columns given as a range, a set or an index of pandas come back as a list.

    Examples
    --------
    >>> import numpy as np
    >>> import propense
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = propense.Naive().fit(X, [0, 0, 1, 1])
    >>> propense.save(model, "model.propense")  # doctest: +SKIP
    >>> propense.load("model.propense").predict([[0.5], [2.5]])  # doctest: +SKIP
    array([0, 1])
    """
    from propense.model_files.codec import build_model, describe_model
    from propense.model_files.values import pack, unpack

    path = Path(path)
    arrays: list[Any] = []
    with _as_ours(f"{path} was not written"):
        header = {
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": _versions(),
            "about": _plain(about),
            "model": pack(describe_model(model), arrays),
        }
        data = to_bytes(header, arrays)
        # What could not be read back is not written.
        contents = from_bytes(data, "it")
        build_model(unpack(contents.header.get("model"), contents.arrays))
    write_file(path, data)


def load(path: str | Path) -> Any:
    """The fitted model that a file holds.

    Nothing in the file is run, and nothing is imported by a name that it gives: it is checked, and a model is built of
    its numbers, which can predict, be refitted, cloned or pickled like the one that was saved.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    estimator, Pipeline or TableModel

    Raises
    ------
    ModelFileError
        If there is no such file, or it is foreign, damaged, of a later format, or holds what is no model.
    """
    from propense.model_files.codec import build_model
    from propense.model_files.values import unpack

    contents = from_bytes(read_file(Path(path)), str(path))
    with _as_ours(f"{path} makes no model here", _way_out(contents.header)):
        return build_model(unpack(contents.header.get("model"), contents.arrays))


def inspect(path: str | Path) -> dict[str, Any]:
    """What a file says of its model, which is not built.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    dict
        "method" and "parameters" of the estimator; "steps" of its pipeline, empty without one; the "doubts" of the
        fit, a list of sentences; "n_features" and "feature_names" (None without names) of the data it was fitted on;
        when it was "written" (UTC); the "versions" of propense, scikit-learn, NumPy and Python that wrote it; the
        "format" of the file, its "size" in bytes and its "sha256"; and what its author told "about" it.

    Raises
    ------
    ModelFileError
        As `load`.
    """
    from propense.model_files.codec import summarise
    from propense.model_files.values import unpack

    data = read_file(Path(path))
    contents = from_bytes(data, str(path))
    header = contents.header
    with _as_ours(f"{path} tells of no model", _way_out(header)):
        facts = summarise(unpack(header.get("model"), contents.arrays))
        written, versions, about = header["written"], header["versions"], unpack(header["about"], [])
        if not isinstance(written, str) or not all(isinstance(each, str) for each in versions.values()):
            raise ModelFileError("it does not say when and by what it was written")
    return {
        **facts,
        "written": written,
        "versions": versions,
        "format": FORMAT,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "about": about,
    }


@contextmanager
def _as_ours(what: str, way_out: str = "") -> Iterator[None]:
    """Any complaint, as one of ours: `what` went wrong, the reason, and the way out."""
    try:
        yield
    except Exception as error:
        # Whatever it is: scikit-learn and NumPy have many ways to complain of nonsense, and a reader should meet one.
        ours = isinstance(error, ModelFileError)
        reason = str(error) if ours else f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"{what}: {reason.rstrip('.')}.{way_out}") from None


def _way_out(header: dict[str, Any]) -> str:
    """What to do about a file that makes no model: it may be for other versions."""
    versions = header.get("versions")
    if not isinstance(versions, dict) or versions == _versions():
        return f" {WAY_OUT}"
    return f" It was written with {', '.join(f'{name} {number}' for name, number in versions.items())[:200]}. {WAY_OUT}"


def _plain(about: Any) -> Any:
    """The author's own facts, which must be plain values."""
    from propense.model_files.values import pack

    arrays: list[Any] = []
    packed = pack(about, arrays)
    if arrays or not (about is None or isinstance(about, dict)):
        raise ModelFileError("about is a dict of plain values: words, numbers, truth values, lists and dicts of these")
    return packed


def _versions() -> dict[str, str]:
    from propense import __version__

    return {
        "propense": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
