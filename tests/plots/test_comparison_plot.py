"""The figure of a comparison."""

import numpy as np
import pytest
from matplotlib import pyplot

from propense.plots import ComparisonDisplay
from propense.tables import compare_table
from propense.tables.compare import Comparison, MethodResult


def test_estimates_ranges_and_lists_are_drawn(clinic):
    found = compare_table(clinic, "reported", id="patient", methods=["pu-linear", "pglin", "oracle"], top=40)
    display = ComparisonDisplay(found).plot()
    assert [each.get_text() for each in display.ax_.get_yticklabels()] == ["pu-linear", "pglin"]
    first = found.results[0]
    spans = [line.get_xdata() for line in display.ax_.lines if len(line.get_xdata()) == 2]
    assert any(span == pytest.approx([100 * first.low, 100 * first.high]) for span in spans)
    assert f"{100 * found.overlap[0, 1]:.0f}" in [text.get_text() for text in display.ax_list_.texts]
    alone = ComparisonDisplay(found).plot(ax=pyplot.subplots()[1])
    assert alone.ax_list_ is None


def test_a_name_is_not_read_as_mathematics():
    results = (MethodResult("my.$\\frac{1", 0.3), MethodResult("b", failure="It broke."))
    empty = np.full((2, 2), np.nan)
    found = Comparison(results, 100, 10, 100, 10, empty, empty, empty, np.array([], dtype=np.intp))
    display = ComparisonDisplay(found).plot()
    display.ax_.figure.canvas.draw()
    assert display.ax_list_ is None
