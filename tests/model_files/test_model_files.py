"""Saving, loading and inspecting files: what they promise, and how hostile files are refused."""

import copy
import functools
import hashlib
import io
import json
import os
import pickle
import shutil
import struct
import sys
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

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

FIXTURES = Path(__file__).parent / "fixtures"


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


@pytest.fixture
def old(tmp_path):
    """A file of the first version with the same kind of pipeline, described part by part."""
    return Path(shutil.copy(FIXTURES / "old" / "small.propense", tmp_path))


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


def test_the_first_file_still_gives_its_scores():
    """Written by propense 0.1.0 with scikit-learn 1.9.1; whatever changes, it must load."""
    facts = json.loads((FIXTURES / "first.json").read_text())
    rows = pd.DataFrame(facts["rows"])
    model = load(FIXTURES / "first.propense")
    prepared = model[:-1].transform(rows)
    assert model.classes_.tolist() == facts["classes"]
    assert model.predict(rows).tolist() == facts["predict"]
    assert model[-1].prior_ == facts["prior"]
    # Doubts came later.
    assert (model[-1].doubts_, inspect(FIXTURES / "first.propense")["doubts"]) == ((), [])
    for name, found in {
        "decision_function": model.decision_function(rows),
        "posterior": model.predict_proba(rows)[:, 1],
        "propensity": model[-1].predict_propensity(prepared),
        "hidden": model[-1].predict_hidden(prepared),
    }.items():
        # Another processor may add in another order.
        np.testing.assert_allclose(found, facts[name], rtol=1e-12, atol=1e-14)
    assert inspect(FIXTURES / "first.propense")["versions"]["scikit-learn"] == "1.9.1"


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


