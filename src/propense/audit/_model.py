"""A fitted estimator, corrected by the verdicts of an audit."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from propense._maths.arrays import Vector
from propense._maths.logistic import LARGEST_LOG_ODDS, logit
from propense._steps.corrected import Audited
from propense.audit._correct import fit_curve, hidden_share
from propense.audit._findings import Findings
from propense.errors import InvalidInput, InvalidOption
from propense.estimators import BasePUClassifier, Naive
from propense.estimators._corrected import with_audit

__all__ = ["correct"]


def correct(model: Any, found: Findings, *, along: str = "hidden", unsure: int = 0) -> Any:
    """Correct a fitted estimator by the verdicts of an audit.

    The chance h(x) that an unlabelled row is positive changes so that it agrees with the verdicts. What the labels
    show, y(x)·e(x), stays as it is. Few verdicts mainly move the chances of all rows up or down together; many also
    change how much the rows differ. If the rows are a survey's sample, h(x) is corrected for the rows, not for the
    population.

    Parameters
    ----------
    model : fitted estimator of propense, or a pipeline or search that ends in one
        The one that gave the ``hidden`` that `read` was called with. It is not changed.
    found : Findings
        What `read` returned.
    along : {"hidden", "posterior"}, default="hidden"
        The score along which the correction may differ from row to row. "posterior" is for an audit whose ``order`` was
        P(Y=1 | x), in `draw` and `read`; in all other cases leave "hidden".
    unsure : int, default=0
        How many rows were checked without an answer. It changes nothing but ``audit_``, which records it.

    Returns
    -------
    estimator
        A copy with other predictions; of a search, a copy of its best estimator. ``prior_`` and ``label_frequency_``
        are those of the audit. If all verdicts are alike, half a positive and half a negative one are added to them, so
        that the estimated share of hidden positives is neither 0 nor 1. ``audit_`` says what the audit found: print it.
        ``predict_hidden_range`` gives the 95 % interval of each row's h(x).

    Examples
    --------
    >>> import numpy as np
    >>> from propense import PUClassifier
    >>> from propense.audit import Audit, correct, draw, read
    >>> from propense.datasets import make_double_logistic
    >>> data = make_double_logistic(2000, random_state=0)
    >>> model = PUClassifier(learners="linear", prior=0.7, random_state=0).fit(data.X, data.labelled)
    >>> hidden = model.predict_hidden(data.X)
    >>> drawn = draw(hidden, 200, labelled=data.labelled, random_state=0)
    >>> found = read(Audit(drawn, data.positive[drawn.rows].astype(float)), hidden, labelled=data.labelled)
    >>> corrected = correct(model, found)
    >>> print(f"{model.prior_:.2f} before, {corrected.prior_:.2f} after, {data.positive.mean():.2f} in truth")
    0.70 before, 0.54 after, 0.50 in truth
    """
    if isinstance(model, Pipeline) and model.steps:
        name, last = model.steps[-1]
        corrected = copy(model)
        corrected.steps = [*model.steps[:-1], (name, correct(last, found, along=along, unsure=unsure))]
        return corrected
    if hasattr(model, "best_estimator_"):
        return correct(model.best_estimator_, found, along=along, unsure=unsure)
    if along not in ("hidden", "posterior"):
        raise InvalidOption(f"correct: along={along!r} must be 'hidden' or 'posterior'.")
    if not isinstance(model, BasePUClassifier):
        raise InvalidInput(f"correct: pass a fitted estimator of propense, not a {type(model).__name__}.")
    if isinstance(model, Naive):
        raise InvalidOption(
            "The naive method gives unlabelled rows no chance to be positive, so there is nothing to correct. Fit "
            "another method."
        )
    found = replace(found, survey=None)
    score = found.order if along == "posterior" else found.chances
    curve = fit_curve(found, _log_odds(found.chances), _log_odds(score))
    labelled, share = float(found.labelled.mean()), hidden_share(found)
    alike = share != found.hidden.estimate
    prior = labelled + (1.0 - labelled) * share if alike else float(found.positives.estimate)
    facts = Audited(
        verdicts=found.verdicts + unsure,
        positives=int((found.known == 1.0).sum()),
        negatives=int((found.known == 0.0).sum()),
        unsure=unsure,
        prior_before=float(np.where(found.labelled, 1.0, found.chances).mean()),
        prior=prior,
        low=float(found.positives.low),
        high=float(found.positives.high),
        confidence=float(found.confidence),
        along=along,
        knots=tuple(map(float, curve.knots)),
        values=tuple(map(float, curve.values)),
        covariance=tuple(tuple(map(float, row)) for row in curve.covariance),
    )
    return with_audit(model, facts, labelled / prior)


def _log_odds(chances: Vector) -> Vector:
    """Finite, also where a chance is 0 or 1."""
    return np.asarray(np.clip(logit(chances), -700.0, LARGEST_LOG_ODDS))
