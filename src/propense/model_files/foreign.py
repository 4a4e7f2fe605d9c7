"""Parts of scikit-learn in a file, by skops: nothing is built before its schema is checked, and nothing is run."""

import io
import itertools
import json
import math
import warnings
from collections import UserList
from collections.abc import Iterator
from copy import copy
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import InconsistentVersionWarning

from propense.errors import MissingExtra, ModelFileError
from propense.model_files.checks import is_count, is_whole
from propense.model_files.container import check_memory, deflate, inflate
from propense.model_files.trusted import announced, check_schema, names_in

__all__ = [
    "announced_row",
    "build_inner",
    "check_parts",
    "describe_inner",
    "dump",
    "dump_together",
    "load",
    "load_together",
]

# How the bytes of skops begin if they are not deflated.
_ARCHIVE = b"PK"
# Boosted trees number at most 255 levels, and one for missing cells.
_MOST_LEVELS = 256


def describe_inner(thing: Any, where: str) -> dict[str, Any]:
    """A classifier inside an estimator: its bytes, and what to show of it."""
    return {"skops": dump(thing, where), "text": " ".join(repr(thing).split())}


def build_inner(description: Any) -> Any:
    """The classifier of its description."""
    if not isinstance(description, dict) or description.keys() != {"skops", "text"}:
        raise ModelFileError("it holds a classifier without its bytes")
    return load(description["skops"])


def dump_together(things: list[Any], where: str) -> NDArray[np.uint8]:
    """The bytes of several objects of scikit-learn, deflated: a hundred trees say the same thing a hundred times."""
    return np.frombuffer(deflate(dump(things, where).tobytes()), dtype=np.uint8)


def load_together(data: Any) -> Any:
    """The objects of bytes that may be deflated."""
    raw = _bytes(data)
    things = _load(raw if raw.startswith(_ARCHIVE) else inflate(raw), len(raw))
    for part in _parts(things):
        if isinstance(part, BaseEstimator) and "verbose" in vars(part):
            # Nor is it for a file to say what is printed.
            part.verbose = 0
    return things


def dump(thing: Any, where: str, *, without: Any = None) -> NDArray[np.uint8]:
    """The bytes of an object of scikit-learn, with None in the place of `without`; `where` is what errors call it."""
    skops = _need_skops()
    try:
        with warnings.catch_warnings():
            # scikit-learn 1.6 warns when the columns of a remainder are read.
            warnings.simplefilter("ignore", FutureWarning)
            data = skops.dumps(_plain(thing, without))
        return np.frombuffer(_checked(data, len(data))[0], dtype=np.uint8)
    except (ModelFileError, TypeError) as error:
        reason = str(error).rstrip(".").replace("it holds", f"{where} holds", 1)
        raise ModelFileError(
            f"{reason}. The documentation of propense.save lists what can be saved. joblib saves any model, but "
            "loading its files runs code"
        ) from None


def load(data: Any) -> Any:
    """The object of its bytes."""
    raw = _bytes(data)
    return _load(raw, len(raw))


def _bytes(data: Any) -> bytes:
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1:
        raise ModelFileError("it holds a part of scikit-learn that is not bytes")
    return data.tobytes()


def _load(data: bytes, size: int) -> Any:
    """The object of its bytes, which take `size` in the file."""
    skops = _need_skops()
    checked, names = _checked(data, size)
    with warnings.catch_warnings():
        # `load` warns once for the whole file.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        thing = skops.loads(checked, trusted=names)
    for part in _parts(thing):
        if isinstance(part, HistGradientBoostingClassifier) and getattr(part, "_preprocessor", None) is not None:
            _restore_categories(part)
    check_parts(thing)
    return thing


def check_parts(thing: Any) -> None:
    """Raise an error if a part of scikit-learn has numbers that its code would use without checking them."""
    for part in _parts(thing):
        learned, check = _CHECKS.get(type(part).__name__, ("", None))
        if check is not None and learned in vars(part) and not check(part):
            raise ModelFileError(f"it holds a {type(part).__name__} whose fitted numbers are inconsistent")


