"""
The rounds of a fit
===================

JERM and SAREM fit who is positive, y(x), and which positives are labelled, e(x), in turn.
:class:`~propense.plots.RiskPathDisplay` draws the risk of the labels, minus their mean log-likelihood, after each
round.

The rounds of SAREM climb the likelihood, so its risk never rises. Those of JERM need not: it changes its mind about
which rows are positive between rounds, and stops when that repeats. A path that has not come to rest is also told by
``converged_``, and by a warning.
"""

from matplotlib import pyplot

from propense import JERM, SAREM
from propense.datasets import make_double_logistic
from propense.plots import RiskPathDisplay

data = make_double_logistic(2000, random_state=0)
figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for ax, model in zip(axes, (JERM(spy_quantile=0.3), SAREM()), strict=True):
    model.fit(data.X, data.labelled)
    RiskPathDisplay.from_estimator(model, ax=ax)
    ax.set_title(model)

# %%
# The risks of different methods are not to be compared here: JERM's is measured while e(x) of the round before is held.
# Beside the risk, look at the share of rows JERM took for positive in each round.

figure, ax = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
for quantile in (0.0, 0.1, 0.3):
    model = JERM(spy_quantile=quantile).fit(data.X, data.labelled)
    rounds = range(1, model.n_iter_ + 1)
    ax.plot(rounds, model.positives_path_, marker="o", markersize=3, label=quantile)
ax.axhline(data.positive.mean(), color="k", linestyle=":", label="true share")
ax.set(xlabel="round", ylabel="share taken for positive", ylim=(0, 1))
ax.legend(title="spy_quantile")
