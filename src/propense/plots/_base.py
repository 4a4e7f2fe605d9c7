"""What the displays share: new axes if none are given."""

from typing import Any

from propense.errors import MissingExtra

__all__ = ["axes_or_new"]


def axes_or_new(ax: Any, **size: Any) -> Any:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra('Plots need matplotlib. Install it: pip install "propense[report]".') from None
    return pyplot.subplots(layout="constrained", **size)[1]
