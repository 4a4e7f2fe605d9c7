"""Model files that were changed and signed again, so that their checksum is right, loaded and used to score."""

import hashlib
import io
import json
import struct
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from clinic import make_clinic
from fuzz.case import Case, command
from fuzz.damage import damaged, mutated, pick, with_odd_number
from propense import JERM, SAREM, TM, Naive, PGLin, PUClassifier, load, save
from propense._steps.label_scores import Member
from propense._steps.small_trees import TreePredictor
from propense.errors import PropenseError
from propense.model_files import inspect
from propense.tables import (
    TableFile,
    TableModel,
    correct_model,
    draw_audit,
    fit_table,
    read_audit,
    score_file,
    write_audit,
)

_ROWS = np.random.default_rng(1).normal(size=(40, 3)).round(2)
_LABELS = (_ROWS[:, 0] + _ROWS[:, 1] > 0.5).astype(int)
_TABLE_METHODS = ("naive", "jerm", "tm", "sar-em", "lbe", "pglin", "pu", "joint-mle")


def make_model(rng):
    """A changed file, which is inspected, loaded and used: by command, if it is of a table, or in Python."""
    if rng.random() < 0.6:
        data = _changed(pick(rng, _of_tables()), rng)
        # A command takes much longer than what it does.
        return Case({"m.propense": data, "t.csv": _table()}, _use_command if rng.random() < 0.05 else _use_table_model)
    return Case({"m.propense": _changed(pick(rng, _of_arrays()), rng)}, _use_estimator)


def _use_command():
    command("inspect", "m.propense")
    command("score", "t.csv", "--model", "m.propense", "--out", "out.csv")


def _use_table_model():
    for use in (inspect, _score):
        with suppress(PropenseError):
            use("m.propense")


def _score(path):
    model = load(path)
    if isinstance(model, TableModel):
        score_file(model, TableFile(Path("t.csv")), Path("out.csv"))


def _use_estimator():
    """Loading gives an error of ours or a model. What a model does in Python may be any error, but not a crash."""
    with warnings.catch_warnings(), suppress(PropenseError):
        warnings.simplefilter("ignore")
        model = load("m.propense")
        with suppress(Exception):
            model.predict_proba(_ROWS)


@cache
def _table():
    lines = ["patient,age,sex,bmi,smoker,region,reported"]
    lines += [f"p{n},{n + 20},{'fm'[n % 2]},{'' if n % 5 == 0 else n},true,north,{'yes' * (n % 3)}" for n in range(30)]
    return "\n".join(lines).encode()


@cache
def _of_tables():
    table = make_clinic(60, 0)[0]
    files = []
    for method in _TABLE_METHODS:
        options = {"parameters": {"max_iter": 5}} if method == "lbe" else {}
        files.append(
            _saved(fit_table(table, "reported", id="patient", method=method, scar_test=False, **options).model)
        )
    files.append(_saved(_audited(table)))
    # Twice: most of the numbers in a file are in such models. Sex and region are categories.
    boosting = HistGradientBoostingClassifier(
        max_iter=2, max_leaf_nodes=6, min_samples_leaf=2, categorical_features=[1, 4], max_features=0.3, random_state=0
    )
    learners = [boosting, ExtraTreesClassifier(2, max_depth=3, random_state=0)]
    # The score is of the columns that are not named: region is the last of three.
    other = clone(boosting).set_params(categorical_features=[2])
    for more in ({}, {"propensity_features": ["age", "sex"], "prior": 0.5, "learners": [other]}):
        parameters = {"learners": learners, "cv": 2, "random_state": 0, **more}
        found = fit_table(make_clinic(200, 0)[0], "reported", id="patient", scar_test=False, parameters=parameters)
        files += 2 * [_saved(found.model)]
    return files


def _audited(table):
    """A model that an audit has corrected, and that remembers it."""
    model = fit_table(table, "reported", id="patient", method="pglin", scar_test=False).model
    drawn = draw_audit(model, table, 20)
    told = drawn.set_column(1, "verdict", [["yes", "no"] * 10])
    with TemporaryDirectory() as folder:
        write_audit(told, TableFile(_written(folder)), Path(folder, "c.csv"))
        return correct_model(model, read_audit(model, table, [Path(folder, "c.csv")]))


def _written(folder):
    path = Path(folder, "t.csv")
    path.write_bytes(_table())
    return path


@cache
def _of_arrays():
    """Estimators, with classifiers of scikit-learn in them, and pipelines that end in one."""
    imputed = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [0]), (imputed, [1, 2]))
    boosting = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
    models = [
        *(Naive(), JERM(), PGLin(), TM(), PUClassifier(random_state=0), PUClassifier(learners="linear")),
        PUClassifier(learners="linear", propensity_features=[1], prior=(0.5, 0.9), random_state=0),
        PUClassifier(learners=list(_classifiers()), class_features=[0, 2], cv=2, random_state=0),
        *(SAREM(estimator=each, propensity_estimator=GaussianNB(), max_iter=2) for each in _classifiers()),
        SAREM(estimator=boosting, max_iter=2),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), Naive()),
        make_pipeline(columns, JERM()),
        make_pipeline(QuantileTransformer(n_quantiles=5), KBinsDiscretizer(3, strategy="uniform"), Naive()),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [model.fit(_ROWS, _LABELS) for model in models]
        return [_saved(model) for model in (*fitted, _with_tables(PUClassifier(cv=2).fit(_ROWS, _LABELS)))]


