"""
Two sources of labels
=====================

One source of labels shows which rows are positive *and* labelled. A second source shows how many positives the first
one misses: a row that the survey has labelled is positive, so the registry should know it.
:class:`~propense.SeveralSources` takes a column of labels from each source.
"""

# %%
# A registry knows the ill who see a doctor, mostly the old who live near one. A survey asked half of the people, and
# 60% of the ill whom it asked said so. Where it did not ask, the cell is missing.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propense import PUClassifier, SeveralSources, sources_test

rng = np.random.default_rng(17)
n = 5000
people = pd.DataFrame({"age": rng.normal(55, 12, n), "distance": rng.exponential(10, n)})
old = (people["age"] - 55) / 12
ill = rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * old))
chance = 1 / (1 + np.exp(-0.5 - old + 0.08 * people["distance"]))
registry = ill & (rng.random(n) < chance)
survey = ill & (rng.random(n) < 0.6)
asked = rng.random(n) < 0.5
labels = pd.DataFrame({"registry": registry.astype(float), "survey": np.where(asked, survey, np.nan)})

model = SeveralSources().fit(people, labels)
for name, share in zip(model.source_names_, model.source_frequency_, strict=True):
    print(f"{name}: labels {share:.0%} of the ill")

# %%
# The share that is ill, from the labels of each source alone with :class:`~propense.PUClassifier`, and from both. What
# two sources cannot show is whether they are independent: the last range is from the share if a label from one source
# halves the odds of a label from the other, to the share if it doubles them.
both = sources_test(model, people, labels)
print(both)

rows = []
for name, chosen, found in (("registry alone", people, registry), ("survey alone", people[asked], survey[asked])):
    alone = PUClassifier(random_state=0).fit(chosen, found)
    rows.append((name, alone.prior_, alone.diagnosis_.low, alone.diagnosis_.high))
rows.append(("both sources", both.priors[1.0], both.priors[0.5], both.priors[2.0]))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
for place, (_, middle, low, high) in enumerate(rows):
    axes[0].plot([low, high], [place, place], color="#1f6fb4", marker="|", markersize=10)
    axes[0].plot(middle, place, "o", color="#1f6fb4")
axes[0].axvline(ill.mean(), color="black", linestyle="dotted", label="true")
axes[0].set_yticks(range(len(rows)), [name for name, *_ in rows])
axes[0].set(xlabel="share that is ill", xlim=(0, 1), ylim=(2.5, -0.5))
axes[0].legend(frameon=False, loc="lower right")

# The registry's chance of knowing someone who is ill, at the age of 55, by the distance.
far = pd.DataFrame({"age": 55.0, "distance": np.linspace(0, 50, 101)})
for j, (name, colour) in enumerate(zip(model.source_names_, ("#1f6fb4", "#e08214"), strict=True)):
    axes[1].plot(far["distance"], model.predict_source_propensities(far)[:, j], color=colour, label=name)
axes[1].plot(far["distance"], 1 / (1 + np.exp(-0.5 + 0.08 * far["distance"])), color="black", linestyle="dotted")
axes[1].axhline(0.6, color="black", linestyle="dotted", label="true")
axes[1].set(xlabel="distance to a doctor, at the age of 55", ylabel="chance of a label if ill", ylim=(0, 1))
axes[1].legend(frameon=False)
plt.show()
