"""Write the lists of methods in README and docs from what the classes say: `python docs/write_methods.py`."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import propense
from propense.estimators import BasePUClassifier, known_methods
from propense.estimators._description import reference, summary

__all__ = ["LISTS"]

ROOT = Path(__file__).parents[1]
# A list stands between these marks, each on its own line, as a comment.
BEGIN, END = "methods: begin", "methods: end"

# The first choice first, then in the order of the alphabet, baseline and yardstick last.
METHODS = [
    method for method, variant in known_methods().values() if not variant and method.__name__ in propense.__all__
]
METHODS.sort(key=lambda method: (method.description.name in ("naive", "oracle"), method.description.name != "pu"))


def readme(method: type[BasePUClassifier]) -> dict[str, str]:
    """A line of the README's table: class, names, what it does."""
    names = [name for name, (each, _) in known_methods().items() if each is method]
    return {
        "class": f"`{method.__name__}`",
        "name": ", ".join(f"`{name}`" for name in names),
        "what it does": summary(method).replace("``", "`"),
    }


def papers() -> str:
    """The papers that the methods cite, each with its methods."""
    cited: dict[str, list[str]] = {}
    for method in METHODS:
        # A paper begins with the initial of an author, after a full stop, and ends with a year; a remark may follow.
        for paper in re.split(r"(?<=\.) (?=[A-Z]\. \w+[,.])", reference(method)):
            if found := re.match(r".*?\d{4}\.", paper):
                cited.setdefault(found[0], []).append(f"`{method.__name__}`")
    return "\n".join(f"- {', '.join(methods)}: {paper}" for paper, methods in cited.items())


def overview(method: type[BasePUClassifier]) -> dict[str, str]:
    """A line of the methods page: what separates y from e, and what may be passed."""
    parameters = inspect.signature(method).parameters
    words = {"learners": "the label scores", "estimator": "y", "propensity_estimator": "e"}
    inner = [word for name, word in words.items() if name in parameters]
    return {
        "class": f"`{method.__name__}`",
        "y and e are separated by": method.description.separates,
        "any classifier for": " and ".join(inner),
        "columns of y and of e": "yes" if {"class_features", "propensity_features"} <= parameters.keys() else "",
        "takes": ", ".join(method.description.takes),
        "needs": method.description.needs,
    }


def table(line: Callable[[type[BasePUClassifier]], dict[str, str]]) -> str:
    """The Markdown table of all methods."""
    lines = [line(method) for method in METHODS]
    cells = [[cell.replace("|", r"\|") for cell in each.values()] for each in lines]
    rows = [list(lines[0]), ["---"] * len(lines[0]), *cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def summaries() -> str:
    """The summaries of the reference."""
    names = "\n".join(f"   {method.__name__}" for method in METHODS)
    return f"\n.. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{names}\n"


LISTS = {
    ROOT / "README.md": f"{table(readme)}\n\nThe papers:\n\n{papers()}",
    ROOT / "docs" / "methods.md": table(overview),
    ROOT / "docs" / "reference" / "estimators.rst": summaries(),
}


def write() -> None:
    """Put each list between the two marks of its page."""
    for page, new in LISTS.items():
        page.write_text(
            re.sub(
                f"({BEGIN}[^\n]*\n).*(\n[^\n]*{END})",
                lambda found, new=new: found[1] + new + found[2],
                page.read_text(),
                flags=re.DOTALL,
            )
        )


if __name__ == "__main__":
    write()
