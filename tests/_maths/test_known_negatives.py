"""The formulas with known negatives, against the chances they are the logs of."""

import numpy as np
import pytest

from propense._maths.double_logistic import class_log_odds_shift, joint_loss
from propense._maths.known_negatives import known_loss, known_shift


@pytest.fixture
def rows(rng):
    kind = rng.integers(0, 3, 50)
    return (*rng.normal(size=(2, 50)), kind == 1, kind == 2)


def test_loss_and_expected_class_are_those_of_the_chances(rows):
    a, b, labelled, negative = rows
    y, e, d = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b)), 0.3
    rest = y * (1 - e) + (1 - y) * (1 - d)
    chance = np.where(labelled, y * e, np.where(negative, 1 - y, rest))
    np.testing.assert_allclose(known_loss(a, b, labelled, negative, np.log(1 - d)), -np.log(chance), rtol=1e-12)
    expected = np.where(labelled, 1, np.where(negative, 0, y * (1 - e) / rest))
    shift = known_shift(b, labelled, negative, np.log(1 - d))
    np.testing.assert_allclose(1 / (1 + np.exp(shift - a)), expected, rtol=1e-12)


def test_with_nobody_known_they_are_those_of_the_labels(rows):
    a, b, labelled, _ = rows
    nobody = np.zeros(50, bool)
    np.testing.assert_allclose(known_loss(a, b, labelled, nobody, 0.0), joint_loss(a, b, labelled), rtol=1e-12)
    np.testing.assert_array_equal(known_shift(b, labelled, nobody, 0.0), class_log_odds_shift(b, labelled))


def test_extreme_log_odds_stay_finite():
    a, b = (each.ravel() for each in np.meshgrid([-700.0, 0.0, 700.0], [-700.0, 0.0, 700.0, np.inf]))
    nobody = np.zeros(12, bool)
    for labelled, negative in ((nobody, nobody), (nobody, ~nobody)):
        assert np.isfinite(known_loss(a, b, labelled, negative, -0.1)).all()
