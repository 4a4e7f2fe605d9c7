"""y and e corrected by an audit: rows that people have checked say how likely unlabelled rows are to be positive."""

from dataclasses import dataclass
from typing import Any

from propense._designs import Design, Predictor
from propense._maths.arrays import Rows, namespace
from propense._maths.double_logistic import FARTHEST, correct_hidden, hidden_log_odds

__all__ = ["Audited", "CorrectedPredictor", "correct_pair", "corrected_range"]

# 95 % of a normal distribution are within this many standard deviations.
_Z = 1.959963984540054
_LARGEST = 1e6


@dataclass(frozen=True)
class Audited:
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
    level, slope : float
        The correction: the log-odds of h(x) times ``slope``, plus ``level``.
    covariance : tuple of float
        The variance of the level, the covariance of level and slope, and the variance of the slope.
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
    level: float
    slope: float
    covariance: tuple[float, float, float]

    @staticmethod
    def is_valid(facts: Any) -> bool:
        """Whether these are the numbers of an audit, as a model file holds them."""
        if not isinstance(facts, dict) or facts.keys() != Audited.__dataclass_fields__.keys():
            return False
        counts = [facts[name] for name in ("verdicts", "positives", "negatives", "unsure")]
        if not all(type(each) is int and each >= 0 for each in counts) or counts[0] != sum(counts[1:]):
            return False
        covariance = facts["covariance"]
        if not isinstance(covariance, tuple) or len(covariance) != 3:
            return False
        shares = [facts[name] for name in ("prior_before", "prior", "low", "high", "confidence")]
        numbers = [*shares, facts["level"], facts["slope"], *covariance]
        if not all(type(each) is float and abs(each) <= _LARGEST for each in numbers):
            return False
        one, both, other = covariance
        spread = one >= 0.0 and other >= 0.0 and both**2 <= one * other * (1.0 + 1e-6) + 1e-12
        return spread and all(0.0 <= each <= 1.0 for each in shares) and facts["slope"] >= 0.0

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
    level: float
    slope: float
    of_class: bool

    def log_odds(self, design: Design) -> Rows:
        pair = self.posterior.log_odds(design), self.propensity.log_odds(design)
        return correct_hidden(*pair, self.level, self.slope)[0 if self.of_class else 1]


def correct_pair(posterior: Predictor, propensity: Predictor, facts: Audited) -> tuple[Predictor, Predictor]:
    """y and e, corrected; a correction that they have already is replaced."""
    pair = posterior, propensity
    if isinstance(posterior, CorrectedPredictor):
        pair = posterior.posterior, posterior.propensity
    return (
        CorrectedPredictor(*pair, facts.level, facts.slope, True),
        CorrectedPredictor(*pair, facts.level, facts.slope, False),
    )


def corrected_range(a: Rows, b: Rows, facts: Audited) -> tuple[Rows, Rows]:
    """The log-odds of the ends of the 95 % interval of the corrected h, from the log-odds of y and e before."""
    xp = namespace(a)
    t = xp.clip(hidden_log_odds(a, b), -FARTHEST, FARTHEST)
    of_level, both, of_slope = facts.covariance
    # Rounding may leave a variance just below 0.
    variance = of_level + 2.0 * both * t + of_slope * t**2
    far = _Z * xp.sqrt(xp.where(variance > 0.0, variance, 0.0))
    middle = facts.level + facts.slope * t
    return middle - far, middle + far
