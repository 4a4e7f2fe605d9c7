"""Who spies, and the threshold they set."""

import numpy as np
import pytest

from conftest import coarse
from propense import JERM
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.spies import Spies, find_spies, spy_threshold


def make_sample(labelled, weights=None):
    return Sample(as_design(np.arange(float(len(labelled)))[:, None]), labelled, weights, None)


def test_spies_are_the_nearest_unlabelled():
    labelled = np.array([True, False, False, True, False, True])
    np.testing.assert_array_equal(find_spies(make_sample(labelled)).rows, [1, 2, 4])


@pytest.mark.parametrize(
    ("quantile", "weights", "expected"),
    [
        (0.0, None, 1.0),
        (0.25, None, 1.0),
        (0.3, None, 2.0),
        (1.0, None, 4.0),
        (0.3, [2, 1, 1, 1], 1.0),
        (0.5, [1, 1, 1, 9], 4.0),
    ],
)
def test_threshold_is_the_smallest_value_with_enough_votes_below(quantile, weights, expected):
    labelled = np.repeat([True, False], 4)
    weights = None if weights is None else np.concatenate([weights, np.ones(4)])
    log_odds = np.array([0, 0, 0, 0, 1.0, 2.0, 3.0, 4.0])
    spies = Spies(np.array([4, 5, 6, 7]), labelled)
    assert spy_threshold(make_sample(labelled, weights), spies, log_odds, quantile) == expected


def test_a_sample_of_the_labelled_asks_for_spies(design_kind, rng):
    X, labelled = coarse(rng.normal(size=(60, 2))), rng.random(60) < 0.5
    design = design_kind(X)
    sample = Sample(design, design.send(labelled), None, None)
    every = np.full(60, -1)
    every[labelled] = find_spies(sample).rows
    drawn = [find_spies(sample, 14, seed) for seed in range(12)]
    for spies in drawn:
        queries = np.flatnonzero(design.bring(spies.queries))
        assert len(queries) == 14
        assert labelled[queries].all()
        np.testing.assert_array_equal(spies.rows, every[queries])
    # Each labelled row asks some time, none all the time.
    asked = np.sum([design.bring(spies.queries) for spies in drawn], axis=0)
    assert (asked[labelled] > 0).all()
    assert (asked < 12).all()


def test_a_sample_votes_for_itself(rng):
    labelled = np.repeat([True, False], 4)
    weights, log_odds = np.concatenate([[1, 9, 1, 1], np.ones(4)]), np.array([0, 0, 0, 0, 1.0, 2.0, 3.0, 4.0])
    spies = Spies(np.array([4, 6]), np.array([True, False, True, False] + [False] * 4))
    assert spy_threshold(make_sample(labelled, weights), spies, log_odds, 0.5) == 1.0
    assert spy_threshold(make_sample(labelled, weights), spies, log_odds, 0.6) == 3.0


def test_a_sample_of_everybody_is_no_sample(rng):
    X = rng.normal(size=(300, 2))
    s = (X[:, 0] > 0) & (rng.random(300) < 0.5)
    whole, sampled, small = (
        JERM(spy_sample=count, random_state=0).fit(X, s) for count in (None, int(s.sum()), int(s.sum()) // 4)
    )
    np.testing.assert_array_equal(sampled.coef_, whole.coef_)
    assert set(small.spies_) < set(whole.spies_)
    again = JERM(spy_sample=int(s.sum()) // 4, random_state=0).fit(X, s)
    np.testing.assert_array_equal(again.coef_, small.coef_)
