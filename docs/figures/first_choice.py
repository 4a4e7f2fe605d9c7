"""A class that is high on both sides of a column: what the labels show, what is true, and what is estimated."""

from functools import cache

import numpy as np

from propense import PUClassifier


@cache
def results():
    """Shares by the value of the first column, and the estimated share of positives with its range."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    positive = rng.random(2000) < 1 / (1 + np.exp(2 - 4 * np.abs(X[:, 0])))
    labelled = positive & (rng.random(2000) < 0.5)
    first = PUClassifier(random_state=0).fit(X, labelled)
    linear = PUClassifier(learners="linear", random_state=0).fit(X, labelled)
    parts = np.array_split(np.argsort(X[:, 0]), 20)
    columns = np.column_stack([X[:, 0], positive, labelled, first.oof_posterior_, linear.predict_proba(X)[:, 1]])
    curves = np.array([columns[rows].mean(axis=0) for rows in parts]).T
    return curves, first.diagnosis_.low, first.prior_, first.diagnosis_.high, positive.mean(), labelled.mean()


def draw():
    """The figure."""
    from matplotlib import pyplot

    (x, positive, labelled, first, linear), low, middle, high, true, told = results()
    figure, (left, right) = pyplot.subplots(1, 2, width_ratios=[3, 2])
    left.plot(x, positive, color="C7", linewidth=3, alpha=0.45, label="positive, in truth")
    left.plot(x, labelled, ":", color="C6", label="labelled")
    left.plot(x, first, "o-", color="C0", markersize=4, label="PUClassifier")
    left.plot(x, linear, "s--", color="C1", markersize=4, label='learners="linear"')
    left.set(xlabel="first column", ylabel="share of rows", ylim=(0, 1.42), title="What is learned")
    left.set_yticks([0, 0.25, 0.5, 0.75, 1])
    left.legend(loc="upper center", ncols=2, fontsize="small")
    right.plot([low, high], [1, 1], color="C0", linewidth=8, alpha=0.35, solid_capstyle="butt")
    right.plot([middle], [1], "o", color="C0")
    right.axvline(true, color="C7", linewidth=3, alpha=0.45)
    right.plot([told], [0], "o", color="C6")
    right.set(yticks=[0, 1], ylim=(-0.7, 1.7), xlim=(0, 1), xlabel="share of rows", title="Rows that are positive")
    right.set_yticklabels(["labelled", "PUClassifier,\nwith its range"])
    right.text(true + 0.02, 0.45, "true share", color="C7")
    return figure
