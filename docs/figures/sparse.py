"""The slopes of y and of e along the path of penalties."""

from functools import cache

import numpy as np

from propense import SparseJoint
from propense.datasets import make_double_logistic


@cache
def fit():
    """The model of the page and the true slopes of y and of e."""
    beta, gamma = np.zeros(201), np.zeros(201)
    beta[[11, 21, 31]], gamma[[41, 51]] = [2.0, -2.0, 1.5], [1.5, -1.5]
    data = make_double_logistic(3000, 200, coef=beta, propensity_coef=gamma, random_state=0)
    return SparseJoint(n_alphas=30, random_state=0).fit(data.X, data.labelled), beta[1:], gamma[1:]


def draw():
    """A panel for y and one for e, with a line for each column that is ever used."""
    from matplotlib import pyplot

    model, beta, gamma = fit()
    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.6), sharex=True, sharey=True)
    titles = ("y(x): being positive", "e(x): being labelled")
    paths = (model.coefs_path_, model.propensity_coefs_path_)
    for ax, title, path, true in zip(axes, titles, paths, (beta, gamma), strict=True):
        for column, slopes in zip(model.path_features_, path.T, strict=True):
            real = true[column] != 0
            style = {"color": "C0", "linewidth": 2, "zorder": 3} if real else {"color": "C6", "linewidth": 0.8}
            ax.plot(model.alphas_, slopes, **style)
            if real:
                ax.plot(model.alphas_[-1] / 1.3, true[column], "<", color="C0")
        ax.axvline(model.alpha_, color="C1", linestyle="--")
        ax.set(title=title, xlabel="alpha (the penalty)", xscale="log")
    axes[0].set(ylabel="slope")
    ax.invert_xaxis()
    lines = {
        "columns that matter": {"color": "C0", "linewidth": 2},
        "other columns": {"color": "C6", "linewidth": 0.8},
        "chosen alpha": {"color": "C1", "linestyle": "--"},
        "true slopes": {"color": "C0", "marker": "<", "linestyle": ""},
    }
    handles = [pyplot.Line2D([], [], label=name, **style) for name, style in lines.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure
