"""What a fitted estimator answers: everything follows from y(x), e(x) and the prior."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from propense._designs import Design
from propense._labels import fill_missing
from propense._maths.arrays import Rows, home
from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import both_chances, logit, sigmoid
from propense.estimators._inputs import read_features
from propense.estimators._options import Choice, Option, check_options
from propense.estimators._predictors import ClassifierPredictor, LogisticPredictor, Predictor, ProductPredictor

__all__ = ["FittedPair"]

Vector = NDArray[np.float64]


class FittedPair:
    """The predictions of a pair of predictors, y(x) and e(x)."""

    _options: ClassVar[dict[str, Option]] = {"decision": Choice(("posterior", "balanced"))}

    decision: str
    classes_: NDArray[Any]
    prior_: float
    _posterior: Predictor
    _propensity: Predictor

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
        if not isinstance(predictor, LogisticPredictor | ProductPredictor):
            raise AttributeError(f"The {which[1:]} of this {type(self).__name__} is not linear: no coefficients.")
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
