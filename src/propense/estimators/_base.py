"""What every estimator shares: fit reads and checks once, a method writes `_fit`, predictions follow from y and e."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design
from propense._maths.arrays import Rows, home
from propense._maths.double_logistic import class_given_label, hidden_positive
from propense._maths.logistic import both_chances, logit, sigmoid
from propense._risks import PairRisk
from propense.errors import InvalidFeatures
from propense.estimators._inputs import Sample, read_features, read_sample
from propense.estimators._labels import fill_missing, read_labels
from propense.estimators._options import Choice, Option, check_options
from propense.estimators._predictors import ClassifierPredictor, LogisticPredictor, Predictor

__all__ = ["BasePUClassifier", "Model"]

Vector = NDArray[np.float64]

# A flexible classifier that has learnt the labels by heart leaves no hidden positive; that much is suspicious.
_NEARLY_ALL = 0.99


@dataclass(frozen=True)
class Model:
    """What a method finds: y(x) and e(x), and how it got there."""

    posterior: Predictor
    propensity: Predictor
    n_iter: int
    converged: bool
    risk_path: list[float]


class BasePUClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier for positive and unlabelled data with two predictors, y(x) and e(x).

    A method writes `_fit` and `_complaint`. Two more serve `propense.intervals`, and a method may leave both alone:

    - `_begin` is where `_fit` may begin, y and e of an earlier fit to nearly the same rows, or None. Heed it where the
      answer is a minimum, whichever way it was reached, and keep the names: what begins as y ends as y. Where the start
      or an early stop shapes the answer, do not. It is no parameter, so a clone is without it.
    - `_pair_risk` is the risk of both predictors that the answer minimises, or None.
    """

    _options: ClassVar[dict[str, Option]] = {"decision": Choice(("posterior", "balanced"))}

    # How y is read; the oracle reads it otherwise.
    _read_labels = staticmethod(read_labels)

    _begin: tuple[Predictor, Predictor] | None = None

    decision: str

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the two predictors.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
            The features, finite. float32 is kept as it is.
        y : array-like of shape (n_samples,)
            Who is labelled: any two values, the larger of which is the label (1 of {0, 1}, True, "yes" of
            {"no", "yes"}); or one value, with NaN, None, pandas NA or an empty string for the unlabelled.
        sample_weight : array-like of shape (n_samples,), default=None
            What each row counts for: weight 2 is the row twice, weight 0 is no row.

        Returns
        -------
        self
        """
        return self._fit_read(X, y, sample_weight, None)

    def _fit_read(self, X: Any, y: Any, sample_weight: Any, propensity: Any) -> Self:
        """Check, call the method, keep what it finds."""
        check_options(self, self._options)
        sample, classes = read_sample(self, X, y, sample_weight, propensity, self._read_labels)
        self._fit_sample(sample)
        self.classes_ = classes
        if not self.converged_:
            warnings.warn(self._complaint(), ConvergenceWarning, stacklevel=3)
        if isinstance(self._posterior, ClassifierPredictor) and self.label_frequency_ > _NEARLY_ALL:
            warnings.warn(
                f"The estimator inside {type(self).__name__} tells labelled rows from unlabelled ones so well that "
                f"nearly every positive counts as labelled (label_frequency_ = {self.label_frequency_:.3f}). Give it "
                "less freedom, for instance shallower trees, or name the propensity_features.",
                stacklevel=3,
            )
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
        self.prior_ = self._prior(sample, model)
        self.label_frequency_ = sample.mean(sample.labelled) / self.prior_

    def decision_function(self, X: Any) -> Rows:
        """How far each row is above the cut, in log-odds of being positive.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor where X is one, or a Dask array, computed when asked for
            log y/(1−y) minus the log-odds of the cut, which is ½ for ``decision="posterior"`` and ``prior_`` for
            ``decision="balanced"``.
        """
        return self._class_log_odds(read_features(self, X)) - self._cut()

    def predict(self, X: Any) -> Rows:
        """The class of each row: ``classes_[1]``, the labelled one, where ``decision_function`` is above 0.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor where X is one, or a Dask array, computed when asked for
        """
        return self._classes_of(read_features(self, X))

    def predict_proba(self, X: Any) -> Rows:
        """P(Y=0 | x) and P(Y=1 | x): who is positive, labelled or not.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2), a tensor where X is one, or a Dask array, computed when asked for
        """
        return both_chances(self._class_log_odds(read_features(self, X)))

    def predict_propensity(self, X: Any) -> Rows:
        """e(x) = P(S=1 | Y=1, x): how likely a positive like this is to be labelled.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor where X is one, or a Dask array, computed when asked for
        """
        return sigmoid(self._propensity_log_odds(read_features(self, X)))

    def predict_hidden(self, X: Any) -> Rows:
        """h(x) = P(Y=1 | x, S=0): how likely a row is positive, given that it is unlabelled.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), a tensor where X is one, or a Dask array, computed when asked for
        """
        design = read_features(self, X)
        return hidden_positive(self._class_log_odds(design), self._propensity_log_odds(design))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of ``predict``, as of any scikit-learn classifier; missing labels count as ``classes_[0]``.

        Against labels it is no measure of a good model, which finds positives that carry none; pass true classes.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        predicted = home(self.predict(X))
        return float(accuracy_score(fill_missing(y, self.classes_[0]), predicted, sample_weight=home(sample_weight)))

    @property
    def coef_(self) -> NDArray[np.float64]:
        return self._coef("_posterior")[np.newaxis, 1:]

    @property
    def intercept_(self) -> Vector:
        return self._coef("_posterior")[:1]

    @property
    def propensity_coef_(self) -> NDArray[np.float64]:
        return self._coef("_propensity")[np.newaxis, 1:]

    @property
    def propensity_intercept_(self) -> Vector:
        return self._coef("_propensity")[:1]

    @property
    def estimator_(self) -> Any:
        return self._classifier("_posterior")

    @property
    def propensity_estimator_(self) -> Any:
        return self._classifier("_propensity")

    def _classifier(self, which: str) -> Any:
        """The fitted classifier of a predictor that is one."""
        check_is_fitted(self)
        predictor = getattr(self, which)
        if not isinstance(predictor, ClassifierPredictor):
            raise AttributeError(f"The {which[1:]} of this {type(self).__name__} is no classifier of its own.")
        return predictor.classifier

    def _coef(self, which: str) -> Vector:
        """A copy of the coefficients of a predictor that has any."""
        check_is_fitted(self)
        predictor = getattr(self, which)
        if not isinstance(predictor, LogisticPredictor):
            raise AttributeError(
                f"The {which[1:]} of this {type(self).__name__} is not linear: it has no coefficients."
            )
        return predictor.coef.copy()

    def _classes_of(self, design: Design) -> Rows:
        return design.name(self._class_log_odds(design) > self._cut(), self.classes_)

    def _class_log_odds(self, design: Design) -> Rows:
        return self._posterior.log_odds(design)

    def _propensity_log_odds(self, design: Design) -> Rows:
        return self._propensity.log_odds(design)

    def _cut(self) -> float:
        """The log-odds above which a row is called positive."""
        check_options(self, {"decision": self._options["decision"]})
        # Balanced accuracy is largest at y(x) > P(Y=1), accuracy at y(x) > ½.
        return float(logit(self.prior_)) if self.decision == "balanced" else 0.0

    @staticmethod
    def _prior(sample: Sample, model: Model) -> float:
        """The mean of P(Y=1 | x, s): 1 on the labelled, h(x) elsewhere, so that no label is doubted."""
        a, b = sample.log_odds(model.posterior), sample.log_odds(model.propensity)
        return sample.mean(class_given_label(a, b, sample.labelled))

    @abstractmethod
    def _complaint(self) -> str:
        """What to say of a fit that did not converge, with a way out."""
