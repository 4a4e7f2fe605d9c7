"""
Some rows are known to be negative
==================================

A test came back clear, or an inspection found nothing: such rows are known to be negative. Mark them in
``known_negative`` of ``fit``. A few of them can show what labels alone cannot.
"""

# %%
# Labels follow the class here: the clearer the positive, the more likely its label. Then many different shares of
# positives explain the labels equally well.
import matplotlib.pyplot as plt
import numpy as np

from propense import SAREM, PUClassifier
from propense.datasets import make_double_logistic

slopes = make_double_logistic(1, random_state=0).coef[1:]
data = make_double_logistic(3000, random_state=0, propensity_coef=np.append(-2.25, slopes))
print(f"{data.positive.mean():.0%} of the rows are positive, {data.labelled.mean():.0%} are labelled")

# %%
# Fit with the first 0, 25, 50, … of the negatives known, in an order drawn at random. The band is the range that
# ``PUClassifier`` gives.
negatives = np.random.default_rng(0).permutation(np.flatnonzero(~data.positive))
counts = [0, 25, 50, 100, 200, 400]
shares = {"PUClassifier": [], "SAREM": []}
ranges = []
for count in counts:
    known = np.zeros(len(data.positive), dtype=bool)
    known[negatives[:count]] = True
    known = known if count else None
    first = PUClassifier(random_state=0).fit(data.X, data.labelled, known_negative=known)
    shares["PUClassifier"].append(first.prior_)
    shares["SAREM"].append(SAREM().fit(data.X, data.labelled, known_negative=known).prior_)
    ranges.append((first.diagnosis_.low, first.diagnosis_.high))

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.fill_between(range(len(counts)), *np.transpose(ranges), color="#1f6fb4", alpha=0.15, linewidth=0)
for (name, values), colour in zip(shares.items(), ("#1f6fb4", "#e08214"), strict=True):
    ax.plot(values, "o-", color=colour, label=name)
ax.axhline(data.positive.mean(), color="black", linestyle="dotted", label="true")
ax.set_xticks(range(len(counts)), counts)
ax.set(xlabel="rows known to be negative, of 3 000", ylabel="estimated share of positives", ylim=(0, 1))
ax.legend(frameon=False, loc="lower right")

# %%
# SAREM, which maximises the likelihood of the labels and the known negatives together, arrives at the truth with 200 of
# them. ``PUClassifier`` leaves them out of its range and uses them for nothing else, so that little changes. If you
# have a hundred or more such rows, compare it with SAREM.
plt.show()
