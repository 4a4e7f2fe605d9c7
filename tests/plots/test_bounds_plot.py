"""The contours of bounds are those of `propense.bounds`."""

import numpy as np
import pytest

from propense import JointMLE, bounds
from propense.datasets import make_double_logistic
from propense.plots import BoundsDisplay


def test_the_contours_are_the_upper_ends_and_the_line_is_the_fit():
    data = make_double_logistic(600, 4, random_state=0)
    model = JointMLE(propensity_features=[2, 3], n_starts=1, random_state=0).fit(data.X, data.labelled)
    shown = BoundsDisplay.from_estimator(model, data.X, data.labelled, checked=(3, 8), top=0.1)
    found = bounds(model, data.X, data.labelled, spread=10, purity=1, top=0.1)
    assert shown.shares_[-1, [0, -1]] == pytest.approx([found.low[0, 0], found.high[0, 0]])
    assert shown.shares_[0] == pytest.approx(found.top_share * shown.shares_[-1])
    assert (np.diff(shown.shares_, axis=0) > 0).all()
    words = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert words == [f"the fit: {model.prior_:.0%}", "limits from checked rows"]
    drawn = BoundsDisplay(found).plot()
    np.testing.assert_allclose(drawn.shares_, shown.shares_)
    assert len(drawn.ax_.get_legend().get_texts()) == 1
