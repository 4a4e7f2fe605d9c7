"""
Estimated and true propensities
===============================

The propensity e(x) is the probability that a positive row is labelled. In synthetic data it is known, and
:class:`~propense.plots.PropensityDisplay` draws the estimate against it.

Here labels depend on other columns than the class does. JERM looks for positives near the labelled rows, finds too
many, and so underestimates how often each is labelled. SAREM fits the model that generated the data, and is near the
diagonal. If labels follow the class, the order can be reversed: see :doc:`which method when <../which_method>`.
"""

from matplotlib import pyplot

from propense import JERM, SAREM
from propense.datasets import make_double_logistic
from propense.plots import PropensityDisplay

data = make_double_logistic(2000, random_state=0)

figure, axes = pyplot.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for ax, model in zip(axes, (JERM(), SAREM()), strict=True):
    model.fit(data.X, data.labelled)
    PropensityDisplay.from_estimator(model, data.X, data.propensity, ax=ax)
    ax.set_title(f"{model}: {ax.get_title()}", fontsize="medium")

# %%
# If you know the columns that labels depend on, name them. JERM's estimates then lie on one curve, still too low.
# JERM relies on spies, the unlabelled rows nearest to labelled ones; ignoring the least convincing of them raises the
# estimates.

figure, axes = pyplot.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for ax, quantile in zip(axes, (0.0, 0.3), strict=True):
    model = JERM(propensity_features=range(5, 10), spy_quantile=quantile)
    model.fit(data.X, data.labelled)
    PropensityDisplay.from_estimator(model, data.X, data.propensity, ax=ax)
    ax.set_title(f"spy_quantile={quantile}: {ax.get_title()}", fontsize="medium")
