"""The test of labels at random on tables: a sample of large ones, and a word where it is left out."""

import numpy as np
import pytest

from propense import SAREM, Naive
from propense.errors import InvalidOption
from propense.tables import FitOptions
from propense.tables.scar import run_scar_test

ASKED = FitOptions("reported", scar_test=True)


def test_large_tables_are_sampled(rng):
    X = rng.normal(size=(2500, 2))
    result, notes = run_scar_test(ASKED, Naive(), X, rng.random(2500) < 0.3)
    assert (result.rows, notes) == (2000, [])


@pytest.mark.parametrize(
    ("options", "features", "tested"),
    [
        (FitOptions("reported"), 2, True),
        (FitOptions("reported"), 31, False),
        (FitOptions("reported", prior=0.6), 31, True),
        (FitOptions("reported", scar_test=False), 2, False),
    ],
)
def test_what_is_quick_is_tested_unless_it_is_not_wanted(rng, options, features, tested):
    result, notes = run_scar_test(options, Naive(), rng.normal(size=(9, features)), np.arange(9) < 3)
    assert (result is not None, notes) == (tested, [])


@pytest.mark.parametrize(
    ("shape", "labelled", "words"),
    [
        ((50, 101), 10, "with 101 features the test"),
        ((100_000, 1), 1, "none of the 2,000 sampled rows"),
    ],
)
def test_what_cannot_be_tested_is_said(shape, labelled, words):
    result, notes = run_scar_test(ASKED, Naive(), np.zeros(shape), np.arange(shape[0]) < labelled)
    assert result is None
    assert words in notes[0]


def test_a_prior_for_nothing_is_refused():
    with pytest.raises(InvalidOption, match=r"prior=0\.3 is used only by the test that scar_test=False switches off"):
        FitOptions("reported", scar_test=False, prior=0.3)


def test_chance_does_not_contradict_a_prior(rng):
    """A tenth of the rows is labelled, and an eighth of those that are drawn."""
    drawn = np.random.default_rng(0).choice(10_000, 2000, replace=False)
    others = np.setdiff1d(np.arange(10_000), drawn)
    labelled = np.isin(np.arange(10_000), [*drawn[:250], *others[:750]])
    options = FitOptions("reported", prior=0.1)
    result, _ = run_scar_test(options, Naive(), rng.normal(size=(10_000, 1)), labelled)
    assert (result.labelled, result.prior) == (250, (0.125, 0.125))


def test_columns_that_e_may_not_depend_on_leave_nothing_to_test(rng):
    constant = SAREM(propensity_features=[])
    assert run_scar_test(ASKED, constant, rng.normal(size=(50, 2)), np.arange(50) < 9) == (None, [])
