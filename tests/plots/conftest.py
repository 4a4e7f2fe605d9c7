"""What the tests of displays share."""

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    """Every figure closed after its test."""
    yield
    matplotlib.pyplot.close("all")
