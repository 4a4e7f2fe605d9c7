"""
Why is this row in the list?
============================

:func:`propense.reasons` says what every column adds to the log-odds of being positive, and to the log-odds of a label.
The contributions of the columns and a baseline add up to what the model predicts.
"""

# %%
# Tumours as in :doc:`the first example <plot_1_first_choice>`: those with a coarse texture are reported more often, and
# that column is named.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from propense import PUClassifier, reasons

data = load_breast_cancer(as_frame=True)
X, malignant = data.data.iloc[:, :10], (data.target == 0).to_numpy()
chance = 1 / (1 + np.exp(-scale(X["mean texture"])))
reported = malignant & (np.random.default_rng(0).random(len(X)) < chance)
model = PUClassifier(propensity_features=["mean texture"], random_state=0).fit(X, reported)

# %%
# The two tumours without a report that are most likely malignant, and one near the threshold.
order = np.argsort(np.where(reported, np.inf, -model.oof_hidden_), kind="stable")
near = order[np.argmin(np.abs(model.oof_posterior_[order] - model.prior_))]
rows = [*order[:2], near]
found = reasons(model, X, rows=rows)
print(found)

# %%
# Bars to the right raise the log-odds of being positive (blue) or of a label (orange); a bar of 1 multiplies the odds
# by 2.7. Labels depend most on the texture, because it was named.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharex=True, sharey=True)
places = np.arange(len(found.columns))[::-1]
for ax, i in zip(axes, range(3), strict=True):
    ax.barh(places + 0.2, found.posterior[i], 0.4, color="#1f6fb4", label="being positive")
    ax.barh(places - 0.2, found.propensity[i], 0.4, color="#e08214", label="a label if positive")
    ax.axvline(0, color="0.3", linewidth=1)
    chance = 1 / (1 + np.exp(-found.baseline_posterior - found.posterior[i].sum()))
    truth = "malignant" if malignant[rows[i]] else "benign"
    ax.set(title=f"row {rows[i]}: y(x) = {chance:.0%}, {truth}", xlabel="added to the log-odds")
axes[0].set_yticks(places, found.columns)
axes[0].legend(frameon=False, loc="lower right")
plt.show()
