"""Draws the figures of the pages: a Sphinx extension, and a command.

Every module of this folder with a function `draw()`, which returns a matplotlib figure, is drawn twice, as
docs/_figures/<module>.svg for the light theme and docs/_figures/<module>-dark.svg for the dark one. Colours come from
the cycle: C0 to C5 are colours, C6 is a grey, C7 the colour of text. `draw` runs twice in one process: give what takes
long to a function with `functools.cache`. A warning is an error, as it is in the examples.

A page shows a figure by an image alone in its paragraph: `![What it shows](../_figures/<module>.svg)`.

To draw some figures, or all that are out of date: python docs/figures/hooks.py audit queue
"""

import sys

if __name__ == "__main__":
    # The folder of a script comes first on the path, and here that would make queue.py the standard library's.
    sys.path.pop(0)

import importlib.util
import json
import multiprocessing
import re
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import propense

HERE = Path(__file__).resolve().parent
DRAWN = HERE.parent / "_figures"

# The colours of Okabe and Ito, which colour-blind readers can distinguish; the same hues, lighter, for the dark theme.
LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676", "#222832"]
DARK = ["#4DA9E0", "#F28E4B", "#3CC49A", "#E39BC4", "#F2C14E", "#9AD5F5", "#9A9FA6", "#CED6DD"]

IMAGE = re.compile(r"^!\[([^\]]+)\]\(([\w./]*_figures/)(\w+)\.svg\)$", re.MULTILINE)


def modules(folder=HERE):
    """The modules that draw a figure, by name."""
    paths = sorted(folder.glob("*.py"))
    return {path.stem: path for path in paths if re.search(r"^def draw\(\)", path.read_text(), re.MULTILINE)}


def settings(colours, grid):
    """matplotlib's settings for one theme."""
    ink = colours[-1]
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": colours[-2],
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.labelcolor": ink,
        "axes.prop_cycle": f"cycler('color', {colours})",
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": ink,
        "axes.titlelocation": "left",
        "axes.titlesize": "medium",
        "figure.constrained_layout.use": True,
        "figure.facecolor": "none",
        "figure.figsize": (7.2, 3.6),
        "font.size": 10,
        "grid.color": grid,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "savefig.facecolor": "none",
        "savefig.transparent": True,
        # Text as text, and the same file from the same figure.
        "svg.fonttype": "none",
        "svg.hashsalt": "propense",
        "text.color": ink,
        "xtick.color": ink,
        "ytick.color": ink,
    }


THEMES = {"": settings(LIGHT, "#E3E5E8"), "-dark": settings(DARK, "#33383F")}


def draw(path, folder=DRAWN, kind="svg"):
    """Draw the figure of a module for both themes; the error, as text, if it fails or warns."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # A doubt about a fit is a finding, which some figures show.
            warnings.simplefilter("ignore", propense.errors.DoubtfulFit)
            spec = importlib.util.spec_from_file_location(f"figure_{path.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            folder.mkdir(exist_ok=True)
            for theme, rc in THEMES.items():
                with matplotlib.rc_context(rc):
                    figure = module.draw()
                    metadata = {"Date": None} if kind == "svg" else None
                    figure.savefig(folder / f"{path.stem}{theme}.{kind}", metadata=metadata)
                    pyplot.close(figure)
    except Exception:
        return f"{path.name} does not draw:\n{traceback.format_exc()}"
    return None


def out_of_date(path, folder=DRAWN):
    """Whether the module, this file or the package is newer than a drawing."""
    drawings = [folder / f"{path.stem}{theme}.svg" for theme in THEMES]
    if not all(drawing.is_file() for drawing in drawings):
        return True
    sources = [path, Path(__file__), *Path(propense.__file__).parent.rglob("*.py")]
    return min(drawing.stat().st_mtime for drawing in drawings) < max(source.stat().st_mtime for source in sources)


def draw_all(paths, folder=DRAWN):
    """Draw in two processes; the errors."""
    if not paths:
        return []
    # Not forked: a library that runs threads may hang in a copy of its process.
    with ProcessPoolExecutor(min(2, len(paths)), mp_context=multiprocessing.get_context("spawn")) as pool:
        return [error for error in pool.map(draw, paths, [folder] * len(paths)) if error]


def show_both(text):
    """The page, with each image of a figure as two: one for the light theme and one for the dark."""

    def images(found):
        alt = json.dumps(" ".join(found[1].split()), ensure_ascii=False)
        both = [
            f"```{{image}} {found[2]}{found[3]}{end}.svg\n:alt: {alt}\n:class: only-{theme}\n```"
            for end, theme in zip(THEMES, ("light", "dark"), strict=True)
        ]
        return "\n\n".join(both)

    return IMAGE.sub(images, text)


def setup(app):
    """Called by Sphinx."""
    from sphinx.errors import ExtensionError

    def on_start(app):
        errors = draw_all([path for path in modules().values() if out_of_date(path)])
        if errors:
            raise ExtensionError("\n".join(errors))

    def on_read(app, name, source):
        source[0] = show_both(source[0])

    app.connect("builder-inited", on_start)
    app.connect("source-read", on_read)
    return {"parallel_read_safe": True}


def main(names):
    """Draw the figures of these names, or all that are out of date; the exit status."""
    known = modules()
    if unknown := sorted(set(names) - set(known)):
        print(f"No such figure: {', '.join(unknown)}. There are {', '.join(known)}.", file=sys.stderr)
        return 2
    paths = [known[name] for name in names] or [path for path in known.values() if out_of_date(path)]
    errors = draw_all(paths)
    print(*errors, sep="\n", end="", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
