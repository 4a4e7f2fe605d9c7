"""Several looks at a row, compared with sums over every pattern of labels."""

from itertools import product

import numpy as np
import pytest

from propense._maths.looks import Looks, any_label_log_odds

LOOKED = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=bool)


def chance_of(pattern, b, looked, theta):
    """P(labels = pattern | Y=1) of one row, by the definition."""
    seen = [k for k in range(len(b)) if looked[k]]

    def weight(labels):
        pairs = sum(labels[i] * labels[j] for i in range(len(seen)) for j in range(i))
        return np.exp(sum(b[k] * s for k, s in zip(seen, labels, strict=True)) + theta * pairs)

    every = list(product((0, 1), repeat=len(seen)))
    return weight([pattern[k] for k in seen]) / sum(map(weight, every))


@pytest.mark.parametrize("theta", [0.0, 0.9, -2.0])
def test_the_loss_is_minus_the_log_of_the_chance_of_the_labels(rng, theta):
    a, b = rng.normal(size=4), 2.0 * rng.normal(size=(4, 3))
    looks = Looks(b, LOOKED, theta)
    for row, looked in enumerate(LOOKED):
        total = 0.0
        for pattern in product((0, 1), repeat=3):
            if any(s and not seen for s, seen in zip(pattern, looked, strict=True)):
                continue
            y = 1 / (1 + np.exp(-a[row]))
            chance = y * chance_of(pattern, b[row], looked, theta) + (1 - y) * (not any(pattern))
            labels = np.tile(np.array(pattern, dtype=float), (4, 1))
            loss = looks.loss(a, labels, np.full(4, any(pattern)))[row]
            assert loss == pytest.approx(-np.log(chance), abs=1e-12)
            total += chance
        assert total == pytest.approx(1.0)


@pytest.mark.parametrize("theta", [0.0, 0.9, -2.0])
def test_the_moments_of_labels_are_sums_over_patterns(rng, theta):
    b = rng.normal(size=(4, 3))
    looks = Looks(b, LOOKED, theta)
    for row, looked in enumerate(LOOKED):
        patterns = [p for p in product((0, 1), repeat=3) if not (np.array(p, dtype=bool) & ~looked).any()]
        chances = np.array([chance_of(p, b[row], looked, theta) for p in patterns])
        labels = np.array(patterns)
        mean = chances @ labels
        np.testing.assert_allclose(looks.chances[row], mean, atol=1e-12)
        assert looks.unseen[row] == pytest.approx(-np.log(chances[0]), abs=1e-12)
        spread = (chances[:, None] * labels).T @ labels - np.outer(mean, mean)
        for k, other in product(range(3), repeat=2):
            assert looks.covariance(k, other)[row] == pytest.approx(spread[k, other], abs=1e-12)


def test_a_row_without_a_label_is_positive_by_the_rule_of_bayes(rng):
    a, b = rng.normal(size=4), rng.normal(size=(4, 3))
    y, none = 1 / (1 + np.exp(-a)), np.where(LOOKED, 1 / (1 + np.exp(b)), 1.0).prod(axis=1)
    seen = np.array([False, True, False, False])
    expected = np.where(seen, 1.0, y * none / (1 - y + y * none))
    np.testing.assert_allclose(Looks(b, LOOKED).positive(a, seen), expected, rtol=1e-12)


def test_any_label_is_one_minus_no_label():
    t = np.array([1e-9, 0.1, 3.0, 50.0])
    np.testing.assert_allclose(any_label_log_odds(t), np.log(np.expm1(t)), rtol=1e-7)
    # No source looked: the log-odds stay finite.
    assert any_label_log_odds(np.zeros(1))[0] < -30
