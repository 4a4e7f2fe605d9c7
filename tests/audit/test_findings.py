"""What verdicts say: against closed forms, and against the truth in simulated worlds."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from propense.audit import Audit, Draw, draw, read
from propense.errors import InvalidInput, InvalidOption


def simple(rows, size, seed):
    """A simple random sample of the unlabelled rows, all of them."""
    drawn = np.random.default_rng(seed).choice(rows, size, replace=False)
    return Draw(drawn, np.zeros(size, dtype=np.intp), np.array([rows]))


def wilson(found, checked, rows):
    """Wilson's interval of a share, for a sample without replacement."""
    z = norm.ppf(0.975) * np.sqrt(1 - checked / rows)
    mean = found / checked

    def excess(share, side):
        return mean - share - side * z * np.sqrt(share * (1 - share) / checked)

    return [brentq(excess, 1e-12, mean, (1,)), brentq(excess, mean, 1 - 1e-12, (-1,))]


def test_without_a_model_the_interval_is_wilsons():
    drawn = simple(3000, 150, 0)
    verdict = (np.arange(150) < 13).astype(float)
    found = read(Audit(drawn, verdict), np.full(3000, 0.3), labelled=np.zeros(3000))
    assert found.positives.estimate == pytest.approx(13 / 150)
    np.testing.assert_allclose([found.positives.low, found.positives.high], wilson(13, 150, 3000), rtol=1e-6)


def test_one_stratum_gives_the_difference_estimate_with_the_best_weight():
    rng = np.random.default_rng(1)
    chances = rng.random(4000)
    positive = rng.random(4000) < chances
    drawn = simple(4000, 300, 2)
    y, h = positive[drawn.rows].astype(float), chances[drawn.rows]
    found = read(Audit(drawn, y), chances, labelled=np.zeros(4000))
    weight = np.cov(y, h)[0, 1] / h.var(ddof=1)
    assert 0 < weight < 1.2
    weight = min(weight, 1.0)
    assert found.positives.estimate == pytest.approx(y.mean() + weight * (chances.mean() - h.mean()))
    assert found.factor == pytest.approx(np.var(y - weight * h) / np.var(y) * 299 / 298)


def test_a_stratified_estimate_is_the_sum_over_strata():
    chances = np.full(600, 0.5)
    chances[:100] = 0.9
    drawn = Draw(np.arange(90, 110), np.repeat([0, 1], 10).astype(np.intp), np.array([100, 500]))
    verdict = np.array([1.0] * 7 + [0.0] * 3 + [1.0] * 2 + [0.0] * 8)
    found = read(Audit(drawn, verdict), chances, labelled=np.zeros(600))
    assert found.hidden.estimate == pytest.approx((100 * 0.7 + 500 * 0.2) / 600)
    first = found.at([100])[0]
    assert first.verdicts == 10
    assert first.precision.estimate == pytest.approx(0.7)
    np.testing.assert_allclose([first.precision.low, first.precision.high], wilson(7, 10, 100), rtol=1e-6)
    assert first.recall.estimate == pytest.approx(70 / 170)


def test_labelled_rows_count_as_positives():
    labelled = np.arange(1000) < 250
    drawn = draw(np.full(1000, 0.5), 100, labelled=labelled, random_state=0)
    found = read(Audit(drawn, (np.arange(100) < 20).astype(float)), np.full(1000, 0.5), labelled=labelled)
    share = found.hidden.estimate
    assert found.positives.estimate == pytest.approx((250 + 750 * share) / 1000)
    assert found.label_frequency.estimate == pytest.approx(250 / (250 + 750 * share))
    assert found.label_frequency.low == pytest.approx(0.25 / found.positives.high)
    assert found.label_frequency.high == pytest.approx(0.25 / found.positives.low)


@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_verdicts_that_are_all_alike_still_have_an_interval(verdict):
    drawn = draw(np.linspace(1, 0, 2000), 60, labelled=np.zeros(2000), random_state=0)
    found = read(Audit(drawn, np.full(60, verdict)), np.linspace(1, 0, 2000), labelled=np.zeros(2000))
    assert found.positives.estimate == verdict
    ends = sorted([abs(found.positives.low - verdict), abs(found.positives.high - verdict)])
    # The known rows leave out a little of 0 to 1.
    assert ends[0] == 0
    assert 0.03 < ends[1] < 0.12


