"""The SCAR test on tables: large ones are sampled, and a note explains why the test was not run."""

from dataclasses import replace

import numpy as np
import pytest

from propense import SAREM, Naive
from propense.errors import InvalidOption
from propense.tables import FitOptions
from propense.tables.scar import run_scar_test

pytestmark = pytest.mark.usefixtures("few_simulations")
ASKED = FitOptions("reported", scar_test=True)


@pytest.mark.slow
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
def test_the_test_runs_if_it_is_quick_or_asked_for(rng, options, features, tested):
    result, notes = run_scar_test(options, Naive(), rng.normal(size=(9, features)), np.arange(9) < 3)
    assert (result is not None, notes) == (tested, [])


@pytest.mark.parametrize(
    ("shape", "labelled", "words"),
    [
        ((50, 101), 10, "with 101 features the test"),
        ((100_000, 1), 1, "none of the 2,000 sampled rows"),
    ],
)
def test_a_note_explains_why_labels_were_not_tested(shape, labelled, words):
    result, notes = run_scar_test(ASKED, Naive(), np.zeros(shape), np.arange(shape[0]) < labelled)
    assert result is None
    assert words in notes[0]


def test_a_prior_without_the_test_goes_into_the_fit_alone(rng):
    options = FitOptions("reported", scar_test=False, prior=0.3)
    assert run_scar_test(options, Naive(), rng.normal(size=(9, 2)), np.arange(9) < 3) == (None, [])


@pytest.mark.parametrize("prior", [0, -0.1, 1.1, np.nan, True, (0.2, 0.1), (0.1, 0.2, 0.3), "0.1"])
def test_a_prior_is_a_share_or_a_range(prior):
    with pytest.raises(InvalidOption, match="is not a share of the rows: above 0 and at most 1, or two such shares"):
        FitOptions("reported", prior=prior)


def test_chance_does_not_contradict_a_prior(rng):
    """A tenth of the rows are labelled, but an eighth of the sampled rows."""
    drawn = np.random.default_rng(0).choice(10_000, 2000, replace=False)
    others = np.setdiff1d(np.arange(10_000), drawn)
    labelled = np.isin(np.arange(10_000), [*drawn[:250], *others[:750]])
    options = FitOptions("reported", prior=0.1)
    X = rng.normal(size=(10_000, 1))
    result, _ = run_scar_test(options, Naive(), X, labelled)
    assert (result.labelled, result.prior) == (250, (0.125, 0.125))
    result, _ = run_scar_test(replace(options, prior=(0.11, 0.3)), Naive(), X, labelled)
    assert result.prior == (0.125, 0.3)


def test_without_propensity_features_there_is_nothing_to_test(rng):
    constant = SAREM(propensity_features=[])
    assert run_scar_test(ASKED, constant, rng.normal(size=(50, 2)), np.arange(50) < 9) == (None, [])
