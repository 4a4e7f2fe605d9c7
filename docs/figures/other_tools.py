"""Shapley values of h(x) for two rows: what each column adds to the mean of a background, as SHAP computes it."""

import itertools
import math
from functools import cache

import numpy as np

from propense import PUClassifier
from propense.datasets import make_double_logistic

COLUMNS = 5


def shapley(function, background, row):
    """The mean of a function over a background, and the exact Shapley value of each column of a row."""
    everything = range(COLUMNS)
    value = {}
    for size in range(COLUMNS + 1):
        for known in itertools.combinations(everything, size):
            mixed = background.copy()
            mixed[:, known] = row[list(known)]
            value[frozenset(known)] = function(mixed).mean()
    added = np.zeros(COLUMNS)
    for known in value:
        weight = math.factorial(len(known)) * math.factorial(COLUMNS - len(known) - 1 if len(known) < COLUMNS else 0)
        for column in set(everything) - known:
            added[column] += weight / math.factorial(COLUMNS) * (value[known | {column}] - value[known])
    return value[frozenset()], added


@cache
def explained():
    """The base and the values of two rows: the largest and the smallest h(x) of some."""
    data = make_double_logistic(1000, COLUMNS, random_state=0)
    model = PUClassifier(learners="linear", random_state=0).fit(data.X, data.labelled)
    some = np.arange(100, 110)
    order = some[np.argsort(model.predict_hidden(data.X[some]))]
    return {i: shapley(model.predict_hidden, data.X[:100], data.X[i]) for i in (order[-1], order[0])}


def draw():
    """The figure."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, sharey=True)
    places = np.arange(COLUMNS)[::-1]
    for ax, (row, (base, added)) in zip(axes, explained().items(), strict=True):
        ends = base + np.cumsum(added)
        colours = np.where(added > 0, "C1", "C0")
        ax.barh(places, added, left=ends - added, color=colours, height=0.6)
        ax.axvline(base, color="C6", linestyle="dotted")
        ax.set(xlim=(0, 1), xlabel="chance of being positive without a label", title=f"Row {row}: {ends[-1]:.2f}")
        ax.set_yticks(places, [f"column {j}" for j in range(COLUMNS)])
    return figure