def test_rows_that_are_all_checked_leave_no_doubt():
    rng = np.random.default_rng(0)
    chances, positive = rng.random(120), rng.random(120) < 0.3
    drawn = draw(chances, 120, labelled=np.zeros(120), random_state=0)
    found = read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=np.zeros(120))
    for each in (found.positives.estimate, found.positives.low, found.positives.high):
        assert each == pytest.approx(positive.mean())
    listed = np.argsort(-chances)[:30]
    ten = found.at([30])[0]
    assert ten.precision.low == pytest.approx(positive[listed].mean())
    assert ten.recall.high == pytest.approx(positive[listed].sum() / positive.sum())


def test_a_list_none_of_which_was_checked_is_said_to_be_unknown():
    drawn = Draw(np.array([500, 501]), np.zeros(2, dtype=np.intp), np.array([900]))
    found = read(Audit(drawn, np.array([1.0, 0.0])), np.linspace(1, 0, 900), labelled=np.zeros(900))
    first = found.at([10])[0]
    assert first.verdicts == 0
    assert np.isnan(first.precision.estimate)
    assert (first.precision.low, first.precision.high) == (0.0, 1.0)


@pytest.mark.parametrize("weight", [None, np.ones(4000)], ids=["rows", "population"])
def test_a_longer_list_has_no_fewer_positives(weight):
    rng, lengths = np.random.default_rng(8), [1000, 50, 100, 200, 500]
    chances = rng.random(4000) ** 4
    positive = rng.random(4000) < 0.1 * chances
    for seed in range(5):
        drawn = draw(chances, 100, labelled=np.zeros(4000), random_state=seed)
        verdict = positive[drawn.rows].astype(float)
        found = read(Audit(drawn, verdict), chances, labelled=np.zeros(4000), sample_weight=weight).at(lengths)
        assert [each.length for each in found] == lengths
        found.sort(key=lambda each: each.length)
        for name in ("estimate", "low", "high"):
            recall = np.array([getattr(each.recall, name) for each in found])
            number = np.array([getattr(each.precision, name) * each.length for each in found])
            assert all((np.diff(each[np.isfinite(each)]) >= -1e-9).all() for each in (recall, number))
        for each in found:
            for share in (each.precision, each.recall):
                assert not np.isfinite(share.estimate) or 0 <= share.low <= share.estimate <= share.high <= 1


def test_rows_without_a_verdict_are_left_out():
    chances, labelled = np.linspace(1, 0, 1000), np.zeros(1000)
    drawn = draw(chances, 100, labelled=labelled, random_state=0)
    verdict = (drawn.rows < 300).astype(float)
    some = verdict.copy()
    some[::3] = np.nan
    found, partly = (read(Audit(drawn, each), chances, labelled=labelled) for each in (verdict, some))
    assert (found.verdicts, partly.verdicts) == (100, 66)
    assert partly.positives.estimate == pytest.approx(0.3, abs=0.04)
    assert partly.positives.high - partly.positives.low > found.positives.high - found.positives.low


def test_two_draws_are_better_than_one_and_hold_the_truth():
    rng = np.random.default_rng(5)
    held, widths = [], []
    for seed in range(40):
        chances = rng.random(1500) ** 2
        positive, labelled = rng.random(1500) < 0.5 * chances, np.zeros(1500, dtype=bool)
        audits, checked = [], labelled.copy()
        for size in (100, 150):
            drawn = draw(chances, size, labelled=labelled, checked=checked, random_state=seed)
            audits.append(Audit(drawn, positive[drawn.rows].astype(float)))
            checked[drawn.rows] = True
        one, both = read(audits[:1], chances, labelled=labelled), read(audits, chances, labelled=labelled)
        held.append(both.positives.low <= positive.mean() <= both.positives.high)
        widths.append([each.positives.high - each.positives.low for each in (one, both)])
    assert 0.9 < np.mean(held) < 0.99
    assert np.divide(*np.mean(widths, axis=0)) == pytest.approx(np.sqrt(2.5), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["good", "worthless", "upside down"])
