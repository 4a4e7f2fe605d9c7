"""Summaries of labels: what they do not depend on, and that every table has one."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from propense.worlds.answer import Given, curves_of
from propense.worlds.library import the_worlds
from propense.worlds.summary import NAMED, NAMES, named_values, ranking, summarise


@pytest.fixture
def scored(rng):
    """A score, labels that rise with it, and weights."""
    t = rng.gamma(2.0, size=500)
    t = (t - t.mean()) / t.std()
    return t, (rng.random(500) < 0.5 * expit(2.0 * t)).astype(float), rng.exponential(size=500)


def named(t, s, w):
    a, b = 1.5 * t - 0.3, np.sin(np.arange(len(t)))
    return named_values(t, a, b, 0.1 * b, s, w, 3)


def every(t, s, w, columns=4):
    return np.append(summarise(t, s, w, columns).values, named(t, s, w))


def test_there_is_a_number_for_every_name(scored):
    assert summarise(*scored, 4).values.shape == (len(NAMES),)
    assert named(*scored).shape == (len(NAMED),)


def test_the_order_of_the_rows_does_not_matter(scored, rng):
    t, s, w = scored
    order = rng.permutation(500)
    one, other = (summarise(*each, 4).values for each in ((t, s, w), (t[order], s[order], w[order])))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_order_of_rows_with_the_same_score_does_not_matter(rng):
    t = np.repeat([-1.0, 0.0, 2.0], [60, 20, 40]) / 1.2
    s = (rng.random(120) < 0.3 + 0.2 * t).astype(float)
    order = np.lexsort([s, t])
    one, other = (summarise(t[each], s[each], np.ones(120), 4) for each in (order, order[::-1]))
    np.testing.assert_allclose(one.values, other.values, atol=1e-6)


def test_a_row_of_weight_2_is_the_row_twice(scored, rng):
    t, s, _ = scored
    copies = rng.integers(1, 4, size=500)
    again = np.repeat(np.arange(500), copies)
    weighted, repeated = (
        summarise(*each, 4).values for each in ((t, s, copies.astype(float)), (t[again], s[again], np.ones(len(again))))
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_summaries_are_what_their_names_say(scored):
    t, s, _ = scored
    found = dict(zip(NAMES, summarise(t, s, np.ones(500), 7).values, strict=True))
    assert expit(found["rate"]) == pytest.approx(s.mean())
    counts = [np.exp(found[name]) for name in ("rows", "labels", "columns")]
    assert counts == pytest.approx([500, s.sum(), 7])
    assert found["area"] == pytest.approx(roc_auc_score(s, t))
    first = s[np.argsort(-t)]
    assert found["of the labels in the top 10%"] == pytest.approx(first[:50].mean() * 50 / s.sum())
    assert expit(found["labelled in the top 10%"]) == pytest.approx((first[:50].sum() + 1) / (50 + 1 / s.mean()))
    assert found["times the rate in the top 50%"] == pytest.approx(
        np.log((first[:250].sum() + 1) / (250 + 1 / s.mean()) / s.mean())
    )


def test_areas_are_scikit_learns_with_ties_and_weights(rng):
    t, s, w = rng.integers(0, 5, size=200).astype(float), rng.random(200) < 0.4, rng.random(200)
    assert ranking(t, s, w) == pytest.approx(roc_auc_score(s, t, sample_weight=w), abs=1e-12)


TINY = {
    "a constant score": (np.zeros(50), np.arange(50) < 20),
    "one label": (np.linspace(-1, 1, 50), np.arange(50) == 49),
    "one label on the lowest score": (np.linspace(-1, 1, 50), np.arange(50) == 0),
    "all but one labelled": (np.linspace(-1, 1, 50), np.arange(50) > 0),
    "ten rows": (np.linspace(-1, 1, 10), np.arange(10) % 3 == 0),
    "two rows": (np.array([-1.0, 1.0]), np.array([False, True])),
    "labels on the lowest scores": (np.linspace(-1, 1, 80), np.arange(80) < 30),
    "all labels on the highest scores": (np.linspace(-1, 1, 80), np.arange(80) >= 50),
    "far scores": (np.append(np.zeros(99), 1e3), np.arange(100) > 90),
}


@pytest.mark.parametrize("name", TINY)
def test_every_table_has_a_finite_summary_and_an_answer(name):
    t, s = TINY[name]
    s, w = s.astype(float), np.ones(len(t))
    summary = summarise(t, s, w, 2)
    assert np.isfinite(every(t, s, w)).all()
    assert 0.0 < summary.rate < 1.0
    answer = the_worlds().like(summary.rate, summary.values, Given())
    assert np.isfinite(answer.at(np.array([0.05, 0.5, 0.95]))).all()
    curves = curves_of(answer, summary, t[s == 0.0], w[s == 0.0])
    assert all(np.isfinite(each).all() for each in curves.pair(np.linspace(-5.0, 5.0, 101)))