def announced_row(thing: Any) -> int:
    """How many bytes the powers of one row take: three numbers in a file announce any count of them."""
    # The file has numbers of its own for each of them, in what they are passed on to.
    powers = [part for part in _parts(thing) if type(part).__name__ == "PolynomialFeatures"]
    return sum(8 * int(getattr(part, "_n_out_full", 0)) for part in powers)


def _need_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtra(
            "skops is needed for a model file with parts of scikit-learn, such as the trees of a PUClassifier. Install "
            'it: pip install "propense[files]". PUClassifier(learners="linear") does not need it.'
        ) from None
    return skops.io


def _plain(value: Any, without: Any) -> Any:
    """A copy that skops can write: columns in a list, without the random generators that fit has left."""
    if value is without:
        return None
    if isinstance(value, BaseEstimator) or type(value).__name__.endswith("MetadataRequest"):
        copied = copy(value)
        for name, each in vars(value).items():
            of_fit = name.startswith("_") and isinstance(each, np.random.Generator | np.random.RandomState)
            # The owner of a metadata request is the estimator that holds it; the name of its class will do.
            owner = name == "owner" and (each if isinstance(each, str) else type(each).__name__)
            setattr(copied, name, owner or (None if of_fit else _plain(each, without)))
        if isinstance(value, HistGradientBoostingClassifier) and _has_categories(value):
            # It holds a function of scikit-learn; all but the categories follows from its parameters.
            copied._preprocessor = list(value._preprocessor.named_transformers_["encoder"].categories_)
        return copied
    if type(value) in (list, tuple):
        return type(value)(_plain(each, without) for each in value)
    if type(value) is dict:
        return {name: _plain(each, without) for name, each in value.items()}
    index = type(value).__module__.startswith("pandas") and type(value).__name__.endswith("Index")
    return list(value) if index or isinstance(value, range | UserList) else value


def _has_categories(boosting: Any) -> bool:
    """Whether boosting was fitted to categories in an array of numbers."""
    encoder = getattr(boosting, "_preprocessor", None)
    if encoder is None or hasattr(boosting, "feature_names_in_"):
        return False
    return all(each.dtype == np.float64 for each in encoder.named_transformers_["encoder"].categories_)


def _restore_categories(boosting: Any) -> None:
    """Let boosting see its categories, as it does at the beginning of fit; a file holds only what they are."""
    categories, marked = boosting._preprocessor, np.asarray(boosting.is_categorical_)
    # The matrix has a column for each of these, so that a number alone cannot make it large.
    p = len(boosting._bin_mapper.bin_thresholds_)
    arrays = isinstance(categories, list) and all(
        isinstance(each, np.ndarray) and each.dtype == np.float64 and each.ndim == 1 and 1 <= len(each) <= _MOST_LEVELS
        for each in categories
    )
    if not arrays or not categories or marked.shape != (p,) or np.count_nonzero(marked) != len(categories):
        raise ModelFileError("it holds boosted trees without their categories")
    rows = np.arange(max(map(len, categories)))
    matrix = np.zeros((len(rows), p))
    for j, each in zip(np.flatnonzero(marked), categories, strict=True):
        matrix[:, j] = each[rows % len(each)]
    boosting._preprocess_X(matrix, reset=True)
    found = () if boosting._preprocessor is None else boosting._preprocessor.named_transformers_["encoder"].categories_
    if len(found) != len(categories) or not all(
        np.array_equal(one, other, equal_nan=True) for one, other in zip(found, categories, strict=True)
    ):
        raise ModelFileError("it holds boosted trees with other categories than their parameters say")


