"""
Which rows are positive, and which positives get a label
========================================================

Only some of the positive rows of a table have a label. :class:`~propense.PUClassifier`, the method to try first, learns
from the labels which rows are positive and which positives get a label, and says how certain that is.

The data are the tumours of scikit-learn's breast cancer set. Some of the malignant ones are *reported*, those with a
coarser texture more often. The model sees the columns and the reports. The true classes are only used to check it.
"""

# %%
# Ten columns, and labels for about half of the malignant tumours.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from propense import PUClassifier
from propense.plots import PrevalenceDisplay, ReviewDisplay

data = load_breast_cancer()
X, malignant = scale(data.data[:, :10]), data.target == 0
texture = X[:, 1]
reported = malignant & (np.random.default_rng(0).random(len(X)) < 1 / (1 + np.exp(-texture)))
print(f"{len(X)} tumours, {malignant.sum()} malignant, {reported.sum()} reported")

# %%
# Fit, and print the answer. The labels do not show how many positives are missing from them. So the share of positive
# rows is a range, of simulated worlds whose labels look like these: quote it rather than the number in its middle.
model = PUClassifier(random_state=0).fit(X, reported)
print(model.diagnosis_)

# %%
# The same as a bar of all rows. The black line is the range of the number of positives, and the dotted line the truth.
figure, ax = plt.subplots(figsize=(7.5, 1.7), layout="constrained")
PrevalenceDisplay.from_estimator(model, X, reported, ax=ax)
ax.axvline(malignant.sum(), color="black", linestyle="dotted")

# %%
# Two probabilities of every row: y(x), that it is positive, and h(x), that it is positive although it has no label. For
# the rows of the fit, use the values with ``oof_`` in their names: each comes from models that have not seen the row.
# On the right, unlabelled tumours are reviewed in the order of h(x), and the sum of h(x) is the number of malignant
# ones to expect.
unlabelled = ~reported
hidden = model.oof_hidden_[unlabelled]
order = np.argsort(-hidden, kind="stable")
found = np.cumsum(malignant[unlabelled][order])

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
groups = {
    "malignant, reported": (reported, "#1f6fb4"),
    "malignant, not reported": (malignant & ~reported, "#e08214"),
    "benign": (~malignant, "#bdbdbd"),
}
axes[0].hist(
    [model.oof_posterior_[chosen] for chosen, _ in groups.values()],
    bins=np.linspace(0, 1, 21),
    stacked=True,
    color=[colour for _, colour in groups.values()],
    label=list(groups),
)
axes[0].axvline(model.prior_, color="black", linestyle="dashed", linewidth=1, label="threshold of predict")
axes[0].set(xlabel="y(x), probability of being positive", ylabel="tumours")
axes[0].legend(frameon=False)
ReviewDisplay(hidden, hidden_range=model.oof_hidden_range_[unlabelled]).plot(ax=axes[1])
axes[1].plot(np.arange(1, len(found) + 1), found, color="black", linestyle="dotted", label="true")
axes[1].legend(frameon=False)
print(f"{found[49]} of the first 50 are malignant, and {found[99]} of the first 100")

# %%
# The third probability is e(x), that a positive row gets a label. The labels alone do not show what it depends on. If
# you know the columns that labels depend on, name them: e(x) then follows the texture as it should.
named = PUClassifier(propensity_features=[1], random_state=0).fit(X, reported)
print(named.diagnosis_)

figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
places = np.argsort(texture)
for chosen, words, colour in ((model, "labels alone", "#999999"), (named, "texture named", "#1f6fb4")):
    ax.plot(texture[malignant], chosen.oof_propensity_[malignant], ".", color=colour, label=words)
ax.plot(texture[places], 1 / (1 + np.exp(-texture[places])), color="black", linestyle="dotted", label="true")
ax.set(xlabel="texture (standard deviations from the mean)", ylabel="e(x), probability of a label", ylim=(0, 1.02))
ax.legend(frameon=False)
plt.show()
