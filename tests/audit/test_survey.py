"""Audits of rows that are a survey's sample."""

import numpy as np
import pytest

from propense.audit import Audit, Draw, draw, read
from propense.errors import InvalidInput, InvalidWeights
from propense.inference._survey import mean_variance


def population(rng, clusters=60, strata=2):
    """Rows in clusters that differ: their stratum, cluster, weight, chance, class."""
    cluster = np.repeat(np.arange(clusters), 40)
    level = rng.normal(size=clusters)[cluster]
    chances = 1 / (1 + np.exp(1.5 - level - rng.normal(size=len(cluster))))
    weight = np.where(cluster % 2, 3.0, 1.0)
    return cluster % strata, cluster, weight, chances, rng.random(len(cluster)) < chances


def test_if_every_row_is_checked_the_answer_is_that_of_the_survey():
    strata, cluster, weight, chances, positive = population(np.random.default_rng(0))
    labelled = positive & (np.random.default_rng(1).random(len(positive)) < 0.3)
    drawn = draw(chances, 10**6, labelled=labelled, random_state=0)
    found = read(
        Audit(drawn, positive[drawn.rows].astype(float)),
        chances,
        labelled=labelled,
        sample_weight=weight,
        strata=strata,
        clusters=cluster,
    )
    mean, variance, _ = mean_variance(positive, weight, strata, cluster)
    assert found.positives.estimate == pytest.approx(mean)
    assert found.label_frequency.estimate == pytest.approx(weight @ labelled / (weight @ positive))
    assert (found.positives.high - found.positives.low) / 2 == pytest.approx(2.0 * np.sqrt(variance), rel=0.03)
    listed = drawn.rows[np.argsort(-chances[drawn.rows], kind="stable")][:100]
    first = found.at([100])[0]
    assert first.precision.estimate == pytest.approx(weight[listed] @ positive[listed] / weight[listed].sum())
    hidden = positive & ~labelled
    assert first.recall.estimate == pytest.approx(weight[listed] @ hidden[listed] / (weight @ hidden))


@pytest.mark.slow
def test_intervals_allow_for_the_survey_and_for_the_draw():
    rng, held, alone = np.random.default_rng(2), [], []
    truth = []
    for seed in range(150):
        strata, cluster, weight, chances, positive = population(rng)
        drawn = draw(chances, 250, labelled=np.zeros(len(positive)), random_state=seed)
        audit = Audit(drawn, positive[drawn.rows].astype(float))
        survey = {"sample_weight": weight, "strata": strata, "clusters": cluster}
        for kept, extra in ((held, survey), (alone, {})):
            found = read(audit, chances, labelled=np.zeros(len(positive)), **extra).positives
            kept.append((found.low, found.high))
        truth.append(positive.mean())
    # Clusters are drawn anew each time: their mean over all is the population's, whatever the weights.
    held_share, alone_share = (np.mean([low <= np.mean(truth) <= high for low, high in kept]) for kept in (held, alone))
    assert 0.9 < held_share <= 0.99
    assert alone_share < 0.85


def test_without_clusters_and_with_equal_weights_the_estimate_is_the_same():
    rng = np.random.default_rng(3)
    chances = rng.random(2000) ** 3
    positive = rng.random(2000) < chances
    drawn = draw(chances, 150, labelled=np.zeros(2000), random_state=0)
    verdict = positive[drawn.rows].astype(float)
    verdict[::5] = np.nan
    plain, weighted = (
        read(Audit(drawn, verdict), chances, labelled=np.zeros(2000), sample_weight=weight)
        for weight in (None, np.full(2000, 2.0))
    )
    assert weighted.positives.estimate == pytest.approx(plain.positives.estimate, rel=1e-9)
    assert weighted.at([400])[0].recall.estimate == pytest.approx(plain.at([400])[0].recall.estimate, rel=0.1)


def test_two_draws_are_pooled_with_weights_too():
    rng = np.random.default_rng(4)
    chances = rng.random(1200) ** 2
    positive, checked = rng.random(1200) < chances, np.zeros(1200, dtype=bool)
    audits = []
    for size in (100, 150):
        drawn = draw(chances, size, labelled=np.zeros(1200), checked=checked, random_state=0)
        audits.append(Audit(drawn, positive[drawn.rows].astype(float)))
        checked[drawn.rows] = True
    plain, weighted = (
        read(audits, chances, labelled=np.zeros(1200), sample_weight=weight) for weight in (None, np.ones(1200))
    )
    assert weighted.positives.estimate == pytest.approx(plain.positives.estimate, rel=1e-9)