def _checked(data: bytes, size: int) -> tuple[bytes, list[str]]:
    """The bytes of skops, rewritten with a schema that has been checked, and the names in it.

    Its arrays may take as much memory as a file of `size` bytes may announce.
    """
    with ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        # So that what is read is not larger than the file.
        if any(entry.compress_type != ZIP_STORED for entry in entries) or sum(e.file_size for e in entries) > len(data):
            raise ModelFileError("it holds a part of scikit-learn that is compressed, or larger than the file")
        members = {entry.filename: archive.read(entry) for entry in entries}
    schema = check_schema(json.loads(members.pop("schema.json")), members)
    check_memory(announced(schema, members), size)
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for name, member in {**members, "schema.json": json.dumps(schema).encode()}.items():
            archive.writestr(ZipInfo(name), member)
    return out.getvalue(), names_in(schema)


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


def _is_tree(part: Any) -> bool:
    tree, p = part.tree_, part.n_features_in_
    if type(tree).__name__ != "Tree" or not is_count(p, 0) or not 1 <= tree.node_count <= tree.capacity:
        return False
    if tree.n_outputs != 1 or tree.n_classes[0] < 1:
        return False
    inner = np.flatnonzero(tree.children_left != -1)
    children = np.stack([tree.children_left, tree.children_right])[:, inner]
    return _lead_on(inner, children, tree.feature[inner], tree.node_count, p)


def _is_forest(part: Any) -> bool:
    """Whether the trees take the features that the forest has checked; they do not check them again."""
    p, count = part.n_features_in_, len(part.classes_)
    trees = [(tree.n_features_in_, tree.n_classes_) for tree in part.estimators_]
    return part.n_outputs_ == 1 and part.n_classes_ == count and all(pair == (p, count) for pair in trees)


def _is_boosting(part: Any) -> bool:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    p, mapper = part.n_features_in_, part._bin_mapper
    if not is_count(p, 0) or len(mapper.is_categorical_) != p or not _are_levels(part, p):
        return False
    if part.n_trees_per_iteration_ != 1 or any(len(stage) != 1 for stage in part._predictors):
        return False
    for tree in (each for stage in part._predictors for each in stage):
        nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
        if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or not len(nodes):
            return False
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        children = np.stack([nodes["left"], nodes["right"]]).astype(np.int64)[:, inner]
        if not _lead_on(inner, children, nodes["feature_idx"][inner], len(nodes), p):
            return False
        by_level = inner[nodes["is_categorical"][inner] != 0]
        if not mapper.is_categorical_[nodes["feature_idx"][by_level]].all() or not (
            len(by_level) == 0 or (_are_bits(sets) and (nodes["bitset_idx"][by_level] < len(sets)).all())
        ):
            return False
    return True


def _are_levels(part: Any, p: int) -> bool:
    """Whether the categories of boosted trees, if they have any, are numbered 0, 1, … everywhere."""
    mapper = part._bin_mapper
    marked = np.asarray(mapper.is_categorical_) != 0
    if part._preprocessor is None:
        return not marked.any()
    encoder = part._preprocessor.named_transformers_["encoder"]
    counts = [int(np.count_nonzero(~np.isnan(each))) for each in encoder.categories_]
    # What is encoded comes first.
    if len(mapper.bin_thresholds_) != p or not np.array_equal(marked, np.arange(p) < len(counts)):
        return False
    return all(np.array_equal(mapper.bin_thresholds_[j], np.arange(count)) for j, count in enumerate(counts))


def _are_bits(sets: Any) -> bool:
    """A row of 256 bits for each split by levels."""
    return isinstance(sets, np.ndarray) and sets.dtype == np.uint32 and sets.ndim == 2 and sets.shape[1] == 8


def _lead_on(index: NDArray[Any], children: NDArray[Any], features: NDArray[Any], count: int, p: int) -> bool:
    """Whether each node leads to later ones by a feature that is there."""
    return bool(((children > index) & (children < count)).all() and ((features >= 0) & (features < p)).all())


