"""Models as ONNX graphs: converters for skl2onnx, which converts the steps before them in a pipeline."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense._inputs.columns import NAMED_KINDS
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index, Vector
from propense._maths.double_logistic import hidden_log_odds, shift_class
from propense._maths.forest import Forest
from propense._maths.logistic import LARGEST_LOG_ODDS, log_odds_of_log, softplus
from propense._steps.corrected import CorrectedPredictor, correct_rows
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.label_scores import LabelScore
from propense._steps.named_pair import NamedPredictor
from propense._steps.predictors import ForestPredictor, LogisticPredictor, RootPredictor
from propense.errors import InvalidOption, MissingExtra
from propense.estimators._base import BasePUClassifier
from propense.worlds.predictors import CurvePredictor, LinePredictor

__all__ = ["to_onnx"]

_OUTPUTS = ("label", "probabilities", "propensity", "hidden")
# The first version of ONNX's operators that has those of a graph for float64.
_OLDEST = 13
# The number of float64 among ONNX's types.
_DOUBLE = 11
# What NumPy's functions are called there.
_SAME = ["add", "equal", "exp", "greater", "less", "log", "sqrt", "tanh", "where"]
_OPERATORS = {name: name.capitalize() for name in _SAME} | {"absolute": "Abs", "divide": "Div", "maximum": "Max"}
_OPERATORS |= {"minimum": "Min", "multiply": "Mul", "negative": "Neg", "subtract": "Sub"}


def to_onnx(model: Any, X: Any = None, *, target_opset: int | None = None) -> Any:
    """A fitted model, or a pipeline that ends in one, as an ONNX graph.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of propense whose y and e are made of linear scores and boosted trees, as all are by
        default; or a pipeline of scikit-learn that ends in one, with steps that skl2onnx can convert.
    X : array-like or data frame, default=None
        Some rows, for the types of the inputs: float32 gives a graph that computes in float32. A data frame gives a
        pipeline an input for each column. None means one input ``X`` of float64, with the columns of fit.
    target_opset : int, default=None
        The version of ONNX's operators, at least 13; None means the latest that skl2onnx knows.

    Returns
    -------
    onnx.ModelProto
        A graph with four outputs: ``label``, the predicted class; ``probabilities`` of shape (n_samples, 2), as from
        ``predict_proba``; ``propensity``, e(x); and ``hidden``, h(x).

    Raises
    ------
    InvalidOption
        If the model has classifiers of other kinds, was fitted to columns that are not numbers, or X has not as many
        columns as in fit.
    MissingExtra
        If skl2onnx is not installed: ``pip install "propense[onnx]"``.

    Notes
    -----
    In float64 the outputs agree with those of the model to rounding; with trees, which ONNX adds up in float32, to
    about 1e-6. In float32 they differ by about as much, and by more if the values of X are large.

    Examples
    --------
    >>> import propense
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(500, 4, random_state=0)
    >>> model = propense.JERM(random_state=0).fit(data.X, data.labelled)
    >>> import onnxruntime  # doctest: +SKIP
    >>> graph = propense.to_onnx(model)  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())  # doctest: +SKIP
    >>> hidden = session.run(["hidden"], {"X": data.X})[0]  # doctest: +SKIP
    """
    try:
        import skl2onnx
    except ImportError:
        raise MissingExtra('to_onnx needs skl2onnx. Install it: pip install "propense[onnx]".') from None
    last = model
    while isinstance(last, Pipeline) and last.steps:
        last = last.steps[-1][1]
    if not isinstance(last, BasePUClassifier):
        hint = " Pass its best_estimator_." if hasattr(last, "best_estimator_") else ""
        raise InvalidOption(
            f"to_onnx takes an estimator of propense or a pipeline that ends in one, not a {type(last).__name__}.{hint}"
        )
    check_is_fitted(last)
    _check(last)
    name = f"Propense{type(last).__name__}"
    skl2onnx.update_registered_converter(type(last), name, _declare_shapes, _convert, parser=_parse)
    if X is not None and isinstance(model, Pipeline):
        # skl2onnx makes an input of each column of a frame, which is what a ColumnTransformer needs.
        types: dict[str, Any] = {"X": X[:1]}
    else:
        types = {"initial_types": [("X", _type_of_input(model, X))]}
    return skl2onnx.to_onnx(model, target_opset=target_opset, **types)


def _type_of_input(model: Any, X: Any) -> Any:
    """The type of the only input: rows of as many numbers as in fit, of float32 if those of X are."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    columns = model.n_features_in_
    if X is None:
        return DoubleTensorType([None, columns])
    like = X if issparse(X) else np.asarray(X[:1])
    if len(like.shape) != 2 or like.shape[1] != columns:
        raise InvalidOption(
            f"to_onnx: X must have {columns} columns, as in fit, but its first rows have the shape {like.shape}."
        )
    return (FloatTensorType if like.dtype == np.float32 else DoubleTensorType)([None, columns])


