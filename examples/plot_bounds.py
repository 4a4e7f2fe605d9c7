"""
What two assumptions leave open
===============================

Labels do not show how many rows are positive. Limits on the chance that a positive row is labelled do, as a range.
:class:`~propense.plots.BoundsDisplay` draws one end of it over two such limits.

On the left, the most positives: the odds of a label may be below those of the fit by a factor (upwards), but its chance
is at least as large as a number (to the right). On the right, the fewest positives: the odds may be above those of the
fit, but the chance is at most as large as a number. On the red lines there are twice, and half, as many hidden
positives as the fit finds.
"""

from matplotlib import pyplot

from propense import JointMLE
from propense.datasets import make_double_logistic
from propense.plots import BoundsDisplay

data = make_double_logistic(3000, 6, random_state=0)
model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)

figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, end in zip(axes, ("high", "low"), strict=True):
    BoundsDisplay.from_estimator(model, data.X, data.labelled, end=end, ax=ax)
pyplot.show()
