"""What the pages share: rendering a template, figures as SVG, and the versions of the software."""

import hashlib
import io
import platform
import warnings
from base64 import b64encode
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import propense
from propense._files import write_atomically
from propense.errors import InvalidOption, MissingExtra

__all__ = ["Figure", "Page", "check_extra", "render", "software", "to_svg"]


@dataclass(frozen=True)
class Figure:
    """A figure as SVG, with its title."""

    title: str
    svg: str


@dataclass(frozen=True)
class Page:
    """A whole HTML page. Notebooks show it.

    Attributes
    ----------
    html : str
    """

    html: str

    def write(self, path: Any) -> None:
        """Save the page as a file."""
        with write_atomically(Path(path), InvalidOption) as partial:
            partial.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # In a frame, so that the page's style does not affect the notebook.
        inner = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{inner}" style="width: 100%; height: 40rem; border: 0"></iframe>'


def check_extra() -> None:
    """Raise before any work if a package that pages need is not installed."""
    # Not imported: the page of a fit draws nothing with matplotlib, which takes as long as a small fit.
    for name in ("jinja2", "matplotlib"):
        if find_spec(name) is None:
            raise MissingExtra(f'Reports need {name}. Install it: pip install "propense[report]".')


def render(report: Any) -> Page:
    """The page of what `gather_fit` or `gather_study` collected."""
    check_extra()
    import jinja2

    folder = files("propense.report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shown = {each.name: getattr(report, each.name) for each in fields(report)}
    scripts = [folder.joinpath(name).read_text(encoding="utf-8") for name in report.scripts]
    shown |= {"scripts": scripts, "policy": _policy(scripts), "style": folder.joinpath("page.css").read_text("utf-8")}
    return Page(environment.get_template(report.template).render(shown))


def _policy(scripts: list[str]) -> str:
    """What a browser may do with the page: run these scripts and no others, and load nothing."""
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; base-uri 'none'; form-action 'none'"


def to_svg(title: str, display: Any) -> Figure:
    """Draw a display as an SVG element, without the header that only files need."""
    check_extra()
    from matplotlib import pyplot

    # Text as text, not as outlines: the file is smaller and the page can be searched.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "propense", "text.parse_math": False}
    with pyplot.rc_context(settings), warnings.catch_warnings():
        # Matplotlib warns of long names and of letters that the font lacks; the page is readable all the same.
        warnings.simplefilter("ignore", UserWarning)
        figure = display.plot().ax_.figure
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    text = out.getvalue()
    return Figure(title, text[text.index("<svg") :])


def software() -> str:
    """The versions of propense, its main libraries and Python."""
    libraries = (("propense", propense), ("numpy", np), ("scipy", scipy), ("scikit-learn", sklearn))
    return ", ".join(
        [*(f"{name} {library.__version__}" for name, library in libraries), f"Python {platform.python_version()}"]
    )
