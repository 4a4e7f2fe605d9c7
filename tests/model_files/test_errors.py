"""What cannot be saved or is no model file is refused in one sentence that names the file, and nothing is written."""

import io
import os
import sys
import zipfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from propense import JERM, SAREM, Naive, PUClassifier, load, save
from propense.errors import MissingExtra, ModelFileError, PropenseError
from propense.model_files import inspect

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
S = ((X[:, 0] > 0) & (RNG.random(60) < 0.7)).astype(int)
LEVELS = np.column_stack([X, np.arange(60) % 4])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "m"
    save(JERM(random_state=0).fit(X, S), path)
    return path.read_bytes()


def with_attribute():
    model = Naive().fit(X, S)
    model.threshold_ = 0.5
    return model


def half_fitted():
    model = Naive().fit(X, S)
    del model._posterior
    return model


class Mine(LogisticRegression):
    """A classifier of one's own."""


BY_LEVEL = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, categorical_features=[3])
UNSAVED = {
    "nothing": (lambda: None, "a NoneType is not an estimator of propense"),
    "a scaler": (lambda: make_pipeline(StandardScaler()).fit(X), "a StandardScaler is not an estimator of propense"),
    "a search": (
        lambda: GridSearchCV(Naive(), {"ridge": [1.0]}, cv=2).fit(X, S),
        r"a GridSearchCV is .* in one\. Save its best_estimator_",
    ),
    "not fitted": (Naive, r"this Naive is not fitted: it has no .*\. Fit the model first"),
    "half fitted": (half_fitted, "this Naive is not fitted: it has no _posterior"),
    "a step that is not fitted": (
        lambda: make_pipeline(StandardScaler(), Naive().fit(X, S)),
        r"step 'standardscaler' of this Pipeline is not fitted\. Fit the model first\.$",
    ),
    "an attribute": (with_attribute, r"has an attribute 'threshold_' that its class does not save"),
    "a classifier of one's own": (
        lambda: PUClassifier(learners=[Mine()], cv=2).fit(X, S),
        r"holds .*Mine, which a model file may not contain\. The documentation of propense.save lists",
    ),
    "a function": (
        lambda: make_pipeline(FunctionTransformer(partial(np.clip, a_min=0, a_max=1)), Naive()).fit(X, S),
        "this Pipeline holds functools.partial",
    ),
    "the function of a module": (
        lambda: make_pipeline(FunctionTransformer(np.emath.sqrt), Naive()).fit(np.abs(X), S),
        "this Pipeline holds .*sqrt, which a model file may not contain",
    ),
    "trees of levels": (
        lambda: make_pipeline(StandardScaler(), SAREM(estimator=BY_LEVEL, max_iter=1)).fit(LEVELS, S),
        r"holds boosted trees of categories inside another estimator, which cannot be saved",
    ),
    "a random state": (
        lambda: PUClassifier(learners="linear", random_state=np.random.RandomState(0)).fit(X, S),
        "random_state of this PUClassifier: a value of type RandomState cannot be saved",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNSAVED)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path, name):
    made, words = UNSAVED[name]
    model = made()
    with pytest.raises(ModelFileError, match=rf"m was not written: .*{words}") as raised:
        save(model, tmp_path / "m")
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("about", [3, "words", {1: 2}, {"a": np.zeros(2)}, {"a": float("nan")}, {"a": (1,)}], ids=repr)
def test_facts_of_ones_own_that_are_not_plain_are_refused(tmp_path, about):
    with pytest.raises(ModelFileError, match="m was not written: about must be a dict of plain values"):
        save(Naive().fit(X, S), tmp_path / "m", about=about)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_for_files_is_named(tmp_path):
    model = Naive().fit(X, S)
    (tmp_path / "file").touch()
    for path in (tmp_path / "no such folder" / "m", tmp_path / "file" / "m"):
        with pytest.raises(ModelFileError, match=f"^{path} was not written: there is no folder {path.parent}. Cr"):
            save(model, path)
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(ModelFileError, match=f"^{path} was not written: it is not a regular file"):
            save(model, path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m"
    path.write_bytes(b"before")

    def no_room(self, data):
        self.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "write_bytes", no_room)
        with pytest.raises(ModelFileError, match=r"m was not written: .*No space left"):
            save(Naive().fit(X, S), path)
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (b"before", [path])
    mask = os.umask(0)
    os.umask(mask)
    save(Naive().fit(X, S), str(path))
    path.unlink()
    save(Naive().fit(X, S), str(path))
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_skops_is_asked_for_only_where_it_is_needed(tmp_path, monkeypatch):
    model = SAREM(estimator=LogisticRegression()).fit(X, S)
    save(model, tmp_path / "m")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingExtra, match=r'pip install "propense\[files\]"'):
        save(model, tmp_path / "other")
    for read in (load, inspect):
        with pytest.raises(MissingExtra, match=r'pip install "propense\[files\]"'):
            read(tmp_path / "m")


