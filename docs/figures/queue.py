"""Frauds found against the length of the list, with the promised range, without and with the column of the audits."""

from functools import cache

import numpy as np
import pandas as pd

from propense import PUClassifier
from propense.tables import capacity, summarise_estimator

LONGEST = 400


@cache
def lists():
    """What each list promises, and what it holds."""
    rng = np.random.default_rng(0)
    names = ["amount", "account_age", "earlier_claims", "round_sums", "at_night", "distance"]
    claims = pd.DataFrame(rng.standard_normal((5000, 6)), columns=names)
    score = claims @ [-1.0, -1.2, 1.5, 1.2, 0.8, 0.0] - 3.5
    fraud = (rng.random(5000) < 1 / (1 + np.exp(-score))).to_numpy()
    audited = rng.random(5000) < 1 / (1 + np.exp(0.5 - 2 * claims["amount"]))
    found = fraud & audited.to_numpy()
    answers = {}
    for title, columns in {"Nothing named": None, "Named: audits went by amount": ["amount"]}.items():
        model = PUClassifier(propensity_features=columns, random_state=0).fit(claims, found)
        promised = capacity(summarise_estimator(model, claims, found))
        answers[title] = promised, np.cumsum(np.append(0, fraud[promised.rows]))
    return answers


def draw():
    """The figure."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, sharey=True)
    length = np.arange(LONGEST + 1)
    for ax, (title, (promised, hits)) in zip(axes, lists().items(), strict=True):
        ax.fill_between(
            length, promised.low[length], promised.high[length], color="C0", alpha=0.25, label="promised range"
        )
        ax.plot(length, promised.expected[length], "--", color="C0", label="expected")
        ax.plot(length, hits[length], color="C1", linewidth=2, label="frauds, in truth")
        ax.set(xlabel="claims audited, in the order of the list", title=title)
    axes[0].set_ylabel("frauds found")
    axes[0].legend(loc="upper left")
    return figure
