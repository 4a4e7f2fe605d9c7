"""The benchmark of the methods of others: figures that take no long time are met here, too."""

from dataclasses import replace

import pytest

import rivals
from rival_figures import FIGURES


def test_every_rival_has_a_figure():
    named = {figure.rival.replace("-", "").replace(" and ", "").lower() for figure in FIGURES}
    assert named == {name.lower() for name in rivals.__all__}


@pytest.mark.slow
@pytest.mark.parametrize(
    "figure", [each for each in FIGURES if each.quick], ids=lambda each: f"{each.rival}, {each.what}"
)
def test_published_figures_are_met_unless_the_benchmark_says_why_not(figure):
    ours = figure.measure()
    assert len(ours) == len(figure.published)
    assert figure.met(ours) is (not figure.why_not)


def test_a_figure_is_met_only_if_each_of_its_values_is():
    figure = replace(FIGURES[0], published=(0.5, 0.25), tolerance=0.01)
    assert figure.met([0.505, 0.245])
    assert not figure.met([0.5, 0.27])
    row = figure.row([0.5, 0.27], 1.6)
    assert row.endswith("| 0.500, 0.250 | 0.500, 0.270 | 0.01 | no | 2 |")
