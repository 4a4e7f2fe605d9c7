"""Model files whose parts were changed and packed again, with right checksums, loaded and used to score."""

import io
import json
import warnings
import zipfile
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyarrow import csv
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
from propense.tables.effects import column_effects

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
    """What `propense inspect`, `score`, `score --top` and `audit draw` do."""
    with suppress(PropenseError):
        inspect("m.propense")
        model = load("m.propense")
        if isinstance(model, TableModel):
            for use in (column_effects, _score, partial(_score, top=5), _draw):
                with suppress(PropenseError):
                    use(model)


def _score(model, top=None):
    score_file(model, TableFile(Path("t.csv")), Path("out.csv"), top=top)


def _draw(model):
    draw_audit(model, TableFile(Path("t.csv")).read(), 5)


def _use_estimator():
    """Loading gives an error of ours or a model. What a model does in Python may be any error, but not a crash."""
    with warnings.catch_warnings(), suppress(PropenseError):
        warnings.simplefilter("ignore")
        model = load("m.propense")
        with suppress(Exception):
            model.predict_proba(_ROWS)


@cache
def _table():
    """A table of rows of the fits and others, with the labels of a second source."""
    table = pa.concat_tables([make_clinic(60, 0)[0].slice(0, 20), make_clinic(20, 1)[0]])
    names = pa.array([f"p{n}" for n in range(table.num_rows)])
    out = io.BytesIO()
    csv.write_csv(table.set_column(0, "patient", names).append_column("seen", [[True, False] * 20]), out)
    return out.getvalue()


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
    labels = [["yes" if each == "yes" else "no" for each in table["reported"].to_pylist()], table["smoker"]]
    asked = table.drop_columns(["reported"]).append_column("reported", [labels[0]]).append_column("seen", labels[1])
    files.append(_saved(fit_table(asked, ["reported", "seen"], id="patient", scar_test=False).model))
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
        return [_saved(model.fit(_ROWS, _LABELS)) for model in models]


def _classifiers():
    yield DecisionTreeClassifier(max_depth=2)
    yield RandomForestClassifier(n_estimators=2, max_depth=2)
    yield LogisticRegression()


def _saved(model):
    with TemporaryDirectory() as folder:
        save(model, Path(folder, "m"))
        return Path(folder, "m").read_bytes()


def _changed(data, rng):
    """A changed file with right checksums; a few with wrong ones."""
    if rng.random() < 0.03:
        return damaged(data, rng)
    members = _members(data)
    header, arrays = json.loads(members["model.json"]), [name for name in members if name.endswith(".npy")]
    inner, kind = [f"{number}.npy" for number in _skops(header["model"])], rng.random()
    if inner and kind < 0.5:
        name = pick(rng, inner)
        bytes_ = _with_changed_skops(_read(members[name]).tobytes(), rng)
        members[name] = _written_array(np.frombuffer(bytes_, dtype=np.uint8))
    elif kind < 0.75 or not arrays:
        # NaN and infinity are written as Python writes them, though no JSON.
        members["model.json"] = json.dumps({**header, "model": mutated(header["model"], rng)}).encode()
    elif kind < 0.79:
        members["model.json"] = json.dumps(mutated(header, rng)).encode()
    elif kind < 0.97:
        for _ in range(int(rng.geometric(0.6))):
            name = pick(rng, arrays)
            members[name] = _with_other_array(members[name], members[pick(rng, arrays)], rng)
    elif kind < 0.99:
        name = pick(rng, list(members))
        members[name] = damaged(members[name], rng)
    else:
        del members[pick(rng, list(members))]
    return _packed(members, pick(rng, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def _members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member, compression)
    return out.getvalue()


def _read(member):
    return np.load(io.BytesIO(member), allow_pickle=False)


def _written_array(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _with_other_array(member, other, rng):
    """An array with other numbers, of another shape or another type, or another array."""
    kind = rng.random()
    if kind < 0.1:
        return other
    if kind < 0.15:
        return damaged(member[:128], rng) + member[128:]
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        array = _read(member)
        if kind < 0.6:
            head = len(member) - array.nbytes
            return member[:head] + with_odd_number(member[head:], rng, min(pick(rng, (8, array.itemsize)), 8))
        if kind < 0.8:
            array = array.astype(pick(rng, ("f8", "f4", "i8", "i4", "u1", "?", "U3", "S2", "c16", "M8[s]", ">f8")))
        else:
            array = pick(rng, _SHAPES)(np.atleast_1d(array))
        return _written_array(array)
    return member


_SHAPES = (
    *(lambda a: a[:-1], lambda a: a[1:], lambda a: a[:0], lambda a: a[::-1], lambda a: a.T, lambda a: a[np.newaxis]),
    *(lambda a: np.repeat(a, 2, axis=0), lambda a: a[0], lambda a: a[..., np.newaxis], lambda a: np.tile(a, 9)),
)


def _skops(tree):
    """The numbers of the arrays that hold parts of scikit-learn."""
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict) and "$skops" in tree:
        yield tree["$skops"]
    for each in inner:
        yield from _skops(each)


def _with_changed_skops(data, rng):
    """Another archive of skops: its schema or one of its arrays is changed."""
    members = _members(data)
    arrays = [name for name in members if name != "schema.json"]
    if arrays and rng.random() < 0.4:
        name = pick(rng, arrays)
        members[name] = _with_other_array(members[name], members[pick(rng, arrays)], rng)
    else:
        members["schema.json"] = _with_changed_schema(members["schema.json"], rng)
    return _packed(members)


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
