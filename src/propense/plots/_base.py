"""What the displays share: axes when none are given."""

from typing import Any

from propense.errors import MissingExtra

__all__ = ["axes_or_new"]


def axes_or_new(ax: Any, **size: Any) -> Any:
    """The axes to draw on; new ones where the user has none."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("matplotlib is needed to draw. Install it: pip install 'propense[report]'.") from None
    return pyplot.subplots(layout="constrained", **size)[1]