def test_intervals_hold_the_truth_whatever_the_model(model):
    rng = np.random.default_rng(3)
    true = rng.random(3000) ** 4
    chances = {"good": true, "worthless": rng.random(3000), "upside down": 1 - true}[model]
    positive, labelled = rng.random(3000) < true, np.zeros(3000, dtype=bool)
    listed = np.argsort(-chances, kind="stable")[:300]
    truth = [positive.mean(), positive[listed].mean(), positive[listed].sum() / positive.sum()]
    held = []
    for seed in range(100):
        drawn = draw(chances, 120, labelled=labelled, random_state=seed)
        found = read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=labelled)
        first = found.at([300])[0]
        shares = (found.positives, first.precision, first.recall)
        held.append([each.low <= t <= each.high for each, t in zip(shares, truth, strict=True)])
    assert (np.mean(held, axis=0) > 0.9).all()


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [0.005, 0.02])
def test_intervals_hold_the_truth_where_the_model_is_nearly_perfect(wrong):
    rng, held = np.random.default_rng(4), []
    for seed in range(40):
        said = rng.random(2000) < 0.2
        positive = said ^ (rng.random(2000) < wrong)
        chances = np.where(said, 0.999, 0.001)
        drawn = draw(chances, 50, labelled=np.zeros(2000), random_state=seed)
        found = read(Audit(drawn, positive[drawn.rows].astype(float)), chances, labelled=np.zeros(2000))
        first, list_ = found.at([200])[0], np.argsort(-chances, kind="stable")[:200]
        truth = positive.mean(), positive[list_].sum() / positive.sum()
        held.append(
            [each.low <= t <= each.high for each, t in zip((found.positives, first.recall), truth, strict=True)]
        )
    assert (np.mean(held, axis=0) > 0.93).all()


def test_advice_gives_the_width_that_more_verdicts_have():
    rng = np.random.default_rng(0)
    chances = rng.random(5000) ** 3
    positive, labelled = rng.random(5000) < chances, np.zeros(5000, dtype=bool)
    widths = []
    for size in (100, 300):
        found = [
            read(Audit(d, positive[d.rows].astype(float)), chances, labelled=labelled)
            for d in (draw(chances, size, labelled=labelled, random_state=seed) for seed in range(10))
        ]
        widths.append(np.mean([each.positives.high - each.positives.low for each in found]))
        if size == 100:
            advised = np.mean([each.advice([200])[0][1] for each in found])
    assert advised == pytest.approx(widths[1], rel=0.05)
    assert found[0].advice([10**6]) == []


def test_it_is_said_in_words():
    drawn = draw(np.linspace(1, 0, 1000), 100, labelled=np.zeros(1000), random_state=0)
    words = str(read(Audit(drawn, (drawn.rows < 200).astype(float)), np.linspace(1, 0, 1000), labelled=np.zeros(1000)))
    assert words.startswith("100 rows were checked. ")
    assert "95% interval" in words


def audit_of(**changes):
    given = {"rows": np.array([0, 1]), "stratum": np.zeros(2, dtype=np.intp), "sizes": np.array([4]), **changes}
    return Audit(Draw(**given), np.array([1.0, 0.0]))


@pytest.mark.parametrize(
    ("audits", "words"),
    [
        (Audit(audit_of().draw, np.array([1.0])), "2 rows were drawn, but there are 1 verdicts"),
        (Audit(audit_of().draw, np.array([1.0, 2.0])), "must be 1 .positive., 0 .negative. or NaN"),
        (Audit(audit_of().draw, np.array([np.nan, np.nan])), "no verdict yet"),
        (audit_of(sizes=np.array([3])), "drawn from 3 unlabelled rows, but there are 4"),
        (audit_of(rows=np.array([0, 4])), "row 4 was drawn, but it is labelled"),
        (audit_of(known=np.array([2]), sizes=np.array([3])), "row 2 had been checked before a draw"),
    ],
)
def test_what_does_not_belong_together_is_refused(audits, words):
    with pytest.raises(InvalidInput, match=words):
        read(audits, np.full(5, 0.5), labelled=[0, 0, 0, 0, 1])


def test_chances_that_are_not_those_of_the_draw_are_refused():
    chances, labelled = np.linspace(1, 0, 1000), np.zeros(1000)
    drawn = draw(chances, 60, labelled=labelled, random_state=0)
    audit = Audit(drawn, (drawn.rows < 200).astype(float))
    found = read(audit, chances, labelled=labelled).positives
    assert read(audit, chances**2, labelled=labelled).positives.estimate == pytest.approx(found.estimate, abs=0.05)
    with pytest.raises(InvalidInput, match=r"rows are not in the part of the list .* Pass the hidden and order"):
        read(audit, 1 - chances, labelled=labelled)


def test_options_out_of_range_are_refused():
    with pytest.raises(InvalidOption, match="confidence=95 must be between 0 and 1"):
        read(audit_of(), np.full(4, 0.5), labelled=np.zeros(4), confidence=95)
    with pytest.raises(InvalidOption, match="from 1 to 4 rows, but its length was to be 5"):
        read(audit_of(), np.full(4, 0.5), labelled=np.zeros(4)).at([5])