@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_verdicts_that_are_all_alike_still_have_an_interval(verdict):
    drawn = draw(np.linspace(1, 0, 2000), 60, labelled=np.zeros(2000), random_state=0)
    found = read(
        Audit(drawn, np.full(60, verdict)),
        np.linspace(1, 0, 2000),
        labelled=np.zeros(2000),
        sample_weight=np.ones(2000),
    )
    assert found.positives.estimate == pytest.approx(verdict, abs=0.02)
    assert 0.03 < found.positives.high - found.positives.low < 0.15


def test_labels_do_not_hide_that_verdicts_are_few():
    rng = np.random.default_rng(5)
    chances, labelled = rng.random(1000) * 0.3, rng.random(1000) < 0.15
    drawn = draw(chances, 5, labelled=labelled, random_state=0)
    plain, weighted = (
        read(Audit(drawn, np.zeros(5)), chances, labelled=labelled, sample_weight=weight)
        for weight in (None, np.ones(1000))
    )
    # No verdict is positive: of the unlabelled rows, up to four in ten may be.
    assert weighted.hidden.high == pytest.approx(plain.hidden.high, rel=0.1)
    assert weighted.positives.high == pytest.approx(plain.positives.high, rel=0.1)
    assert weighted.label_frequency.low == pytest.approx(plain.label_frequency.low, rel=0.1)


def test_a_list_none_of_which_was_checked_is_said_to_be_unknown():
    drawn = Draw(np.array([500, 501, 502]), np.zeros(3, dtype=np.intp), np.array([900]))
    found = read(
        Audit(drawn, np.array([1.0, 0.0, 1.0])),
        np.linspace(1, 0, 900),
        labelled=np.zeros(900),
        sample_weight=np.ones(900),
    )
    first = found.at([10])[0]
    for each in (first.precision, first.recall):
        assert np.isnan(each.estimate)
        assert (each.low, each.high) == (0.0, 1.0)


@pytest.mark.slow
def test_intervals_hold_the_truth_where_positives_are_rare():
    rng, held = np.random.default_rng(6), []
    for seed in range(150):
        chances = rng.random(1500) ** 8
        positive = rng.random(1500) < 0.1 * chances
        labelled = positive & (rng.random(1500) < 0.3)
        drawn = draw(chances, 100, labelled=labelled, random_state=seed)
        found = read(
            Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=labelled, sample_weight=np.ones(1500)
        )
        first, list_ = found.at([50])[0], np.argsort(-np.where(labelled, -1, chances), kind="stable")[:50]
        hidden = (positive & ~labelled).sum()
        truth = positive.mean(), labelled.sum() / positive.sum(), positive[list_].sum() / max(hidden, 1)
        shares = found.positives, found.label_frequency, first.recall
        held.append([each.low - 1e-9 <= t <= each.high + 1e-9 for each, t in zip(shares, truth, strict=True)])
    assert (np.mean(held, axis=0) > 0.92).all()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"sample_weight": [1, 2]}, InvalidWeights, "sample_weight must be 4 numbers of at least 0"),
        ({"sample_weight": [1, 2, 3, -1]}, InvalidWeights, "at least 0"),
        ({"sample_weight": [0, 0, 0, 0]}, InvalidWeights, "not all of them 0"),
        ({"strata": ["a", "b", "b", "b"]}, InvalidInput, "stratum 'a' has only one row"),
        ({"clusters": [1, 1, 1, 1]}, InvalidInput, "all rows belong to the same cluster"),
    ],
)
def test_a_survey_that_cannot_be_is_refused(given, error, words):
    drawn = Draw(np.array([0, 1]), np.zeros(2, dtype=np.intp), np.array([4]))
    with pytest.raises(error, match=words):
        read(Audit(drawn, np.array([1.0, 0.0])), np.full(4, 0.5), labelled=np.zeros(4), **given)
