"""Save fitted models to files that contain numbers and text but no code, so that they can be shared safely."""

import hashlib
import json
import operator
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from propense.errors import MissingExtra, ModelFileError
from propense.estimators._base import BasePUClassifier
from propense.model_files.container import ADVICE, pack, read_file, unpack, write_file

__all__ = ["inspect", "load", "save"]

# Of the files. A later version reads earlier ones from here on.
_FORMAT = 2


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
    Every method with its defaults, and boosted trees of up to 63 leaves, are written as arrays, which later versions of
    propense and scikit-learn read. The steps of a pipeline and other classifiers of yours are written by skops:
    ``pip install "propense[files]"``. You can save scikit-learn's usual transformers, column selectors and text
    vectorizers; logistic regression, naive Bayes, neural networks, trees, forests and histogram-based boosting; and
    functions of NumPy, SciPy and scikit-learn that only compute. Anything else, such as your own functions and classes,
    is refused by name. Such a file is bound to the version of scikit-learn that wrote it.

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
    from propense.model_files.codec import Encoder

    with _as_ours(f"{path} was not written"):
        _check_kind(model)
        encoder = Encoder()
        inner = encoder.encode(model, f"this {type(model).__name__}")
        header = {"format": _FORMAT, "versions": _versions(), "about": _plain(about), "model": inner}
        data = pack(header, encoder.arrays)
        # What cannot be read is not written.
        _read(data)
    write_file(Path(path), data)


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
    data = read_file(Path(path))
    with _as_ours(f"{path} cannot be loaded", f" {ADVICE}"):
        model, header, foreign = _read(data)
    wrote = header["versions"].get("scikit-learn")
    if foreign and wrote not in (None, sklearn.__version__):
        warnings.warn(
            f"{path} was written with scikit-learn {str(wrote)[:40]}, and this is {sklearn.__version__}: its scores "
            "may differ. Use the same version, or fit the model again.",
            stacklevel=2,
        )
    return model


def inspect(path: str | Path) -> dict[str, Any]:
    """What a file says about its model.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    dict
        "method" and "parameters" of the estimator; "steps" of its pipeline, empty without one; the "doubts" of the
        fit, a list of sentences; "n_features" and "feature_names" (None if unknown) of the data it was fitted on; the
        "versions" of propense, scikit-learn, NumPy and Python that wrote it; the "format" of the file, its "size" in
        bytes and its "sha256"; and what its author passed as "about".

    Raises
    ------
    ModelFileError
        As `load`.
    """
    data = read_file(Path(path))
    with _as_ours(f"{path} cannot be loaded", f" {ADVICE}"):
        model, header, _ = _read(data)
        facts = {"format": _FORMAT, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        return {**_facts(model), "versions": header["versions"], **facts, "about": header["about"]}


def _read(data: bytes) -> tuple[Any, dict[str, Any], bool]:
    from propense.model_files.codec import Decoder

    header, arrays = unpack(data)
    version, versions = header.get("format"), header.get("versions", {})
    if type(version) is not int or not all(isinstance(each, str) for each in versions.values()):
        raise ModelFileError("it is not a propense model file")
    if version > _FORMAT:
        raise ModelFileError(f"it is of propense {versions.get('propense', '')[:40]}. Update propense to read it")
    if header.keys() != {"format", "versions", "about", "model"}:
        raise ModelFileError("its header is not complete")
    decoder = Decoder(arrays, len(data))
    # The checks of scikit-learn are wanted here, whatever the user has switched off, and no routing.
    with config_context(skip_parameter_validation=False, enable_metadata_routing=False):
        model = decoder.decode(header["model"])
    _check_kind(model)
    return model, header, decoder.has_sklearn


def _check_kind(model: Any) -> None:
    """Refuse what is no model."""
    last = _last(model)
    if not isinstance(last, BasePUClassifier):
        hint = ". Save its best_estimator_" if hasattr(last, "best_estimator_") else ""
        raise ModelFileError(
            f"a {type(last).__name__} is not an estimator of propense, nor a pipeline that ends in one{hint}"
        )


def _last(model: Any) -> Any:
    """The estimator of a table's model, or of a pipeline."""
    while isinstance(model, Pipeline) and model.steps:
        model = model.steps[-1][1]
    return model.estimator if type(model).__name__ == "TableModel" else model


def _facts(model: Any) -> dict[str, Any]:
    """What `inspect` says of a model."""
    method, steps, first = _last(model), [], model
    while isinstance(first, Pipeline):
        own = [(name, each) for name, each in first.steps if each is not method]
        steps += [f"{name}: {each if isinstance(each, str) else type(each).__name__}" for name, each in first.steps]
        first = next((each for _, each in own if each not in (None, "passthrough")), method)
    names = getattr(first, "feature_names_in_", None)
    facts: dict[str, Any] = {
        "method": type(method).__name__,
        "parameters": {name: _shown(value) for name, value in method.get_params(deep=False).items()},
        "steps": steps,
        "doubts": [doubt.message for doubt in method.doubts_],
        "n_features": operator.index(first.n_features_in_) if hasattr(first, "n_features_in_") else None,
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if hasattr(method, "audit_"):
        facts["audit"] = str(method.audit_)
    if type(model).__name__ != "TableModel":
        return facts
    labels, columns = getattr(model.label, "labels", (model.label,)), model.schema.columns
    return facts | {
        "label": " or ".join(f"{each.column} = {each.positive}" for each in labels),
        "id": model.id,
        "n_features": len(columns),
        "feature_names": model.schema.names,
        # Of a form: (m/d/y), (kg).
        "kinds": {
            each.name: f"{each.kind} ({each.form.rpartition('unit:')[2] or 'as text'})" if each.form else each.kind
            for each in columns
        },
        "spelling": {name: value for name, value in vars(model.spelling).items() if value is not None},
    }


def _shown(value: Any) -> Any:
    """A parameter as `inspect` shows it: a classifier, or each of several, by its text."""
    if isinstance(value, list | tuple):
        return type(value)(map(_shown, value))
    return " ".join(repr(value).split()) if isinstance(value, BaseEstimator) else value


@contextmanager
def _as_ours(what: str, advice: str = "") -> Iterator[None]:
    """Raise any error as a ModelFileError: what went wrong, the reason, and what to do. There are no warnings."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except MissingExtra:
        raise
    except Exception as error:
        # Whatever it is: scikit-learn and NumPy raise many errors for a wrong file, and a reader should see one kind.
        ours = isinstance(error, ModelFileError)
        reason = str(error) if ours else " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ModelFileError(f"{what}: {reason.rstrip('.')}.{advice}") from None


def _plain(about: Any) -> Any:
    """The author's own facts, which must be plain values."""
    try:
        same = json.loads(json.dumps(about, allow_nan=False)) == about
    except (TypeError, ValueError):
        same = False
    if not same or not (about is None or isinstance(about, dict)):
        raise ModelFileError("about must be a dict of plain values: strings, numbers, booleans, lists and dicts")
    return about


def _versions() -> dict[str, str]:
    from propense import __version__

    return {
        "propense": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
