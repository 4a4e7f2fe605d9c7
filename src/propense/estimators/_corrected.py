"""A fitted estimator, corrected by what an audit found."""

from copy import copy
from typing import TypeVar

import numpy as np

from propense._maths.double_logistic import hidden_positive
from propense._maths.logistic import logit, sigmoid
from propense._steps.corrected import Audited, CorrectedPredictor, correct_pair, correct_rows
from propense.estimators._base import BasePUClassifier

__all__ = ["with_audit", "without_audit"]

Estimator = TypeVar("Estimator", bound=BasePUClassifier)


def with_audit(estimator: Estimator, facts: Audited, label_frequency: float) -> Estimator:
    """A copy whose y and e are corrected, with the share of positives that the audit found.

    A correction that the estimator has already is replaced. What it says of the rows of fit is corrected too.
    """
    corrected = without_audit(estimator)
    rows = [getattr(corrected, name, None) for name in ("oof_posterior_", "oof_propensity_")]
    if all(isinstance(each, np.ndarray) for each in rows):
        a, b, ends = correct_rows(logit(rows[0]), logit(rows[1]), facts)
        corrected.oof_posterior_, corrected.oof_propensity_ = sigmoid(a), sigmoid(b)
        corrected.oof_hidden_ = hidden_positive(a, b)
        corrected.oof_hidden_range_ = np.stack([sigmoid(each) for each in ends], axis=1)
    corrected._posterior, corrected._propensity = correct_pair(corrected._posterior, corrected._propensity, facts)
    corrected.prior_, corrected.label_frequency_ = facts.prior, label_frequency
    corrected.audit_ = facts
    return corrected


def without_audit(estimator: Estimator) -> Estimator:
    """A copy with y and e as they were before an audit corrected them; its shares stay those of the audit."""
    plain = copy(estimator)
    y = plain._posterior
    if isinstance(y, CorrectedPredictor):
        plain._posterior, plain._propensity = y.posterior, y.propensity
        for name in ("audit_", "oof_posterior_", "oof_propensity_", "oof_hidden_", "oof_hidden_range_"):
            plain.__dict__.pop(name, None)
    return plain