def test_a_file_may_be_inspected_where_it_cannot_be_loaded(old, tmp_path):
    header, part = take_apart(old.read_bytes())
    header["versions"]["scikit-learn"] = "9.0"
    header["model"]["parameters"]["turbo"] = True
    (tmp_path / "m").write_bytes(sign(header, part))
    assert inspect(tmp_path / "m")["versions"]["scikit-learn"] == "9.0"
    with pytest.raises(
        ModelFileError,
        match=r"Pipeline has no parameter 'turbo' in this version\. It was written with .*scikit-learn 9\.0",
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


def final(header):
    return header["model"]["parameters"]["steps"][-1]["$tuple"][1]


def columns(header):
    return header["model"]["parameters"]["steps"][0]["$tuple"][1]


def part_of_columns(header, number):
    return columns(header)["fitted"]["transformers_"][number]["$tuple"][1]


def encoder(header):
    return part_of_columns(header, 1)


def imputer(header):
    return part_of_columns(header, 0)["parameters"]["steps"][0]["$tuple"][1]


def put(where, *keys):
    """A change: the value at the end of the keys."""
    *path, last, value = keys

    def change(header):
        node = where(header)
        for key in path:
            node = node[key]
        node[last] = value

    return change


NONSENSE = {
    "no model": lambda header: header.pop("model"),
    "a list for a model": put(lambda header: header, "model", []),
    "an unknown class": put(final, "class", "subprocess.Popen"),
    "a class by its path": put(final, "class", "propense.estimators.JERM"),
    "a private class": put(final, "class", "BasePUClassifier"),
    "another method": put(final, "class", "TM"),
    "a scaler for a method": put(final, "class", "StandardScaler"),
    "an unknown part": put(final, "code", "import os"),
    "an option out of range": put(final, "parameters", "ridge", -1.0),
    "an option of another type": put(final, "parameters", "ridge", "much"),
    "an unknown option": put(final, "parameters", "__class__", "x"),
    "an estimator inside": put(final, "parameters", "propensity_estimator", "os.system"),
    "columns of no kind": put(final, "parameters", "propensity_features", {"a": 1}),
    "an attribute of no kind": put(final, "fitted", "_fit", "x"),
    "a missing attribute": lambda header: final(header)["fitted"].pop("spies_"),
    "too few coefficients": put(final, "fitted", "n_features_in_", 3),
    "no features": put(final, "fitted", "n_features_in_", 0),
    "minus one feature": put(final, "fitted", "n_features_in_", -1),
    "infinitely many features": put(final, "fitted", "n_features_in_", {"$float": "inf"}),
    "true features": put(final, "fitted", "n_features_in_", True),
    "a prior of no kind": put(final, "fitted", "prior_", "half"),
    "doubts of no kind": put(final, "fitted", "doubts_", 3),
    "doubts that say nothing": put(final, "fitted", "doubts_", {"$tuple": [{"$tuple": ["few_labels", 3]}]}),
    "doubts without a kind": put(final, "fitted", "doubts_", {"$tuple": [{"$tuple": ["few_labels"]}]}),
    "a prior that is not finite": put(final, "fitted", "prior_", {"$float": "nan"}),
    "no coefficients": put(final, "fitted", "posterior", {}),
    "coefficients of no kind": put(final, "fitted", "posterior", "slope", 1.0),
    "one class": put(final, "fitted", "classes_", {"$values": ["a", "a"], "dtype": "<U1", "shape": [2]}),
    "three classes": put(final, "fitted", "classes_", {"$values": ["a", "b", "c"], "dtype": "<U1", "shape": [3]}),
    "classes that are nothing": put(
        final, "fitted", "classes_", {"$values": [None, "a"], "dtype": "object", "shape": [2]}
    ),
    "names of no kind": put(final, "fitted", "feature_names_in_", ["a", "b"]),
    "an unknown request": put(final, "requests", {"predict_proba": {"x": True}}),
    "a request for nothing": put(final, "requests", {"fit": {"x": True}}),
    "an output of a method": put(final, "output", "pandas"),
    "no steps": put(lambda header: header["model"], "parameters", "steps", []),
    "steps of no kind": put(lambda header: header["model"], "parameters", "steps", [1, 2]),
    "a cache": put(lambda header: header["model"], "parameters", "memory", "/tmp/cache"),
    "an unfitted step": lambda header: columns(header).pop("fitted"),
    "a method that ends nothing": lambda header: header["model"]["parameters"]["steps"].reverse(),
    "a pipeline that ends in no method": lambda header: header["model"]["parameters"]["steps"].pop(),
    "a billion columns": put(columns, "fitted", "n_features_in_", 10**9),
    "2**62 columns": put(columns, "fitted", "n_features_in_", 2**62),
    "other names": put(
        columns, "fitted", "feature_names_in_", {"$values": list("abc"), "dtype": "object", "shape": [3]}
    ),
    "other columns": put(columns, "parameters", "transformers", 0, "$tuple", 2, ["elsewhere"]),
    "columns far away": put(columns, "parameters", "transformers", 0, "$tuple", 2, [10**6]),
    "a format for names": put(columns, "parameters", "verbose_feature_names_out", "{feature_name:>999999999}"),
    "spans of no kind": put(columns, "fitted", "output_indices_", {"numbers": 3}),
    "a span of a billion columns": put(columns, "fitted", "output_indices_", "numbers", {"$slice": [0, 10**9, None]}),
    "a column without a value to impute": put(
        imputer, "fitted", "statistics_", {"$values": [{"$float": "nan"}], "dtype": "float64", "shape": [1]}
    ),
    "an infinite value to impute": put(
        imputer, "fitted", "statistics_", {"$values": [{"$float": "inf"}], "dtype": "float64", "shape": [1]}
    ),
    "an unknown output": put(columns, "output", "os"),
    "a transformer for another": put(columns, "fitted", "transformers_", 0, "$tuple", 1, "drop me"),
    "an unfitted transformer": lambda header: encoder(header).pop("fitted"),
    "no categories": put(encoder, "fitted", "categories_", []),
    "an empty category": put(encoder, "fitted", "categories_", [{"$values": [], "dtype": "object", "shape": [0]}]),
    "infrequent ones of another": put(encoder, "fitted", "infrequent", [[7]]),
    "infrequent ones that are none": put(encoder, "fitted", "infrequent", None),
    "a callable": put(encoder, "parameters", "feature_name_combiner", "eval"),
    "a dtype of no numbers": put(encoder, "parameters", "dtype", {"$dtype": "object"}),
    "a column that is not there": put(imputer, "fitted", "marked", {"$values": [5], "dtype": "int8", "shape": [1]}),
    "a dtype of another kind": put(imputer, "fitted", "dtype", "V8"),
    "whole numbers with gaps": put(imputer, "fitted", "dtype", "int64"),
    "a strategy of no kind": put(imputer, "parameters", "strategy", "os.system"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_in_an_old_file_is_refused(old, tmp_path, watched, name):
    header, part = take_apart(old.read_bytes())
    NONSENSE[name](header)
    path = tmp_path / "m.propense"
    path.write_bytes(sign(header, part))
    with watched(), pytest.raises(ModelFileError, match=r"m\.propense cannot be loaded: .*Fit the model again"):
        load(path)


@pytest.mark.parametrize("jobs", [1024, -1, 10**6, "all"])
def test_processes_are_not_taken_from_an_old_file(old, tmp_path, jobs):
    header, part = take_apart(old.read_bytes())
    put(columns, "parameters", "n_jobs", jobs)(header)
    path = tmp_path / "m.propense"
    path.write_bytes(sign(header, part))
    assert load(path)[0].n_jobs is None


def model(header):
    return header["model"]


def estimator(header):
    return header["model"]["estimator"]


def nested(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), None)


WRONG = {
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
        | st.sampled_from(
            ["$float", "$tuple", "$dict", "$slice", "$array", "$number", "$values", "$dtype", "$type", "$call"]
        ).flatmap(lambda tag: st.builds(lambda value: {tag: value}, inner))
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
    source = data.draw(st.sampled_from([written, FIXTURES / "old" / "small.propense"]))
    header, part = take_apart(source.read_bytes())
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
