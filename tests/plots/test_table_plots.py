"""Displays of tables show the numbers they were given."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense import JERM, PGLin, PUClassifier
from propense.datasets import make_double_logistic
from propense.inference import ScarTest
from propense.plots import (
    CapacityDisplay,
    GroupDisplay,
    PrevalenceDisplay,
    PropensityCurveDisplay,
    ReviewDisplay,
    ScarDisplay,
)
from propense.tables import Group, Grouping, Promise, capacity, compare_groups, summarise_estimator
from propense.tables.promise import add_up


@pytest.fixture(scope="module")
def model():
    data = make_double_logistic(400, 4, random_state=0)
    return JERM().fit(data.X, data.labelled), data


def test_rows_are_labelled_hidden_or_neither(model):
    fitted, data = model
    display = PrevalenceDisplay.from_estimator(fitted, data.X, data.labelled)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert sum(widths) == pytest.approx(400)
    assert widths[0] == data.labelled.sum()
    assert widths[0] + widths[1] == pytest.approx(400 * fitted.prior_)


def test_groups_show_how_often_they_are_labelled_with_ranges():
    groups = Group("f", 900, 240, 400.0), Group("m", 800, 80, 400.0), Group("(missing)", 20, 1, 4.0)
    grouping = Grouping("sex", groups)
    comparison = compare_groups([grouping])[0]
    display = GroupDisplay(grouping).plot()
    dots, *_ = display.ax_.containers[0].lines
    assert dots.get_xdata().tolist() == [share.ratio for share in comparison.groups[:2]]
    (ranges,) = display.ax_.containers[0].lines[2]
    for segment, share in zip(ranges.get_segments(), comparison.groups[:2], strict=True):
        np.testing.assert_allclose(segment[:, 0], [share.ratio_low, share.ratio_high])
    # The group of four positives is left out.
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["f (900)", "m (800)"]
    assert display.ax_.lines[-1].get_xdata()[0] == 1
    pair = Grouping("sex", (Group("f", 10, 4, 8.0), Group("m", 10, 1, 4.0)))
    # Over the positives: eight at .5 and four at .25.
    assert pair.spread == pytest.approx(np.std([0.5] * 8 + [0.25] * 4))


def test_the_curve_is_the_mean_over_positives():
    values = np.array([1.0, 2.0, np.nan, 3.0, 4.0])
    display = PropensityCurveDisplay(values, [0.2, 0.4, 0.9, 0.6, 0.8], [1.0, 3.0, 1.0, 0.0, 1.0], parts=2).plot()
    np.testing.assert_allclose(display.x, [(1 + 6) / 4, 4.0])
    np.testing.assert_allclose(display.propensity, [(0.2 + 1.2) / 4, 0.8], atol=1e-9)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), display.propensity)


def test_expected_hits_add_up(model):
    fitted, data = model
    rows = data.X[~data.labelled]
    display = ReviewDisplay.from_estimator(fitted, rows)
    hidden = np.sort(fitted.predict_hidden(rows))[::-1]
    assert display.hits[10] == pytest.approx(hidden[:10].sum())
    assert display.ax_.lines[0].get_ydata()[-1] == pytest.approx(hidden.sum())


def test_simulated_labels_stand_beside_the_real_ones():
    simulated = np.array([1.0, 2.0, 2.5, 3.0])
    display = ScarDisplay(ScarTest(0.4, 2.75, simulated, 0.5, 0.4, 100, 20, None, 0.8)).plot()
    assert sum(bar.get_height() for bar in display.ax_.patches) == len(simulated)
    assert display.ax_.lines[0].get_xdata()[0] == 2.75


def test_the_bar_of_rows_shows_the_range(model):
    display = PrevalenceDisplay(400, 100, 180.0, positives_range=(90.0, 250.0)).plot()
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert words == [
        "labelled: 100",
        "probably positive, unlabelled: 80 (0 to 150)",
        "probably negative: 220 (150 to 300)",
    ]
    # Labelled rows are positive, so the range begins there.
    assert display.ax_.lines[0].get_xdata().tolist() == [100, 250]
    fitted, data = model
    assert PrevalenceDisplay.from_estimator(fitted, data.X, data.labelled).positives_range is None


def test_the_bar_of_an_estimator_is_of_models_that_have_not_seen_the_rows():
    data = make_double_logistic(400, 4, random_state=0)
    fitted = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(data.X, data.labelled)
    display = PrevalenceDisplay.from_estimator(fitted, data.X, data.labelled)
    assert display.positives == pytest.approx(400 * fitted.prior_)
    found = fitted.diagnosis_
    assert display.positives_range == (400 * found.low, 400 * found.high)


def test_the_yield_of_a_list_is_shown_with_its_range(rng):
    hidden = rng.random(50)
    ends = np.column_stack([hidden / 2, (1 + hidden) / 2])
    order = rng.random(50)
    display = ReviewDisplay(hidden, order=order, hidden_range=ends).plot()
    for k in (1, 20, 50):
        rows = np.argsort(-order)[:k]
        promise = Promise.of(add_up(hidden[rows], ends[rows]))
        shown = display.hits[k], display.ends[0][k], display.ends[1][k]
        np.testing.assert_allclose(shown, (promise.expected, promise.low, promise.high), rtol=1e-12)
    assert "range" in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert ReviewDisplay(hidden).plot().ends is None


def test_a_capacity_is_drawn_with_its_range_and_what_to_expect_of_a_length():
    data = make_double_logistic(400, 4, random_state=0)
    fitted = PUClassifier(learners=[LogisticRegression()], cv=2, random_state=0).fit(data.X, data.labelled)
    found = capacity(summarise_estimator(fitted, data.X, data.labelled))
    display = CapacityDisplay(found, length=40).plot()
    expected = display.ax_.lines[0]
    np.testing.assert_allclose(expected.get_ydata()[-1], found.expected[-1])
    promise = found.at(40)
    words = f"40 rows: {promise.expected:,.0f} ({promise.low:,.0f} to {promise.high:,.0f})"
    assert words in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    seen = PGLin().fit(data.X, data.labelled)
    silent = CapacityDisplay(capacity(summarise_estimator(seen, data.X, data.labelled))).plot()
    assert not silent.ax_.lines
    assert "No numbers" in silent.ax_.texts[0].get_text()
