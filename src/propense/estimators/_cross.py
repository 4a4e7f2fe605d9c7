"""The chance of being positive of rows that a model has not seen, by cross-validation."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from propense._inputs.labels import read_labels, separate_known_negatives
from propense._inputs.sources import has_columns, read_sources
from propense._maths.arrays import Vector, to_host
from propense.estimators._inside import hidden

__all__ = ["cross_val_hidden"]


def cross_val_hidden(
    model: Any, X: Any, y: Any, *, cv: Any = None, groups: Any = None, params: Any = None, n_jobs: int | None = None
) -> Vector:
    """h(x) = P(Y=1 | x, S=0) of every row, by models that were fitted to the other folds.

    A model is too certain of rows that it was fitted to. scikit-learn's ``cross_val_predict`` knows ``predict_proba``,
    but refuses ``method="predict_hidden"``. `PUClassifier` has the same in ``oof_hidden_``, without further fits.

    Parameters
    ----------
    model : estimator of propense, or a pipeline or search that ends in one
        It is cloned for each fold, fitted or not.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Which rows are labelled, as in ``fit``.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn; None means 5 folds. A number makes folds with equal shares of labelled rows.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, for a ``cv`` such as ``GroupKFold``.
    params : dict, default=None
        What else to pass to ``fit``, such as ``{"sample_weight": weights}``.
    n_jobs : int, default=None
        The number of folds at a time.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from propense import SAREM, cross_val_hidden
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(500, random_state=0)
    >>> cross_val_hidden(make_pipeline(StandardScaler(), SAREM()), data.X, data.labelled)[:3].round(2)
    array([0.97, 0.51, 0.53])
    """
    from sklearn.model_selection import check_cv, cross_val_predict

    given = [value for name, value in model.get_params().items() if name.split("__")[-1] == "positive_label"]
    positive = next((value for value in given if value is not None), None)
    one = read_sources(y, positive)[0] if has_columns(y) else separate_known_negatives(y, positive)[0]
    labelled, _ = read_labels(one, None, positive)
    folds = list(check_cv(cv, labelled, classifier=True).split(X, labelled, groups))
    return np.asarray(cross_val_predict(_Hidden(model), X, y, cv=folds, params=params, n_jobs=n_jobs))


class _Hidden(BaseEstimator):
    """A model whose predictions are h(x), since scikit-learn cross-validates no method of another name."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        self.model_ = clone(self.model).fit(X, y, **params)
        return self

    def predict(self, X: Any) -> Any:
        return to_host(hidden(self.model_, X))
