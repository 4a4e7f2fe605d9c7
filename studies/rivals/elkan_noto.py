"""Elkan and Noto's weighted unlabelled rows, for labels given at random."""

import numpy as np
from sklearn.model_selection import train_test_split

from rivals.base import Mask, Rival, Rows, label_regression

__all__ = ["ElkanNoto", "unlabelled_weights"]


class ElkanNoto(Rival):
    """Each unlabelled row counts twice: as positive with weight w(x), and as negative with weight 1 − w(x).

    g(x) is a logistic regression of the label. c, the share of positives that are labelled, is the mean of g over
    labelled rows that were held out (e₁ in the paper). With labels at random, w(x) = P(Y=1 | x, S=0) =
    (1 − c)/c · g/(1 − g), at most 1, and P(Y=1) is the mean of the weights, with 1 for labelled rows.

    Left out: the paper's support vector machines with Platt scaling; logistic regression takes their place twice.

    Parameters
    ----------
    held_out : float, default=0.2
        The share of rows that estimate c.
    random_state : int, default=None
        The seed that chooses them.

    References
    ----------
    C. Elkan, K. Noto. Learning classifiers from only positive and unlabeled data. KDD 2008.
    """

    def __init__(self, *, held_out: float = 0.2, random_state: int | None = None) -> None:
        self.held_out = held_out
        self.random_state = random_state

    def _fit(self, X: Rows, labelled: Mask) -> None:
        # With fewer than five labelled rows none is left to hold out, and the rows of fit estimate c.
        rows = np.arange(len(X))
        fitted, held = rows, rows
        if labelled.sum() >= 5:
            fitted, held = train_test_split(
                rows, test_size=self.held_out, stratify=labelled, random_state=self.random_state
            )
        label = label_regression(X[fitted], labelled[fitted])
        self.c_ = float(label.predict_proba(X[held])[labelled[held], 1].mean())
        w = np.where(labelled, 1.0, unlabelled_weights(label.decision_function(X), self.c_))
        self.prior_ = float(w.mean())
        twice = np.repeat([True, False], len(X))
        self.regression_ = label_regression(np.vstack([X, X]), twice, np.concatenate([w, 1 - w]))

    def _log_odds(self, X: Rows) -> Rows:
        return np.asarray(self.regression_.decision_function(X))

    def predict_propensity(self, X: Rows) -> Rows:
        """c for every row: the method assumes it."""
        return np.full(len(self._prepare(X)), self.c_)


def unlabelled_weights(label_log_odds: Rows, c: float) -> Rows:
    """P(Y=1 | x, S=0) = (1 − c)/c · g/(1 − g), at most 1, from the log-odds of g."""
    return np.asarray(np.exp(np.minimum(np.log((1 - c) / c) + label_log_odds, 0.0)))
