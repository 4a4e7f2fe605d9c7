"""What skops may build from a model file: types and functions of a closed list, each only in its own kind of node.

skops trusts every estimator of scikit-learn, some of its nodes call what they name, and a node may take the place of
another that has the same id. So its schema is checked first: each kind of node has its own list, names become the
public ones of the list, ids are left out, and n_jobs becomes None.
"""

import io
import json
import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from propense.errors import ModelFileError

__all__ = ["announced", "check_schema", "names_in"]

_ESTIMATORS = {
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.decomposition": "FastICA PCA TruncatedSVD",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble": "AdaBoostClassifier BaggingClassifier ExtraTreesClassifier HistGradientBoostingClassifier "
    "RandomForestClassifier",
    "sklearn.feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection": "RFE SelectFromModel SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.linear_model": "LogisticRegression LogisticRegressionCV SGDClassifier",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler StandardScaler TargetEncoder",
    "sklearn.random_projection": "GaussianRandomProjection",
    "sklearn.tree": "DecisionTreeClassifier ExtraTreeClassifier",
    # What these keep.
    "sklearn._loss.link": "Interval LogitLink",
    "sklearn._loss.loss": "HalfBinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}
_SCALARS = "bool bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
# Kinds of node, and what each may name.
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
    "FunctionNode": {
        # With every ufunc.
        "numpy": "clip nan_to_num round",
        "scipy.special": "boxcox1p erf exp10 exp2 expit expm1 log1p logit ndtr ndtri xlogy",
        "sklearn.feature_selection": "chi2 f_classif mutual_info_classif",
        "sklearn.preprocessing": "add_dummy_feature binarize maxabs_scale minmax_scale normalize power_transform "
        "quantile_transform robust_scale scale",
    },
}
_NONE = {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str", "content": "null", "is_json": True}
# Modules in which ufuncs may be found, by their public one.
_UFUNCS = {
    "numpy": ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"),
    "scipy.special": ("scipy.special._ufuncs", "scipy.special._special_ufuncs"),
}


@cache
def _places() -> dict[tuple[str, str], tuple[str, str]]:
    """For each kind of node and each name that a file may use there: the public module and name."""
    places = {}
    for loader, modules in _NODES.items():
        for module, names in modules.items():
            every = loader == "FunctionNode" and module == "numpy"
            ufuncs = [each.__name__ for each in vars(np).values() if every and isinstance(each, np.ufunc)]
            for name in (*names.split(), *ufuncs):
                # Other versions may lack some.
                with suppress(ImportError, KeyError):
                    home = getattr(vars(import_module(module))[name], "__module__", None)
                    for path in (module, home, *_UFUNCS.get(module, ())):
                        places[loader, f"{path}.{name}"] = (module, name)
    return places


def names_in(schema: Any) -> list[str]:
    """The names in a checked schema, all of them of the list; skops goes through them for every node."""
    names = set()
    rest = [schema]
    while rest:
        node = rest.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                names.add(f"{node['__module__']}.{node['__class__']}")
            rest += node.values()
        elif isinstance(node, list):
            rest += node
    return sorted(names)


def check_schema(schema: Any, members: dict[str, bytes]) -> Any:
    """The schema of skops with public names and without ids; anything outside the list is refused by its name."""
    if not isinstance(schema, dict) or schema.get("protocol") != 2:
        raise ModelFileError("it was written by a version of skops that this propense does not know")
    return _checked(schema, members)


def announced(node: Any, members: dict[str, bytes]) -> int:
    """How many bytes the arrays of a checked schema take; one file may be named by any number of them."""
    if isinstance(node, list):
        return sum(announced(each, members) for each in node)
    if not isinstance(node, dict):
        return 0
    inner = sum(announced(each, members) for each in node.values())
    if node.get("__loader__") != "NdArrayNode" or node["type"] != "numpy":
        return inner
    # An empty array stands for its dtype, which may be of any width.
    member = members[node["file"]]
    return inner + max(len(member), _read_array_header(member)[1].itemsize)


def _read_array_header(member: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """The shape and the dtype of an array in NumPy's format, and how many bytes follow."""
    stream = io.BytesIO(member)
    first = np.lib.format.read_magic(stream) == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype, len(member) - stream.tell()


def _checked(node: Any, members: dict[str, bytes]) -> Any:
    if isinstance(node, list):
        return [_checked(each, members) for each in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _checked(each, members) for key, each in node.items() if key != "__id__"}
    if "__loader__" not in node:
        # What a dictionary or the state of an object holds: how many processes to start is not for a file to say.
        return inner | dict.fromkeys(inner.keys() & {"n_jobs"}, _NONE)
    name = f"{node['__module__']}.{node['__class__']}"
    place = _places().get((node["__loader__"], name))
    if place is None:
        raise ModelFileError(f"it holds {name[:200]}, which a model file may not contain")
    inner |= {"__module__": place[0], "__class__": place[1]}
    if not _is_sound(inner, members):
        raise ModelFileError(f"it holds a {place[1]} that is not as skops writes it")
    return inner


def _is_sound(node: dict[str, Any], members: dict[str, bytes]) -> bool:
    """Whether a node of the list is harmless by what it holds, too."""
    kind = node["__loader__"]
    if kind == "DictNode":
        # Keys are made by calling what stands for their types.
        types = node["key_types"]
        return types["__loader__"] == "ListNode" and all(each["__loader__"] == "TypeNode" for each in types["content"])
    if kind == "NdArrayNode" and node["type"] == "numpy":
        # A file of NumPy's, of the length that it announces. Items of no bytes would be as many as it likes.
        shape, dtype, left = _read_array_header(members[node["file"]])
        count = math.prod(shape)
        return not dtype.hasobject and count * dtype.itemsize == left and (dtype.itemsize > 0 or not count)
    if kind == "ObjectNode":
        state = node.get("content", {"__loader__": "JsonNode", "content": "null"})
        if state["__loader__"] != "DictNode":
            return bool(state["__loader__"] == "JsonNode" and state["content"] == "null")
        _check_arguments(node["__class__"], state["content"])
    return True


def _check_arguments(name: str, state: dict[str, Any]) -> None:
    """A cache is read by unpickling, and a format for names may be of any width."""
    harmless: dict[str, Callable[[Any], bool]] = {
        "memory": lambda value: value is None,
        "verbose_feature_names_out": lambda value: isinstance(value, bool),
    }
    for argument in harmless.keys() & state.keys():
        plain = state[argument]["__loader__"] == "JsonNode"
        if not plain or not harmless[argument](json.loads(state[argument]["content"])):
            raise ModelFileError(f"it holds a {name} with a value of {argument} that a model file may not contain")
