"""No two statements about a fit contradict each other, whatever its diagnosis, its test and its groups say."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense import JERM, Naive, PUClassifier
from propense._diagnostics.doubts import Doubt
from propense._maths.logistic import sigmoid
from propense.cli._fit_summary import show_fit
from propense.inference import ScarTest
from propense.report import gather_fit, render
from propense.tables import conclude, headline, summarise_estimator

pytest.importorskip("pyarrow")

RANDOM = "may have been given at random"
NOT_RANDOM = "probably not given at random"
DEPENDS = "Labelling seems to depend on the features"
FALLING = "the less often it seems to be labelled"
RARER = "labels are probably rarer among less clear ones"
NOT_WHICH = ("do not clearly show which", "so it is not clear which positives get a label")
MORE_OFTEN = ("Some positives are probably labelled more often", "some positives are labelled more often than others.")
APART, TOGETHER = "Groups differ, beyond", "Groups cannot be distinguished"
SHOWN = "Which groups are under-labelled? How often"
NO_NUMBER, TOO_LITTLE = "is left open: ", "oo little was learned"
EQUALLY = "Every positive was assumed to be equally likely to be labelled."
CLEAR, UNCLEAR = "clearest positives are nearly all labelled", "even clear ones can be unlabelled"
# Two statements that cannot both be true of one fit.
CONTRADICTIONS = [
    *itertools.combinations([RANDOM, NOT_RANDOM, DEPENDS, FALLING], 2),
    *((RANDOM, other) for other in (RARER, *MORE_OFTEN, APART, SHOWN)),
    *((TOGETHER, other) for other in (APART, SHOWN, "compared with all positives")),
    *((each, other) for each in NOT_WHICH for other in (APART, DEPENDS, FALLING, RARER)),
    (TOO_LITTLE, "The overall share is the best guess"),
    *((EQUALLY, other) for other in (APART, SHOWN, DEPENDS, NOT_RANDOM, *MORE_OFTEN)),
    (CLEAR, UNCLEAR),
    (NO_NUMBER, "Between "),
    (NO_NUMBER, "range to quote"),
    (NO_NUMBER, "leave open whether"),
    (NO_NUMBER, "so the answer is a range."),
    *((TOO_LITTLE, other) for other in (DEPENDS, RARER, APART, RANDOM, "should be positive", "are expected to be")),
]
KINDS = {"constant": (0.6, 0.0), "class score": (0.95, 0.0), "own features": (0.6, 20.0), "falling": (0.6, 20.0)}


def world(kind, seed=0, n=600):
    """Two columns for the class and a group, which decides on labels or not."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 2, n)])
    positive = rng.random(n) < sigmoid(2 * X[:, 0] + X[:, 1])
    e = {"alike": 0.5, "group": np.where(X[:, 2] > 0, 0.8, 0.15), "class": sigmoid(1.5 * X[:, 0])}[kind]
    return X, positive & (rng.random(n) < e)


def fitted(kind, model):
    X, labelled = world(kind)
    return summarise_estimator(model.fit(X, labelled), X, labelled)


def quick(**options):
    return PUClassifier(learners=[LogisticRegression()], random_state=0, **options)


MODELS = {
    "free": quick,
    "named": lambda: quick(propensity_features=[2]),
    "equal": lambda: quick(propensity_features=[]),
    "given": lambda: quick(prior=0.55),
    "jerm": JERM,
    "naive": Naive,
}


@pytest.fixture(scope="module")
def fits():
    return {(kind, name): fitted(kind, make()) for kind in ("alike", "group", "class") for name, make in MODELS.items()}


def changed(found, labelling, p, doubts):
    """The fit, as if its diagnosis, its test and its doubts were these."""
    estimator = type(found.estimator).__new__(type(found.estimator))
    estimator.__dict__ |= {**found.estimator.__dict__, "doubts_": tuple(Doubt(kind, f"{kind}.") for kind in doubts)}
    diagnosis = getattr(estimator, "diagnosis_", None)
    if diagnosis is not None and estimator.propensity_features is None:
        height, evidence = KINDS[labelling]
        alignment = -0.5 if labelling == "falling" else 0.5
        estimator.diagnosis_ = replace(diagnosis, height=height, evidence=evidence, alignment=alignment)
        assert estimator.diagnosis_.labelling == labelling
    simulated = np.linspace(0, 10, 199)
    scar = None if p is None else ScarTest(p, 10 * (1 - p), simulated, 0.5, 0.5, 600, 100, None, 0.8)
    return replace(found, estimator=estimator, scar=scar, notes=list(doubts))