def _check(model: BasePUClassifier) -> None:
    """Refuse a model that ONNX has no operators for."""
    if any(column.kind in NAMED_KINDS for column in model._columns or ()):
        raise InvalidOption(
            f"to_onnx cannot export {model}: it was fitted to columns that are not all numbers. Encode them in a "
            "pipeline, for instance with OneHotEncoder, and export the pipeline."
        )
    if not (_is_known(model._posterior) and _is_known(model._propensity)):
        raise InvalidOption(
            f"to_onnx cannot export {model}: its y(x) and e(x) are made of more than linear scores and boosted trees "
            "of numbers. propense.save writes any model to a file."
        )


def _is_known(predictor: Any) -> bool:
    if isinstance(predictor, CorrectedPredictor | ShiftedPredictor):
        groups = getattr(predictor, "groups", None)
        return groups is None and _is_known(predictor.posterior) and _is_known(predictor.propensity)
    if isinstance(predictor, CurvePredictor | LinePredictor):
        return all(_is_known(member.predictor) for member in predictor.score.members)
    if isinstance(predictor, ForestPredictor):
        return not predictor.forest.by_level.any()
    return isinstance(predictor, LogisticPredictor | RootPredictor | NamedPredictor)


def _parse(scope: Any, model: BasePUClassifier, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the operator and its outputs."""
    operator = scope.declare_local_operator(f"Propense{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    kind = _type_of_numbers(inputs[0])
    for name, output in zip(_OUTPUTS, (_type_of_classes(model), kind(), kind(), kind()), strict=True):
        operator.outputs.append(scope.declare_local_variable(name, output))
    return operator.outputs


def _type_of_numbers(variable: Any) -> Any:
    """What the graph computes in: float32 if that is what it gets, else float64."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    return FloatTensorType if isinstance(variable.type, FloatTensorType) else DoubleTensorType


def _type_of_classes(model: BasePUClassifier) -> Any:
    from skl2onnx.common import data_types

    name = {"b": "Boolean", "i": "Int64", "f": "Double"}.get(_classes(model).dtype.kind, "String")
    return getattr(data_types, f"{name}TensorType")()


def _classes(model: BasePUClassifier) -> NDArray[Any]:
    """The classes in the type of their values: an array of objects may hold numbers."""
    return np.array(model.classes_.tolist())


def _declare_shapes(operator: Any) -> None:
    rows = operator.inputs[0].get_first_dimension()
    for output, shape in zip(operator.outputs, ([rows], [rows, 2], [rows], [rows]), strict=True):
        output.type.shape = shape


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    if len(operator.inputs) != 1:
        raise InvalidOption(
            f"to_onnx cannot export {model} after {len(operator.inputs)} inputs. Pass X as one array, or join the "
            "columns by a ColumnTransformer."
        )
    if container.target_opset < _OLDEST:
        raise InvalidOption(f"to_onnx: target_opset must be at least {_OLDEST}, but is {container.target_opset}.")
    kind = _type_of_numbers(operator.inputs[0])
    graph = _Graph(scope, container, np.float32 if kind.__name__.startswith("Float") else np.float64)
    features = _Result(graph, operator.inputs[0].full_name)
    if not isinstance(operator.inputs[0].type, kind):
        features = graph("Cast", features, to=_DOUBLE)
    if model._preparation is not None:
        features = graph.prepare(features, model._preparation)
    a, b = graph.pair(model._posterior, model._propensity, features)
    called, classes = a > model._cut(), _classes(model)
    if classes.dtype.kind != "b":
        words = classes[::-1].astype(np.object_ if classes.dtype.kind == "U" else classes.dtype)
        called = graph("Where", called, words[:1], words[1:])
    chances = [graph("Unsqueeze", graph("Sigmoid", each), np.array([1])) for each in (-a, a)]
    found = called, graph("Concat", *chances, axis=1), graph("Sigmoid", b), graph("Sigmoid", hidden_log_odds(a, b))
    for output, result in zip(operator.outputs, found, strict=True):
        name = scope.get_unique_operator_name("Identity")
        container.add_node("Identity", [result.name], [output.full_name], name=name)


class _Result(NDArrayOperatorsMixin):
    """The result of a node. NumPy's functions take it, so the formulas of `propense._maths` write their own graph."""

    def __init__(self, graph: "_Graph", name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return self.graph.call(ufunc, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.graph.call(function, *args, *kwargs.values())


@dataclass(frozen=True)
class _Graph:
    """Nodes of ONNX, by the name of their operator; every method returns a result."""

    scope: Any
    container: Any
    dtype: Any

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> Any:
        names = [each.name if isinstance(each, _Result) else self._keep(each) for each in inputs]
        out = str(self.scope.get_unique_variable_name(operator.lower()))
        name = self.scope.get_unique_operator_name(operator)
        self.container.add_node(operator, names, [out], name=name, **attributes)
        return _Result(self, out)

    def _keep(self, value: Any) -> str:
        """A constant: integers and words as they are, others as the graph computes."""
        from onnx import TensorProto

        array = np.asarray(value)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        kinds = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
        kind = kinds.get(array.dtype.name, TensorProto.STRING)
        text = kind == TensorProto.STRING
        values = [str(each).encode() for each in array.ravel()] if text else array.ravel().tolist()
        name = str(self.scope.get_unique_variable_name("constant"))
        self.container.add_initializer(name, kind, list(array.shape), values)
        return name

    def call(self, function: Any, *inputs: Any) -> Any:
        """What a function of NumPy stands for; those that ONNX lacks are made of others."""
        name = function.__name__
        if name in _OPERATORS:
            return self(_OPERATORS[name], *map(self._real, inputs))
        return getattr(self, f"_{name}")(*inputs)

    def _real(self, value: Any) -> Any:
        """A number as the graph computes, though it is a whole one."""
        return value if isinstance(value, _Result) else np.asarray(value, dtype=self.dtype)

    def _clip(self, t: Any, low: Any, high: Any) -> Any:
        t = t if low is None else np.maximum(t, low)
        return t if high is None else np.minimum(t, high)

    def _expm1(self, t: Any) -> Any:
        """tanh(t/2)·(eᵗ + 1), which keeps its digits where t is small."""
        return np.tanh(t * 0.5) * (np.exp(t) + 1.0)

    def _logaddexp(self, s: Any, t: Any) -> Any:
        return s + softplus(t - s)

    def _log1p(self, u: Any) -> Any:
        """log(1 + u) = u log(w)/(w − 1) with w = 1 + u as it is rounded: the errors of both cancel."""
        w = u + 1.0
        none = w == 1.0
        # Where w is 1 the quotient would be 0/0; there log1p(u) is u.
        return u * np.where(none, 1.0, np.log(w) / np.where(none, 1.0, w - 1.0))

    def prepare(self, features: Any, preparation: Preparation) -> Any:
        """`Preparation.transform` of columns that are all numbers."""
        missing = self("IsNaN", features)
        filled = self("Where", missing, preparation.medians[np.newaxis], features)
        if preparation.only_fills:
            return filled
        if len(preparation.marked):
            marked = self("Gather", np.where(missing, 1.0, 0.0), preparation.marked, axis=1)
            filled = self("Concat", filled, marked, axis=1)
        return (filled - preparation.means[np.newaxis]) / preparation.scales[np.newaxis]

    def pair(self, posterior: Any, propensity: Any, features: Any) -> tuple[Any, Any]:
        """The log-odds of y and e."""
        if isinstance(posterior, CorrectedPredictor):
            pair = self.pair(posterior.posterior, posterior.propensity, features)
            return correct_rows(*pair, posterior.facts)[:2]
        if isinstance(posterior, ShiftedPredictor):
            pair = self.pair(posterior.posterior, posterior.propensity, features)
            return shift_class(*pair, posterior.shift)  # type: ignore[arg-type]
        if isinstance(posterior, CurvePredictor):
            return posterior.curves.pair(self.score(posterior.score, features))
        return self.log_odds(posterior, features), self.log_odds(propensity, features)

    def log_odds(self, predictor: Any, features: Any) -> Any:
        """What a predictor says."""
        if isinstance(predictor, LinePredictor):
            a = predictor.level + predictor.slope * self.score(predictor.score, features)
            return a if predictor.own is None else a + self.log_odds(predictor.own, features)
        if isinstance(predictor, NamedPredictor):
            return self.matvec(self.chosen(features, predictor.columns, predictor.preparation), predictor.coef)
        if isinstance(predictor, ForestPredictor):
            return self.trees(self.chosen(features, predictor.columns, None), predictor.forest)
        product = self.matvec(features, predictor.coef)
        if isinstance(predictor, LogisticPredictor):
            return product
        return log_odds_of_log(0.5 * (predictor.log_factor - softplus(-product)))

    def matvec(self, features: Any, coef: Vector) -> Any:
        """coefᵀx, with the intercept first."""
        return self("MatMul", features, coef[1:]) + coef[0]

    def chosen(self, features: Any, columns: Index | None, preparation: Preparation | None) -> Any:
        """Some columns, prepared."""
        if columns is not None:
            features = self("Gather", features, columns.astype(np.int64), axis=1)
        return features if preparation is None else self.prepare(features, preparation)

    def score(self, score: LabelScore, features: Any) -> Any:
        """A label score: the mean of what its members say, shifted and scaled."""
        parts = [
            self.log_odds(
                each.predictor, self.chosen(features, score.columns, None if each.plain else score.preparation)
            )
            for each in score.members
        ]
        return (sum(parts[1:], parts[0]) / len(parts) - score.mean) / score.spread

    def trees(self, features: Any, forest: Forest) -> Any:
        """The sum of trees: ONNX takes the first of two children where a cell is up to the number of a split."""
        from onnx import helper

        leaf, nodes = forest.is_leaf, np.arange(len(forest.column))
        tree = np.repeat(np.arange(len(forest.roots)), np.diff(np.append(forest.roots, len(nodes))))
        own = nodes - forest.roots[tree]
        numbers = {
            "nodes_values": np.where(leaf, 0.0, forest.cuts(self.dtype)),
            "target_weights": forest.number[leaf],
            "base_values": np.array([forest.start]),
        }
        if self.dtype is np.float64:
            numbers = {
                f"{name}_as_tensor": helper.make_tensor(name, _DOUBLE, each.shape, each)
                for name, each in numbers.items()
            }
        found = self(
            "TreeEnsembleRegressor",
            features,
            op_domain="ai.onnx.ml",
            op_version=3,
            n_targets=1,
            nodes_treeids=tree,
            nodes_nodeids=own,
            nodes_featureids=np.where(leaf, 0, forest.column),
            nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_truenodeids=np.where(leaf, 0, own + 1),
            nodes_falsenodeids=np.where(leaf, 0, forest.right - forest.roots[tree]),
            nodes_missing_value_tracks_true=forest.missing_left.astype(np.int64),
            target_treeids=tree[leaf],
            target_nodeids=own[leaf],
            target_ids=np.zeros(int(leaf.sum()), dtype=np.int64),
            **numbers,
        )
        raw = self("Squeeze", found, np.array([1]))
        raw = raw if self.dtype is np.float32 else self("Cast", raw, to=_DOUBLE)
        return np.clip(raw, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
