"""Displays show the numbers they were given."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import friedmanchisquare

from propense import SAREM
from propense.datasets import make_double_logistic
from propense.plots import FrequencyDisplay, PropensityDisplay, RankDisplay, RiskPathDisplay
from propense.study.compare import published
from propense.study.significance import Ranking, rank_methods
from propense.study.summaries import Summary


@pytest.fixture(scope="module")
def model():
    data = make_double_logistic(400, 4, random_state=0)
    return SAREM().fit(data.X, data.labelled), data


def test_propensities_are_drawn_against_the_truth(model):
    fitted, data = model
    display = PropensityDisplay.from_estimator(fitted, data.X, data.propensity)
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([data.propensity, fitted.predict_propensity(data.X)]))
    error = np.abs(data.propensity - fitted.predict_propensity(data.X)).mean()
    assert display.ax_.get_title() == f"mean absolute error {error:.3f}"


def test_the_risk_path_is_drawn_round_by_round(model):
    fitted, _ = model
    line = RiskPathDisplay.from_estimator(fitted).ax_.lines[0]
    np.testing.assert_array_equal(line.get_ydata(), fitted.risk_path_)
    assert line.get_xdata()[0] == 1


def test_given_axes_are_used(model):
    axes = pyplot.subplots()[1]
    assert RiskPathDisplay.from_estimator(model[0], ax=axes).ax_ is axes


def test_accuracy_is_drawn_against_the_frequency_in_order():
    display = FrequencyDisplay.from_summaries(published()[::-1], "segment", "S4")
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert set(lines) == {"oracle", "naive", "sar-em-published", "lbe-published", "pglin", "tm", "jerm"}
    assert lines["jerm"].get_xdata().tolist() == [0.3, 0.5, 0.7]
    truth = {
        each.frequency: each.mean
        for each in published()
        if (each.dataset, each.mechanism, each.method) == ("segment", "S4", "jerm")
    }
    assert lines["jerm"].get_ydata().tolist() == [truth[0.3], truth[0.5], truth[0.7]]


def test_methods_not_told_apart_are_joined():
    ranking = Ranking({"a": 1.0, "b": 1.4, "c": 1.9, "d": 3.5, "e": 4.6}, 20, 0.001, 1.0, 0.05)
    display = RankDisplay(ranking).plot()
    assert display.groups_ == [["a", "b", "c"]]
    bars = [line for line in display.ax_.lines if line.get_linewidth() == 3]
    assert bars[0].get_xdata().tolist() == [1.0, 1.9]
    assert RankDisplay(Ranking({"a": 1.0, "b": 1.6, "c": 2.4}, 9, 0.1, 1.0, 0.05)).plot().groups_ == [
        ["a", "b"],
        ["b", "c"],
    ]


def test_ranks_of_the_paper():
    """JERM and LBE lead over the paper's 240 problems, NAIVE is last, and chance does not explain it."""
    ranking = rank_methods(published())
    assert ranking.problems == 240
    order = sorted(ranking.ranks, key=ranking.ranks.get)
    assert order[0] == "naive"
    assert set(order[-2:]) == {"jerm", "lbe-published"}
    assert sum(ranking.ranks.values()) == pytest.approx(21.0)
    methods = list(ranking.ranks)
    table = [[each.mean for each in published() if each.method == method] for method in methods]
    assert ranking.p_value == pytest.approx(friedmanchisquare(*table).pvalue)
    assert RankDisplay.from_summaries(published()).ax_.get_xlabel().startswith("average rank over 240 problems")


def test_the_critical_difference_is_demsars():
    """Demšar 2006, section 3.2.2: four methods on 14 sets, level 0.05, CD = 1.25."""
    rows = [
        Summary(f"d{i}", "S1", 0.5, m, float((i * 7 + j * 3) % 5), 0.0, 1)
        for i in range(14)
        for j, m in enumerate("abcd")
    ]
    assert rank_methods(rows).critical_difference == pytest.approx(1.25, abs=0.01)


@pytest.mark.slow
def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, propense.plots; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
