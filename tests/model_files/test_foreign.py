"""Parts of scikit-learn in a file: what skops would build, and what a hostile file asks of it."""

import io
import itertools
import json
import os
import sys
import zipfile
import zlib
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from propense import Naive, load, save
from propense.errors import ModelFileError
from propense.model_files import foreign
from propense.model_files.codec import describe_model
from propense.model_files.container import to_bytes
from propense.model_files.values import pack

X = np.random.default_rng(7).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def taken_apart(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def put_together(schema, members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, member in {**members, "schema.json": json.dumps(schema)}.items():
            archive.writestr(name, member)
    return out.getvalue()


IDS = itertools.count(1)


def node(loader, path, **more):
    module, _, name = path.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": next(IDS), **more}


def plain(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def several(*nodes, loader="TupleNode", path="builtins.tuple"):
    return node(loader, path, content=list(nodes))


def table(keys=None, **content):
    types = several(*[node("TypeNode", "builtins.str")] * len(content), loader="ListNode", path="builtins.list")
    return node("DictNode", "builtins.dict", content=content, key_types=keys or types)


def with_function(hostile, more=()):
    """A fitted FunctionTransformer in a pipeline, with something else for its function."""
    schema, members = taken_apart(
        skops.io.dumps(Pipeline([("functiontransformer", FunctionTransformer(np.abs).fit(X)), ("naive", None)]))
    )
    step = schema["content"]["content"]["steps"]["content"][0]["content"][1]
    step["content"]["content"]["func"] = hostile
    return put_together(schema, {**members, **dict(more)})


COMMAND = plain("touch touched")
HOSTILE = {
    **{
        f"the function {path}": node("FunctionNode", path)
        for path in (
            "os.system",
            "builtins.eval",
            "builtins.exec",
            "builtins.open",
            "builtins.__import__",
            "subprocess.Popen",
            "numpy.load",
            "numpy.fromfile",
            "numpy.f2py.compile",
            "joblib.load",
            "pickle.loads",
            "sklearn.datasets.fetch_openml",
            "sklearn.utils.validation.check_array",
            "operator.methodcaller",
            "propense.load",
            "numpy.os.system",
            "sklearn.preprocessing.StandardScaler",
        )
    },
    "the type os.system": node("TypeNode", "os.system"),
    "the type eval": node("TypeNode", "builtins.eval"),
    "the type map": node("TypeNode", "builtins.map"),
    "an object of Popen": node("ObjectNode", "subprocess.Popen", content=table(args=COMMAND)),
    "an object of joblib": node("ObjectNode", "joblib.memory.Memory", content=table(location=plain("/tmp"))),
    "an estimator that is not in the list": node("ObjectNode", "sklearn.svm.SVC", content=table()),
    "a search, whose pre_dispatch is run": node("ObjectNode", "sklearn.model_selection.GridSearchCV", content=table()),
    "a call of a method": node("MethodNode", "builtins.str", content={"func": "format", "obj": plain("{0.__class__}")}),
    "a method of an estimator": node(
        "MethodNode",
        "sklearn.pipeline.Pipeline",
        content={"func": "fit", "obj": node("ObjectNode", "sklearn.pipeline.Pipeline", content=table())},
    ),
    "a chain of methodcallers": node(
        "OperatorFuncNode", "operator.methodcaller", attrs=several(plain("system"), COMMAND)
    ),
    "an attrgetter": node("OperatorFuncNode", "operator.attrgetter", attrs=several(plain("__globals__"))),
    "a partial of eval": node(
        "PartialNode",
        "functools.partial",
        content={
            "func": node("FunctionNode", "builtins.eval"),
            "args": several(COMMAND),
            "kwds": table(),
            "namespace": plain(None),
        },
    ),
    "a constructor that opens": node(
        "ConstructorFromReduceNode", "builtins.open", content=several(plain("touched"), plain("w"))
    ),
    "a constructor of what is in the list": node(
        "ConstructorFromReduceNode", "sklearn.pipeline.Pipeline", content=several(plain([]))
    ),
    "a list made by eval": node("ListNode", "builtins.eval", content=[COMMAND]),
    "a list made by a function in the list": node("ListNode", "numpy.clip", content=[COMMAND]),
    "an array made by eval": node("NdArrayNode", "builtins.eval", type="json", content=[], shape=several(plain(0))),
    "keys made by functions": table(
        keys=several(node("FunctionNode", "numpy.exp"), loader="ListNode", path="builtins.list"), key=plain(1)
    ),
    "keys made by a call": table(
        keys=node("ConstructorFromReduceNode", "builtins.list", content=several(plain(["eval"]))), key=plain(1)
    ),
    "a defaultdict": node(
        "DefaultDictNode",
        "collections.defaultdict",
        content={"main": table(), "default_factory": node("TypeNode", "builtins.list")},
    ),
    "a generator by any name": node(
        "RandomGeneratorNode",
        "numpy.random._generator.Generator",
        content={"bit_generator": table(bit_generator=plain("seed")), "seed_seq": table()},
    ),
    "a loss by any name": node("LossNode", "os.system", content=table(), __reduce__={"args": several(COMMAND)}),
    "a tree by any name": node("TreeNode", "os.system", content=table(), __reduce__={"args": several(COMMAND)}),
    "a forest of quantiles": node("QuantileForestNode", "quantile_forest.QuantileForest", content=table()),
    "a cached node": node("CachedNode", "builtins.str"),
    "an unknown node": node("ShellNode", "os.system"),
    "a node without a name": {"__loader__": "FunctionNode"},
    "a node of no kind": node(["FunctionNode"], "os.system"),
    "a state in JSON": node("ObjectNode", "sklearn.pipeline.Pipeline", content=plain({"memory": "/tmp"})),
    "a cache": node("ObjectNode", "sklearn.pipeline.Pipeline", content=table(memory=plain("/tmp"))),
    "names by a format": node(
        "ObjectNode",
        "sklearn.compose.ColumnTransformer",
        content=table(verbose_feature_names_out=plain("{feature_name:>999999999}")),
    ),
    "a file that is not there": node("NdArrayNode", "numpy.ndarray", type="numpy", file="../../etc/passwd"),
    "bytes": node("BytesNode", "builtins.bytes", file="schema.json"),
    "a sparse matrix": node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="x.npz"),
    "deep JSON": plain(None) | {"content": "[" * 100_000},
}


@pytest.fixture(scope="module")
def in_a_file(tmp_path_factory):
    """A model file whose pipeline is these bytes."""
    description = describe_model(make_pipeline(FunctionTransformer(np.abs), Naive()).fit(X, Y))

    def write(data):
        arrays = []
        changed = {**description, "skops": np.frombuffer(data, dtype=np.uint8)}
        header = {"written": "", "versions": {}, "about": None, "model": pack(changed, arrays)}
        path = tmp_path_factory.mktemp("hostile") / "m.propense"
        path.write_bytes(to_bytes(header, arrays))
        return path

    return write


def test_a_payload_that_is_not_hostile_loads(in_a_file, watched):
    for function in ("numpy.absolute", "numpy.exp", "sklearn.preprocessing.scale"):
        path = in_a_file(with_function(node("FunctionNode", function)))
        load(path)
        with watched():
            found = load(path)[0].func
        module, _, name = function.rpartition(".")
        assert found is getattr(sys.modules[module], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_payload_is_refused_and_runs_nothing(in_a_file, watched, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = in_a_file(with_function(HOSTILE[name]))
    with (
        watched(),
        pytest.raises(ModelFileError, match=r"cannot be loaded: (?!it holds a pipeline that)"),
    ):
        load(path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("jobs", [plain(1024), plain(-1), plain("all"), node("TypeNode", "builtins.int")], ids=str)
def test_processes_are_never_taken_from_a_file(in_a_file, jobs):
    schema, members = taken_apart(
        skops.io.dumps(Pipeline([("functiontransformer", FunctionTransformer(np.abs).fit(X)), ("naive", None)]))
    )
    step = schema["content"]["content"]["steps"]["content"][0]["content"][1]["content"]["content"]
    step["kw_args"] = table(n_jobs=jobs)
    step["inverse_func"] = node(
        "ObjectNode",
        "sklearn.pipeline.FeatureUnion",
        content=table(n_jobs=jobs, _sklearn_version=plain(sklearn.__version__)),
    )
    found = load(in_a_file(put_together(schema, members)))[0]
    assert found.kw_args == {"n_jobs": None}
    assert found.inverse_func.n_jobs is None


def test_what_is_refused_is_named(in_a_file):
    with pytest.raises(ModelFileError, match=r"it holds os\.system, which a model file may not contain"):
        load(in_a_file(with_function(node("FunctionNode", "os.system"))))


def test_a_node_cannot_take_the_place_of_another_by_its_id():
    functions = several(node("FunctionNode", "numpy.exp"), loader="ListNode", path="builtins.list")
    types = several(node("TypeNode", "builtins.str"), loader="ListNode", path="builtins.list")
    functions["__id__"] = types["__id__"] = 77
    arguments = table(inv=functions, kw=table(keys=types, a=plain(1)), _sklearn_version=plain(sklearn.__version__))
    schema = node("ObjectNode", "sklearn.preprocessing._function_transformer.FunctionTransformer", content=arguments)
    data = put_together({**schema, "protocol": 2}, {})
    with pytest.raises(TypeError, match="ufunc 'exp'"):
        skops.io.loads(data, trusted=["numpy.exp"])
    assert foreign.load(np.frombuffer(data, np.uint8)).kw == {"a": 1}


@pytest.mark.parametrize("protocol", [0, 1, 3, 99, -1, True, "2", None])
def test_other_protocols_of_skops_are_refused(protocol):
    schema, members = taken_apart(skops.io.dumps(StandardScaler().fit(X)))
    schema["protocol"] = protocol
    with pytest.raises(ModelFileError, match="version of skops"):
        foreign.load(np.frombuffer(put_together(schema, members), np.uint8))


def arrays_with(change):
    """A fitted scaler, each of whose arrays is changed."""
    schema, members = taken_apart(skops.io.dumps(StandardScaler().fit(X)))
    return put_together(schema, {name: change(member) for name, member in members.items()})


def saved(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def zipped(array):
    out = io.BytesIO()
    np.savez_compressed(out, array)
    return out.getvalue()


BOMB = saved(np.zeros(3)).replace(b"(3,)", b"(9999999999,)").replace(b" " * 10 + b"\n", b"\n")
ARRAYS = {
    "a pickle": arrays_with(lambda member: saved(np.array([os.system], dtype=object), allow_pickle=True)),
    "a zip of arrays": arrays_with(lambda member: zipped(np.zeros(10**6))),
    "nothing": arrays_with(lambda member: b""),
    "too short": arrays_with(lambda member: member[:-1]),
    "too long": arrays_with(lambda member: member + b"\0"),
    "an array larger than the file": arrays_with(lambda member: member.replace(b"(3,)", b"(9**9,)")),
    "a huge array": arrays_with(lambda member: BOMB),
    "a huge array of nothing": arrays_with(
        lambda member: saved(np.zeros(0)).replace(b"<f8", b"|V0").replace(b"(0,), }" + b" " * 7, b"(99999999,), }")
    ),
    "a compressed archive": put_together(
        *taken_apart(skops.io.dumps(StandardScaler().fit(X))), compression=zipfile.ZIP_DEFLATED
    ),
    "a bomb": put_together({"protocol": 2}, {"0.npy": bytes(2**26)}, compression=zipfile.ZIP_DEFLATED),
    "no archive": b"PK\3\4",
    "an empty archive": b"PK\5\6" + bytes(18),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_and_archives_that_are_not_as_skops_writes_them_are_refused(in_a_file, watched, name):
    path = in_a_file(ARRAYS[name])
    # Not because the part is another than the description says, which it is.
    with watched(), pytest.raises(ModelFileError, match=r"cannot be loaded: (?!it holds a pipeline that)"):
        load(path)


def many_from_one():
    """A thousand arrays that name the same 64 KiB of the file."""
    schema, members = taken_apart(skops.io.dumps([np.zeros(2**13)]))
    schema["content"] *= 1000
    return with_function({key: each for key, each in schema.items() if key != "protocol"}, members)


MEMORY = {
    "many arrays of one file": many_from_one(),
    "a wide dtype": arrays_with(lambda member: saved(np.zeros(0, "<U67108864"))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMORY)
def test_arrays_may_not_announce_more_than_a_file_of_its_size_may_take(in_a_file, watched, name):
    path = in_a_file(MEMORY[name])
    with watched(), pytest.raises(ModelFileError, match="its arrays would take"):
        load(path)


def grown(**changes):
    """A fitted tree with other nodes."""
    model = DecisionTreeClassifier(max_depth=3).fit(X, Y)
    state = model.tree_.__getstate__()
    for name, value in changes.items():
        if name in state["nodes"].dtype.names:
            state["nodes"][name][0] = value
        else:
            state[name] = value
    other = Tree(3, np.array([2]), 1)
    other.__setstate__(state)
    model.tree_ = other
    return model


def with_attributes(thing, **attributes):
    vars(thing).update(attributes)
    return thing


def boosted(**changes):
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3, min_samples_leaf=5).fit(X, Y)
    nodes = model._predictors[1][0].nodes
    for name, value in changes.items():
        nodes[name][0] = value
    return model


# Two categories and a number; the categories come first inside.
_PLACES = np.arange(len(X))
LEVELS = np.column_stack([X[:, 0], _PLACES % 4, np.where(_PLACES % 5, _PLACES % 3, np.nan)])


def with_categories(**changes):
    """Boosted trees whose first split is by a category."""
    model = HistGradientBoostingClassifier(categorical_features=[1, 2], max_iter=2, min_samples_leaf=2)
    model.fit(LEVELS, LEVELS[:, 1] > 1)
    nodes = model._predictors[1][0].nodes
    assert nodes["is_categorical"][0]
    for name, value in changes.items():
        nodes[name][0] = value
    return model


def with_mapper(**attributes):
    model = with_categories()
    with_attributes(model._bin_mapper, **attributes)
    return model


def with_sets(sets):
    model = with_categories()
    model._predictors[0][0].raw_left_cat_bitsets = sets
    return model


def forest():
    model = RandomForestClassifier(2, random_state=0).fit(X, Y)
    model.estimators_[1] = grown(feature=40)
    return model


def forest_of(**attributes):
    """A forest of features and classes that its trees do not have."""
    return with_attributes(RandomForestClassifier(2, random_state=0).fit(X, Y), **attributes)


def filled(statistics):
    imputer = with_attributes(SimpleImputer().fit(X), statistics_=np.array(statistics))
    return Pipeline([("imputer", imputer), ("scaler", StandardScaler().fit(X))])


def columns(**spans):
    transformer = ColumnTransformer([("a", StandardScaler(), slice(0, 2)), ("b", StandardScaler(), [2])]).fit(X)
    return with_attributes(transformer, output_indices_={**transformer.output_indices_, **spans})


def coded(**options):
    words = np.array([["a", "x"], ["b", "y"], ["b", "z"], ["a", "z"]] * 5)
    return OneHotEncoder(**options).fit(words)


UNSOUND = {
    "a child beyond the end": lambda: grown(left_child=10**6),
    "a child before its parent": lambda: grown(right_child=0),
    "a negative child": lambda: grown(right_child=-7),
    "a feature that is not there": lambda: grown(feature=3),
    "a negative feature": lambda: grown(feature=-1),
    "no nodes": lambda: grown(node_count=0),
    "another number of features": lambda: with_attributes(grown(feature=2), n_features_in_=2),
    "no number of features": lambda: with_attributes(grown(), n_features_in_=True),
    "something else for a tree": lambda: with_attributes(grown(), tree_=StandardScaler()),
    "a tree in a forest": forest,
    "a forest of fewer features than its trees": lambda: forest_of(n_features_in_=2),
    "a forest of a billion classes": lambda: forest_of(n_classes_=10**9),
    "a billion trees in a step of boosting": lambda: with_attributes(boosted(), n_trees_per_iteration_=10**9),
    "a value to impute that is not finite": lambda: filled([0.0, np.inf, 0.0]),
    "a column without a value to impute": lambda: filled([0.0, np.nan, 0.0]),
    "too few values to impute": lambda: filled([0.0]),
    "a span of a billion columns": lambda: columns(a=slice(0, 10**9)),
    "a span of a billion columns at the end": lambda: Pipeline(
        [("columns", columns(b=slice(2, 10**9))), ("scaler", StandardScaler().fit(X))]
    ),
    "a child of a boosted tree beyond the end": lambda: boosted(left=10**6),
    "a child of a boosted tree before its parent": lambda: boosted(right=0),
    "a feature of a boosted tree that is not there": lambda: boosted(feature_idx=3),
    "a negative feature of a boosted tree": lambda: boosted(feature_idx=-1),
    "a category in a boosted tree": lambda: boosted(is_categorical=1),
    "more features of a boosted tree": lambda: with_attributes(boosted(), n_features_in_=2),
    "a set of levels that is not there": lambda: with_categories(bitset_idx=1),
    "sets of other levels": lambda: with_sets(np.zeros((1, 7), dtype=np.uint32)),
    "sets of other numbers": lambda: with_sets(np.zeros((1, 8), dtype=np.uint64)),
    "no sets of levels": lambda: with_sets(np.zeros((0, 8), dtype=np.uint32)),
    "a number split by levels": lambda: with_categories(feature_idx=2),
    "numbers for categories": lambda: with_mapper(is_categorical_=np.zeros(3, dtype=np.uint8)),
    "categories for numbers": lambda: with_mapper(is_categorical_=np.ones(3, dtype=np.uint8)),
    "levels that are not 0, 1, …": lambda: with_mapper(
        bin_thresholds_=[np.array([0.0, 1e9]), *with_categories()._bin_mapper.bin_thresholds_[1:]]
    ),
    "no column for a category": lambda: with_attributes(coded(), _n_features_outs=[2, 2]),
    "columns without a category": lambda: with_attributes(coded(), _n_features_outs=[2, 9]),
    "groups that are not there": lambda: with_attributes(
        coded(min_frequency=7), _default_to_infrequent_mappings=[None, np.array([0, 9, 1])]
    ),
    "negative groups": lambda: with_attributes(
        coded(min_frequency=7), _default_to_infrequent_mappings=[None, np.array([0, -1, 1])]
    ),
    "a dropped category that is not there": lambda: with_attributes(
        coded(drop="first"), _drop_idx_after_grouping=np.array([0, -5], dtype=object)
    ),
    "a billion products": lambda: with_attributes(PolynomialFeatures(2).fit(X), _n_out_full=10**9),
    "a degree of a billion": lambda: with_attributes(PolynomialFeatures(2).fit(X), _max_degree=10**9),
    "products of a billion features": lambda: with_attributes(PolynomialFeatures(2).fit(X), n_features_in_=10**9),
    "words beyond the columns": lambda: with_attributes(
        CountVectorizer().fit(["here there"]), vocabulary_={"here": 0, "there": 10**9}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSOUND)
def test_numbers_that_compiled_code_would_follow_out_of_bounds_are_refused(name):
    data = foreign.dump(make_pipeline(UNSOUND[name](), None), "it")
    with pytest.raises(ModelFileError, match="whose fitted numbers are inconsistent"):
        foreign.load(data)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, (1, 1), (2, 3), (3, 3)])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [False, True])
def test_products_of_features_come_back(degree, interaction_only, include_bias):
    step = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=include_bias or degree == 0).fit(
        X
    )
    again = foreign.load(foreign.dump(step, "it"))
    np.testing.assert_array_equal(again.transform(X), step.transform(X))


def test_products_that_take_more_memory_than_their_file_may_are_refused(tmp_path):
    """The same numbers in a file of a model that has a coefficient for each of them are fine."""
    step = PolynomialFeatures((1000, 1000)).fit(X[:, :1])
    model = make_pipeline(step, Naive().fit(np.ones((4, 1)), [0, 0, 1, 1]))
    assert foreign.announced_row(model) == 8 * 1001
    save(model, tmp_path / "m")
    step._max_degree = step._min_degree = step.degree = 10**6
    step._n_out_full = 10**6 + 1
    with pytest.raises(ModelFileError, match="would take 8000008 bytes"):
        save(model, tmp_path / "m")


@pytest.mark.parametrize("function", [partial(np.clip, 0), np.emath.sqrt, np.load, os.system, eval, print])
def test_functions_that_are_not_in_the_list_are_not_written(function):
    with pytest.raises(
        ModelFileError,
        match=r"this holds .*, which a model file may not contain\. The documentation of propense.save lists",
    ):
        foreign.dump(FunctionTransformer(function), "this")


def test_boosted_trees_with_categories_come_back():
    model = with_categories()
    again = foreign.load(foreign.dump(model, "it"))
    rows = np.vstack([LEVELS, [[0.0, np.nan, np.nan], [9.0, 7.0, -1.0]]])
    assert again.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    frame = pd.DataFrame(rows)
    assert again.predict_proba(frame).tobytes() == model.predict_proba(frame).tobytes()
    refitted = clone(again).fit(LEVELS, LEVELS[:, 1] > 1)
    assert refitted.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    with pytest.raises(ValueError, match="features"):
        again.predict_proba(rows[:, :2])


def test_boosted_trees_with_categories_that_are_words_are_refused_by_name():
    words = pd.DataFrame({"a": pd.Categorical(["x", "y"] * 20), "b": np.arange(40.0)})
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(words, np.arange(40) > 20)
    with pytest.raises(ModelFileError, match=r"this holds sklearn\.utils\.validation\.check_array"):
        foreign.dump(model, "this")


WRONG_CATEGORIES = {
    "something else": StandardScaler(),
    "words": [np.array(["a", "b"])] * 2,
    "one column of them": [np.array([0.0, 1.0])],
    "none in a column": [np.array([0.0]), np.array([])],
    "too many": [np.array([0.0]), np.arange(257.0)],
    "not in order": [np.array([1.0, 0.0]), np.array([0.0])],
    "twice": [np.array([1.0, 1.0]), np.array([0.0])],
    "in two dimensions": [np.zeros((1, 1)), np.array([0.0])],
}


@pytest.mark.parametrize("name", WRONG_CATEGORIES)
def test_categories_that_boosted_trees_do_not_have_are_refused(name, monkeypatch):
    model = with_categories()
    monkeypatch.setattr(foreign, "_has_categories", lambda boosting: False)
    data = foreign.dump(with_attributes(model, _preprocessor=WRONG_CATEGORIES[name]), "it")
    with pytest.raises(ModelFileError, match="it holds boosted trees with"):
        foreign.load(data)


@pytest.mark.slow
def test_several_objects_are_deflated_and_come_back():
    forests = [RandomForestClassifier(20, random_state=seed).fit(X, Y) for seed in range(3)]
    data = foreign.dump_together(forests, "it")
    assert len(data) < len(foreign.dump(forests, "it")) / 4
    again = foreign.load_together(data)
    for one, other in zip(forests, again, strict=True):
        assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
    np.testing.assert_array_equal(foreign.load_together(foreign.dump([X], "it"))[0], X)


def as_bytes(data):
    return np.frombuffer(data, dtype=np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("tail", [b"", b"more"])
def test_deflated_bytes_that_would_fill_the_memory_are_refused(watched, tail):
    bomb = as_bytes(zlib.compress(bytes(10**9 // 4)) + tail)
    with watched(), pytest.raises(ModelFileError, match=r"larger than .* inflated"):
        foreign.load_together(bomb)


def test_damaged_deflated_bytes_are_refused():
    data = foreign.dump_together([StandardScaler().fit(X)] * 20, "it")
    for wrong in (data[:-1], data[:100], np.append(data, data[:1]), as_bytes(b"text")):
        with pytest.raises(ModelFileError, match=r"deflated|inflated"):
            foreign.load_together(wrong)


def test_what_would_be_too_large_when_inflated_is_not_deflated():
    zeros = foreign.dump_together([np.zeros(10**6)], "it")
    assert len(zeros) > 8 * 10**6
    np.testing.assert_array_equal(foreign.load_together(zeros)[0], np.zeros(10**6))
