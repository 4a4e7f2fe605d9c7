"""NAIVE: unlabelled rows treated as negatives."""

from typing import ClassVar

from propense._diagnostics.doubts import OF_LABELS
from propense.estimators._description import EVERYTHING, Description
from propense.estimators._logistic import LogisticClassifier

__all__ = ["Naive"]


class Naive(LogisticClassifier):
    """The baseline: logistic regression of the label, which treats unlabelled rows as negatives.

    It estimates s(x), the chance that a row is labelled, which is never above y(x), the chance that it is positive. So
    it takes e(x), the chance that a positive row is labelled, to be 1, and h(x), the chance that an unlabelled row is
    positive, to be 0. Equal to scikit-learn's ``LogisticRegression(C=1/ridge)``. There is one regression and no second
    factor, so there are no ``class_features`` and no ``propensity_features``: leave columns out of X instead.

    Parameters
    ----------
    decision : {"posterior", "balanced"}, default="posterior"
        The threshold of ``predict`` on y(x): "posterior" is ½, which maximises accuracy; "balanced" is ``prior_``,
        which maximises balanced accuracy.
    positive_label : int, float, bool or str, default=None
        The value in the label column, ``y`` of ``fit``, that marks labelled rows. None means that it is found in the
        column; words whose meaning is not certain are refused.
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
    propensity_coef_, propensity_intercept_ : ndarray of shape (1, n_features) and (1,)
        γ of e(x) = σ(γᵀx): zeros and +inf, since e(x) = 1 here.
    prior_ : float
        The estimated P(Y=1): here the share of labelled rows.
    label_frequency_ : float
        The estimated c = P(S=1 | Y=1): here 1.
    classes_, coef_, intercept_, n_iter_, converged_, risk_path_, doubts_, n_features_in_, feature_names_in_
        As in every estimator; see `BasePUClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from propense import Naive
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Naive().fit(X, [0, 0, 1, 1]).predict([[0.5], [2.5]])
    array([0, 1])
    """

    description: ClassVar[Description] = Description(
        name="naive",
        separates="nothing: e = 1",
        assumes=("Every unlabelled row is negative. That is rarely true.",),
        takes=EVERYTHING,
    )

    _doubted: ClassVar[tuple[str, ...]] = OF_LABELS
