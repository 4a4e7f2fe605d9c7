"""The statistic of the test for labels simulated at random, and for the observed labels."""

from functools import cache

import numpy as np

from propense import scar_test
from propense.datasets import make_double_logistic
from propense.plots import ScarDisplay


@cache
def tests():
    """The first two tests of the page: labels that depend on the columns, and labels at random."""
    data = make_double_logistic(1500, 6, random_state=0)
    at_random = data.positive & (np.random.default_rng(0).random(1500) < 0.4)
    labels = {"labels depend on the columns": data.labelled, "labels at random": at_random}
    return {name: scar_test(data.X, each, n_simulations=99, random_state=0) for name, each in labels.items()}


def draw():
    """A histogram for each, with the observed statistic as a line."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.2), sharex=True, sharey=True)
    for ax, (name, result) in zip(axes, tests().items(), strict=True):
        ScarDisplay(result).plot(ax=ax)
        ax.get_legend().remove()
        pyplot.setp(ax.patches, color="C6")
        pyplot.setp(ax.lines, color="C0")
        ax.set(title=f"{name}: p = {result.p_value:.2f}", xlabel="test statistic")
    axes[1].set(ylabel=None)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
