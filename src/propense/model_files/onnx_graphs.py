"""Linear models as ONNX graphs: converters for skl2onnx, which converts the steps before them in a pipeline."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from propense._designs import Predictor
from propense._inputs.columns import NAMED_KINDS
from propense._inputs.preparation import Preparation
from propense._maths.arrays import Index, Vector
from propense._maths.logistic import LARGEST_LOG_ODDS
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.label_scores import LabelScore
from propense._steps.named_pair import NamedPredictor
from propense._steps.predictors import LogisticPredictor, RootPredictor
from propense.errors import InvalidOption, MissingExtra
from propense.estimators._base import BasePUClassifier
from propense.worlds.curves import Curves
from propense.worlds.predictors import CurvePredictor, LinePredictor

__all__ = ["to_onnx"]

_OUTPUTS = ("label", "probabilities", "propensity", "hidden")
# The first version of ONNX's operators that has those of a graph for float64.
_OLDEST = 13
# The number of float64 among ONNX's types.
_DOUBLE = 11
# −log p at the largest log-odds.
_LEAST = math.exp(-LARGEST_LOG_ODDS)


def to_onnx(model: Any, X: Any = None, *, target_opset: int | None = None) -> Any:
    """A fitted linear model, or a pipeline that ends in one, as an ONNX graph.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of propense whose y and e are functions of linear scores, such as `JERM`, `SAREM` and
        ``PUClassifier(learners="linear")``; or a pipeline of scikit-learn that ends in one, with steps that skl2onnx
        can convert.
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
        If the model is not linear, was fitted to columns that are not numbers, or X has not as many columns as in fit.
    MissingExtra
        If skl2onnx is not installed: ``pip install "propense[onnx]"``.

    Notes
    -----
    In float64 the outputs agree with those of the model to rounding. In float32 they differ by about 1e-6, and by more
    if the values of X are large.

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
    """Refuse a model that is not linear."""
    if any(column.kind in NAMED_KINDS for column in model._columns or ()):
        raise InvalidOption(
            f"to_onnx cannot export {model}: it was fitted to columns that are not all numbers. Encode them in a "
            "pipeline, for instance with OneHotEncoder, and export the pipeline."
        )
    if not (_is_linear(model._posterior) and _is_linear(model._propensity)):
        raise InvalidOption(
            f"to_onnx cannot export {model}: its y(x) and e(x) are not functions of linear scores. PUClassifier("
            'learners="linear"), JERM() and SAREM() are linear. propense.save writes any model to a file.'
        )


def _is_linear(predictor: Predictor) -> bool:
    if isinstance(predictor, CorrectedPredictor):
        return _is_linear(predictor.posterior) and _is_linear(predictor.propensity)
    if isinstance(predictor, ShiftedPredictor):
        return predictor.groups is None and _is_linear(predictor.posterior) and _is_linear(predictor.propensity)
    if isinstance(predictor, CurvePredictor | LinePredictor):
        return all(
            isinstance(each, LogisticPredictor) for member in predictor.score.members for each in member.predictors
        )
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
    features = operator.inputs[0].full_name
    if not isinstance(operator.inputs[0].type, kind):
        features = graph("Cast", features, to=_DOUBLE)
    if model._preparation is not None:
        features = graph.prepare(features, model._preparation)
    a, b = graph.pair(model._posterior, model._propensity, features)
    label, probabilities, propensity, hidden = (each.full_name for each in operator.outputs)
    called = graph("Greater", a, model._cut())
    classes = _classes(model)
    if classes.dtype.kind != "b":
        called = graph("Where", called, *(graph.word(each) for each in classes[::-1]))
    graph.finish(label, called)
    chances = [graph("Unsqueeze", graph("Sigmoid", each), np.array([1])) for each in (graph("Neg", a), a)]
    graph.finish(probabilities, graph("Concat", *chances, axis=1))
    graph.finish(propensity, graph("Sigmoid", b))
    graph.finish(hidden, graph("Sigmoid", graph.hidden_log_odds(a, b)))