def statements(found, capsys):
    """All that the command line and the page say."""
    show_fit(found, Path("table.csv"))
    printed = " ".join(capsys.readouterr().out.split())
    report = gather_fit(found, "x")
    html = re.sub(r"<(style|script).*?</\1>", "", render(report).html, flags=re.DOTALL)
    return printed, " ".join(re.sub("<[^>]+>", " ", html).replace("&#39;", "'").split())


@pytest.mark.slow
def test_no_two_statements_contradict_each_other(fits, capsys, monkeypatch):
    # Reasons of rows take most of the time, and are about other things.
    monkeypatch.setattr("propense.tables.review.row_reasons", lambda *_: [])
    cases = itertools.product(fits.values(), KINDS, (None, 0.01, 0.4), ((), ("few_labels",), ("weak_columns",)))
    # Every kind of fit meets every diagnosis, test and doubt in some case; all cases would take a minute.
    for found, labelling, p, doubts in itertools.islice(cases, 0, None, 7):
        case = changed(found, labelling, p, doubts)
        both = statements(case, capsys)
        for words in (*both, " ".join(both)):
            for one, other in CONTRADICTIONS:
                assert not (one in words and other in words), (one, other, labelling, p, doubts, words)


@pytest.mark.slow
def test_the_number_of_positives_is_the_same_everywhere(fits, capsys):
    for (_, name), found in fits.items():
        quoted = headline(found)
        printed, page = statements(found, capsys)
        for words in (printed, page):
            assert str(quoted) in words
            ends = set(re.findall(r"([\d,]+ to [\d,]+) \((\S+% to \S+%)\)", words))
            assert ends <= {(quoted.positives, quoted.share)}
            for low, high in re.findall(r"leave open whether (\S+%) or (\S+%)", words):
                assert f"{low} to {high}" == quoted.share
        assert bool(quoted.unquoted) == (name in ("jerm", "naive"))


@pytest.mark.slow
def test_groups_are_shown_only_where_they_differ(fits):
    assert [each.column for each in conclude(fits["group", "named"]).differing] == ["column 2"]
    for kind in ("alike", "group", "class"):
        for name in ("free", "equal", "naive"):
            assert conclude(fits[kind, name]).differing == (), (kind, name)
    assert conclude(fits["alike", "named"]).differing == ()


def test_the_test_of_labels_at_random_and_the_diagnosis_give_one_pattern(fits):
    found = fits["alike", "free"]
    assert "do not clearly show which" in conclude(changed(found, "constant", 0.01, ())).pattern
    assert RANDOM in conclude(changed(found, "constant", 0.4, ())).pattern
    assert "The signs are mixed" in conclude(changed(found, "own features", 0.4, ())).pattern
    assert "look the same in both cases" in conclude(changed(found, "class score", 0.4, ())).pattern
    little = conclude(changed(found, "own features", 0.01, ("few_labels",)))
    assert TOO_LITTLE in little.pattern
    assert "(p = 0.010; 600 rows were tested)" in little.test


def test_the_headline_begins_with_the_range_or_says_why_there_is_no_number(fits):
    found = fits["alike", "free"]
    low, high = (600 * share for share in found.prior_range)
    assert str(headline(found)).startswith(f"Between {low:,.0f} and {high:,.0f} of 600 rows are positive (")
    little = headline(changed(found, "constant", None, ("few_labels",)))
    assert str(little) == (
        "How many of the 600 rows are positive is left open: too little was learned from these rows."
    )
    assert (little.positives, little.hidden, little.frequency) == ("", "", "")
    assert "an estimate without a range" in str(headline(fits["alike", "jerm"]))
    assert str(headline(fits["alike", "given"])) == "330 of 600 rows are positive (55%): that share was given."


def test_what_the_headline_counts_adds_up(fits):
    quoted = headline(fits["alike", "free"])
    low, high = (int(each.replace(",", "")) for each in quoted.positives.split(" to "))
    assert quoted.hidden == f"{low - quoted.labelled:,} to {high - quoted.labelled:,}"
    assert quoted.low <= quoted.middle <= quoted.high
    assert quoted.percent(3) == "0.5%"
