"""Who spies, and the threshold they set."""

import numpy as np
import pytest

from propense._designs import as_design
from propense.estimators._inputs import Sample
from propense.estimators._spies import find_spies, spy_threshold


def make_sample(labelled, weights=None):
    return Sample(as_design(np.arange(float(len(labelled)))[:, None]), labelled, weights, None)


def test_spies_are_the_nearest_unlabelled():
    labelled = np.array([True, False, False, True, False, True])
    np.testing.assert_array_equal(find_spies(make_sample(labelled)), [1, 2, 4])


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
    spies = np.array([4, 5, 6, 7])
    assert spy_threshold(make_sample(labelled, weights), spies, log_odds, quantile) == expected
