"""Save fitted models to files that contain numbers and text but no code, so that they can be shared safely."""

import hashlib
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from propense.errors import MissingExtra, ModelFileError
from propense.model_files.container import ADVICE, FORMAT, from_bytes, read_file, to_bytes, write_file

__all__ = ["inspect", "load", "save", "save_corrected"]


def save(model: Any, path: str | Path, *, about: dict[str, Any] | None = None) -> None:
    """Save a fitted model to a file.

    The file contains the model's parameters and what it has learned, as numbers and text. Loading it runs no code from
    the file, so a file may come from people whose pickles you would not open. `load` returns a model with the same
    scores, bit for bit.

    Parameters
    ----------
    model : estimator, Pipeline or TableModel
        A fitted estimator of propense, a model of a table (`propense.tables.fit_table`), or a pipeline of scikit-learn
        that ends in an estimator of propense.
    path : str or Path
        The file to write. It is written whole or not at all, and replaces a file of that name.
    about : dict, default=None
        Your own notes, as plain values. `inspect` shows them.

    Raises
    ------
    ModelFileError
        If the model is not fitted or contains something that cannot be saved, or if the file cannot be written.
    MissingExtra
        If skops is needed and not installed.

    Notes
    -----
    The steps of a pipeline, classifiers inside an estimator (``estimator``, ``propensity_estimator``) and the learners
    of a `PUClassifier`, other than its own logistic regression and the trees of a Dask array, are written by skops:
    ``pip install "propense[files]"``. You can save scikit-learn's usual transformers, column selectors and text
    vectorizers; logistic regression, naive Bayes, neural networks, trees, forests and histogram-based boosting; and
    functions of NumPy, SciPy and scikit-learn that only compute. Anything else, such as your own functions and classes,
    is refused by name. Load such a file with the version of scikit-learn that wrote it.

    What a `PUClassifier` says of the rows of fit (``oof_posterior_`` and the like) is not in the file. A model of a
    table keeps these scores, with hashes of the rows, of up to a million rows, and uses them if it meets a row again.

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
        build_model(unpack(contents.header.get("model"), contents.arrays, contents.size), contents.size)
    write_file(path, data)


def save_corrected(model: Any, source: str | Path, path: str | Path) -> None:
    """Save a model of a table that an audit has corrected, and that was loaded from a file.

    Everything that the audit has not changed is taken from the file, byte by byte: the same audit of the same file
    gives the same file. Its date is that of the model.

    Parameters
    ----------
    model : TableModel
        The corrected model.
    source : str or Path
        The file of the model before.
    path : str or Path
        The file to write. It is written whole or not at all, and replaces a file of that name.
    """
    from propense.model_files.codec import build_model
    from propense.model_files.methods import describe_audit
    from propense.model_files.table_models import describe_audits, table_parts
    from propense.model_files.values import pack, unpack

    path = Path(path)
    before = from_bytes(read_file(Path(source)), str(source))
    arrays: list[Any] = []
    with _as_ours(f"{path} was not written"):
        description = unpack(before.header.get("model"), before.arrays, before.size)
        estimator = model.estimator
        table_parts(description)[1]["fitted"] |= {
            "audit_": describe_audit(estimator.audit_),
            "prior_": float(estimator.prior_),
            "label_frequency_": float(estimator.label_frequency_),
        }
        description |= describe_audits(model)
        header = {**before.header, "model": pack(description, arrays)}
        data = to_bytes(header, arrays)
        # What could not be read back is not written.
        contents = from_bytes(data, "it")
        build_model(unpack(contents.header.get("model"), contents.arrays, contents.size), contents.size)
    write_file(path, data)


def load(path: str | Path) -> Any:
    """Load a fitted model from a file.

    The file is checked before a model is built from it; nothing in it is run. The model can predict, be refitted,
    cloned or pickled like the one that was saved. Only its parallelism is not taken from the file: every ``n_jobs`` is
    None in the loaded model. Set it again with ``set_params`` if you want more processes.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    estimator, Pipeline or TableModel

    Warns
    -----
    UserWarning
        If parts of scikit-learn were written with another version of it.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is not a model file, damaged, or of a later format.
    MissingExtra
        If skops is needed and not installed.
    """
    from propense.model_files.codec import build_model
    from propense.model_files.values import unpack

    contents = from_bytes(read_file(Path(path)), str(path))
    # The bytes of skops are the only ones.
    foreign = any(array.dtype == np.uint8 for array in contents.arrays)
    with _as_ours(f"{path} cannot be loaded", _advice(contents.header)):
        model = build_model(unpack(contents.header.get("model"), contents.arrays, contents.size), contents.size)
    versions = contents.header.get("versions")
    wrote = versions.get("scikit-learn") if isinstance(versions, dict) else None
    if foreign and wrote not in (None, sklearn.__version__):
        warnings.warn(
            f"{path} was written with scikit-learn {str(wrote)[:40]}, and this is {sklearn.__version__}: its scores "
            "may differ. Use the same version, or fit the model again.",
            stacklevel=2,
        )
    return model


def inspect(path: str | Path) -> dict[str, Any]:
    """What a file says about its model, without loading it.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    dict
        "method" and "parameters" of the estimator; "steps" of its pipeline, empty without one; the "doubts" of the
        fit, a list of sentences; "n_features" and "feature_names" (None if unknown) of the data it was fitted on;
        when it was "written" (UTC); the "versions" of propense, scikit-learn, NumPy and Python that wrote it; the
        "format" of the file, its "size" in bytes and its "sha256"; and what its author passed as "about".

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
    with _as_ours(f"{path} cannot be read", _advice(header)):
        facts = summarise(unpack(header.get("model"), contents.arrays, contents.size))
        written, versions = header["written"], header["versions"]
        about = unpack(header["about"], [], contents.size)
        if not isinstance(written, str) or not all(isinstance(each, str) for each in versions.values()):
            raise ModelFileError("it does not say when it was written, or with which versions")
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
def _as_ours(what: str, advice: str = "") -> Iterator[None]:
    """Raise any error as a ModelFileError: what went wrong, the reason, and what to do."""
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:
        # Whatever it is: scikit-learn and NumPy raise many errors for a wrong file, and a reader should see one kind.
        ours = isinstance(error, ModelFileError)
        reason = str(error) if ours else f"{type(error).__name__}: {error}"[:300]
        raise ModelFileError(f"{what}: {reason.rstrip('.')}.{advice}") from None


def _advice(header: dict[str, Any]) -> str:
    """What to do about a file that cannot be loaded, perhaps because it was written with other versions."""
    versions = header.get("versions")
    if not isinstance(versions, dict) or versions in ({}, _versions()):
        return f" {ADVICE}"
    return f" It was written with {', '.join(f'{name} {number}' for name, number in versions.items())[:200]}. {ADVICE}"


def _plain(about: Any) -> Any:
    """The author's own facts, which must be plain values."""
    from propense.model_files.values import pack

    arrays: list[Any] = []
    packed = pack(about, arrays)
    if arrays or not (about is None or isinstance(about, dict)):
        raise ModelFileError("about must be a dict of plain values: strings, numbers, booleans, lists and dicts")
    return packed


def _versions() -> dict[str, str]:
    from propense import __version__

    return {
        "propense": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
