"""The contours of bounds are those of `propense.bounds`."""

import numpy as np
import pytest

from propense import JointMLE, bounds
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption
from propense.plots import BoundsDisplay


@pytest.fixture(scope="module")
def model():
    data = make_double_logistic(600, 4, random_state=0)
    return JointMLE(propensity_features=[2, 3], n_starts=1, random_state=0).fit(data.X, data.labelled), data


def test_the_edges_are_single_assumptions(model):
    """Without a departure worth the name, the least chance decides; where that is 0, the departure."""
    fitted, data = model
    shown = BoundsDisplay.from_estimator(fitted, data.X, data.labelled)
    place = 10
    alone = bounds(fitted, data.X, data.labelled, departure=shown.departures[place])
    assert shown.shares[place, 0] == pytest.approx(alone.prior[1])
    low = BoundsDisplay.from_estimator(fitted, data.X, data.labelled, end="low")
    assert low.shares[place, -1] == pytest.approx(alone.prior[0])
    least = bounds(fitted, data.X, data.labelled, propensity=shown.limits[-1])
    assert shown.shares[-1, -1] == pytest.approx(least.prior[1], rel=0.1)
    assert shown.shares[-1, -1] <= least.prior[1]


def test_weaker_limits_give_wider_ends_and_the_target_is_drawn(model):
    fitted, data = model
    shown = BoundsDisplay.from_estimator(fitted, data.X, data.labelled)
    assert (np.diff(shown.shares, axis=0) >= -1e-12).all()
    assert (np.diff(shown.shares, axis=1) <= 1e-12).all()
    assert shown.ax_.get_title() == f"the fit: {fitted.prior_:.0%} positive, {data.labelled.mean():.0%} labelled"
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["twice as many hidden positives"]


def test_an_end_is_high_or_low(model):
    fitted, data = model
    with pytest.raises(InvalidOption, match="end='both': must be one of 'high', 'low'"):
        BoundsDisplay.from_estimator(fitted, data.X, data.labelled, end="both")
