"""Pages from templates, and the two files that go with them."""

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from starlette.responses import HTMLResponse, Response

from propense._text import harmless

__all__ = ["page", "static"]

_STATIC = {"page.css": "text/css", "page.js": "text/javascript"}


@cache
def _environment() -> jinja2.Environment:
    folder = files("propense.ui").joinpath("templates")
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["shown"] = lambda text: harmless(str(text))
    found.filters["day"] = lambda seconds: f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    found.filters["count"] = lambda number: f"{number:,}"
    return found


def page(template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of a template."""
    return HTMLResponse(_environment().get_template(template).render(values), status)


def static(name: str) -> Response | None:
    """The style or the script of all pages."""
    if name not in _STATIC:
        return None
    text = files("propense.ui").joinpath("static").joinpath(name).read_text(encoding="utf-8")
    return Response(text, media_type=_STATIC[name])
