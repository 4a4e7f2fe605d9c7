"""Estimates with labels alone and with known negatives, on ten draws of the page's data."""

from functools import cache

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from propense import JERM, SAREM, Oracle
from propense.datasets import make_double_logistic

METHODS = {"SAREM()": SAREM(), "JERM(variant='paper')": JERM(variant="paper")}
DRAWS = 10


@cache
def estimates():
    """The prior and balanced accuracy of each method, draw and kind of labels; the same of the truth and `Oracle`."""
    slopes = make_double_logistic(1, random_state=0).coef[1:]
    world = {"propensity_coef": np.append(-2.25, slopes)}
    fresh = make_double_logistic(20_000, random_state=DRAWS, **world)
    points = {name: np.zeros((DRAWS, 2, 2)) for name in METHODS}
    best = np.zeros((DRAWS, 2))
    for seed in range(DRAWS):
        data = make_double_logistic(2000, random_state=seed, **world)
        clear = ~data.positive & (np.random.default_rng(seed).random(2000) < 0.1)
        for name, model in METHODS.items():
            for place, known in enumerate((None, clear)):
                model.fit(data.X, data.labelled, known_negative=known)
                accuracy = balanced_accuracy_score(fresh.positive, model.predict(fresh.X))
                points[name][seed, place] = model.prior_, accuracy
        oracle = Oracle().fit(data.X, data.positive).predict(fresh.X)
        best[seed] = data.positive.mean(), balanced_accuracy_score(fresh.positive, oracle)
    return points, best.mean(axis=0)


def draw():
    """A panel for each method, with a line from each estimate by labels alone to that with known negatives."""
    from matplotlib import pyplot

    points, (prior, accuracy) = estimates()
    figure, axes = pyplot.subplots(1, 2, sharex=True, sharey=True)
    for ax, (name, drawn) in zip(axes, points.items(), strict=True):
        before, after = 100 * drawn[:, 0], 100 * drawn[:, 1]
        ax.plot(*np.stack([before, after]).transpose(2, 0, 1), color="C6", linewidth=0.6)
        ax.plot(*before.T, "s", color="C1", label="labels alone")
        ax.plot(*after.T, "o", color="C0", label="with known negatives")
        ax.plot(100 * prior, 100 * accuracy, "*", color="C7", markersize=13, label="fitted to the true classes")
        ax.set(title=name, xlabel="estimated share of positives (%)")
    axes[0].set(ylabel="balanced accuracy (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
