"""
How many, who, and whom to look at
==================================

The figures of the page that ``propense fit --report`` writes, each by itself: how many rows are positive, in which
groups positives are seldom labelled, and what a look at the likeliest unlabelled rows should find.
"""

# %%
# A made-up register: age and pressure decide who is ill, and whoever lives in the city is diagnosed more readily.
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

from propense.plots import GroupDisplay, PrevalenceDisplay, PropensityCurveDisplay, ReviewDisplay
from propense.tables import fit_table

rng = np.random.default_rng(0)
n = 2000
age, pressure = rng.normal(55, 12, n).round(), rng.normal(130, 15, n).round()
home = rng.choice(["city", "village"], n)
ill = rng.random(n) < 1 / (1 + np.exp(2 - 0.1 * (age - 55) - 0.12 * (pressure - 130)))
diagnosed = ill & (rng.random(n) < np.where(home == "city", 0.7, 0.25))
table = pa.table({"age": age, "pressure": pressure, "home": home, "diagnosed": diagnosed})

# %%
# The chance of a diagnosis may depend on the home alone; saying so helps the method.
found = fit_table(table, "diagnosed", method="sar-em", propensity_features=["home"])
print(f"{ill.sum()} are ill, {diagnosed.sum()} diagnosed, {found.expected.sum():.0f} ill by the estimate")

# %%
# Labelled, probably positive but unlabelled, and the rest.
PrevalenceDisplay(n, int(diagnosed.sum()), float(found.expected.sum())).plot()

# %%
# The column whose groups are labelled most unlike each other comes first.
figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
GroupDisplay(found.groups[0], found.estimator.label_frequency_).plot(ax=axes[0])
PropensityCurveDisplay(age, found.scores.propensity, found.expected, name="age").plot(ax=axes[1])

# %%
# The chances of the unlabelled rows add up to the cases that a look at them should find.
ReviewDisplay(found.scores.hidden[~found.labelled]).plot()
plt.show()