@dataclass(frozen=True)
class _Graph:
    """Nodes of ONNX, by the name of their operator; every method returns the name of a result.

    The formulas are those of `propense._maths`, which ONNX has no operators for: log1p and expm1 are written so that
    they keep every digit, as two certainties, y = 1 and e = 1, are compared.
    """

    scope: Any
    container: Any
    dtype: Any

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        out = str(self.scope.get_unique_variable_name(operator.lower()))
        name = self.scope.get_unique_operator_name(operator)
        self.container.add_node(operator, names, [out], name=name, **attributes)
        return out

    def constant(self, value: Any) -> str:
        """Numbers: integers as they are, others as the graph computes."""
        array = np.asarray(value)
        return self._keep(array if array.dtype == np.int64 else array.astype(self.dtype))

    def word(self, value: Any) -> str:
        """A class."""
        array = np.array([value])
        return self._keep(array.astype({"i": np.int64, "f": np.float64}.get(array.dtype.kind, np.object_)))

    def _keep(self, array: Any) -> str:
        from onnx import TensorProto

        kinds = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
        kind = kinds.get(array.dtype.name, TensorProto.STRING)
        text = kind == TensorProto.STRING
        values = [str(each).encode() for each in array.ravel()] if text else array.ravel().tolist()
        name = str(self.scope.get_unique_variable_name("constant"))
        self.container.add_initializer(name, kind, list(array.shape), values)
        return name

    def finish(self, output: str, value: str) -> None:
        """Give a result the name of an output."""
        self.container.add_node("Identity", [value], [output], name=self.scope.get_unique_operator_name("Identity"))

    def prepare(self, features: str, preparation: Preparation) -> str:
        """`Preparation.transform` of columns that are all numbers."""
        missing = self("IsNaN", features)
        filled = self("Where", missing, preparation.medians[np.newaxis], features)
        if preparation.only_fills:
            return filled
        if len(preparation.marked):
            marks = self("Where", missing, np.ones((1, 1)), np.zeros((1, 1)))
            marked = self("Gather", marks, preparation.marked.astype(np.int64), axis=1)
            filled = self("Concat", filled, marked, axis=1)
        return self("Div", self("Sub", filled, preparation.means[np.newaxis]), preparation.scales[np.newaxis])

    def pair(self, posterior: Predictor, propensity: Predictor, features: str) -> tuple[str, str]:
        """The log-odds of y and e."""
        if isinstance(posterior, CorrectedPredictor):
            return self._correct(*self.pair(posterior.posterior, posterior.propensity, features), posterior)
        if isinstance(posterior, ShiftedPredictor):
            a, b = self.pair(posterior.posterior, posterior.propensity, features)
            label = self("Sub", self.log_chance(a), self.softplus(self("Neg", b)))
            moved = self("Max", self("Add", a, posterior.shift), self.log_odds_of_log(label))
            return moved, self.log_odds_of_log(self("Add", label, self.softplus(self("Neg", moved))))
        if isinstance(posterior, CurvePredictor):
            return self._along(self.score(posterior.score, features), posterior.curves)
        return self._log_odds(posterior, features), self._log_odds(propensity, features)

    def _log_odds(self, predictor: Any, features: str) -> str:
        if isinstance(predictor, LinePredictor):
            a = self.line(self.score(predictor.score, features), predictor.level, predictor.slope)
            return a if predictor.own is None else self("Add", a, self._log_odds(predictor.own, features))
        if isinstance(predictor, NamedPredictor):
            return self.matvec(self.chosen(features, predictor.columns, predictor.preparation), predictor.coef)
        product = self.matvec(features, predictor.coef)
        if isinstance(predictor, LogisticPredictor):
            return product
        return self.log_odds_of_log(self("Mul", self("Add", self.log_chance(product), predictor.log_factor), 0.5))

    def chosen(self, features: str, columns: Index | None, preparation: Preparation | None) -> str:
        """Some columns, prepared."""
        if columns is not None:
            features = self("Gather", features, columns.astype(np.int64), axis=1)
        return features if preparation is None else self.prepare(features, preparation)

    def score(self, score: LabelScore, features: str) -> str:
        """A label score of linear models, whose mean is one."""
        models: list[Any] = [member.predictors for member in score.members]
        coef = np.mean([np.mean([each.coef for each in some], axis=0) for some in models], axis=0)
        coef[0] -= score.mean
        return self.matvec(self.chosen(features, score.columns, score.preparation), coef / score.spread)

    def line(self, t: str, level: float, slope: float) -> str:
        """level + slope·t."""
        return self("Add", self("Mul", t, slope), level)

    def _along(self, t: str, curves: Curves) -> tuple[str, str]:
        """The log-odds of y and e along a score, as `Curves.pair` has them."""
        label, bent = curves.label, curves.hidden
        chance = self("Add", self.log_chance(self.line(t, label.level, label.slope)), math.log(label.height))
        hidden = self.line(t, bent.level, bent.slope)
        for knot, change in zip(bent.knots, bent.changes, strict=True):
            hidden = self("Add", hidden, self("Mul", self("Max", self("Sub", t, knot), 0.0), change))
        neither = self("Add", self.softplus(self.log_odds_of_log(chance)), self.softplus(hidden))
        a = self("Neg", self.log_odds_of_log(self("Neg", neither)))
        return a, self.log_odds_of_log(self("Add", chance, self.softplus(self("Neg", a))))

    def _correct(self, a: str, b: str, predictor: CorrectedPredictor) -> tuple[str, str]:
        """`propense._steps.corrected.correct_rows`, without the interval."""
        facts = predictor.facts
        hidden = self("Max", self("Min", self.hidden_log_odds(a, b), 1e6), -1e6)
        along = a if facts.along == "posterior" else hidden
        for i in range(len(facts.knots) - 1):
            low, high = facts.knots[i : i + 2]
            part = self("Sub", self("Min", self("Max", along, low), high), low)
            hidden = self("Add", hidden, self("Mul", part, (facts.values[i + 1] - facts.values[i]) / (high - low)))
        u = self("Add", hidden, facts.values[0])
        t = self("Neg", self.logaddexp(self("Neg", a), self("Sub", self.softplus(self("Neg", a)), b)))
        return self.logaddexp(self("Add", t, self.softplus(u)), u), self("Add", t, self.softplus(self("Neg", u)))

    def matvec(self, features: str, coef: Vector) -> str:
        """coefᵀx, with the intercept first."""
        return self("Add", self("MatMul", features, coef[1:]), coef[0])

    def hidden_log_odds(self, a: str, b: str) -> str:
        """log h/(1−h) = a − softplus(b)."""
        return self("Sub", a, self.softplus(b))

    def log_chance(self, t: str) -> str:
        """log σ(t)."""
        return self("Neg", self.softplus(self("Neg", t)))

    def softplus(self, t: str) -> str:
        """log(1 + eᵗ) = max(t, 0) + log1p(e⁻ᵗ) of |t|."""
        return self("Add", self("Max", t, 0.0), self._log1p(self("Exp", self("Neg", self("Abs", t)))))

    def logaddexp(self, s: str, t: str) -> str:
        """log(eˢ + eᵗ)."""
        return self("Add", s, self.softplus(self("Sub", t, s)))

    def log_odds_of_log(self, log_p: str) -> str:
        """log p − log(1 − p), with 1 − p = tanh(−½ log p)(1 + p), which keeps its digits where p is close to 1."""
        log_p = self("Min", log_p, -_LEAST)
        rest = self("Mul", self("Tanh", self("Mul", log_p, -0.5)), self("Add", self("Exp", log_p), 1.0))
        return self("Sub", log_p, self("Log", rest))

    def _log1p(self, u: str) -> str:
        """log(1 + u) = u log(w)/(w − 1) with w = 1 + u as it is rounded: the errors of both cancel."""
        w = self("Add", u, 1.0)
        none = self("Equal", w, 1.0)
        # Where w is 1 the quotient would be 0/0; there log1p(u) is u.
        above = self("Where", none, 1.0, self("Sub", w, 1.0))
        quotient = self("Where", none, 1.0, self("Div", self("Log", w), above))
        return self("Mul", u, quotient)
