"""What every estimator shares: fit reads and checks once, a method writes `_fit`."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from propense._labels import read_labels
from propense._maths.arrays import Rows
from propense._risks import PairRisk
from propense.errors import DoubtfulFit, InvalidFeatures, InvalidOption
from propense.estimators._doubts import GENERAL, OF_CLASSES, Doubt, ask
from propense.estimators._fitted import FittedPair
from propense.estimators._inputs import Sample, read_sample
from propense.estimators._options import check_options
from propense.estimators._predictors import ClassifierPredictor, Predictor
from propense.estimators._tally import take_tally

__all__ = ["BasePUClassifier", "Model"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), how it got there, and what it doubts of its own accord."""

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]
    doubts: tuple[Doubt, ...] = ()
    # log(1 − d), d the share of the negatives that are known to be; 0 where none are.
    unseen: float = 0.0


class BasePUClassifier(FittedPair, ClassifierMixin, BaseEstimator, ABC):
    """A classifier for positive and unlabelled data with two predictors, y(x) and e(x).

    A method writes `_fit` and `_complaint`. Two more serve `propense.intervals`, and a method may leave both alone:

    - `_begin` is where `_fit` may begin, y and e of an earlier fit to nearly the same rows, or None. Heed it where the
      answer is a minimum, whichever way it was reached, and keep the names: what begins as y ends as y. Where the start
      or an early stop shapes the answer, do not. It is no parameter, so a clone is without it.
    - `_pair_risk` is the risk of both predictors that the answer minimises, or None.
    """

    # How y is read; the oracle reads it otherwise.
    _read_labels = staticmethod(read_labels)
    # Which doubts make sense of it.
    _doubted: ClassVar[tuple[str, ...]] = GENERAL

    _begin: tuple[Predictor, Predictor] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        inner = [getattr(self, name, None) for name in ("estimator", "propensity_estimator")]
        tags.input_tags.sparse = all(each is None or get_tags(each).input_tags.sparse for each in inner)
        return tags

    @abstractmethod
    def _fit(self, sample: Sample) -> Model:
        """The method itself."""

    def _pair_risk(self, sample: Sample) -> PairRisk | None:
        """What the answer minimises, where it is logistic in both and minimises anything."""
        return None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, known_negative: Any = None) -> Self:
        """Fit the two predictors.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
            The features, finite. float32 is kept as it is.
        y : array-like of shape (n_samples,)
            Who is labelled: any two values, the larger of which is the label (1 of {0, 1}, True, "yes" of
            {"no", "yes"}); or one value, with NaN, None, pandas NA or an empty string for the unlabelled; or two beside
            such missing ones, of which the smaller is known to be negative (of a y in memory).
        sample_weight : array-like of shape (n_samples,), default=None
            What each row counts for: weight 2 is the row twice, weight 0 is no row.
        known_negative : bool array-like of shape (n_samples,), default=None
            Who is known to be negative; in y they are as the unlabelled are. They are taken for a random part of the
            negatives of this sample. `PGLin`, `SparseJoint`, `Oracle` and the published variants take none. Inside
            meta-estimators ask for it with ``set_fit_request(known_negative=True)``.

        Returns
        -------
        self
        """
        return self._fit_read(X, y, sample_weight, None, known_negative)

    def _fit_read(self, X: Any, y: Any, sample_weight: Any, propensity: Any, known_negative: Any = None) -> Self:
        """Check, call the method, keep what it finds."""
        check_options(self, self._options)
        sample, classes = read_sample(self, X, y, sample_weight, propensity, self._read_labels, known_negative)
        if sample.negative is not None and not self._takes_negatives():
            raise InvalidOption(
                f"{self} cannot use known negatives. PUClassifier(), SAREM(), LBE(), JointMLE(), JERM(), TM() and "
                "KnownPropensity() can, and to Naive() every unlabelled row is one."
            )
        self._fit_sample(sample)
        self.classes_ = classes
        if not self.converged_:
            warnings.warn(self._complaint(), ConvergenceWarning, stacklevel=3)
        for doubt in self.doubts_:
            warnings.warn(doubt.message, DoubtfulFit, stacklevel=3)
        return self

    def _fit_sample(self, sample: Sample) -> None:
        """Call the method on what was read, and keep what it finds."""
        try:
            model = self._fit(sample)
        except np.linalg.LinAlgError:
            raise InvalidFeatures(
                "The columns of X are too unlike in scale or too far from 0 for float64. Standardise them, for "
                "instance with sklearn.preprocessing.StandardScaler."
            ) from None
        self._posterior, self._propensity = model.posterior, model.propensity
        self.n_iter_, self.converged_ = model.n_iter, model.converged
        self.risk_path_ = np.asarray(model.risk_path)
        a, b = self._rows_log_odds(sample, model)
        self.prior_ = sample.share_positive(a, b, model.unseen)
        self.label_frequency_ = sample.mean(sample.labelled) / self.prior_
        self.doubts_ = self._doubts(sample, model, a, b)

    def _rows_log_odds(self, sample: Sample, model: Model) -> tuple[Rows, Rows]:
        """The log-odds of y and e of the rows of fit."""
        return sample.log_odds(model.posterior), sample.log_odds(model.propensity)

    def _doubts(self, sample: Sample, model: Model, a: Rows, b: Rows) -> tuple[Doubt, ...]:
        """The method's own doubts, and those that follow from its y and e on the rows of fit."""
        columns = sample.propensity_columns
        features = sample.design.shape[1] - 1
        flexible = isinstance(model.posterior, ClassifierPredictor)
        told = columns is not None or sample.negative is not None
        # Where every class is known there is nothing of labels to doubt.
        asked = OF_CLASSES if sample.is_complete else self._asked()
        tally = take_tally(
            sample,
            a,
            b,
            method=type(self).__name__,
            features=features,
            propensity_features=(features if columns is None else len(columns)) * ("collinear" in asked),
            prior=self.prior_,
            frequency=self.label_frequency_,
            told_apart=told or flexible != isinstance(model.propensity, ClassifierPredictor),
            flexible=flexible,
            marked="Positive" if self._read_labels is not read_labels else "Labelled",
        )
        return (*model.doubts, *ask(tally, asked))

    def _asked(self) -> tuple[str, ...]:
        """The kinds of doubts to look into after a fit."""
        return self._doubted

    def _takes_negatives(self) -> bool:
        """Whether the method can use rows that are known to be negative."""
        return True

    @abstractmethod
    def _complaint(self) -> str:
        """What to say of a fit that did not converge, with a way out."""
