"""ORACLE: the true classes, which positive-unlabelled data do not have."""

from typing import ClassVar

from propense._diagnostics.doubts import OF_CLASSES
from propense._inputs.labels import read_classes
from propense.estimators._description import Description
from propense.estimators._logistic import LogisticClassifier

__all__ = ["Oracle"]


class Oracle(LogisticClassifier):
    """Logistic regression of the true classes: a yardstick for experiments, not a method for real data.

    Pass the **true class** of every row as ``y``, not the labels. Its result is the best that other methods could reach
    with a linear score. Equal to scikit-learn's ``LogisticRegression(C=1/ridge)`` on the same classes. It does not see
    labels: its e(x), the chance that a positive row is labelled, is 1, and its h(x), the chance that an unlabelled row
    is positive, is 0. It has neither ``class_features`` nor ``propensity_features``: leave columns out of X instead.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the column of classes, ``y`` of ``fit``, that marks positive rows. None means that it is found in
        the column; words whose meaning is not certain are refused.
    ridge : float, default=1.0
        The penalty ½·ridge·‖coef‖² on the summed loss; the intercept is not penalised.
    solver : {"auto", "newton", "mm"}, default="auto"
        "newton" is Newton's method, and "mm" takes more, but simpler steps (majorise–minimise); "auto" is "newton".
        Beyond 4 000 columns, neither stores a matrix of n_features² numbers.
    tol : float, default=1e-8
        The solver stops when no entry of the gradient of the mean loss, each column in its own unit, is above this.
    max_iter : int, default=1000
        The largest number of steps.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Negative, positive.
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        Zeros and +inf: e(x) = 1.
    prior_ : float
        The share of positives.
    label_frequency_ : float
        1.
    coef_, intercept_, n_iter_, converged_, risk_path_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import Oracle
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Oracle(positive_label="ill").fit(X, ["healthy", "healthy", "ill", "ill"]).predict([[0.5], [2.5]])
    array(['healthy', 'ill'], dtype='<U7')
    """

    description: ClassVar[Description] = Description(
        name="oracle",
        separates="the classes are known",
        assumes=("The column passed as labels holds the true classes.",),
        takes=("weights", "dask", "torch"),
        needs="the true class of every row",
    )

    _read_labels = staticmethod(read_classes)
    _doubted: ClassVar[tuple[str, ...]] = OF_CLASSES