def _is_encoder(part: Any) -> bool:
    """Whether each category has a column, and there are as many columns as that takes."""
    grouped = getattr(part, "_default_to_infrequent_mappings", None) or [None] * len(part.categories_)
    dropped = [None] * len(part.categories_) if part.drop_idx_ is None else part._drop_idx_after_grouping
    for every, group, drop, columns in zip(part.categories_, grouped, dropped, part._n_features_outs, strict=True):
        codes = np.arange(len(every)) if group is None else np.asarray(group)
        known = len(codes) == len(every) and codes.min() >= 0 and (drop is None or drop in codes)
        if not known or columns != codes.max() + 1 - (drop is not None):
            return False
    return True


def _is_vocabulary(part: Any) -> bool:
    return sorted(part.vocabulary_.values()) == list(range(len(part.vocabulary_)))


def _is_imputer(part: Any) -> bool:
    values = part.statistics_
    return np.shape(values) == (part.n_features_in_,) and not any(value in (math.inf, -math.inf) for value in values)


def _is_polynomial(part: Any) -> bool:
    """Whether it makes as many products of features as its degree takes."""
    p, most, full = part.n_features_in_, part._max_degree, part._n_out_full
    if not (is_count(p, 0) and is_whole(most, 0) and is_count(full, 0)) or part.n_output_features_ > full:
        return False
    # C(p, k) products of k different features, or C(p + most, most) in all; counted as far as there are columns.
    term = total = 1
    for k in range(1, min(p, most) + 1):
        term = term * ((p if part.interaction_only else p + most) - k + 1) // k
        total = total + term if part.interaction_only else term
        if total > full + 1:
            return False
    return bool(total == full + (not part.include_bias))


def _is_column_transformer(part: Any) -> bool:
    """Whether what its transformers return lies side by side; those that return nothing are at 0."""
    spans = sorted((each.start, each.stop, each.step) for each in part.output_indices_.values() if each.stop)
    starts, ends = [start for start, _, _ in spans], [0, *(stop for _, stop, _ in spans)]
    return starts == ends[:-1] and ends == sorted(ends) and all(step is None for _, _, step in spans)


def _is_chain(part: Any) -> bool:
    """Whether each step of a pipeline takes as many features as the one before returns, where that is known."""
    steps = [step for _, step in part.steps if step is not None and not isinstance(step, str)]
    return all(
        widths is None or getattr(after, "n_features_in_", None) in (None, *widths)
        for widths, after in ((_widths(before), after) for before, after in itertools.pairwise(steps))
    )


def _widths(part: Any) -> tuple[int, ...] | None:
    """How many features a part may return; None if that is not checked."""
    if type(part).__name__ == "ColumnTransformer" and "output_indices_" in vars(part):
        return (max((each.stop for each in part.output_indices_.values()), default=0),)
    if type(part).__name__ == "SimpleImputer" and "statistics_" in vars(part):
        marks = len(part.indicator_.features_) if part.add_indicator else 0
        # A column that was empty in fit has no value and is left out; constants depend on the version.
        empty = sum(1 for value in part.statistics_ if value != value)
        kept = part.keep_empty_features or part.strategy == "constant"
        return tuple(part.n_features_in_ + marks - left for left in ((0, empty) if kept else (empty,)))
    return None


# Numbers that scikit-learn uses without checking them: by class, an attribute it has once fitted, and the check.
_CHECKS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("DecisionTreeClassifier", "ExtraTreeClassifier"), ("tree_", _is_tree)),
    **dict.fromkeys(("CountVectorizer", "TfidfVectorizer"), ("vocabulary_", _is_vocabulary)),
    **dict.fromkeys(("RandomForestClassifier", "ExtraTreesClassifier"), ("estimators_", _is_forest)),
    "ColumnTransformer": ("output_indices_", _is_column_transformer),
    "Pipeline": ("steps", _is_chain),
    "PolynomialFeatures": ("_n_out_full", _is_polynomial),
    "SimpleImputer": ("statistics_", _is_imputer),
    "HistGradientBoostingClassifier": ("_predictors", _is_boosting),
    "OneHotEncoder": ("categories_", _is_encoder),
}
