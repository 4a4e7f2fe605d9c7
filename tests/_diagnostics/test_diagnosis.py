"""What a diagnosis says follows from its numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

from propense._diagnostics.diagnosis import LEVELS, Diagnosis
from propense.errors import InvalidOption

SHARES = tuple(np.linspace(0.1, 0.59, 99).tolist())
LEARNERS = {"logistic regression": 0.71, "boosted trees": 0.78}
FOUND = Diagnosis("learned", SHARES, 0.33, 0.05, 321.4, False, LEARNERS)
POINT = replace(FOUND, shares=(0.25,) * 99, middle=0.25, moved={"all rows": (0.32, 0.25)})
COMPLETE = replace(FOUND, labelling="complete", shares=(0.4,) * 99, middle=0.4)


def test_ranges_are_quantiles_and_each_is_within_the_next():
    assert FOUND.range(0.9) == (FOUND.low, FOUND.high) == pytest.approx((0.12, 0.57))
    assert FOUND.range(0.0) == pytest.approx((0.345, 0.345))
    lows, highs = np.transpose([FOUND.range(level) for level in (0.0, 0.3, 0.5, 0.9, 0.98)])
    assert (np.diff(lows) <= 0).all()
    assert (np.diff(highs) >= 0).all()
    assert LEVELS[49] == 0.5
    for level in (-0.1, 0.99, 90, float("nan")):
        with pytest.raises(InvalidOption, match=r"between 0 and 0\.98"):
            FOUND.range(level)


def test_the_summary_says_what_is_certain_the_range_and_the_middle():
    said = str(FOUND)
    assert "At least 5.0% of the rows are positive" in said
    assert "In 9 of 10 worlds whose labels look like these, 12% to 57% are. The middle is 33%." in said
    for labelling, word in (("named", "named"), ("random", "at random")):
        assert word in str(replace(FOUND, labelling=labelling))
    details = FOUND.details()
    for part in (said, "in 50% of them: 22.0% to 47.0%", "from 321 worlds", "boosted trees: 0.78."):
        assert part in details


def test_a_share_that_was_given_is_no_range():
    assert POINT.is_given
    assert not FOUND.is_given
    assert "Share of positive rows, as it was given: 25.0%." in str(POINT)
    assert "9 of 10" not in POINT.details()


def test_where_every_class_is_known_there_is_no_range():
    assert "The class of every row is known: 40.0% are positive." in str(COMPLETE)
    assert not COMPLETE.is_given
    assert all(math.isnan(each) for each in (COMPLETE.low, COMPLETE.high))


def test_groups_are_said_by_name_and_all_rows_are_not_one():
    moved = {"f": (0.2, 0.3), "m": (0.5, 0.4)}
    assert "f 30.0% (20.0%), m 40.0% (50.0%)" in str(replace(FOUND, moved=moved))
    assert "By group" not in str(POINT)
    assert "By group" in str(replace(FOUND, moved={"f": (0.2, 0.3)}))


def test_what_was_not_learned_is_said_with_the_way_out():
    missing = replace(FOUND, missing="X is sparse. Pass a dense array")
    assert str(missing).endswith("no curves: X is sparse. Pass a dense array.")
    assert "Only logistic regression" not in str(FOUND)


def test_facts_of_a_diagnosis_are_told_from_others():
    for found in (FOUND, POINT, COMPLETE):
        assert Diagnosis.is_valid(vars(found))
    for wrong in (
        {"labelling": "rising"},
        {"shares": SHARES[:-1]},
        {"shares": list(SHARES)},
        {"shares": (*SHARES[:-1], math.nan)},
        {"shares": (*SHARES[:-1], "much")},
        {"labelled": math.inf},
        {"middle": None},
        {"worlds": None},
        {"strange": 1},
        {"learners": {"trees": "good"}},
        {"learners": ["trees"]},
        {"missing": "a\nb"},
        {"missing": "long " * 100},
        {"moved": {"f": (0.1,)}},
        {"moved": {"f": (0.1, math.nan)}},
        {"moved": {1: (0.1, 0.2)}},
        {"colour": 1.0},
    ):
        assert not Diagnosis.is_valid({**vars(FOUND), **wrong})
    assert not Diagnosis.is_valid(SHARES)
