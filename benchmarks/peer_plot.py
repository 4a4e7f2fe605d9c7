"""The plot of ``peers.py``."""

from pathlib import Path
from typing import Any

import numpy as np

from peer_methods import PACKAGES, Method
from peer_results import Results, standard_error

__all__ = ["draw"]

COLOURS = dict(zip(PACKAGES, ("black", "C0", "C1", "C2", "C3", "C4"), strict=True))
MARKERS = "os^vDP*Xd"
# The scenarios of interest, and how their means are marked.
SHOWN = {"other features": "o", "class score": "s"}


def draw(results: Results, path: Path) -> None:
    """Time against n and against p, both axes logarithmic, and the accuracies in the two scenarios of interest."""
    import matplotlib
    from matplotlib.figure import Figure

    # The same figures give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "peers"}):
        figure = Figure(figsize=(11, 11), layout="constrained")
        panels = figure.subplot_mosaic([["n", "p"], ["accuracy", "accuracy"]], height_ratios=[2, 3])
        for along, fixed in (("n", f"{results.p} columns"), ("p", f"{results.n} rows")):
            _growth(panels[along], results, along)
            panels[along].set(xlabel=f"{along} ({fixed})", ylabel="seconds of a fit")
        handles, labels = panels["n"].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", fontsize="x-small")
        _accuracy(panels["accuracy"], results)
        figure.savefig(path, metadata={"Date": None})


def _growth(axes: Any, results: Results, along: str) -> None:
    """A line for each method: colours are packages, markers are the methods of a package."""
    for each in results.methods():
        if each.name == "Oracle()":
            continue
        sizes, seconds = results.growth(each.name, along)
        if not sizes:
            continue
        style = {"linewidth": 2, "zorder": 3} if each.package == "scikit-learn" else {"linewidth": 1}
        axes.loglog(
            sizes,
            seconds,
            color=COLOURS[each.package],
            marker=_marker(results, each),
            markersize=4,
            label=_label(each),
            **style,
        )


def _marker(results: Results, each: Method) -> str:
    return MARKERS[[other for other in results.methods() if other.package == each.package].index(each) % len(MARKERS)]


def _label(each: Method) -> str:
    return f"{each.package}: {each.name}{' †' if each.known else ''}"


def _accuracy(axes: Any, results: Results) -> None:
    """Means and two standard errors, a row for each method and decision; propense's balanced decisions are hollow."""
    methods = results.methods()
    for world, marker in SHOWN.items():
        for a in results.accuracies:
            if a.world != world or not a.values:
                continue
            row = next(i for i, each in enumerate(methods) if each.name == a.method)
            hollow = a.decision == "balanced"
            colour = COLOURS[methods[row].package]
            # The two scenarios and the two decisions slightly apart.
            height = row + (-0.15 if marker == "o" else 0.15) + (0.12 if hollow else 0)
            axes.errorbar(
                np.mean(a.values),
                height,
                xerr=2 * standard_error(a.values),
                color=colour,
                marker=marker,
                markersize=5,
                markerfacecolor="white" if hollow else colour,
            )
    for world, marker in SHOWN.items():
        axes.plot([], [], color="grey", marker=marker, linestyle="", label=world)
    axes.plot(
        [], [], color="grey", marker="o", markerfacecolor="white", linestyle="", label="hollow: balanced threshold"
    )
    axes.axvline(0.5, color="grey", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(methods)), [_label(each) for each in methods], fontsize="small")
    axes.invert_yaxis()
    axes.grid(axis="y", alpha=0.3)
    axes.set(xlabel="balanced accuracy on fresh rows (mean ± 2 standard errors)")
    axes.legend(fontsize="small", loc="upper left")
