"""What a diagnosis says follows from its numbers."""

import math

import pytest

from propense._diagnostics.diagnosis import Diagnosis

PRIORS = {"constant": 0.31, "free": 0.32, "proportional": 0.43, "shared": 0.44}


@pytest.mark.parametrize(
    ("evidence", "alignment", "height", "labelling", "words"),
    [
        (11, 0, 0.5, "own features", "Labelling seems to depend on the features"),
        (11, -0.9, 0.5, "falling", "the less often"),
        (9, -0.9, 0.85, "class score", "rarer among less clear ones"),
        (-3, 0, 0.8, "constant", "do not clearly show which positives are labelled more often"),
        (0, 0, 1.0, "complete", "The class of every row is known."),
    ],
)
def test_what_is_said_of_the_labelling_follows_from_the_numbers(evidence, alignment, height, labelling, words):
    found = Diagnosis(height, 0.0, evidence, alignment, PRIORS, 0.9)
    assert found.labelling == labelling
    assert words in str(found).splitlines()[0]


def test_the_summary_is_words_and_the_details_are_numbers():
    found = Diagnosis(0.87, 0.53, -12.3, -0.21, PRIORS, 0.912)
    summary, details = str(found), found.details()
    for value in ("0.87", "0.53", "-12.3", "-0.21", "32.0%"):
        assert value in details
        assert value not in summary
    for value in ("44.0%", "31.0%", "43.0%", "91.2%"):
        assert value in details
        assert value in summary
    assert found.spread == pytest.approx(0.13)


def test_what_was_not_computed_is_not_shown():
    found = Diagnosis(0.87, 0.53, -12.3, -0.21, PRIORS, math.nan)
    assert "halves" not in str(found)
    assert "not computed" in found.details()


SCORED = {"constant": 0.21, "climb": 0.32, "bells": 0.43, "shared": 0.37}


def of_scores(**more):
    learners = {"logistic regression": 0.71, "boosted trees": 0.78, "extra trees": 0.75}
    return Diagnosis(0.6, 0.2, 0.0, 0.0, SCORED, math.nan, **{"low": 0.17, "high": 0.52, "learners": learners, **more})


def test_of_label_scores_the_range_is_said_and_the_best_learner_first():
    summary, details = str(of_scores()), of_scores().details()
    assert "Estimated share of positive rows: 17% to 52%, middle estimate 37.0%." in summary
    assert "learned best by boosted trees; combined with it: logistic regression, extra trees." in summary
    assert "learned best by GaussianNB.\n" in str(of_scores(learners={"GaussianNB": 0.6})) + "\n"
    assert "Other assumptions" not in summary
    for value in ("21.0%", "32.0%", "43.0%", "37.0%", "17.0% to 52.0%", "boosted trees: 0.78."):
        assert value in details
    assert "stability" not in details


def test_facts_of_a_diagnosis_are_told_from_others():
    facts = vars(of_scores())
    assert Diagnosis.is_valid(facts)
    assert Diagnosis.is_valid(vars(Diagnosis(0.87, 0.53, -12.3, -0.21, PRIORS, math.nan)))
    for wrong in (
        {"learners": {}},
        {"learners": {"trees": "good"}},
        {"low": math.inf},
        {"height": math.nan},
        {"priors": PRIORS},
        {"priors": {**SCORED, "bells": None}},
        {"colour": 1.0},
    ):
        assert not Diagnosis.is_valid({**facts, **wrong})