def other_zip():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    return out.getvalue()


STRANGERS = {
    "empty": (lambda data: b"", "is not a propense model file: it is empty"),
    "a script": (lambda data: b"#!/bin/sh\nrm", r"is not a propense model file: it starts with b'#!/bin/s'\. Fit the"),
    "a file of 0.2.0": (
        lambda data: b"PROPENSE" + bytes(40),
        r"was written by propense 0\.2 or earlier, whose files this version does not read\. Use it with propense 0\.2",
    ),
    "another archive": (lambda data: other_zip(), "cannot be loaded: it does not consist of model.json and numbered"),
    "its beginning": (lambda data: data[: len(data) // 2], "cannot be loaded: .*Fit the model again, or ask for a new"),
    "its end": (lambda data: data[4:], "is not a propense model file"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_file_that_is_no_model_is_told_apart(tmp_path, data, name):
    change, words = STRANGERS[name]
    (tmp_path / "m").write_bytes(change(data))
    for read in (load, inspect):
        with pytest.raises(ModelFileError, match=f"m {words}") as raised:
            read(tmp_path / "m")
        assert isinstance(raised.value, PropenseError)
        assert isinstance(raised.value, ValueError)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"^There is no file .*missing\. Check the path"):
        load(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="is a folder, but a model file is expected"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be read"):
        load("a\0b")
    with pytest.raises(ModelFileError, match="null is not a regular file"):
        load("/dev/null")


def test_a_later_format_asks_for_a_later_propense(tmp_path, data, archive):
    changed = archive.of(data)
    changed.header |= {"format": 3, "more": 1, "versions": {"propense": "9.1"}}
    (tmp_path / "m").write_bytes(changed.packed())
    with pytest.raises(ModelFileError, match=r"m cannot be loaded: it is of propense 9\.1\. Update propense"):
        load(tmp_path / "m")


def test_a_class_or_parameter_of_another_version_is_named(tmp_path, data, archive):
    for key, value, words in (("$method", "NEW", "it holds a 'NEW', which"), ("parameters", {"turbo": 1}, "'turbo'")):
        changed = archive.of(data)
        changed.header["model"][key] = value
        (tmp_path / "m").write_bytes(changed.packed())
        with pytest.raises(ModelFileError, match=f"{words}.*this version"):
            load(tmp_path / "m")


@pytest.mark.slow
def test_any_byte_that_is_changed_or_missing_gives_the_same_model_or_an_error(tmp_path, data):
    """Of the archive's own outlines, some bytes mean nothing, such as the system that wrote it."""
    whole = load_bytes(data, tmp_path).predict_hidden(X)
    for place in range(0, len(data), 5):
        for other in (data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :], data[:place]):
            with suppress(ModelFileError):
                np.testing.assert_array_equal(load_bytes(other, tmp_path).predict_hidden(X), whole)


def load_bytes(data, folder):
    (folder / "m").write_bytes(data)
    return load(folder / "m")
