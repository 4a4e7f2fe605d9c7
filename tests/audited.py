"""An audit that corrects the chances along three knots, for tests of corrected models."""

from propense._steps.corrected import Audited

FACTS = Audited(
    verdicts=100,
    positives=30,
    negatives=68,
    unsure=2,
    prior_before=0.5,
    prior=0.4,
    low=0.3,
    high=0.5,
    confidence=0.95,
    along="hidden",
    knots=(-4.0, 0.0, 3.0),
    values=(-2.0, -0.5, 0.5),
    covariance=((0.4, 0.1, 0.0), (0.1, 0.3, -0.1), (0.0, -0.1, 0.2)),
)
