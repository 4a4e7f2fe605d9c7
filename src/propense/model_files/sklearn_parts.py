"""Parts of scikit-learn in a model file, by skops: types and functions of a closed list, each only in its kind of node.

skops trusts every estimator of scikit-learn, some of its nodes call what they name, and a node may take the place of
another that has the same id. So its schema is checked first: each kind of node has its own list, ids are left out, and
n_jobs becomes None. Such bytes are bound to the version of scikit-learn that wrote them.
"""

import io
import json
import math
import sys
from collections.abc import Iterator
from copy import copy
from importlib import import_module
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense.errors import MissingExtra, ModelFileError
from propense.model_files.container import read_npy

__all__ = ["dump", "load"]

# The public homes of what files may name, and the private ones of what these keep.
_ESTIMATORS = {
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.decomposition": "FastICA PCA TruncatedSVD",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble": "AdaBoostClassifier BaggingClassifier ExtraTreesClassifier HistGradientBoostingClassifier "
    "RandomForestClassifier",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection": "RFE SelectFromModel SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.linear_model": "LogisticRegression LogisticRegressionCV SGDClassifier",
    "sklearn._loss.link": "Interval LogitLink",
    "sklearn._loss.loss": "HalfBinomialLoss",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler StandardScaler TargetEncoder",
    "sklearn.random_projection": "GaussianRandomProjection",
    "sklearn.tree": "DecisionTreeClassifier ExtraTreeClassifier",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}
