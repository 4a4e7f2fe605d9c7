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
        (-3, 0, 0.8, "constant", "No labelling pattern is strong enough to rely on"),
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
