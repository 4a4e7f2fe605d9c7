"""
A data frame with words, dates and missing cells
================================================

:class:`~propense.PUClassifier` takes a data frame as it is: numbers, categories, dates, true and false, and missing
cells. Nothing has to be encoded, filled in or scaled first.

Here is a made-up register of insurance claims. Some are fraud, and an audit has found some of these, mostly in the
north.
"""

# %%
# A claim is more often fraud if it is large, late or filed without a receipt. The size is missing in a tenth of the
# rows.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propense import PUClassifier
from propense.plots import GroupDisplay, ReviewDisplay
from propense.tables import compare_groups, fit_table

rng = np.random.default_rng(3)
n = 3000
size, delay = rng.lognormal(7, 0.8, n), rng.integers(0, 120, n)
claims = pd.DataFrame(
    {
        "size": np.where(rng.random(n) < 0.1, np.nan, size.round(-1)),
        "kind": pd.Categorical(rng.choice(["car", "home", "travel"], n, p=[0.5, 0.3, 0.2])),
        "receipt": rng.random(n) < 0.6,
        "filed": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        "delay": delay,
        "region": rng.choice(["north", "south", "west"], n),
    }
)
score = 1.2 * (np.log(size) - 7) + 0.02 * (delay - 60) - 1.5 * claims["receipt"] + 0.8 * (claims["kind"] == "travel")
fraud = rng.random(n) < 1 / (1 + np.exp(1.2 - 1.5 * score))
caught = fraud & (rng.random(n) < np.where(claims["region"] == "north", 0.7, 0.25))
print(claims.head(3).to_string())
print(f"{fraud.sum()} claims are fraud, {caught.sum()} were caught")

# %%
# Who is caught depends on the region, which says nothing about fraud. Name the column, and the model can distinguish
# the two.
model = PUClassifier(propensity_features=["region"], random_state=0).fit(claims, caught)
print(model.diagnosis_)

# %%
# :func:`~propense.tables.fit_table` does the same with the table and the name of its label column. It also compares
# groups: how often the fraud in a region is caught, compared with all fraud. The black marks are the truth. On the
# right, how much fraud a review of the claims should find, most likely fraud first.
found = fit_table(claims.assign(caught=caught), "caught", propensity_features=["region"])
comparison = next(each for each in compare_groups(found.groups) if each.column == "region")

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
GroupDisplay(comparison).plot(ax=axes[0])
for place, share in zip(axes[0].get_yticks(), [each for each in comparison.groups if each.known], strict=True):
    here = fraud & (claims["region"] == share.group.name)
    true = (caught & here).sum() / here.sum() / (caught.sum() / fraud.sum())
    axes[0].plot(true, place, marker="|", markersize=18, color="black")
ReviewDisplay(model.oof_hidden_[~caught], hidden_range=model.oof_hidden_range_[~caught]).plot(ax=axes[1])
order = np.argsort(-model.oof_hidden_[~caught], kind="stable")
axes[1].plot(np.cumsum(fraud[~caught].to_numpy()[order]), color="black", linestyle="dotted", label="true")
axes[1].legend(frameon=False, loc="upper left", fontsize="small")
plt.show()
