"""What the rivals share: how they are called, how columns are scaled, and the regression of the label."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["Mask", "Rival", "Rows", "label_regression"]

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Rival(ClassifierMixin, BaseEstimator):
    """A classifier fitted to labels: the larger of two values is the label, the other one means unlabelled.

    A method writes `_fit(X, labelled)` and `_log_odds(X)`; rows are called positive where the log-odds are above 0. The
    columns of X arrive with mean 0 and standard deviation 1, which the papers leave to the user.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to features and labels."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            # "Only binary …" and "1 class" are the words that scikit-learn's checks look for.
            shown = "1 class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(
                f"Only binary classification is supported. {type(self).__name__} needs labelled and unlabelled rows, "
                f"so y must have two values; it has {shown}, {self.classes_.tolist()[:5]}."
            )
        self.mean_, spread = X.mean(axis=0), X.std(axis=0)
        # A constant column is only shifted.
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self._fit((X - self.mean_) / self.scale_, y == self.classes_[1])
        return self

    def _fit(self, X: Rows, labelled: Mask) -> None:
        raise NotImplementedError

    def _log_odds(self, X: Rows) -> Rows:
        raise NotImplementedError

    def _prepare(self, X: Any) -> Rows:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray((X - self.mean_) / self.scale_)

    def decision_function(self, X: Any) -> Rows:
        """The log-odds of being positive; 0 is the threshold."""
        return self._log_odds(self._prepare(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The larger value of y where a row is called positive, otherwise the smaller one."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_proba(self, X: Any) -> Rows:
        """The probabilities of both classes, of shape (n_samples, 2)."""
        y = expit(self.decision_function(X))
        return np.column_stack([1 - y, y])


def label_regression(X: Rows, labelled: Mask, weights: Rows | None = None) -> LogisticRegression:
    """Logistic regression of the label, with scikit-learn's default penalty: the "non-traditional classifier"."""
    return LogisticRegression(max_iter=1000).fit(X, labelled, sample_weight=weights)
