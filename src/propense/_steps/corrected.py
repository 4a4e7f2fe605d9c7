"""y and e corrected by an audit: rows that people have checked say how likely unlabelled rows are to be positive."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._designs import Design, Predictor
from propense._maths.arrays import Rows, namespace
from propense._maths.double_logistic import hidden_log_odds, replace_hidden
from propense._maths.hidden_curve import HiddenCurve
from propense._maths.logistic import sigmoid
from propense._representation import Readable

__all__ = ["Audited", "CorrectedPredictor", "correct_pair", "correct_rows", "correction_slopes"]

# 95 % of a normal distribution are within this many standard deviations.
_Z = 1.959963984540054
# Log-odds beyond this are as good as certain.
_FARTHEST = 1e6
_ALONG, _MOST_KNOTS = ("posterior", "hidden"), 100


@dataclass(frozen=True, repr=False)
class Audited(Readable):
    """What an audit found, and how it changed a model; ``str()`` says it in words.

    Attributes
    ----------
    verdicts, positives, negatives, unsure : int
        The rows that were checked: all of them, and how many are positive, negative, or could not be judged.
    prior_before, prior : float
        The share of positives of the rows of the audited table: what the model said, and what the audit found.
    low, high : float
        The ends of the confidence interval of the share that the audit found.
    confidence : float
        The confidence of that interval.
    along : {"posterior", "hidden"}
        What the correction follows: the log-odds of y(x) or of h(x).
    knots, values : tuple of float
        The correction: what is added to the log-odds of h(x) at each knot. It is straight in between.
    covariance : tuple of tuple of float
        The covariance matrix of these values.
    """

    verdicts: int
    positives: int
    negatives: int
    unsure: int
    prior_before: float
    prior: float
    low: float
    high: float
    confidence: float
    along: str
    knots: tuple[float, ...]
    values: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    @property
    def curve(self) -> HiddenCurve:
        """What is added to the log-odds of h."""
        return HiddenCurve(*(np.array(each, dtype=np.float64) for each in (self.knots, self.values, self.covariance)))

    @staticmethod
    def is_valid(facts: Any) -> bool:
        """Whether these are the numbers of an audit, as a model file holds them."""
        if not isinstance(facts, dict) or facts.keys() != Audited.__dataclass_fields__.keys():
            return False
        counts = [facts[name] for name in ("verdicts", "positives", "negatives", "unsure")]
        if not all(type(each) is int and each >= 0 for each in counts) or counts[0] != sum(counts[1:]):
            return False
        shares = [facts[name] for name in ("prior_before", "prior", "low", "high", "confidence")]
        if not all(_is_number(each) and 0.0 <= each <= 1.0 for each in shares):
            return False
        knots, values, covariance = (facts[name] for name in ("knots", "values", "covariance"))
        if not _are_numbers(knots) or not 1 <= len(knots) <= _MOST_KNOTS or facts["along"] not in _ALONG:
            return False
        rows = isinstance(covariance, tuple) and all(_are_numbers(each, len(knots)) for each in covariance)
        if not rows or len(covariance) != len(knots) or not _are_numbers(values, len(knots)):
            return False
        matrix = np.array(covariance)
        scale = max(float(np.abs(matrix).max()), 1e-12)
        rising = all(one < other for one, other in itertools.pairwise(knots))
        return rising and bool(np.allclose(matrix, matrix.T) and np.linalg.eigvalsh(matrix)[0] >= -1e-6 * scale)

    def __str__(self) -> str:
        checked = f"{self.verdicts:,} rows were checked: {self.positives:,} positive, {self.negatives:,} negative"
        checked += f", {self.unsure:,} without an answer" if self.unsure else ""
        found = f"The share of positives is {self.prior:.1%} ({self.low:.1%} to {self.high:.1%})"
        return f"{checked}. {found}; without the audit the model said {self.prior_before:.1%}."


@dataclass(frozen=True)
class CorrectedPredictor:
    """y with h(x) corrected, or the e that leaves y·e as it was."""

    posterior: Predictor
    propensity: Predictor
    facts: Audited
    of_class: bool

    def log_odds(self, design: Design) -> Rows:
        pair = correct_rows(self.posterior.log_odds(design), self.propensity.log_odds(design), self.facts)[:2]
        return pair[0 if self.of_class else 1]


def correct_pair(posterior: Predictor, propensity: Predictor, facts: Audited) -> tuple[Predictor, Predictor]:
    """y and e, corrected; a correction that they have already is replaced."""
    pair = posterior, propensity
    if isinstance(posterior, CorrectedPredictor):
        pair = posterior.posterior, posterior.propensity
    return CorrectedPredictor(*pair, facts, True), CorrectedPredictor(*pair, facts, False)


def correct_rows(a: Rows, b: Rows, facts: Audited) -> tuple[Rows, Rows, tuple[Rows, Rows]]:
    """The log-odds of y and e, corrected, and those of the ends of the 95 % interval of h."""
    hidden, along = _score(a, b, facts)
    middle, far = hidden + facts.curve.of(along), _Z * facts.curve.spread(along)
    return (*replace_hidden(a, b, middle), (middle - far, middle + far))


def correction_slopes(a: NDArray[np.float64], b: NDArray[np.float64], facts: Audited) -> NDArray[np.float64]:
    """The derivative of each row's corrected h by the values of the curve, of shape (n_rows, n_knots)."""
    hidden, along = _score(a, b, facts)
    h = sigmoid(hidden + facts.curve.of(along))
    ones = np.eye(len(facts.knots))
    weights = np.column_stack([np.interp(along, facts.knots, one) for one in ones])
    return np.asarray((h * (1.0 - h))[:, np.newaxis] * weights)


def _score(a: Rows, b: Rows, facts: Audited) -> tuple[Rows, Rows]:
    """The log-odds of h, finite, and the score that the correction follows."""
    # Where every positive is labelled, no unlabelled row is: the log-odds of h are −inf.
    hidden = namespace(a).clip(hidden_log_odds(a, b), -_FARTHEST, _FARTHEST)
    return hidden, a if facts.along == "posterior" else hidden


def _is_number(value: Any) -> bool:
    return type(value) is float and abs(value) <= _FARTHEST


def _are_numbers(values: Any, count: int | None = None) -> bool:
    """Whether these are finite numbers in a tuple, as many as given."""
    return isinstance(values, tuple) and all(map(_is_number, values)) and count in (None, len(values))
