"""What the pages share: a template, drawings inside them, and the versions that made them."""

import io
import platform
import warnings
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import propense
from propense.errors import MissingExtra

__all__ = ["Figure", "Page", "check_extra", "drawn", "render", "software"]


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, and what it shows."""

    title: str
    svg: str


@dataclass(frozen=True)
class Page:
    """A whole HTML page; notebooks show it.

    Attributes
    ----------
    html : str
    """

    html: str

    def write(self, path: Any) -> None:
        """Keep it as a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # In a frame of its own, so that its style does not reach the notebook's.
        inner = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{inner}" style="width: 100%; height: 40rem; border: 0"></iframe>'


def check_extra() -> None:
    """Say before any work what a page needs that is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"{error.name} is needed for reports. Install it: pip install 'propense[report]'.") from None


def render(template: str, report: Any) -> str:
    """A page from a template and a dataclass that holds all it shows."""
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
    return environment.get_template(template).render({each.name: getattr(report, each.name) for each in fields(report)})


def drawn(title: str, display: Any) -> Figure:
    """A display, drawn, as an SVG element without the header that only files need."""
    check_extra()
    from matplotlib import pyplot

    # Words as text, not outlines: smaller, and a page can be searched.
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "propense", "text.parse_math": False}
    with pyplot.rc_context(settings), warnings.catch_warnings():
        # A name too long or a letter the font lacks is no matter for the reader's terminal.
        warnings.simplefilter("ignore", UserWarning)
        figure = display.plot().ax_.figure
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    text = out.getvalue()
    return Figure(title, text[text.index("<svg") :])


def software() -> str:
    """The versions at work."""
    libraries = (("propense", propense), ("numpy", np), ("scipy", scipy), ("scikit-learn", sklearn))
    return ", ".join(
        [*(f"{name} {library.__version__}" for name, library in libraries), f"Python {platform.python_version()}"]
    )
