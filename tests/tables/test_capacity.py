"""How many rows to review: the same sums as a promise, for lists of every length."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from audited import FACTS
from clinic import make_clinic
from propense import Naive, PUClassifier
from propense._diagnostics.doubts import Doubt
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption
from propense.estimators._corrected import with_audit
from propense.tables import capacity, fit_table, headline, list_rows, summarise_estimator

ASKED = {"id": "patient", "scar_test": False}
# One learner out of fold: what is tested comes after the learning.
QUICK = {"learners": [LogisticRegression()], "cv": 2}


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", **ASKED, parameters=QUICK)


@pytest.fixture(scope="module")
def audited():
    data = make_double_logistic(800, 4, random_state=1)
    model = PUClassifier(learners="linear", random_state=0).fit(data.X, data.labelled)
    return summarise_estimator(with_audit(model, FACTS, 0.6), data.X, data.labelled)


@pytest.mark.parametrize("length", [1, 40, 453])
def test_every_length_promises_what_a_list_of_it_does(found, audited, length):
    for fitted in (found, audited):
        curves, listed = capacity(fitted), list_rows(fitted, length)
        said = curves.at(length)
        assert said.rows == listed.promise.rows
        assert (said.expected, said.low, said.high) == pytest.approx(
            (listed.promise.expected, listed.promise.low, listed.promise.high)
        )
        assert str(said) == str(listed.promise)
        np.testing.assert_array_equal(curves.rows[:length], listed.rows)
    assert "in 95 of 100 cases" in str(capacity(audited).at(40))


def test_a_longer_list_never_finds_less(found, audited):
    for fitted in (found, audited):
        curves = capacity(fitted)
        assert curves.lengths[0] == 0
        assert curves.lengths[-1] == curves.unlabelled == (~fitted.labelled).sum()
        for each in (curves.low, curves.expected, curves.high):
            assert (np.diff(each) >= 0).all()
            assert each[0] == 0
        assert (curves.low <= curves.expected + 1e-9).all()
        assert (curves.expected <= curves.high + 1e-9).all()


def test_the_rows_to_review_are_where_the_curves_reach_the_number(found):
    curves = capacity(found)
    for count in (1, 10, 37):
        low, expected, high = curves.to_find(count)
        assert curves.expected[expected] >= count - 1e-9 > curves.expected[expected - 1]
        assert curves.high[low] >= count - 1e-9 > curves.high[low - 1]
        assert low <= expected
        assert high is None or curves.low[high] >= count - 1e-9 > curves.low[high - 1]
    assert curves.to_find(0) == (0, 0, 0)
    assert curves.to_find(10_000) == (None, None, None)
    assert curves.about_count(10_000) == "10,000 positives cannot be expected: all 453 unlabelled rows hold fewer."
    assert [row.positives for row in curves.table()] == [10, 20, 50, 100]
    assert all(row[1:] == curves.to_find(row.positives) for row in curves.table())
    for row in curves.table():
        assert f"{row.expected:,} rows" in str(curves)
    low, expected, high = curves.to_find(10)
    most = f"all {high}" if high == curves.unlabelled else high
    assert f"To find 10 positives, expect to review {expected} rows ({low} to {most})." in str(curves)


def test_no_list_contradicts_the_number_of_positives_of_the_headline(found, clinic):
    known = fit_table(clinic, "reported", **ASKED, prior=(0.4, 0.5), parameters=QUICK)
    exact = fit_table(clinic, "reported", **ASKED, prior=0.5, parameters=QUICK)
    for fitted in (found, known, exact):
        quoted, curves = headline(fitted), capacity(fitted)
        least, most = quoted.low - quoted.labelled, quoted.high - quoted.labelled
        assert curves.high.max() <= most + 1e-9
        every = list_rows(fitted, curves.unlabelled).promise
        assert (every.low, every.high) == pytest.approx((curves.at(curves.unlabelled).low, curves.high[-1]))
        assert (every.low, every.high) == pytest.approx((least, most))
        assert curves.low.max() <= least + 1e-9
        # What is surely among all unlabelled rows is found by reviewing all of them, at the latest.
        assert curves.to_find(int(least))[2] is not None
        assert curves.to_find(int(most) + 2)[0] is None
    few = int(headline(known).low - headline(known).labelled)
    assert f"to all {capacity(known).unlabelled})." in capacity(known).about_count(few)
    # The sums of the ranges of the rows say less.
    ends = known.scores.hidden_range[~known.labelled].sum(axis=0)
    assert ends[0] < few < headline(known).high - headline(known).labelled < ends[1]


def test_the_cheapest_list_ends_where_a_review_is_no_longer_worth_it(found):
    curves = capacity(found)
    for miss, alarm in ((5.0, 1.0), (1.0, 1.0), (1.0, 4.0)):
        length, cut, (low, high) = curves.cheapest(miss, alarm)
        costs = alarm * (curves.lengths - curves.expected) + miss * (curves.expected[-1] - curves.expected)
        assert costs[length] == costs.min()
        assert cut == pytest.approx(alarm / (miss + alarm))
        assert low <= length <= high
        # Lists are ordered by the chance of being positive here, so a row beyond the cut is not worth a review.
        assert curves.hidden[:length].mean() >= cut or not length
    assert curves.cheapest(10, 2)[:2] == curves.cheapest(5, 1)[:2]
    lengths = [curves.cheapest(miss, 1.0).length for miss in (0.2, 1, 3, 10, 1000)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == curves.unlabelled
    for wrong in (0, -1.0, np.nan, np.inf, "5"):
        with pytest.raises(InvalidOption, match="must be a number above 0"):
            curves.cheapest(wrong, 1.0)
    with pytest.raises(InvalidOption, match="is not a number of rows"):
        curves.at(-1)


def test_no_number_is_given_where_too_little_was_learned(found, clinic):
    doubted = replace(found, estimator=PUClassifier())
    doubted.estimator.__dict__.update(vars(found.estimator))
    doubted.estimator.doubts_ = (Doubt("few_labels", "Few labels."),)
    seen = fit_table(clinic, "reported", **ASKED, method="pglin")
    naive = fit_table(clinic, "reported", **ASKED, method="naive")
    sampled = replace(found, counts=replace(found.counts, rows=10**6))
    for fitted, why in (
        (doubted, "too little was learned"),
        (seen, "was fitted to them"),
        (naive, "treats unlabelled rows as negatives"),
        (sampled, "only a sample of the rows"),
    ):
        curves = capacity(fitted)
        assert why in curves.unpromised
        assert why in str(curves)
        assert why in str(curves.at(10))
        assert why in curves.about_length(10)
        assert curves.to_find(5) == (None, None, None)
        assert curves.table() == []
        assert len(curves.expected) == 0
        with pytest.raises(InvalidOption, match=why):
            curves.cheapest(1, 1)
        # Not a digit of a promise.
        assert not any(sign.isdigit() for sign in str(curves))
    assert isinstance(naive.estimator, Naive)


@pytest.mark.slow
def test_the_rows_that_had_to_be_reviewed_are_in_the_range():
    """In drawn worlds the range holds about as often as that of a promise: eight times in ten, and more."""
    held = []
    for seed in range(4):
        table, positive = make_clinic(800, seed)
        curves = capacity(fit_table(table, "reported", **ASKED, parameters={"cv": 2}))
        hits = np.cumsum(positive[curves.rows])
        for share in (0.25, 0.5):
            count = int(hits[-1] * share)
            low, _, high = curves.to_find(count)
            needed = int(np.searchsorted(hits, count)) + 1
            held.append(low <= needed <= (np.inf if high is None else high))
    assert np.mean(held) >= 0.8
