"""Files that someone has made up: each gives one clear error, runs nothing, writes nothing and takes little memory."""

import functools
import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from clinic import make_clinic
from propense import JERM, Naive, PUClassifier, load, save
from propense.errors import ModelFileError
from propense.model_files import inspect
from propense.tables import fit_table

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
S = ((X[:, 0] > 0) & (RNG.random(80) < 0.7)).astype(int)
FRAME = pd.DataFrame({"a": X[:, 0], "b": RNG.choice(["u", "v"], 80), "c": X[:, 1]})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a linear model, of one with trees, of a pipeline, and of a model of a table."""
    folder = tmp_path_factory.mktemp("files")
    models = {
        "linear": JERM(random_state=0).fit(X, S),
        "trees": PUClassifier(cv=2, random_state=0).fit(FRAME, S),
        "groups": PUClassifier(learners="linear", prior={"u": (0.5, 0.6)}, prior_groups="b", random_state=0).fit(
            FRAME, S
        ),
        "pipeline": make_pipeline(FunctionTransformer(np.abs), Naive()).fit(X, S),
        "table": fit_table(make_clinic(100)[0], "reported", id="patient", method="naive", scar_test=False).model,
    }
    for name, model in models.items():
        save(model, folder / name)
        load(folder / name)
    return {name: (folder / name).read_bytes() for name in models}


@pytest.fixture
def refused(tmp_path, watched, monkeypatch):
    """Whether bytes are refused, in one line that names the file, and leave nothing behind."""

    def is_refused(data, words=""):
        path = tmp_path / "inner" / "m.propense"
        path.parent.mkdir()
        path.write_bytes(data)
        monkeypatch.chdir(path.parent)
        for read in (load, inspect):
            with watched(), pytest.raises(ModelFileError, match=rf"m\.propense .*{words}") as raised:
                read(path)
            assert "\n" not in str(raised.value)
        assert sorted(tmp_path.rglob("*")) == [path.parent, path]

    return is_refused


class Touch:
    """What a hostile pickle does."""

    def __reduce__(self):
        return (open, ("touched", "w"))


def saved(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def announcing(shape, dtype="<f8"):
    """An array of two numbers that announces another shape or type."""
    return saved(np.zeros(2)).replace(b"(2,)", shape.encode()).replace(b"<f8", dtype.encode())


def packed_as(compression):
    return lambda archive: vars(archive).update(compression=compression)


def with_array(member):
    return lambda archive: archive.arrays.update({"0.npy": member})


def with_header(**facts):
    return lambda archive: archive.header.update(facts)


nested = functools.reduce(lambda inner, _: [inner], range(900), None)
ARCHIVES = {
    "another array": lambda archive: archive.more.update({"99.npy": saved(np.zeros(2))}),
    "another file": lambda archive: archive.more.update({"../touched": b"x"}),
    "an array too few": lambda archive: archive.arrays.popitem(),
    "a bomb of an array": with_array(saved(np.zeros(2**23))),
    "a bomb that another compression hides": packed_as(zipfile.ZIP_BZIP2),
    "a pickle": with_array(pickle.dumps(Touch())),
    "an array of a pickle": with_array(saved(np.array([Touch()], dtype=object), allow_pickle=True)),
    "an array of nothing": with_array(b""),
    "an array of many rows": with_array(announcing("(9**9,)")),
    "an array of more rows than there are": with_array(announcing("(3,)")),
    "an array of wide text": with_array(saved(np.zeros(0, "<U67108864"))),
    "an array of items of no bytes": with_array(announcing("(99999999,)", "|V0")),
    "an array whose head is a program": with_array(saved(np.zeros(2)).replace(b"(2,)", b"os()")),
    "truths that are none": with_array(saved(np.array([2, 0], dtype=np.uint8)).replace(b"|u1", b"|b1")),
    "a deep list": with_header(model=nested),
    "a list for a model": with_header(model=[]),
    "text for a model": with_header(model="os.system"),
    "no versions": with_header(versions=None),
    "versions of no kind": with_header(versions={"propense": 3}),
    "no format": with_header(format=None),
    "more in the header": with_header(more=1),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_are_not_as_they_are_written(files, archive, refused, name):
    changed = archive.of(files["linear"])
    ARCHIVES[name](changed)
    refused(changed.packed())


TEXTS = {
    "a pickle": pickle.dumps(Touch()),
    "no text": b"\xff\xfe",
    "no object": b"[]",
    "deep JSON": b"[" * 100_000,
    "NaN": b'{"format": NaN}',
    "a bomb": b" " * 2**26,
    "many lists": b"[" + b"[]," * 300_000 + b"[]]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_headers_that_are_not_json(files, archive, refused, name):
    refused(archive.of(files["linear"]).packed(TEXTS[name]))


def put(value, *keys):
    """A change: the value at the end of the keys; `None` of no key means that it is missing."""

    def change(model):
        for key in keys[:-1]:
            model = model[key]
        model[keys[-1]] = value

    return change


def fitted(name, value):
    return put(value, "fitted", name)


def parameter(name, value):
    return put(value, "parameters", name)


LINEAR = {
    "a class by its path": put("propense.estimators.JERM", "$method"),
    "a class of another library": put("subprocess.Popen", "$method"),
    "a base class": put("BasePUClassifier", "$method"),
    "a class of no kind": put({"a": 1}, "$method"),
    "another method": put("TM", "$method"),
    "no parameters": lambda model: model.pop("parameters"),
    "an unknown option": parameter("__class__", "x"),
    "an option of another type": parameter("ridge", "much"),
    "an option out of range": parameter("ridge", -1.0),
    "an option that is too large": parameter("ridge", 1e999),
    "a request for another method": put({"predict_proba": {"x": True}}, "requests"),
    "a request for nothing": put({"fit": {"x": True}}, "requests"),
    "a missing attribute": lambda model: model["fitted"].pop("spies_"),
    "an attribute of no kind": fitted("_fit", "x"),
    "no features": fitted("n_features_in_", 0),
    "true features": fitted("n_features_in_", True),
    "a billion features": fitted("n_features_in_", 10**9),
    "other features": fitted("n_features_in_", 4),
    "a prior that is not a share": fitted("prior_", 1.5),
    "a prior that is no number": fitted("prior_", {"$float": "nan"}),
    "doubts that say nothing": fitted("doubts_", {"$tuple": [{"$is": "Doubt", "kind": "a", "message": 3}]}),
    "one class": fitted("classes_", {"$values": [False, [2], ["a", "a"]]}),
    "classes that are nothing": fitted("classes_", {"$values": [False, [2], [None, "a"]]}),
    "many empty rows": fitted("classes_", {"$values": [False, [0, 10**12], []]}),
    "an array that is not there": fitted("risk_path_", {"$array": 10**6}),
    "the same as nothing": fitted("_posterior", {"$same": 99}),
    "itself": fitted("_posterior", {"$same": 0}),
    "an unknown object": fitted("_posterior", {"$is": "Popen", "args": "touch"}),
    "an object of a class that is imported": fitted("_posterior", {"$is": "os.system"}),
    "an object of no class": fitted("_posterior", {"a": 1}),
    "an object of nothing": fitted("_posterior", {}),
    "another object": fitted("_posterior", {"$is": "Doubt", "kind": "a", "message": "b"}),
    "coefficients of no kind": fitted("_posterior", {"$is": "LogisticPredictor", "coef": 1.0}),
    "names of no kind": fitted("feature_names_in_", ["a", "b"]),
    "bytes of scikit-learn that are none": fitted("_posterior", {"$skops": 0}),
}


@pytest.mark.parametrize("name", LINEAR)
def test_descriptions_of_models_that_no_fit_gives(files, archive, refused, name):
    changed = archive.of(files["linear"])
    LINEAR[name](changed.header["model"])
    refused(changed.packed(), "cannot be loaded: .*Fit the model again")


def part(kind, name, value):
    """A change of the field of the first object of a class: a number or JSON, or a function of its array."""

    def change(archive):
        found = next(each for each in objects(archive.header["model"]) if each.get("$is") == kind)
        if callable(value):
            number = f"{found[name]['$array']}.npy"
            archive.write(number, value(archive.read(number)))
        else:
            found[name] = value

    return change


def objects(tree):
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from objects(each)


def first(value):
    """The array with another first number."""
    return lambda array: np.concatenate([[value], array.ravel()[1:]]).reshape(array.shape).astype(array.dtype)


def laughing(archive):
    """Predictors that ask two others, which ask two others …: few of them take for ever."""
    fitted, inner = archive.header["model"]["fitted"], {"$is": "LogisticPredictor", "coef": {"$array": 0}}
    for _ in range(60):
        pair = {"posterior": inner, "propensity": {"$same": -1}}
        inner = {"$is": "ShiftedPredictor", **pair, "shift": 0.0, "of_class": True}
    fitted["_posterior"] = inner


MILLION = {"$tuple": [0.0] * 50_000}
PARTS = {
    "no learners": ("trees", part("LabelScore", "members", {"$tuple": []})),
    "no spread": ("trees", part("LabelScore", "spread", 0.0)),
    "a spread that is no number": ("trees", part("LabelScore", "spread", {"$float": "nan"})),
    "columns of a score that are not there": ("trees", part("LabelScore", "columns", {"$values": [False, [1], [9]]})),
    "a learner in the place of another": ("trees", part("Member", "predictor", {"$is": "Doubt", "kind": "a"})),
    "a tree that asks for other columns": ("trees", part("Forest", "column", lambda array: array + 9)),
    "a tree without an end": ("trees", part("Forest", "column", lambda array: np.zeros_like(array))),
    "a tree of other numbers": ("trees", part("Forest", "number", first(np.nan))),
    "a tree of fewer nodes": ("trees", part("Forest", "cover", lambda array: array[1:])),
    "a tree of truths": ("trees", part("Forest", "number", lambda array: array > 0)),
    "a tree that asks for levels that are not there": ("trees", part("Forest", "by_level", lambda a: ~a)),
    "a height above 1": ("trees", part("LabelCurve", "height", 1.5)),
    "a height of 0": ("trees", part("LabelCurve", "height", 0.0)),
    "an infinite slope": ("trees", part("Bent", "slope", {"$float": "inf"})),
    "a level in words": ("trees", part("Bent", "level", "0")),
    "changes without knots": ("trees", part("Bent", "changes", MILLION)),
    "too few shares": ("trees", part("Diagnosis", "shares", {"$tuple": [0.5]})),
    "an unknown labelling": ("trees", part("Diagnosis", "labelling", "rising")),
    "moves in words": ("groups", part("ShiftedPredictor", "moves", {"$tuple": ["0", "0", "0"]})),
    "too few moves": ("groups", part("ShiftedPredictor", "moves", {"$tuple": [0.0]})),
    "a scale of 0": ("trees", part("Preparation", "scales", first(0.0))),
    "a median that is no number": ("trees", part("Preparation", "medians", first(np.nan))),
    "a mark that is not there": ("table", part("Preparation", "marked", first(99))),
    "fewer means": ("trees", part("Preparation", "means", lambda array: array[1:])),
    "levels that fill the memory": ("trees", part("Preparation", "levels", first(10**9))),
    "a level less than nothing": ("table", part("Preparation", "levels", first(-1))),
    "a colour": ("trees", part("Column", "kind", "colour")),
    "a number with levels": ("trees", part("Column", "levels", {"$tuple": ["a"]})),
    "a number as a date": ("table", part("Column", "form", "m/d/y")),
    "half a sign": ("table", part("Column", "name", "\udc80")),
    "no columns": ("table", part("Schema", "columns", {"$tuple": []})),
    "no empty cells": ("table", part("Schema", "missing", {"$tuple": ["na"]})),
    "a label of no kind": ("table", part("Label", "positive", 1)),
    "no label": ("table", part("TableModel", "label", None)),
    "no preparation": ("table", part("TableModel", "preparation", None)),
    "rows that are not sorted": ("table", part("TableModel", "fitted_rows", lambda array: array[::-1].copy())),
    "cuts that are not sorted": ("table", part("SeenColumn", "cuts", lambda array: array[::-1].copy())),
    "another decimal sign": ("table", part("Spelling", "decimal", "x")),
    "an encoding that unpacks": ("table", part("Spelling", "encoding", "zlib_codec")),
    "an encoding that is a path": ("table", part("Spelling", "encoding", "../os")),
    "predictors in predictors": ("linear", laughing),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_whose_numbers_do_not_belong_together(files, archive, refused, name):
    kind, change = PARTS[name]
    changed = archive.of(files[kind])
    change(changed)
    refused(changed.packed(), "cannot be loaded: .*Fit the model again")


def node(loader, path, **more):
    module, _, name = path.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def plain(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def several(*nodes, loader="TupleNode", path="builtins.tuple"):
    return node(loader, path, content=list(nodes))


def table(keys=None, **content):
    types = several(*[node("TypeNode", "builtins.str")] * len(content), loader="ListNode", path="builtins.list")
    return node("DictNode", "builtins.dict", content=content, key_types=keys or types)


def estimator(path, **state):
    return node("ObjectNode", path, content=table(**state))


FUNCTIONS = """os.system builtins.eval builtins.exec builtins.open builtins.__import__ subprocess.Popen numpy.load
    numpy.fromfile numpy.f2py.__main__.main numpy.f2py.__main__.round joblib.load pickle.loads numpy.os.system
    sklearn.datasets.fetch_openml sklearn.utils.validation.check_array operator.methodcaller propense.load
    numpy.emath.sqrt sklearn.preprocessing.StandardScaler"""
COMMAND = several(plain("touch touched"))
HOSTILE = {
    **{path: node("FunctionNode", path) for path in FUNCTIONS.split()},
    "a type": node("TypeNode", "builtins.eval"),
    "an object of Popen": estimator("subprocess.Popen", args=COMMAND),
    "an object of joblib": estimator("joblib.memory.Memory", location=plain("/tmp")),
    "an estimator that is not in the list": estimator("sklearn.svm.SVC"),
    "a search, whose pre_dispatch is run": estimator("sklearn.model_selection.GridSearchCV"),
    "a method": node("MethodNode", "builtins.str", content={"func": "format", "obj": plain("{0.__class__}")}),
    "a methodcaller": node("OperatorFuncNode", "operator.methodcaller", attrs=COMMAND),
    "a partial": node("PartialNode", "functools.partial", content={"func": node("FunctionNode", "builtins.eval")}),
    "a constructor": node("ConstructorFromReduceNode", "builtins.open", content=COMMAND),
    "a constructor of the list": node("ConstructorFromReduceNode", "sklearn.pipeline.Pipeline", content=COMMAND),
    "a list made by a function of the list": node("ListNode", "numpy.clip", content=[COMMAND]),
    "keys made by functions": table(several(node("FunctionNode", "numpy.exp")), key=plain(1)),
    "keys made by a call": table(node("ConstructorFromReduceNode", "builtins.list", content=COMMAND), key=plain(1)),
    "a generator": node("RandomGeneratorNode", "numpy.random._generator.Generator", content={}),
    "a tree of another name": node("TreeNode", "os.system", content=table(), __reduce__={"args": COMMAND}),
    "a cached node": node("CachedNode", "builtins.str"),
    "a node without a name": {"__loader__": "FunctionNode"},
    "a node of no kind": node(["FunctionNode"], "os.system"),
    "a state in JSON": node("ObjectNode", "sklearn.pipeline.Pipeline", content=plain({"memory": "/tmp"})),
    "a cache": estimator("sklearn.pipeline.Pipeline", memory=plain("/tmp"), steps=plain([]), verbose=plain(False)),
    "names by a format": estimator(
        "sklearn.compose.ColumnTransformer", verbose_feature_names_out=plain("{feature_name:>999999999}")
    ),
    "a file that is not there": node("NdArrayNode", "numpy.ndarray", type="numpy", file="../../etc/passwd"),
    "bytes": node("BytesNode", "builtins.bytes", file="schema.json"),
    "deep JSON": plain(None) | {"content": "[" * 100_000},
    "a number without a length": node("NdArrayNode", "numpy.ndarray", type="numpy", file="number.npy"),
    "one array many times": several(*[node("NdArrayNode", "numpy.ndarray", type="numpy", file="large.npy")] * 2000),
    "objects": node("NdArrayNode", "numpy.ndarray", type="numpy", file="pickle.npy"),
}


def with_function(files, archive, function, **changes):
    """The file of a pipeline with something else for its function, or with another archive of skops."""
    whole = archive.of(files["pipeline"])
    number = f"{whole.header['model']['$skops']}.npy"
    inner = archive.of(whole.read(number).tobytes(), "schema.json", compression=zipfile.ZIP_STORED)
    state = inner.header["content"]["content"]["steps"]["content"][0]["content"][1]["content"]["content"]
    state["func"] = function
    inner.arrays["number.npy"], inner.arrays["large.npy"] = saved(np.array(1)), saved(np.zeros(2**13))
    inner.arrays["pickle.npy"] = saved(np.array([Touch()], dtype=object), allow_pickle=True)
    inner.header |= changes.pop("header", {})
    vars(inner).update(changes)
    whole.write(number, np.frombuffer(inner.packed(), dtype=np.uint8))
    return whole.packed()


@pytest.mark.parametrize("name", HOSTILE)
def test_parts_of_scikit_learn_that_would_run_code(files, archive, refused, name):
    refused(with_function(files, archive, HOSTILE[name]), "cannot be loaded: ")


def test_what_is_harmless_loads_without_its_number_of_processes(files, archive, tmp_path, watched):
    others = ("transformer_list", "transformer_weights", "verbose_feature_names_out")
    facts = {"n_jobs": 99, "verbose": 1, "_sklearn_version": sklearn.__version__, **dict.fromkeys(others)}
    union = estimator("sklearn.pipeline.FeatureUnion", **{name: plain(value) for name, value in facts.items()})
    for function in (node("FunctionNode", "numpy.exp"), union):
        (tmp_path / "m").write_bytes(with_function(files, archive, function))
        load(tmp_path / "m")
        with watched():
            found = load(tmp_path / "m")[0].func
    assert (found.n_jobs, found.verbose) == (None, 0)


def test_archives_of_skops_that_are_not_as_it_writes_them(files, archive, refused, tmp_path):
    exp = node("FunctionNode", "numpy.exp")
    refused(with_function(files, archive, exp, header={"protocol": 3}), "version of skops")


def test_archives_of_skops_that_are_deflated(files, archive, refused):
    exp = node("FunctionNode", "numpy.exp")
    refused(with_function(files, archive, exp, compression=zipfile.ZIP_DEFLATED), "compressed")


def grown(**changes):
    """A fitted tree with other nodes."""
    model = DecisionTreeClassifier(max_depth=3).fit(X, S)
    state = model.tree_.__getstate__()
    for name, value in changes.items():
        if name in state["nodes"].dtype.names:
            state["nodes"][name][0] = value
        else:
            state[name] = value
    model.tree_ = Tree(3, np.array([2]), 1)
    model.tree_.__setstate__(state)
    return model


def having(thing, **attributes):
    vars(thing).update(attributes)
    return thing


def boosted(**changes):
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3, min_samples_leaf=5).fit(X, S)
    for name, value in changes.items():
        model._predictors[1][0].nodes[name][0] = value
    return model


def forest(**attributes):
    return having(RandomForestClassifier(2, random_state=0).fit(X, S), **attributes)


def coded(levels=(["a", "b"] * 40), **attributes):
    """A fitted encoder of one column."""
    return having(OneHotEncoder(min_frequency=1).fit(np.array(levels)[:, np.newaxis]), **attributes)


UNSOUND = {
    "a child beyond the end": lambda: grown(left_child=10**6),
    "a child before its parent": lambda: grown(right_child=0),
    "a feature that is not there": lambda: grown(feature=3),
    "a negative feature": lambda: grown(feature=-1),
    "no nodes": lambda: grown(node_count=0),
    "more features": lambda: having(grown(), n_features_in_=9),
    "fewer features": lambda: having(grown(feature=2), n_features_in_=2),
    "something else for a tree": lambda: having(grown(), tree_=StandardScaler()),
    "a tree in a forest": lambda: forest(estimators_=[grown(), grown(feature=40)]),
    "a forest of other features": lambda: forest(n_features_in_=2),
    "a forest of a billion classes": lambda: forest(n_classes_=10**9),
    "a billion trees in a step of boosting": lambda: having(boosted(), n_trees_per_iteration_=10**9),
    "a child of a boosted tree beyond the end": lambda: boosted(left=10**6),
    "a child of a boosted tree before its parent": lambda: boosted(right=0),
    "a feature of a boosted tree that is not there": lambda: boosted(feature_idx=3),
    "a category in a boosted tree": lambda: boosted(is_categorical=1),
    "no column for a category": lambda: coded(_n_features_outs=[1]),
    "columns without a category": lambda: coded(_n_features_outs=[9]),
    "groups that are not there": lambda: coded(_default_to_infrequent_mappings=[np.array([0, 9])]),
    "negative groups": lambda: coded(_default_to_infrequent_mappings=[np.array([-1, 0])]),
    "categories that are not sorted": lambda: coded([1, 2] * 40, categories_=[np.array([2, 1])]),
    "a billion products": lambda: having(PolynomialFeatures(2).fit(X), _n_out_full=10**9),
    "a degree of a billion": lambda: having(PolynomialFeatures(2).fit(X), _max_degree=10**9),
    "words beyond the columns": lambda: having(
        CountVectorizer().fit(["here there"]), vocabulary_={"here": 0, "there": 9}
    ),
    "no parameters": lambda: having(StandardScaler().fit(X), with_mean=np.array([Touch()])),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_numbers_that_compiled_code_would_follow_out_of_bounds(tmp_path, name):
    model = make_pipeline(UNSOUND[name](), Naive().fit(X, S))
    with pytest.raises(
        ModelFileError, match=r"was not written: .*(numbers are inconsistent|no attribute|may not contain)"
    ):
        save(model, tmp_path / "m")