def _with_tables(model):
    """The model with trees in tables, as those of a Dask array are."""
    rng, shape = np.random.default_rng(1), (4, 3)
    trees = TreePredictor(0.5, rng.integers(0, _ROWS.shape[1], shape), rng.normal(size=shape), rng.normal(size=(4, 8)))
    member = Member("boosted trees", True, (trees, trees))
    score = replace(model._posterior.score, members=(member,), preparation=None)
    model._posterior, model._propensity = (replace(each, score=score) for each in (model._posterior, model._propensity))
    return model


def _classifiers():
    yield DecisionTreeClassifier(max_depth=2)
    yield RandomForestClassifier(n_estimators=2, max_depth=2)
    yield LogisticRegression()


def _saved(model):
    with TemporaryDirectory() as folder:
        save(model, Path(folder, "m"))
        return Path(folder, "m").read_bytes()


def _changed(data, rng):
    """A changed file with the right checksum; a few with a wrong one."""
    if rng.random() < 0.02:
        return damaged(data, rng)
    end = 16 + int.from_bytes(data[8:16], "little")
    text, part = data[16:end], data[end:-32]
    header, kind = json.loads(text), rng.random()
    inner = list(_skops(header["model"]))
    if inner and kind < 0.5:
        header, part = _with_changed_skops(header, part, pick(rng, inner), rng)
    elif kind < 0.75:
        header = {**header, "model": mutated(header["model"], rng)}
    elif kind < 0.8:
        header = mutated(header, rng)
    elif kind < 0.95:
        part = with_odd_number(part, rng, pick(rng, (8, 8, 4, 1)))
    else:
        return _signed(damaged(text, rng), damaged(part, rng) if rng.random() < 0.3 else part)
    # NaN and infinity are written as Python writes them, though no JSON.
    return _signed(json.dumps(header).encode(), part)


def _signed(text, part):
    body = b"PROPENSE" + struct.pack("<Q", len(text)) + text + part
    return body + hashlib.sha256(body).digest()


def _skops(tree):
    """The numbers of the arrays that hold parts of scikit-learn."""
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for key in ("skops", "classifiers"):
        if isinstance(tree, dict) and "$array" in (tree.get(key) or ()):
            yield tree[key]["$array"]
    for each in inner:
        yield from _skops(each)


def _with_changed_skops(header, part, number, rng):
    """The header and arrays with another archive of skops: its schema or one of its arrays is changed."""
    entry = header["arrays"][number]
    start, length = entry["offset"], entry["shape"][0]
    data = part[start : start + length]
    deflated = not data.startswith(b"PK")
    if deflated and rng.random() < 0.05:
        return header, part[:start] + with_odd_number(data, rng, 1) + part[start + length :]
    with zipfile.ZipFile(io.BytesIO(zlib.decompress(data) if deflated else data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name != "schema.json"]
    if arrays and rng.random() < 0.4:
        name = pick(rng, arrays)
        # NumPy's header takes 128 bytes.
        head, numbers = members[name][:128], members[name][128:]
        odd = rng.random() < 0.8
        members[name] = (
            head + with_odd_number(numbers, rng, pick(rng, (8, 8, 4, 1))) if odd else damaged(head, rng) + numbers
        )
    else:
        members["schema.json"] = _with_changed_schema(members["schema.json"], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)
    data = zlib.compress(out.getvalue()) if deflated else out.getvalue()
    # Numbers of eight bytes are read from any offset.
    arrays = [
        {**each, "shape": [len(data)]}
        if place == number
        else {**each, "offset": each["offset"] + (len(data) - length) * (each["offset"] > start)}
        for place, each in enumerate(header["arrays"])
    ]
    return {**header, "arrays": arrays}, part[:start] + data + part[start + length :]


def _with_changed_schema(text, rng):
    """The schema with other values. Most are JSON in JSON, so that a digit is changed in the text now and then."""
    if rng.random() < 0.6:
        return json.dumps(mutated(json.loads(text), rng)).encode()
    schema = json.loads(text)
    plain = [each for each in _nodes(schema) if each.get("__loader__") == "JsonNode"]
    if plain:
        node = pick(rng, plain)
        with suppress(ValueError, TypeError):
            (value,) = mutated([json.loads(node["content"])], rng) or [None]
            node["content"] = json.dumps(value)
    return json.dumps(schema).encode()


def _nodes(tree):
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(each)
