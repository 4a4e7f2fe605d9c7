"""
The rounds of a fit
===================

JERM and SAREM estimate in turn y(x), the probability that a row is positive, and e(x), the probability that a positive
row is labelled. :class:`~propense.plots.RiskPathDisplay` draws the risk of the labels (minus their mean log-likelihood)
after each round.

Each round of SAREM increases the likelihood, so its risk never rises. JERM's may: it revises which rows it treats as
positive between rounds, and stops when the rounds repeat. If a fit has not converged, ``converged_`` is false and a
warning says so.
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
# Do not compare the risks of different methods here: JERM's is measured with the e(x) of the previous round.
# In addition to the risk, look at the share of rows that JERM treats as positive in each round.

figure, ax = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
for quantile in (0.0, 0.1, 0.3):
    model = JERM(spy_quantile=quantile).fit(data.X, data.labelled)
    rounds = range(1, model.n_iter_ + 1)
    ax.plot(rounds, model.positives_path_, marker="o", markersize=3, label=quantile)
ax.axhline(data.positive.mean(), color="k", linestyle=":", label="true share")
ax.set(xlabel="round", ylabel="share treated as positive", ylim=(0, 1))
ax.legend(title="spy_quantile")
