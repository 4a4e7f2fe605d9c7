"""The problem in one picture: who is positive, times which positives get a label, is what a table shows."""

import numpy as np

from propense.datasets import make_double_logistic

# Rows are positive to the right, and positive rows are labelled to the top.
COEF, PROPENSITY_COEF = (-0.6, 2.6, 0.0), (-0.4, 0.0, 2.0)
EDGE = 3.1


def draw():
    """The figure."""
    from matplotlib import pyplot
    from matplotlib.colors import to_rgb

    data = make_double_logistic(160, 2, coef=COEF, propensity_coef=PROPENSITY_COEF, random_state=3)
    assert np.abs(data.X).max() < EDGE, "every row is inside the picture"
    grid = np.linspace(-EDGE, EDGE, 101)
    across, up = np.meshgrid(grid, grid)
    y, e = (1 / (1 + np.exp(-(b[0] + b[1] * across + b[2] * up))) for b in (COEF, PROPENSITY_COEF))
    everyone = np.ones(len(data.X), bool)
    panels = [
        ("$y(x)$", "who is positive", y, everyone, data.positive, "C0"),
        ("$e(x)$", "which positives get a label", e, data.positive, data.labelled, "C1"),
        ("$s(x)$", "what the table shows", y * e, everyone, data.labelled, "C2"),
    ]
    figure, axes = pyplot.subplots(1, 3, figsize=(6.4, 2.75))
    for ax, (name, words, chance, shown, filled, colour) in zip(axes, panels, strict=True):
        shade = np.empty((*chance.shape, 4))
        shade[..., :3], shade[..., 3] = to_rgb(colour), chance / 2
        ax.imshow(shade, origin="lower", extent=(-EDGE, EDGE, -EDGE, EDGE))
        hollow, full = data.X[shown & ~filled], data.X[filled]
        ax.plot(*hollow.T, "o", markersize=3, markerfacecolor="none", markeredgecolor="C6", markeredgewidth=0.8)
        ax.plot(*full.T, "o", markersize=3.6, color=colour)
        ax.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[], aspect="equal")
        ax.grid(False)
        ax.set_title(name, loc="center", fontsize="x-large", color=colour)
        ax.set_xlabel(f"{words}:\n{filled.sum()} of {shown.sum()} rows", fontsize=9)
    for left, sign in zip(axes, ("×", "="), strict=False):
        left.annotate(sign, (1.09, 0.5), xycoords="axes fraction", ha="center", va="center", fontsize="xx-large")
    axes[0].set_ylabel("visits to a doctor", fontsize=9)
    figure.get_layout_engine().set(wspace=0.09)
    return figure
