"""Known audit rates against a regression of what was found: the share of false returns, by branch."""

from functools import cache

import numpy as np
import pandas as pd

from propense import KnownPropensity, Naive

RATES = {"retail": 0.05, "catering": 0.5, "trades": 0.2}


@cache
def shares():
    """The share of false returns in each group: true, by KnownPropensity, by Naive. The data are the page's."""
    rng = np.random.default_rng(0)
    n = 4000
    returns = pd.DataFrame({"margin": rng.normal(size=n), "cash": rng.random(n)})
    branch = rng.choice(list(RATES), n, p=[0.6, 0.3, 0.1])
    rate = np.array([RATES[each] for each in branch])
    logit = -4 - returns["margin"] + 3 * returns["cash"] + (branch == "retail")
    false = (rng.random(n) < 1 / (1 + np.exp(-logit))).to_numpy()
    found = false & (rng.random(n) < rate)
    X = returns.assign(retail=branch == "retail", catering=branch == "catering").astype(float)
    by_rate = KnownPropensity().fit(X, found, propensity=rate).predict_proba(X)[:, 1]
    by_naive = Naive().fit(X, found).predict_proba(X)[:, 1]
    groups = {"all returns": np.ones(n, dtype=bool)}
    groups |= {f"{name},\n{RATES[name]:.0%} audited": branch == name for name in RATES}
    return {name: [each[rows].mean() for each in (false, by_rate, by_naive)] for name, rows in groups.items()}


def draw():
    """A line for each branch, with a point for the truth and for each method."""
    from matplotlib import pyplot

    names = list(shares())
    truth, by_rate, by_naive = 100 * np.array(list(shares().values())).T
    places = np.arange(len(names))[::-1]
    figure, ax = pyplot.subplots(figsize=(7.2, 3.2))
    ax.plot(truth, places, "|", color="C7", markersize=20, markeredgewidth=2, label="true")
    ax.plot(by_rate, places, "o", color="C0", markersize=8, label="KnownPropensity")
    ax.plot(by_naive, places, "s", color="C1", markersize=7, label="Naive")
    ax.set(xlabel="false returns (%)", yticks=places, yticklabels=names, xlim=(0, None), ylim=(-0.6, 3.6))
    figure.legend(loc="outside upper center", ncols=3)
    return figure
