"""The study of the page: the new method next to two others, split by split."""

import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).resolve().parents[1] / "guides" / "own_method.md"
MECHANISMS = {"S1": "labels at random", "feature": "labels depend on one feature"}
METHODS = {"naive": "Naive", "jerm": "JERM", "elkan-noto": "ElkanNoto"}


@cache
def records():
    """Balanced accuracy and error of the propensity: by mechanism and method, for each split."""
    from propense.study import Ledger, Study, run

    text = PAGE.read_text()
    # The class and the plan are those of the page.
    own = ModuleType("my_methods")
    exec(re.search(r"^```python\n(# my_methods.py\n.*?)^```$", text, re.MULTILINE | re.DOTALL)[1], own.__dict__)
    sys.modules["my_methods"] = own
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "own.toml")
        plan.write_text(re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1])
        study = Study.from_toml(plan)
        with Ledger(Path(folder, "own.ledger")) as ledger:
            run(study, ledger)
            return ledger.rows(study.cells())


def draw():
    """A panel for each measure, with a point for each split and a line for the mean."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.6))
    measures = {"balanced_accuracy": "balanced accuracy", "propensity_error": "error of the propensity"}
    for ax, (measure, name) in zip(axes, measures.items(), strict=True):
        for shift, colour, marker, (mechanism, label) in zip(
            (-0.15, 0.15), ("C0", "C1"), "os", MECHANISMS.items(), strict=True
        ):
            for place, method in enumerate(METHODS):
                values = [r[measure] for r in records() if (r["mechanism"], r["method"]) == (mechanism, method)]
                at = [place + shift] * len(values)
                ax.plot(at, values, marker, color=colour, alpha=0.7, label=label if place == 0 else None)
                ax.hlines(sum(values) / len(values), at[0] - 0.12, at[0] + 0.12, color=colour, linewidth=2)
        ax.set(title=name, xticks=range(len(METHODS)), xticklabels=METHODS.values())
        ax.grid(axis="x", visible=False)
    axes[1].set(ylim=(0, None))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
