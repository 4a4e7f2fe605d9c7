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
NOT_WHICH = ("do not clearly show which", "so it is not clear which positives get a label")
MORE_OFTEN = ("Some positives are probably labelled more often", "some positives are labelled more often than others.")
APART, TOGETHER = "Groups differ, beyond", "Groups cannot be distinguished"
SHOWN = "Which groups are under-labelled? How often"
NO_NUMBER, TOO_LITTLE = "is left open: ", "oo little was learned"
EQUALLY = "Every positive was assumed to be equally likely to be labelled."
RANGE, MIDDLE = "In 9 of 10 worlds whose labels look like these", "the middle is"
# Two statements that cannot both be true of one fit.
CONTRADICTIONS = [
    *((RANDOM, other) for other in (*MORE_OFTEN, APART, SHOWN)),
    *((TOGETHER, other) for other in (APART, SHOWN, "compared with all positives")),
    *((each, APART) for each in NOT_WHICH),
    (TOO_LITTLE, "The overall share is the best guess"),
    *((EQUALLY, other) for other in (APART, SHOWN, *MORE_OFTEN)),
    *((NO_NUMBER, other) for other in (RANGE, MIDDLE, "The range is what was true", "In that range")),
    *((TOO_LITTLE, other) for other in (APART, RANDOM, "should be positive", "are expected to be")),
]
# A range of positive rows that is stated as a fact.
FACT = re.compile(r"[Bb]etween [\d.,]+%? and [\d.,]+%?|(?<!say that )\d+% to \d+% of (?:the )?rows are positive")


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


def changed(found, p, doubts):
    """The fit, as if its test and its doubts were these."""
    estimator = type(found.estimator).__new__(type(found.estimator))
    estimator.__dict__ |= {**found.estimator.__dict__, "doubts_": tuple(Doubt(kind, f"{kind}.") for kind in doubts)}
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
    cases = itertools.product(fits.values(), (None, 0.01, 0.4), ((), ("few_labels",), ("weak_columns",)))
    # Every kind of fit meets every test and doubt in some case; all cases would take a minute.
    for found, p, doubts in itertools.islice(cases, 0, None, 2):
        both = statements(changed(found, p, doubts), capsys)
        for words in (*both, " ".join(both)):
            assert not FACT.search(words)
            # The middle is not quoted without its range.
            assert words.count(RANGE) >= words.count(MIDDLE)
            for one, other in CONTRADICTIONS:
                assert not (one in words and other in words), (one, other, p, doubts, words)


@pytest.mark.slow
def test_the_number_of_positives_is_the_same_everywhere(fits, capsys):
    for (_, name), found in fits.items():
        quoted = headline(found)
        printed, page = statements(found, capsys)
        for words in (printed, page):
            assert str(quoted) in words
            ends = set(re.findall(r"([\d,]+ to [\d,]+) \((\S+% to \S+%)\)", words))
            assert ends <= {(quoted.positives, quoted.share)}
        assert bool(quoted.unquoted) == (name in ("jerm", "naive"))


@pytest.mark.slow
def test_groups_are_shown_only_where_they_differ(fits):
    assert [each.column for each in conclude(fits["group", "named"]).differing] == ["column 2"]
    # Without a name, a column that decides on labels may show, and no other.
    for kind, decides in (("alike", set()), ("group", {"column 2"}), ("class", {"column 0"})):
        assert {each.column for each in conclude(fits[kind, "free"]).differing} <= decides, kind
        for name in ("equal", "naive"):
            assert conclude(fits[kind, name]).differing == (), (kind, name)
    assert conclude(fits["alike", "named"]).differing == ()


def test_the_test_of_labels_at_random_gives_the_pattern(fits):
    found = fits["alike", "free"]
    assert "do not clearly show which" in conclude(changed(found, 0.01, ())).pattern
    assert RANDOM in conclude(changed(found, 0.4, ())).pattern
    assert conclude(changed(found, None, ())).pattern == ""
    little = conclude(changed(found, 0.01, ("few_labels",)))
    assert TOO_LITTLE in little.pattern
    assert "(p = 0.010; 600 rows were tested)" in little.test


def test_the_headline_is_what_is_certain_the_range_and_its_middle_or_says_why_there_is_no_number(fits):
    found = fits["alike", "free"]
    facts, labelled = found.estimator.diagnosis_, found.counts.labelled
    at_least = f"At least {labelled} of 600 rows are positive ({labelled / 600:.0%}): those that are labelled."
    between = f"{600 * facts.low:,.0f} to {600 * facts.high:,.0f} are ({facts.low:.0%} to {facts.high:.0%})"
    middle = f"the middle is {600 * facts.middle:,.0f} ({facts.middle:.0%})."
    assert str(headline(found)) == f"{at_least} {RANGE}, {between}; {middle}"
    assert f"In 9 of 10 {fits['alike', 'named'].estimator.diagnosis_.where}, " in str(headline(fits["alike", "named"]))
    little = headline(changed(found, None, ("few_labels",)))
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
