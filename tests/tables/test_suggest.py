"""Columns whose names speak of being looked at are suggested, with the reason, and never chosen."""

import numpy as np
import pyarrow as pa
import pytest

from propense import SAREM
from propense.report import gather_fit
from propense.tables import Suggestion, fit_table, suggest_columns, summarise_estimator
from propense.tables.suggest import _spoken_of

OPTIONS = {"learners": "linear", "scar_test": False}


def survey(rng, n=1500, **names):
    """Illness by age and bmi; a diagnosis needs visits and insurance. `names` are other names of the columns."""
    age, bmi, visits = rng.normal(50, 15, n), rng.normal(27, 5, n), rng.poisson(3, n).astype(float)
    insured, region = rng.random(n) < 0.7, rng.choice(["north", "south", "east"], n)
    ill = rng.random(n) < 1 / (1 + np.exp(-(0.08 * (age - 50) + 0.15 * (bmi - 27))))
    told = ill & (rng.random(n) < 1 / (1 + np.exp(2.5 - 0.6 * visits - insured)))
    columns = {"age": age, "bmi": bmi, "visits": visits, "insured": insured, "region": region, "told": told}
    return pa.table({names.get(name, name): values for name, values in columns.items()})


@pytest.mark.slow
def test_columns_are_suggested_by_their_names_if_they_move_the_labels(rng):
    found = fit_table(survey(rng), "told", **OPTIONS)
    suggestion = suggest_columns(found)
    # The region has the name, but no say in the labels.
    assert suggestion.columns == ["visits", "insured"]
    words = str(suggestion)
    assert "visits (contact with those who look), insured (access)" in words
    assert "If you agree: --propensity-features visits,insured (and --class-features age,bmi,region, if being" in words
    assert found.estimator.propensity_features is None
    # The page asks the same; how to answer on the command line is not for its readers.
    assert words.partition(" If you agree:")[0] in gather_fit(found, "survey").learned


def test_a_column_that_moves_the_labels_is_not_suggested_without_a_name(rng):
    """The labels alone cannot choose: age moves them most of all."""
    assert suggest_columns(fit_table(survey(rng, visits="x", insured="z"), "told", **OPTIONS)) is None


@pytest.mark.parametrize(
    "named", [{"propensity_features": ["visits"]}, {"class_features": ["age", "bmi"]}, {"propensity_features": []}]
)
def test_nothing_is_suggested_to_those_who_named_columns(rng, named):
    assert suggest_columns(fit_table(survey(rng), "told", **OPTIONS, **named)) is None


def test_who_looked_is_suggested_and_not_taken_for_the_class(rng):
    """A column of many people who find different shares of the positives, as of adjusters of claims."""
    n = 3000
    amount, adjuster = rng.normal(size=n), rng.integers(0, 30, n)
    found = rng.random(n) < 1 / (1 + np.exp(-2 * amount)) * np.linspace(0, 0.9, 30)[adjuster]
    names = [f"A{number:02}" for number in adjuster]
    table = pa.table({"amount": amount, "Adjuster": names, "found": found})
    suggestion = suggest_columns(fit_table(table, "found", **OPTIONS))
    assert (suggestion.columns, suggestion.others) == (["Adjuster"], ("amount",))


def test_nothing_is_suggested_where_a_method_could_not_use_it(rng):
    for method in ("naive", "pglin"):
        assert suggest_columns(fit_table(survey(rng), "told", method=method, scar_test=False)) is None
    assert suggest_columns(fit_table(survey(rng), "told", method="sar-em", scar_test=False)) is not None


@pytest.mark.slow
def test_labels_that_depend_on_nothing_suggest_nothing():
    """Once in a hundred tests, at most."""
    suggested = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = survey(rng, 400)
        table = table.set_column(5, "told", pa.array(rng.random(400) < 0.3))
        suggested += suggest_columns(fit_table(table, "told", **OPTIONS)) is not None
    # Three columns, each at .01: 0.6 of 20 are expected.
    assert suggested <= 3


def test_arrays_get_the_argument_instead_of_the_option(rng):
    frame = survey(rng).to_pandas()
    X, s = frame[["age", "bmi", "visits"]], frame["told"]
    suggestion = suggest_columns(summarise_estimator(SAREM(tol=1e-3).fit(X, s), X, s))
    assert "If you agree: propensity_features=['visits'] (and class_features=['age', 'bmi'], if" in str(suggestion)
    assert suggest_columns(summarise_estimator(SAREM(tol=1e-3).fit(X.to_numpy(), s), X.to_numpy(), s)) is None


def test_odd_names_can_be_pasted():
    assert "agree: --propensity-features 'visits per year' (and" in str(Suggestion(["visits per year"], ["time"]))
    assert "put it in --propensity-features, not in --class-features." in str(Suggestion(["ward"], ["place"]))
    assert "put it in propensity_features, not in class_features." in str(Suggestion(["ward"], ["place"], False))
    several = Suggestion(["visits, all", "ward"], ["time", "place"])
    assert "agree: --propensity-features 'visits, all' --propensity-features ward (and" in str(several)


SPOKEN = {
    "visits": True,
    "n_visits": True,
    "VisitCount": True,
    "GPVisits": True,
    "region code": True,
    "year": True,
    "year_of_birth": False,
    "birthYear": False,
    "visitation": False,
    "regional": False,
    "age": False,
    "usage": False,
    "": False,
    "Ärztin": False,
    # Who looked, in several fields.
    "Adjuster": True,
    "assigned_agent": True,
    "caseworkerId": True,
    "CLINICIAN": True,
    "examiner": True,
    "nurse": True,
    "Surveyor": True,
    "team": True,
    "shift": True,
    "agency": False,
    "teammates": False,
}


@pytest.mark.parametrize("name", SPOKEN)
def test_whole_words_speak(name):
    assert bool(_spoken_of(name)) == SPOKEN[name]
