"""Published means against measured ones, for the tabular data sets."""

from functools import cache
from pathlib import Path

import pandas as pd

TABLE = Path(__file__).resolve().parents[1] / "reproduction" / "tabular_compare.csv"
NAMES = {
    "oracle": "Oracle",
    "naive": "Naive",
    "pglin": "PGLin",
    "lbe": "LBE",
    "sar-em": "SAR-EM",
    "tm": "TM",
    "jerm": "JERM",
}


@cache
def means():
    """The table that `propense study compare` wrote."""
    return pd.read_csv(TABLE)


def draw():
    """A panel for each method, with a point for each data set, mechanism and label frequency."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(7.2, 4.2), sharex=True, sharey=True)
    for ax, (method, name) in zip(axes.flat, NAMES.items(), strict=False):
        rows = means()[means()["method"] == method]
        ax.plot([0.45, 1], [0.45, 1], color="C6", linewidth=0.8)
        ax.plot(rows["published_mean"], rows["mean"], ".", color="C0", markersize=3)
        apart = (rows["mean"] - rows["published_mean"]).abs().median()
        ax.text(0.98, 0.04, f"± {apart:.3f}", ha="right", transform=ax.transAxes, fontsize="small")
        ax.set(title=name, aspect="equal", xticks=[0.5, 0.75, 1], yticks=[0.5, 0.75, 1])
        ax.tick_params(labelbottom=method in list(NAMES)[3:])
    axes[1, 3].axis("off")
    figure.supxlabel("published balanced accuracy", fontsize="medium")
    figure.supylabel("measured by propense", fontsize="medium")
    return figure
