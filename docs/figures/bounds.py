"""The range of the share of positives of the page, over the spread of labelling."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer

from propense import PUClassifier, bounds

SPREADS = tuple(np.geomspace(1.0, 5.0, 30))


@cache
def ranges():
    """The bounds for pure top rows, the true share of positives, and the true spread."""
    X, target = load_breast_cancer(return_X_y=True)
    malignant = target == 0
    chance = 0.3 + 0.5 * X[:, 0].argsort().argsort() / len(X)
    reported = malignant & (np.random.default_rng(0).random(len(X)) < chance)
    model = PUClassifier(random_state=0).fit(X, reported)
    found = bounds(model, X, reported, spread=SPREADS, purity=1)
    top = model.oof_posterior_ * model.oof_propensity_ >= found.top_score
    return found, malignant.mean(), chance[top & malignant].mean() / chance[malignant].min()


def draw():
    """The set as a band, its limits as thin lines, and the truth as a point."""
    from matplotlib import pyplot

    found, truth, spread = ranges()
    figure, ax = pyplot.subplots(figsize=(7.2, 3.6))
    low, high, low_limit, high_limit = (
        100 * each[:, 0] for each in (found.low, found.high, found.low_limit, found.high_limit)
    )
    ax.fill_between(SPREADS, low, high, color="C0", alpha=0.5, linewidth=0, label="range")
    for number, each in enumerate((low_limit, high_limit)):
        ax.plot(SPREADS, each, color="C0", linewidth=1.0, label="" if number else "95% limits")
    ax.plot([spread], [100 * truth], "o", color="C1", label="truth")
    ax.axhline(100 * found.labelled, color="C7", linestyle="--", linewidth=1.2, label="labelled")
    ax.set(xscale="log", xticks=[1, 1.5, 2, 3, 5], xticklabels=["1", "1.5", "2", "3", "5"], ylim=(0, 70))
    ax.minorticks_off()
    ax.set(xlabel="hardest positives: times harder to label than the top rows", ylabel="positive rows (%)")
    ax.legend(loc="upper left", fontsize="small")
    return figure
