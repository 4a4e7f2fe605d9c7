"""`propense serve`: the job of the command line on a local page."""

from propense.errors import MissingExtra

__all__ = ["check_extra"]


def check_extra() -> None:
    """Raise before any work if a package that the pages need is not installed."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f'propense serve needs {error.name}. Install it: pip install "propense[ui]".') from None
