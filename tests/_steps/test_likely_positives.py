"""Who passes a threshold, where rows tie."""

import numpy as np
import pytest

from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._steps.learners import Learner
from propense._steps.likely_positives import fit_propensity_on, rows_above, rows_at_least, top_rows
from propense._steps.predictors import certain

LABELLED = np.array([True, False, False, False, False, False])
# Rows 1 to 3 are one row: their log-odds differ by the rounding of a product.
LOG_ODDS = np.array([9.0, 2.0, 2.0 + 3e-15, 2.0 - 3e-15, 2.1, -1.0])


def make_sample(labelled=LABELLED, weights=None):
    return Sample(as_design(np.arange(float(len(labelled)))[:, None]), labelled, weights, None)


@pytest.mark.parametrize("copy", [1, 2, 3])
def test_copies_of_the_threshold_go_together_whichever_sets_it(copy):
    sample = make_sample()
    np.testing.assert_array_equal(np.flatnonzero(rows_above(sample, LOG_ODDS, LOG_ODDS[copy])), [4])
    np.testing.assert_array_equal(np.flatnonzero(rows_at_least(sample, LOG_ODDS, LOG_ODDS[copy])), [1, 2, 3, 4])


def test_rows_a_little_apart_do_not_tie():
    np.testing.assert_array_equal(np.flatnonzero(rows_above(make_sample(), LOG_ODDS, 2.1 - 1e-6)), [4])
    assert not rows_at_least(make_sample(), LOG_ODDS, 2.1 + 1e-6).any()


def test_nothing_is_above_or_below_a_certain_negative():
    """e = 1 makes every h 0 and every log-odds −inf."""
    nobody = np.full(6, -np.inf)
    assert not rows_above(make_sample(), nobody, -np.inf).any()
    np.testing.assert_array_equal(rows_at_least(make_sample(), nobody, -np.inf), ~LABELLED)


@pytest.mark.parametrize(("weights", "best"), [(None, [3, 4]), ([1, 1, 1, 1, 2.0], [4]), ([1, 1, 1, 0.5, 1.5], [3, 4])])
def test_best_rows_are_taken_until_their_weight_is_enough(weights, best):
    labelled = np.array([True, False, False, False, False])
    log_odds = np.array([9.0, 1.0, 2.0, 3.0, 4.0])
    sample = make_sample(labelled, None if weights is None else np.array(weights))
    np.testing.assert_array_equal(np.flatnonzero(top_rows(sample, log_odds, 2.0)), best)


def test_with_nobody_likely_every_positive_is_labelled():
    propensity, converged = fit_propensity_on(make_sample(), np.zeros(6, dtype=bool), Learner(), certain(2))
    assert converged
    np.testing.assert_array_equal(propensity.coef, [np.inf, 0])
