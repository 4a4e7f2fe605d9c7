"""The only validation: what a user passes to fit or predict is read once, here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design, Predictor, as_design
from propense._inputs.columns import NAMED_KINDS, level_counts
from propense._inputs.feature_lists import read_columns, read_source_columns
from propense._inputs.frames import is_frame
from propense._inputs.host import HostReader
from propense._inputs.labels import read_classes, separate_known_negatives
from propense._inputs.preparation import Preparation, has_missing
from propense._inputs.prior_groups import PriorGroups, read_prior_groups
from propense._inputs.reader import Reader, find_invalid, refuse_lazy
from propense._inputs.sources import Sources, has_columns, read_sources
from propense._maths.arrays import Index, Vector, as_float, library_of
from propense._maths.double_logistic import class_given_label
from propense._maths.known_negatives import known_shift
from propense._maths.linear import coef_positions
from propense._maths.logistic import sigmoid
from propense.errors import (
    InvalidFeatures,
    InvalidLabels,
    InvalidPropensity,
    InvalidWeights,
    NoLabelledInstances,
    NoUnlabelledInstances,
)

__all__ = ["Sample", "read_features", "read_sample"]

# The largest weight is kept between 2⁻⁴⁰⁰ and 2⁴⁰⁰, so that squares of sums of weights stay within float64. Weights as
# large or as small as that decide alone, or the ridge does: what they are exactly changes no digit.
_MOST_DOUBLINGS = 400
# Rows searched at a time for the first missing entry.
_BLOCK = 4096
# The square of a smaller weight is 0 in float64, or close to it.
_LEAST_WEIGHT = 2.0**-530


@dataclass(frozen=True)
class Sample:
    """What a method is fitted on.

    Attributes
    ----------
    design : Design of shape (n, p)
        The features, intercept included.
    labelled : bool Rows of length n
        Which rows are labelled.
    weights : Rows of length n, or None
        The weight of each row; None means 1 for all. Never 0 as read: such rows are left out.
    rows : int Rows of length n, or None
        The number of each row in what the user passed; None if no row was left out.
    propensity : Rows of length n, or None
        e(x), if the user passed it.
    propensity_columns : int ndarray, or None
        The features that e may depend on; None means all.
    negative : bool Rows of length n, or None
        Which rows are known to be negative; None if there are none.
    levels : int ndarray of shape (n_features,), or None
        The number of levels of each feature that is a category, encoded as 0, 1, … and −1 for a level not seen in fit;
        0 for a number. None means that every feature is a number, and not a date.
    class_columns : int ndarray, or None
        The features that y may depend on; None means all.
    sources : Sources, or None
        The labels of each source, for methods that take several; a row is labelled if any of them has labelled it.
    groups : PriorGroups, or None
        The groups whose share of positives is known, if there are any.
    """

    design: Design
    labelled: Any
    weights: Any
    rows: Any
    propensity: Any = None
    propensity_columns: Index | None = None
    negative: Any = None
    levels: NDArray[np.int64] | None = None
    class_columns: Index | None = None
    sources: Sources | None = None
    groups: PriorGroups | None = None

    @property
    def unlabelled(self) -> Any:
        """The rows of unknown class: neither labelled nor known to be negative."""
        return ~self.labelled if self.negative is None else ~(self.labelled | self.negative)

    @property
    def label_columns(self) -> Index | None:
        """The features that the chance of a label, y·e, may depend on; None means all."""
        if self.class_columns is None or self.propensity_columns is None:
            return None
        return np.union1d(self.class_columns, self.propensity_columns)

    @property
    def class_design(self) -> Design:
        """The design of the features that y may depend on."""
        return self.design if self.class_columns is None else self.design.columns(self.class_columns)

    def over_all_columns(self, coef: Vector) -> Vector:
        """Coefficients of `class_design` as those of all columns: 0 where y may not depend on one."""
        if self.class_columns is None:
            return coef
        out = np.zeros(self.design.shape[1])
        out[coef_positions(self.class_columns, len(out))] = coef
        return out

    @property
    def is_complete(self) -> bool:
        """Whether every row (of positive weight) is labelled or a known negative."""
        return self.negative is not None and self.weight_of(self.unlabelled) == 0.0

    def expected(self, a: Any, b: Any, log_unknown: float = 0.0) -> Any:
        """P(Y=1 | x, what is known): 1 on the labelled, 0 on known negatives, h(x) elsewhere.

        `log_unknown` is log(1 − d), where d is the share of negatives that are known: the more are known, the fewer
        are left among the other rows.
        """
        if self.negative is None:
            return class_given_label(a, b, self.labelled)
        return sigmoid(a - known_shift(b, self.labelled, self.negative, log_unknown))

    def share_positive(self, a: Any, b: Any, log_unknown: float = 0.0) -> float:
        """The mean of `expected`: the estimated P(Y=1)."""
        return self.mean(self.expected(a, b, log_unknown))

    def row_numbers(self, index: Index) -> Index:
        """The numbers of our rows in what the user passed."""
        return index if self.rows is None else self.design.pick(self.rows, index)

    def log_odds(self, predictor: Predictor) -> Any:
        """The log-odds that a predictor gives every row."""
        return self.design.hold(predictor.log_odds(self.design))

    def among(self, mask: Any, most: float = 0.5) -> tuple[Design, Any, Any]:
        """The design, labels and weights of the rows of a mask.

        A share of up to `most` of the rows is copied, if the design allows; a larger one stays in place and the other
        rows get weight 0, which takes no memory.
        """
        if not self.design.movable or int(mask.sum()) > most * self.design.shape[0]:
            return self.design, self.labelled, as_float(mask) if self.weights is None else self.weights * mask
        weights = None if self.weights is None else self.weights[mask]
        return self.design.take(mask), self.labelled[mask], weights

    def subset(self, mask: Any, most: float = 0.5) -> "Sample":
        """The sample of the rows of a mask, as in `among`, without a known propensity."""
        design, labelled, weights = self.among(mask, most)
        negative = None
        if self.negative is not None and bool((self.negative & mask).any()):
            negative = self.negative if design is self.design else self.negative[mask]
        sources = self.sources if self.sources is None or design is self.design else self.sources.take(mask)
        return replace(
            self,
            design=design,
            labelled=labelled,
            weights=weights,
            rows=None,
            propensity=None,
            negative=negative,
            sources=sources,
        )

    def reweighted(self, weights: Any) -> "Sample":
        """The same rows with other weights; rows of weight 0 are left out."""
        kept = weights > 0
        if bool(kept.all()):
            return replace(self, weights=weights)
        reader = _reader_of(self.labelled)
        ours, labelled, weights, propensity, rows, negative = reader.keep(
            kept, self.labelled, weights, self.propensity, self.rows, self.negative
        )
        design, rows = self.design.take(kept), ours if rows is None else rows
        return replace(
            self,
            design=design,
            labelled=labelled,
            weights=weights,
            rows=rows,
            propensity=propensity,
            negative=negative,
            sources=None if self.sources is None else self.sources.take(kept),
        )

    @property
    def total_weight(self) -> float:
        """The sum of the weights; the number of rows without weights."""
        return float(self.design.shape[0] if self.weights is None else self.weights.sum())

    def gather(self, function: Callable[..., Sequence[Any]], *rows: Any) -> list[NDArray[Any]]:
        """`Design.gather` with the weights as the last of the rows, 1 without weights."""
        weights = as_float(self.labelled) * 0.0 + 1.0 if self.weights is None else self.weights
        return self.design.gather(function, *rows, weights)

    def weight_of(self, values: Any) -> float:
        """Σ wᵢ·valueᵢ; for a mask, the weight of its rows."""
        return float((values if self.weights is None else self.weights * values).sum())

    def mean(self, values: Any) -> float:
        """The weighted mean of one number per row."""
        return self.weight_of(values) / self.total_weight


def read_sample(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    propensity: Any,
    read_labels: Callable[..., tuple[NDArray[np.bool_], NDArray[Any]]],
    known_negative: Any = None,
) -> tuple[Sample, NDArray[Any]]:
    """Check what was passed to fit; return the sample and the two classes."""
    for name in ("_columns", "_preparation"):
        if getattr(estimator, name, None) is not None:
            # Of an earlier fit.
            setattr(estimator, name, None)
    refuse_lazy("y", y, InvalidLabels)
    refuse_lazy("sample_weight", sample_weight, InvalidWeights)
    reader = _reader_of(X, sample_weight)
    features = reader.read_matrix(estimator, X, reset=True)
    if y is None:
        raise InvalidLabels(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    several = getattr(estimator, "_takes_sources", False)
    positive = getattr(estimator, "positive_label", None)
    looks = None
    if several and has_columns(y):
        y, *looks = read_sources(y, positive)
    if known_negative is None and library_of(y) != "dask" and read_labels is not read_classes:
        y, known_negative = separate_known_negatives(y, positive)
    labelled, classes = reader.read_labels(y, features, partial(read_labels, positive=positive))
    weights = None if sample_weight is None else _read_weights(reader, sample_weight, features)
    if propensity is not None:
        propensity = _read_propensity(reader, propensity, features, labelled)
    negative = None if known_negative is None else _read_negative(reader, known_negative, features, labelled)
    sources = read_source_columns(estimator, *(looks or (as_float(labelled)[:, None], ("label",)))) if several else None
    columns = None if sources is not None else read_columns(estimator, "propensity_features")
    found = getattr(estimator, "_columns", None) or ()
    levels = level_counts(found) if any(each.kind in NAMED_KINDS for each in found) else None
    sample = Sample(
        as_design(features),
        labelled,
        weights,
        None,
        propensity,
        columns,
        negative,
        levels,
        read_columns(estimator, "class_features"),
        sources=sources,
    )
    if weights is not None and not bool((weights > 0).all()):
        # A row of weight 0 does not exist: it cannot be a spy or set a threshold.
        sample = sample.reweighted(weights)
        if not bool(sample.labelled.any()):
            raise NoLabelledInstances(f"No row of the labelled class {classes[1]} has a sample_weight above 0.")
        if bool(sample.labelled.all()):
            raise NoUnlabelledInstances(f"No row of the unlabelled class {classes[0]} has a sample_weight above 0.")
    if sample.weights is not None:
        _check_balance(sample)
    if sample.negative is not None and not bool(sample.negative.any()):
        sample = replace(sample, negative=None)
    groups = read_prior_groups(estimator, sample.design)
    sample = sample if groups is None else replace(sample, groups=groups)
    if getattr(estimator, "_prepares_columns", bool)() and isinstance(features, np.ndarray):
        sample = _prepare(estimator, sample)
    return sample, classes


def _prepare(estimator: Any, sample: Sample) -> Sample:
    """The sample with columns that are finite numbers; the estimator keeps how they became so."""
    design = sample.design
    preparation = Preparation.fit_where_needed(sample.levels, design.features, sample.weights)
    estimator._preparation = preparation
    if preparation.only_fills:
        return sample
    return replace(
        sample,
        design=as_design(preparation.transform(design.features)),
        levels=None,
        class_columns=preparation.features_of(sample.class_columns),
        propensity_columns=preparation.features_of(sample.propensity_columns),
        sources=None if sample.sources is None else sample.sources.prepared(preparation),
        groups=None if sample.groups is None else sample.groups.prepared(preparation),
    )


def read_features(estimator: Any, X: Any) -> Design:
    """Check what was passed to a predict method; its columns must be those of fit."""
    check_is_fitted(estimator)
    named = [column for column in estimator._columns or () if column.kind in NAMED_KINDS]
    if named and not is_frame(X):
        raise InvalidFeatures(
            f"X is a {type(X).__name__}, but this {type(estimator).__name__} was fitted to a data frame in which "
            f"{named[0].name!r} is a {named[0].kind}. Pass a data frame of pandas, polars or pyarrow with the same "
            "columns."
        )
    features = _reader_of(X).read_matrix(estimator, X, reset=False)
    preparation = getattr(estimator, "_preparation", None)
    if preparation is not None:
        return as_design(preparation.apply(features))
    if isinstance(features, np.ndarray) and not estimator._fills_missing() and has_missing(features):
        count, (row, column), _ = find_invalid(features, _BLOCK)
        names = getattr(estimator, "feature_names_in_", None)
        raise InvalidFeatures(
            f"X has {count} missing entries (NaN), the first at row {row}, column "
            f"{column if names is None else repr(names[column])}. This {type(estimator).__name__} was fitted to X "
            f"without missing entries, in a sparse matrix, tensor or Dask array, so it does not know how to fill them. "
            "Drop or impute them, for example with sklearn's SimpleImputer."
        )
    return as_design(features)


def _reader_of(X: Any, sample_weight: Any = None) -> Reader:
    """The reader of X and the other inputs; optional packages are imported only if X is theirs."""
    refuse_lazy("X", X, InvalidFeatures)
    library = library_of(X)
    if library == "torch":
        from propense._inputs.torch import TorchReader

        return TorchReader()
    if library == "dask":
        from propense._inputs.dask import DaskReader

        return DaskReader()
    return HostReader(sample_weight)


def _read_weights(reader: Reader, sample_weight: Any, features: Any) -> Any:
    weights = reader.read_numbers("sample_weight", "Sample weights", sample_weight, features, InvalidWeights)
    negative = weights < 0
    if bool(negative.any()):
        first = _first(negative)
        raise InvalidWeights(
            f"sample_weight is negative ({float(weights[first]):g}) at row {first}; weights must be ≥ 0."
        )
    if not bool((weights > 0).any()):
        raise InvalidWeights(
            "sample_weight is zero for every row; at least one labelled and one unlabelled row need a positive weight."
        )
    largest = float(weights.max())
    doublings = math.frexp(largest)[1]
    if abs(doublings) <= _MOST_DOUBLINGS:
        return weights
    # A power of two changes no digit of a weight.
    scaled = weights * 2.0 ** (math.copysign(_MOST_DOUBLINGS, doublings) - doublings)
    if bool(((weights > 0) & (scaled == 0)).any()):
        raise InvalidWeights(
            f"The largest sample_weight is {largest:g}, and others are so much smaller that float64 cannot add them to "
            "it. Leave out those rows, or divide the large weights."
        )
    return scaled


def _check_balance(sample: Sample) -> None:
    share, largest = sample.mean(sample.labelled), float((sample.weights * sample.labelled).max())
    if share == 1.0 or largest < _LEAST_WEIGHT:
        raise InvalidWeights(
            f"The labelled rows have {share:g} of the total sample_weight, and the unlabelled rows the rest: one of "
            "the two is too small for float64. Choose weights that are more alike."
        )


def _read_propensity(reader: Reader, propensity: Any, features: Any, labelled: Any) -> Any:
    values = reader.read_numbers("propensity", "Propensities", propensity, features, InvalidPropensity)
    outside = (values < 0) | (values > 1)
    if bool(outside.any()):
        first = _first(outside)
        raise InvalidPropensity(
            f"propensity is {float(values[first]):g} at row {first}; a probability must be between 0 and 1."
        )
    impossible = labelled & (values == 0)
    if bool(impossible.any()):
        raise InvalidPropensity(
            f"propensity is 0 at row {_first(impossible)}, but the row is labelled. Give such rows a small positive "
            "propensity."
        )
    return values


def _read_negative(reader: Reader, known_negative: Any, features: Any, labelled: Any) -> Any:
    values = reader.read_numbers("known_negative", "Known negatives", known_negative, features, InvalidLabels)
    neither = (values != 0) & (values != 1)
    if bool(neither.any()):
        first = _first(neither)
        raise InvalidLabels(
            f"known_negative is {float(values[first]):g} at row {first}; it must be 1 or True for known negatives and "
            "0 or False for all other rows."
        )
    both = labelled & (values == 1)
    if bool(both.any()):
        raise InvalidLabels(f"Row {_first(both)} is both labelled and a known_negative; it can only be one of them.")
    return values == 1


def _first(mask: Any) -> int:
    """The number of the first row of a mask."""
    return int(as_float(mask).argmax())
