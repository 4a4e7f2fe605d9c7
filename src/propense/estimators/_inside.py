"""What a method says of rows, also where it is the end of a pipeline or the best of a search."""

from typing import Any

from propense._inputs.inside import method_inside
from propense._maths.arrays import Rows

__all__ = ["hidden", "posterior", "propensity"]


def hidden(model: Any, X: Any) -> Rows:
    """h(x) = P(Y=1 | x, S=0), the chance that an unlabelled row is positive, by a model in a pipeline or search.

    scikit-learn's pipelines and searches pass on ``predict_proba``, but not ``predict_hidden``. The steps before the
    last transform X.

    Parameters
    ----------
    model : fitted estimator of propense, or a pipeline, a search or a threshold of scikit-learn around one
        However nested: ``GridSearchCV`` and similar searches, ``FrozenEstimator``, ``TunedThresholdClassifierCV`` and
        ``FixedThresholdClassifier``. Wrappers that learn from the labels, such as ``CalibratedClassifierCV``, are
        refused: they undo the learning. So are wrappers of several models, such as ``VotingClassifier``.
    X : array-like, sparse matrix, data frame, Dask array or tensor of shape (n_samples, n_features)
        The rows, as the model takes them.

    Returns
    -------
    ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from propense import SAREM, hidden
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(500, random_state=0)
    >>> model = make_pipeline(StandardScaler(), SAREM()).fit(data.X, data.labelled)
    >>> hidden(model, data.X[:3]).round(2)
    array([0.96, 0.19, 0.3 ])
    """
    inside = method_inside(model)
    return inside.method.predict_hidden(inside.transform(X))


def propensity(model: Any, X: Any) -> Rows:
    """e(x) = P(S=1 | Y=1, x), the chance that a positive row is labelled, by a model in a pipeline or search.

    Parameters
    ----------
    model, X
        As in `hidden`.

    Returns
    -------
    ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
    """
    inside = method_inside(model)
    return inside.method.predict_propensity(inside.transform(X))


def posterior(model: Any, X: Any) -> Rows:
    """y(x) = P(Y=1 | x), the chance that a row is positive, by a model in a pipeline or search.

    The second column of ``predict_proba``.

    Parameters
    ----------
    model, X
        As in `hidden`.

    Returns
    -------
    ndarray of shape (n_samples,), a tensor if X is one, or a Dask array, computed when needed
    """
    inside = method_inside(model)
    return inside.method.predict_proba(inside.transform(X))[:, 1]
