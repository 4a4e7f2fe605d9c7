"""
How many positives, which groups, which rows to review
======================================================

The figures of the page that ``propense fit --report`` writes, one by one: how many rows are positive, in which groups
positives are rarely labelled, and how many positives a review of the most likely unlabelled rows should find.
"""

# %%
# A made-up register: age and pressure decide which patients are ill, and those in the city are diagnosed more often.
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

from propense.plots import GroupDisplay, PrevalenceDisplay, PropensityCurveDisplay, ReviewDisplay
from propense.tables import compare_groups, fit_table

rng = np.random.default_rng(0)
n = 2000
age, pressure = rng.normal(55, 12, n).round(), rng.normal(130, 15, n).round()
home = rng.choice(["city", "village"], n)
ill = rng.random(n) < 1 / (1 + np.exp(2 - 0.1 * (age - 55) - 0.12 * (pressure - 130)))
diagnosed = ill & (rng.random(n) < np.where(home == "city", 0.7, 0.25))
table = pa.table({"age": age, "pressure": pressure, "home": home, "diagnosed": diagnosed})

# %%
# The probability of a diagnosis depends on the home alone; specifying this helps the method.
found = fit_table(table, "diagnosed", method="sar-em", propensity_features=["home"])
print(f"{ill.sum()} are ill, {diagnosed.sum()} diagnosed, {found.expected.sum():.0f} ill by the estimate")

# %%
# Labelled, probably positive but unlabelled, and the rest.
PrevalenceDisplay(n, int(diagnosed.sum()), float(found.expected.sum())).plot()

# %%
# How often positives are labelled, compared with all of them, with ranges; columns come first whose groups differ most.
figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
GroupDisplay(compare_groups(found.groups)[0]).plot(ax=axes[0])
PropensityCurveDisplay(age, found.scores.propensity, found.expected, name="age").plot(ax=axes[1])

# %%
# The probabilities of the unlabelled rows add up to the number of cases that a review should find.
ReviewDisplay(found.scores.hidden[~found.labelled]).plot()
plt.show()
