"""
The share of positives is known
===============================

Sometimes someone knows how many positives there are: a survey, a register, a screening programme. Pass the share as
``prior``, for all rows or for groups of them, and :class:`~propense.PUClassifier` meets it.

Made-up patients: men are ill as often as women, but report it three times less often.
"""

# %%
# Nothing in the labels shows that men are missed. They look healthy.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propense import PUClassifier

rng = np.random.default_rng(0)
n = 3000
patients = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.normal(50, 15, n), "pain": rng.normal(size=n)})
ill = rng.random(n) < 1 / (1 + np.exp(1 - 0.05 * (patients["age"] - 50) - 1.5 * patients["pain"]))
reported = ill & (rng.random(n) < np.where(patients["sex"] == "f", 0.6, 0.2))
print(f"{ill.mean():.0%} are ill, {reported.mean():.0%} have reported it")

known = {
    "labels alone": {},
    "33% of all": {"prior": 0.33},
    "33% of women, 30% to 35% of men": {"prior": {"f": 0.33, "m": (0.3, 0.35)}, "prior_groups": "sex"},
}
models = {name: PUClassifier(random_state=0, **prior).fit(patients, reported) for name, prior in known.items()}

# %%
# On the left, the estimated shares of women and men who are ill. On the right, who is in a list of the 200 patients
# without a report who are most likely ill, and how many of them are ill (full colour). One share for all mends the
# total, but not the groups. Shares by group mend both, and the list finds more who are ill.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
heights = np.arange(len(models))[::-1]
for offset, sex, words, colour in ((0.2, "f", "women", "#1f6fb4"), (-0.2, "m", "men", "#e08214")):
    group = (patients["sex"] == sex).to_numpy()
    shares, listed, right = [], [], []
    for model in models.values():
        expected = np.where(reported, 1.0, model.oof_hidden_)
        top = np.argsort(np.where(reported, np.inf, -model.oof_hidden_), kind="stable")[:200]
        shares.append(expected[group].mean())
        listed.append(group[top].sum())
        right.append((group & ill)[top].sum())
    axes[0].barh(heights + offset, shares, 0.36, color=colour, label=words)
    axes[0].plot([ill[group].mean()] * 2, [-0.5, 2.5], color=colour, linestyle="dotted")
    axes[1].barh(heights + offset, listed, 0.36, color=colour, alpha=0.3)
    axes[1].barh(heights + offset, right, 0.36, color=colour, label=f"{words}, ill")
axes[0].set_yticks(heights, [name.replace(", ", ",\n") for name in models])
axes[0].set(xlabel="estimated share that is ill (dotted: true)")
axes[1].set(yticks=[], xlabel="patients in a list of 200", xlim=(0, 260))
for ax in axes:
    ax.legend(frameon=False)
plt.show()
