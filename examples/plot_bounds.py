"""
How many rows can be positive?
==============================

Labels do not show how much harder some positives are to label than others, nor how many of the rows that are most often
labelled are positive. :class:`~propense.plots.BoundsDisplay` draws the largest share of positives over both. On the red
line it is the share that the fit estimates.

On the right, unlabelled top rows were checked, which limits the second number.
"""

from matplotlib import pyplot

from propense import JointMLE
from propense.datasets import make_double_logistic
from propense.plots import BoundsDisplay

data = make_double_logistic(3000, 6, random_state=0)
model = JointMLE(propensity_features=[3, 4, 5], random_state=0).fit(data.X, data.labelled)

figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
for ax, checked in zip(axes, (None, (15, 20)), strict=True):
    BoundsDisplay.from_estimator(model, data.X, data.labelled, top=0.2, checked=checked, ax=ax)
pyplot.show()