_SCALARS = "bool bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
_FUNCTIONS = {
    "numpy": " ".join(["clip nan_to_num round", *(name for name, each in vars(np).items() if type(each) is np.ufunc)]),
    "scipy.special": "boxcox1p erf exp10 exp2 expit expm1 log1p logit ndtr ndtri xlogy",
    "sklearn.feature_selection": "chi2 f_classif mutual_info_classif",
    "sklearn.preprocessing": "add_dummy_feature binarize maxabs_scale minmax_scale normalize power_transform "
    "quantile_transform robust_scale scale",
}
# Kinds of node, and what each may name in which package.
_NODES = {
    "JsonNode": {"builtins": "str"},
    "DictNode": {"builtins": "dict"},
    "ListNode": {"builtins": "list"},
    "TupleNode": {"builtins": "tuple"},
    "SetNode": {"builtins": "set"},
    "SliceNode": {"builtins": "slice"},
    "NdArrayNode": {"numpy": f"ndarray str_ {_SCALARS}"},
    "DTypeNode": {"numpy": "dtype"},
    "TypeNode": {"builtins": "bool float int object str", "numpy": f"number floating integer {_SCALARS}"},
    "ObjectNode": _ESTIMATORS,
    "TreeNode": {"sklearn.tree._tree": "Tree"},
    "LossNode": {"sklearn._loss._loss": "CyHalfBinomialLoss", "sklearn.linear_model._sgd_fast": "ModifiedHuber"},
    "FunctionNode": _FUNCTIONS,
}
_NONE = {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str", "content": "null", "is_json": True}
# The bytes that arrays may take for each byte of the file: one may be named more than once.
_PER_BYTE = 32
# Powers of columns beyond these would fill the memory.
_MOST_POWER, _MOST_PRODUCTS = 1000, 1_000_000


def dump(thing: Any, where: str, *, without: Any = None) -> NDArray[np.uint8]:
    """The bytes of an object of scikit-learn, with None in the place of `without`; `where` is what errors call it."""
    skops = _need_skops()
    _check_steps(thing, without)
    try:
        return np.frombuffer(_checked(skops.dumps(_plain(thing, without)))[0], dtype=np.uint8)
    except (ModelFileError, TypeError) as error:
        reason = str(error).rstrip(".").replace("it holds", f"{where} holds", 1)
        raise ModelFileError(
            f"{reason}. The documentation of propense.save lists what can be saved. joblib saves any model, but "
            "loading its files runs code"
        ) from None


def load(data: NDArray[np.uint8]) -> Any:
    """The object of its bytes."""
    skops = _need_skops()
    checked, names = _checked(np.ascontiguousarray(data, dtype=np.uint8).tobytes())
    thing = skops.loads(checked, trusted=names)
    for part in _parts(thing):
        if isinstance(part, BaseEstimator) and part.get_params(deep=False).get("verbose"):
            # Nor is it for a file to say what is printed.
            part.verbose = 0
        if not _is_safe(part):
            raise ModelFileError(f"it holds a {type(part).__name__} whose numbers are inconsistent")
    return thing


def _need_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtra(
            "skops is needed for a model file with parts of scikit-learn, such as learners of your own or the steps of "
            'a pipeline. Install it: pip install "propense[files]". The methods with their defaults do not need it.'
        ) from None
    return skops.io


def _check_steps(thing: Any, without: Any) -> None:
    for name, step in thing.steps if isinstance(thing, Pipeline) else ():
        _check_steps(step, without)
        if without is not None and step not in (None, "passthrough", without) and not isinstance(step, Pipeline):
            try:
                check_is_fitted(step)
            except NotFittedError:
                raise ModelFileError(f"step {name!r} of this Pipeline is not fitted. Fit the model first") from None


def _plain(value: Any, without: Any) -> Any:
    """A copy that skops can write: columns in a list, without the random generators that fit has left."""
    if value is without:
        return None
    if isinstance(value, HistGradientBoostingClassifier) and getattr(value, "_preprocessor", None) is not None:
        raise ModelFileError("it holds boosted trees of categories inside another estimator, which cannot be saved")
    if isinstance(value, BaseEstimator) or type(value).__name__.endswith("MetadataRequest"):
        copied = copy(value)
        for name, each in vars(value).items():
            of_fit = name.startswith("_") and isinstance(each, np.random.Generator | np.random.RandomState)
            # The owner of a metadata request is the estimator that holds it; the name of its class will do.
            owner = name == "owner" and (each if isinstance(each, str) else type(each).__name__)
            setattr(copied, name, owner or (None if of_fit else _plain(each, without)))
        return copied
    if type(value) in (list, tuple):
        return type(value)(_plain(each, without) for each in value)
    if type(value) is dict:
        return {name: _plain(each, without) for name, each in value.items()}
    columns = type(value).__module__.startswith("pandas") or isinstance(value, range)
    return list(value) if columns or type(value).__name__ == "_RemainderColsList" else value


def _checked(data: bytes) -> tuple[bytes, list[str]]:
    """The bytes of skops, rewritten with a schema that has been checked, and the names in it."""
    with ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        # So that what is read is not larger than the file.
        if any(each.compress_type != ZIP_STORED for each in entries) or sum(e.file_size for e in entries) > len(data):
            raise ModelFileError("it holds a part of scikit-learn that is compressed, or larger than the file")
        members = {each.filename: archive.read(each) for each in entries}
    schema = json.loads(members.pop("schema.json"))
    if not isinstance(schema, dict) or schema.get("protocol") != 2:
        raise ModelFileError("it was written by a version of skops that this propense does not know")
    reader = _Schema(members, _PER_BYTE * len(data))
    schema = reader.checked(schema)
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for name, member in {**reader.arrays, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(ZipInfo(name), member)
    return out.getvalue(), sorted(reader.names)


class _Schema:
    """Goes through the schema of skops, whose arrays may take so many bytes; notes its names and its arrays."""

    def __init__(self, members: dict[str, bytes], left: int) -> None:
        self._members, self._left = members, left
        self.names: set[str] = set()
        self.arrays: dict[str, bytes] = {}

    def checked(self, node: Any) -> Any:
        """The node without ids and with arrays by number; anything outside the list is refused by its name."""
        if isinstance(node, list):
            return [self.checked(each) for each in node]
        if not isinstance(node, dict):
            return node
        inner = {key: self.checked(each) for key, each in node.items() if key != "__id__"}
        if "__loader__" not in node:
            # What a dictionary or the state of an object holds: how many processes to start is not for a file to say.
            return inner | dict.fromkeys(inner.keys() & {"n_jobs"}, _NONE)
        kind, module, name = node["__loader__"], node["__module__"], node["__class__"]
        room = _home(kind, module, name)
        if room is None:
            raise ModelFileError(f"it holds {f'{module}.{name}'[:200]}, which a model file may not contain")
        self.names.add(f"{room}.{name}")
        if kind == "NdArrayNode" and node["type"] == "numpy":
            inner["file"] = self._array(self._members[node["file"]], name)
        # Keys are made by calling their types.
        keys = node["key_types"]["content"] if kind == "DictNode" else []
        state = node.get("content", _NONE) if kind == "ObjectNode" else _NONE
        if not _is_state(state) or any(each["__loader__"] != "TypeNode" for each in keys):
            raise ModelFileError(f"it holds a {name} that is not as skops writes it")
        return inner | {"__module__": room}

    def _array(self, member: bytes, name: str) -> str:
        """Its number, as the name of a file; trees ask an array for its length even if it is a single number."""
        array, file = read_npy(member), f"{len(self.arrays)}.npy"
        self.arrays[file], self._left = member, self._left - array.nbytes - 1
        if array.dtype.names and array.size:
            # Between the numbers of a node lies whatever was in memory, and in one number of a leaf.
            clean = np.zeros(array.nbytes, dtype=np.uint8).view(array.dtype).reshape(array.shape)
            for each in array.dtype.names:
                clean[each] = array[each]
            if "left_child" in array.dtype.names:
                clean["missing_go_to_left"][clean["left_child"] < 0] = 0
            self.arrays[file] = member[: -array.nbytes] + clean.tobytes()
        if self._left < 0 or (name == "ndarray" and not array.ndim):
            raise ModelFileError("its arrays would take much more memory than the file, or are single numbers")
        return file


def _is_state(node: Any) -> bool:
    """Whether this may be the state of an object: a cache is read by unpickling; a format may be of any width."""
    if node["__loader__"] != "DictNode":
        return bool(node["content"] == "null")
    memory, names = (node["content"].get(each, _NONE) for each in ("memory", "verbose_feature_names_out"))
    plain = memory["__loader__"] == names["__loader__"] == "JsonNode"
    return bool(plain and memory["content"] == "null" and names["content"] in ("null", "true", "false"))


def _home(kind: str, module: str, name: str) -> str | None:
    """The public module of what is named, if the list has it; nothing else is imported."""
    for room in (room for room, names in _NODES.get(kind, {}).items() if name in names.split()):
        thing = getattr(import_module(room), name, None)
        if thing is not None and (module == room or getattr(sys.modules.get(module), name, None) is thing):
            return room
    return None


def _parts(value: Any) -> Iterator[Any]:
    """A value and everything in it."""
    yield value
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple | set):
        inner = value
    elif isinstance(value, np.ndarray) and value.dtype == object:
        inner = value.ravel().tolist()
    elif type(value).__module__.startswith("sklearn."):
        inner = getattr(value, "__dict__", {}).values()
    for each in inner:
        yield from _parts(each)


def _is_safe(part: Any) -> bool:
    """Whether scikit-learn may use what it learned: some of its code does not look where numbers lead."""
    kind, facts = type(part).__name__, getattr(part, "__dict__", {})
    if "n_classes_" in facts and "classes_" in facts and part.n_classes_ != len(part.classes_):
        return False
    if "estimators_" in facts and kind in ("ExtraTreesClassifier", "RandomForestClassifier"):
        # They do not check the rows again.
        return part.n_outputs_ == 1 and {each.n_features_in_ for each in part.estimators_} == {part.n_features_in_}
    if "tree_" in facts:
        tree = part.tree_
        if not 1 <= tree.node_count <= tree.capacity or tree.n_features != part.n_features_in_:
            return False
        sides = np.stack([tree.children_left, tree.children_right])
        return _lead_on(sides[0] != -1, sides, tree.feature, part.n_features_in_)
    if kind == "HistGradientBoostingClassifier" and "_predictors" in facts:
        stages = [tree.nodes for (tree,) in part._predictors]
        flat = part.n_trees_per_iteration_ == 1 and not np.any(part._bin_mapper.is_categorical_)
        return flat and all(_is_stage(nodes, part.n_features_in_) for nodes in stages)
    if kind == "PolynomialFeatures" and "_n_out_full" in facts:
        p, power, made = part.n_features_in_, part._max_degree, part._n_out_full
        if not (power <= _MOST_POWER and made <= _MOST_PRODUCTS):
            return False
        count = sum(math.comb(p, k) for k in range(power + 1)) if part.interaction_only else math.comb(p + power, power)
        return bool(made == count - (not part.include_bias))
    if "vocabulary_" in facts:
        return sorted(part.vocabulary_.values()) == list(range(len(part.vocabulary_)))
    if kind == "OneHotEncoder" and "categories_" in facts:
        none = [None] * len(part.categories_)
        groups = getattr(part, "_default_to_infrequent_mappings", None) or none
        dropped = none if part.drop_idx_ is None else part._drop_idx_after_grouping
        columns = zip(part.categories_, groups, dropped, part._n_features_outs, strict=True)
        return all(_has_columns(*each) for each in columns)
    return True


def _lead_on(inner: NDArray[Any], sides: NDArray[Any], column: NDArray[Any], columns: int) -> bool:
    """Whether each split of a tree leads to later nodes that are there, by a column that is."""
    at, sides, column = np.flatnonzero(inner), sides[:, inner].astype(np.int64), column[inner]
    on = len(inner) and ((sides > at) & (sides < len(inner))).all() and ((column >= 0) & (column < columns)).all()
    return bool(on)


def _is_stage(nodes: NDArray[Any], columns: int) -> bool:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or nodes["is_categorical"].any():
        return False
    return _lead_on(nodes["is_leaf"] == 0, np.stack([nodes["left"], nodes["right"]]), nodes["feature_idx"], columns)


def _has_columns(levels: Any, groups: Any, dropped: Any, made: Any) -> bool:
    """Whether each level of a column has one that encodes it, and there are as many as that takes."""
    codes = np.arange(len(levels)) if groups is None else np.asarray(groups)
    known = len(codes) == len(levels) and codes.min() >= 0 and (dropped is None or dropped in codes)
    # Numbers are found by halving.
    found = levels.dtype.kind in "OUST" or np.array_equal(levels, np.unique(levels), equal_nan=True)
    return bool(known and found and made == codes.max() + 1 - (dropped is not None))
