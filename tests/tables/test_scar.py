"""The test of labels at random on tables: a sample of large ones, and a word where it is left out."""

import numpy as np
import pytest

from propense import SAREM, Naive
from propense.errors import InvalidOption
from propense.tables import Choices
from propense.tables.scar import check_asked, labels_at_random

ASKED = Choices("reported", scar_test=True)


def test_large_tables_are_sampled(rng):
    X = rng.normal(size=(2500, 2))
    result, notes = labels_at_random(ASKED, Naive(), X, rng.random(2500) < 0.3)
    assert (result.rows, notes) == (2000, [])


@pytest.mark.parametrize(
    ("choices", "features", "tested"),
    [
        (Choices("reported"), 2, True),
        (Choices("reported"), 31, False),
        (Choices("reported", prior=0.6), 31, True),
        (Choices("reported", scar_test=False), 2, False),
    ],
)
def test_what_is_quick_is_tested_unless_it_is_not_wanted(rng, choices, features, tested):
    result, notes = labels_at_random(choices, Naive(), rng.normal(size=(9, features)), np.arange(9) < 3)
    assert (result is not None, notes) == (tested, [])


@pytest.mark.parametrize(
    ("shape", "labelled", "words"),
    [((50, 101), 10, "with 101 features it would take too long"), ((100_000, 1), 1, "2,000 rows drawn are all alike")],
)
def test_what_cannot_be_tested_is_said(shape, labelled, words):
    result, notes = labels_at_random(ASKED, Naive(), np.zeros(shape), np.arange(shape[0]) < labelled)
    assert result is None
    assert words in notes[0]


def test_a_prior_for_nothing_is_refused():
    with pytest.raises(InvalidOption, match="--scar-test"):
        check_asked(Choices("reported", scar_test=False, prior=0.3))


def test_chance_does_not_contradict_a_prior(rng):
    """A tenth of the rows is labelled, and an eighth of those that are drawn."""
    drawn = np.random.default_rng(0).choice(10_000, 2000, replace=False)
    others = np.setdiff1d(np.arange(10_000), drawn)
    labelled = np.isin(np.arange(10_000), [*drawn[:250], *others[:750]])
    choices = Choices("reported", prior=0.1)
    result, _ = labels_at_random(choices, Naive(), rng.normal(size=(10_000, 1)), labelled)
    assert (result.labelled, result.prior) == (250, (0.125, 0.125))


def test_columns_that_e_may_not_depend_on_leave_nothing_to_test(rng):
    constant = SAREM(propensity_features=[])
    assert labels_at_random(ASKED, constant, rng.normal(size=(50, 2)), np.arange(50) < 9) == (None, [])
