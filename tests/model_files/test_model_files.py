"""Saving, loading and inspecting files: what they promise, and how hostile files are refused."""

import copy
import functools
import hashlib
import io
import json
import os
import pickle
import struct
import sys
import tarfile
import zipfile
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import propense
from propense import JERM, Naive, PGLin, load, save
from propense.errors import ModelFileError, PropenseError
from propense.model_files import inspect


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"age": rng.normal(size=80), "ward": rng.choice(["n", "s", "w"], 80), "dose": rng.normal(size=80)})
    X.loc[::9, "age"] = np.nan
    return X, (X["dose"] > 0) & (rng.random(80) < 0.6)


@pytest.fixture(scope="module")
def pipeline(frame):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    parts = [("numbers", numbers, ["age"]), ("words", OneHotEncoder(min_frequency=2), ["ward"])]
    return make_pipeline(ColumnTransformer(parts, remainder="passthrough"), JERM(ridge=0.1)).fit(*frame)


@pytest.fixture(scope="module")
def written(pipeline, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "m.propense"
    save(pipeline, path, about={"ward": "7b"})
    return path


def take_apart(data):
    """The header of a file, and its arrays as bytes."""
    end = 16 + int.from_bytes(data[8:16], "little")
    return json.loads(data[16:end]), data[end:-32]


def sign(header, part):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = b"PROPENSE" + struct.pack("<Q", len(text)) + text + part
    return body + hashlib.sha256(body).digest()


def test_inspect_shows_what_is_in_a_file(pipeline, written):
    before = datetime.now(UTC)
    facts = inspect(str(written))
    assert facts["method"] == "JERM"
    assert facts["parameters"] == pipeline[-1].get_params()
    assert facts["steps"] == ["columntransformer: ColumnTransformer", "jerm: JERM"]
    assert (facts["n_features"], facts["feature_names"]) == (3, ["age", "ward", "dose"])
    assert (facts["format"], facts["size"], facts["about"]) == (1, written.stat().st_size, {"ward": "7b"})
    assert facts["sha256"] == hashlib.sha256(written.read_bytes()).hexdigest()
    assert 0 <= (before - datetime.fromisoformat(facts["written"])).total_seconds() < 600
    assert facts["versions"] == {
        "propense": propense.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def test_inspect_shows_no_steps_or_names_where_there_are_none(tmp_path):
    model = PGLin(ridge=2).fit(np.eye(4), [0, 0, 1, 1])
    save(model, tmp_path / "any name")
    facts = inspect(tmp_path / "any name")
    assert (facts["method"], facts["steps"], facts["n_features"], facts["feature_names"]) == ("PGLin", [], 4, None)
    assert facts["parameters"] == model.get_params()
    assert facts["about"] is None


def test_a_file_may_be_inspected_where_it_cannot_be_loaded(written, tmp_path):
    header, part = take_apart(written.read_bytes())
    header["versions"]["scikit-learn"] = "9.0"
    header["model"]["estimator"]["parameters"]["turbo"] = True
    (tmp_path / "m").write_bytes(sign(header, part))
    assert inspect(tmp_path / "m")["versions"]["scikit-learn"] == "9.0"
    with pytest.raises(
        ModelFileError,
        match=r"JERM has no parameter 'turbo' in this version\. It was written with .*scikit-learn 9\.0",
    ):
        load(tmp_path / "m")


FACTS = {"auc": np.float64(0.9), "on": (1, 2), "missing": float("nan"), "more": {"$": [None, True, "ä\ud800"]}}


def test_facts_of_ones_own_are_kept(pipeline, tmp_path):
    save(pipeline, tmp_path / "m", about=FACTS)
    about = inspect(tmp_path / "m")["about"]
    assert repr(about) == repr(FACTS)


def circular():
    out = {}
    out["a"] = out
    return out


@pytest.mark.parametrize(
    "about", [3, "words", {1: 2}, {"a": np.zeros(2)}, {"a": print}, {"a": {1}}, circular()], ids=repr
)
def test_facts_that_are_not_plain_are_refused(pipeline, tmp_path, about):
    with pytest.raises(ModelFileError, match="was not written"):
        save(pipeline, tmp_path / "m", about=about)
    assert list(tmp_path.iterdir()) == []


def test_saving_replaces_a_file_and_leaves_no_other_file(tmp_path):
    path = tmp_path / "m.propense"
    path.write_text("an older one")
    X = np.arange(8.0).reshape(4, 2)
    save(Naive().fit(X, [0, 0, 1, 1]), str(path))
    assert load(str(path)).n_features_in_ == 2
    kept = path.read_bytes()
    with pytest.raises(ModelFileError, match="not fitted"):
        save(Naive(), path)
    assert path.read_bytes() == kept
    assert list(tmp_path.iterdir()) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_the_error_is_ours_and_a_value_error(tmp_path):
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "nothing")
    assert isinstance(caught.value, PropenseError)
    assert isinstance(caught.value, ValueError)


class Touch:
    """What a hostile pickle does."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def archive(kind, name, content):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr(name, content)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as tarred:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tarred.addfile(entry, io.BytesIO(content))
    return out.getvalue()


STRANGERS = {
    "a pickle": lambda folder: pickle.dumps(Touch(folder / "touched")),
    "a pickle as header": lambda folder: sign(pickle.dumps(Touch(folder / "touched")), b""),
    "a pickle as arrays": lambda folder: sign(b'{"format": 1, "arrays": []}', pickle.dumps(Touch(folder / "touched"))),
    "a zip bomb": lambda folder: archive("zip", "model.json", bytes(2**26)),
    "a zip that climbs": lambda folder: archive("zip", "../../touched", b"x"),
    "a tar that climbs": lambda folder: archive("tar", "../../touched", b"x"),
    "a tar bomb": lambda folder: archive("tar", "model", bytes(2**26)),
    "a bomb after the magic": lambda folder: b"PROPENSE" + archive("zip", "model.json", bytes(2**26)),
    "nothing": lambda folder: b"",
    "a script": lambda folder: b"#!/bin/sh\ntouch touched\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STRANGERS)
def test_a_hostile_file_runs_nothing_and_writes_nothing(tmp_path, written, watched, name):
    load(written)  # What is imported on the first call is imported.
    path = tmp_path / "inner" / "m.propense"
    path.parent.mkdir()
    path.write_bytes(STRANGERS[name](tmp_path))
    for read in (load, inspect):
        with watched(), pytest.raises(ModelFileError, match=r"m\.propense"):
            read(path)
    assert sorted(tmp_path.rglob("*")) == [path.parent, path]


@pytest.mark.slow
def test_any_byte_of_a_model_that_is_changed_or_missing_is_noticed(tmp_path):
    path = tmp_path / "m"
    save(Naive().fit(np.eye(3), [0, 0, 1]), path)
    data = path.read_bytes()
    # The parts before and after the header's text, which all lies below the checksum.
    for place in (*range(40), *range(40, len(data) - 40, 29), *range(len(data) - 40, len(data))):
        for other in (data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :], data[:place]):
            path.write_bytes(other)
            with pytest.raises(ModelFileError):
                load(path)


def test_a_loaded_model_shares_no_memory_with_another(written):
    one, other = load(written), load(written)
    one[-1].risk_path_[:] = 0
    one[-1]._posterior.coef[:] = 0
    assert (other[-1].risk_path_ != 0).all()
    assert (other[-1].coef_ != 0).all()


def put(where, *keys):
    """A change: the value at the end of the keys."""
    *path, last, value = keys

    def change(header):
        node = where(header)
        for key in path:
            node = node[key]
        node[last] = value

    return change


def model(header):
    return header["model"]


def estimator(header):
    return header["model"]["estimator"]


def nested(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), None)


WRONG = {
    "no model": lambda header: header.pop("model"),
    "a list for a model": put(lambda header: header, "model", []),
    "a class by its path": put(estimator, "class", "propense.estimators.JERM"),
    "a private class": put(estimator, "class", "BasePUClassifier"),
    "a scaler for a method": put(estimator, "class", "StandardScaler"),
    "an option of another type": put(estimator, "parameters", "ridge", "much"),
    "an unknown option": put(estimator, "parameters", "__class__", "x"),
    "columns of no kind": put(estimator, "parameters", "propensity_features", {"a": 1}),
    "an attribute of no kind": put(estimator, "fitted", "_fit", "x"),
    "a missing attribute": lambda header: estimator(header)["fitted"].pop("spies_"),
    "no features": put(estimator, "fitted", "n_features_in_", 0),
    "minus one feature": put(estimator, "fitted", "n_features_in_", -1),
    "infinitely many features": put(estimator, "fitted", "n_features_in_", {"$float": "inf"}),
    "true features": put(estimator, "fitted", "n_features_in_", True),
    "a prior of no kind": put(estimator, "fitted", "prior_", "half"),
    "doubts of no kind": put(estimator, "fitted", "doubts_", 3),
    "doubts that say nothing": put(estimator, "fitted", "doubts_", {"$tuple": [{"$tuple": ["few_labels", 3]}]}),
    "doubts without a kind": put(estimator, "fitted", "doubts_", {"$tuple": [{"$tuple": ["few_labels"]}]}),
    "a prior that is not finite": put(estimator, "fitted", "prior_", {"$float": "nan"}),
    "no coefficients": put(estimator, "fitted", "posterior", {}),
    "coefficients of no kind": put(estimator, "fitted", "posterior", "slope", 1.0),
    "one class": put(estimator, "fitted", "classes_", {"$values": ["a", "a"], "dtype": "<U1", "shape": [2]}),
    "three classes": put(estimator, "fitted", "classes_", {"$values": ["a", "b", "c"], "dtype": "<U1", "shape": [3]}),
    "classes that are nothing": put(
        estimator, "fitted", "classes_", {"$values": [None, "a"], "dtype": "object", "shape": [2]}
    ),
    "names of no kind": put(estimator, "fitted", "feature_names_in_", ["a", "b"]),
    "an unknown request": put(estimator, "requests", {"predict_proba": {"x": True}}),
    "a request for nothing": put(estimator, "requests", {"fit": {"x": True}}),
    "a deep list": put(estimator, "parameters", "ridge", nested(900)),
    "a deep description": put(model, "estimator", nested(900)),
    "an unknown part": put(model, "code", "import os"),
    "no estimator": lambda header: model(header).pop("estimator"),
    "an estimator of no kind": put(model, "estimator", None),
    "a scaler for an estimator": put(estimator, "class", "StandardScaler"),
    "an unknown class": put(estimator, "class", "subprocess.Popen"),
    "another method": put(estimator, "class", "TM"),
    "an option out of range": put(estimator, "parameters", "ridge", -1.0),
    "an estimator inside": put(estimator, "parameters", "propensity_estimator", "os.system"),
    "an estimator inside by its name": put(
        estimator, "parameters", "propensity_estimator", {"skops": "os.system", "text": "LogisticRegression()"}
    ),
    "a classifier for coefficients": put(estimator, "fitted", "posterior", {"classifier": 3, "columns": None}),
    "too few coefficients": put(estimator, "fitted", "n_features_in_", 3),
    "an output of a method": put(estimator, "output", "pandas"),
    "no bytes": put(model, "skops", None),
    "other numbers for bytes": put(model, "skops", {"$array": 1}),
    "words for bytes": put(model, "skops", "os.system"),
    "other steps": put(model, "steps", ["jerm: JERM"]),
    "steps of no kind": put(model, "steps", 3),
    "other features": put(model, "n_features_in_", 7),
    "other names": put(model, "feature_names_in_", ["a", "b", "c"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_nonsense_under_a_right_digest_is_refused(written, tmp_path, watched, name):
    header, part = take_apart(written.read_bytes())
    WRONG[name](header)
    path = tmp_path / "m.propense"
    path.write_bytes(sign(header, part))
    with watched(), pytest.raises(ModelFileError, match=r"m\.propense cannot be loaded: .*Fit the model again"):
        load(path)


@pytest.mark.parametrize("where", ["model", "about"])
def test_many_wide_strings_do_not_take_memory_that_the_file_does_not_account_for(written, tmp_path, watched, where):
    """Each further 57 bytes bought 4 MiB here, and 256 MiB where they asked for that."""
    header, part = take_apart(written.read_bytes())
    wide = [{"$values": ["a"], "dtype": "<U1048576", "shape": [1]}] * 64
    (header if where == "about" else estimator(header)["parameters"])["about" if where == "about" else "ridge"] = wide
    path = tmp_path / "m.propense"
    path.write_bytes(sign(header, part))
    for read in (inspect, *[load] * (where == "model")):
        with watched(), pytest.raises(ModelFileError, match="its arrays would take 268435456 bytes"):
            read(path)


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 70)
    | st.sampled_from(
        [2**31, 2**63, -(2**64), 10**30, 1e308, 0.5, "", "drop", "passthrough", "auto", "object", "__init__"]
    )
    | st.sampled_from(["JERM", "Pipeline", "ColumnTransformer", "OneHotEncoder", "float64", "nan", "<U3", "pandas"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["class", "fitted", "parameters", "a"]), inner, max_size=3)
        | st.sampled_from(["$float", "$tuple", "$dict", "$array", "$number", "$values", "$slice", "$call"]).flatmap(
            lambda tag: st.builds(lambda value: {tag: value}, inner)
        )
    ),
    max_leaves=6,
)


def places(node):
    """Every place in a header, as the dict or list that holds it and its key there."""
    pairs = list(node.items() if isinstance(node, dict) else enumerate(node)) if isinstance(node, dict | list) else []
    return [(node, key) for key, _ in pairs] + [place for _, inner in pairs for place in places(inner)]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*was written with scikit-learn")
@given(data=st.data())
def test_any_other_header_makes_a_model_or_one_error(written, watched, data):
    header, part = take_apart(written.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(header)
        holder, key = found[data.draw(st.integers(0, len(found) - 1))]
        change = data.draw(st.sampled_from(["replace", "drop", "swap"]))
        if change == "replace":
            holder[key] = data.draw(JUNK)
        elif change == "swap":
            other, place = found[data.draw(st.integers(0, len(found) - 1))]
            holder[key] = copy.deepcopy(other[place])
        else:
            del holder[key]
        if not places(header):
            break
    path = written.parent / "mutant.propense"
    path.write_bytes(sign(header, part))
    for read in (load, inspect):
        with watched():
            try:
                read(path)
            except ModelFileError as error:
                assert "mutant.propense" in str(error)  # noqa: PT017
