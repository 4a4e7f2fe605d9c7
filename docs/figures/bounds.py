"""The range of the share of positives under each assumption of the page."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer

from propense import PUClassifier, bounds

ASSUMPTIONS = {
    "no assumption": {},
    "a chance of a label of 0.3 to 0.9": {"propensity": (0.3, 0.9)},
    "odds that differ by up to 10 times": {"odds_ratio": 10},
    "odds that do not differ": {"odds_ratio": 1},
    "odds within 2 times those of the fit": {"departure": 2},
    "rising, clearest rows 95% positive": {"rising": True, "clearest": 0.95},
    "probits with a correlation of 0 to 0.5": {"correlation": (0, 0.5)},
    "0.3 to 0.9, rising, clearest 95%": {"propensity": (0.3, 0.9), "rising": True, "clearest": 0.95},
    "a chance of a label of at least 0.9": {"propensity": 0.9},
}


@cache
def ranges():
    """The bounds of each assumption, the true share of positives, and the share of labels."""
    X, target = load_breast_cancer(return_X_y=True)
    malignant = target == 0
    rank = X[:, 0].argsort().argsort() / len(X)
    reported = malignant & (np.random.default_rng(0).random(len(X)) < 0.3 + 0.5 * rank)
    model = PUClassifier(random_state=0).fit(X, reported)
    found = {name: bounds(model, X, reported, **each) for name, each in ASSUMPTIONS.items()}
    return found, malignant.mean(), reported.mean()


def draw():
    """A bar for each range, with a thin line for its 95% limits."""
    from matplotlib import pyplot

    found, truth, labelled = ranges()
    places = np.arange(len(found))[::-1]
    figure, ax = pyplot.subplots(figsize=(7.2, 4.0))
    ax.axvline(100 * truth, color="C7", linewidth=1.2, zorder=0)
    ax.axvline(100 * labelled, color="C6", linestyle="--", linewidth=1.2, zorder=0)
    for place, each in zip(places, found.values(), strict=True):
        low, high = each.prior
        colour = "C0" if low <= truth <= high else "C1"
        ax.hlines(place, *(100 * end for end in each.prior_limits), color=colour, linewidth=1.2)
        ax.hlines(place, 100 * low, 100 * high, color=colour, linewidth=9)
    top = len(found) - 0.3
    ax.text(100 * truth + 1, top, f"true, {truth:.1%}", va="center", fontsize="small")
    ax.text(100 * labelled - 1, top, f"labelled, {labelled:.1%}", ha="right", va="center", fontsize="small")
    ax.set(xlabel="positive rows (%)", xlim=(0, 101), ylim=(-0.6, len(found)), yticks=places, yticklabels=list(found))
    ax.grid(axis="y", visible=False)
    return figure
