"""Metrics of labels: what they are where every positive is labelled, what they estimate where few are."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss, precision_score, recall_score

from propense.datasets import make_double_logistic
from propense.errors import InvalidInput, InvalidLabels, InvalidPropensity, InvalidWeights, NoLabelledInstances
from propense.metrics import (
    joint_brier,
    joint_risk,
    lee_liu_score,
    sar_balanced_accuracy,
    sar_precision,
    sar_recall,
)

OF_DECISIONS = [sar_recall, sar_precision, sar_balanced_accuracy, lee_liu_score]
OF_CHANCES = [joint_risk, joint_brier]


@pytest.fixture
def said(rng):
    """Labels, decisions, chances, propensities and weights of a few rows."""
    s = rng.random(60) < 0.4
    return s, rng.random(60) < 0.3 + 0.5 * s, rng.random(60), rng.uniform(0.3, 1.0, 60), rng.integers(0, 4, 60)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (sar_recall, recall_score),
        (sar_precision, precision_score),
        (sar_balanced_accuracy, balanced_accuracy_score),
    ],
)
def test_where_every_positive_is_labelled_they_are_those_of_sklearn(said, ours, theirs):
    s, decided, _, _, weights = said
    assert ours(s, decided, propensity=1.0) == pytest.approx(theirs(s, decided))
    assert ours(s, decided, propensity=1.0, sample_weight=weights) == pytest.approx(
        theirs(s, decided, sample_weight=weights)
    )


def test_joint_risk_and_brier_are_those_of_the_product(said):
    s, _, chances, e, weights = said
    assert joint_risk(s, chances, propensity=e, sample_weight=weights) == pytest.approx(
        log_loss(s, chances * e, sample_weight=weights)
    )
    assert joint_brier(s, np.column_stack([1 - chances, chances]), propensity=e) == pytest.approx(
        brier_score_loss(s, chances * e)
    )


@pytest.mark.parametrize("metric", [*OF_DECISIONS, *OF_CHANCES])
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(said, metric):
    s, decided, chances, e, weights = said
    given = decided if metric in OF_DECISIONS else chances
    e = np.where(weights == 0, 0.0, e)
    weighed = metric(s, given, propensity=e, sample_weight=weights)
    repeated = metric(*(np.repeat(each, weights) for each in (s, given)), propensity=np.repeat(e, weights))
    assert weighed == pytest.approx(repeated, rel=1e-12)
    assert metric(s, given, propensity=e, sample_weight=2.5 * weights) == pytest.approx(weighed, rel=1e-12)


def test_labelled_rows_stand_for_the_positives_on_average():
    """Over every way to label five positives, Σ s/e is 5 and Σ s·ŷ/e the number found: recall · prior is unbiased."""
    e, decided = np.array([0.2, 0.4, 0.5, 0.8, 0.9, 0.5, 0.5]), np.array([1, 0, 1, 1, 0, 1, 0], dtype=bool)
    positive = np.array([1, 1, 1, 1, 1, 0, 0], dtype=bool)
    found = 0.0
    for labels in product((False, True), repeat=5):
        s = np.array([*labels, False, False])
        chance = np.where(s, e, 1 - e)[positive].prod()
        if s.any():
            # precision · P(ŷ=1) with the prior estimated is recall · prior; a large weight keeps both below 1.
            weights = np.array([1, 1, 1, 1, 1, 100, 100])
            called = np.average(decided, weights=weights)
            found += chance * sar_precision(s, decided, propensity=e, sample_weight=weights) * called * weights.sum()
    assert found == pytest.approx((decided & positive).sum())


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False])
def test_they_estimate_the_truth_that_the_labels_hide(given):
    data = make_double_logistic(200_000, random_state=0)
    decided = data.posterior > 0.4
    given = {"propensity": data.propensity}
    prior = {"prior": data.positive.mean()} if given else {}
    recall = recall_score(data.positive, decided)
    assert sar_recall(data.labelled, decided, **given) == pytest.approx(recall, abs=0.01)
    assert recall_score(data.labelled, data.posterior * data.propensity > 0.4) < recall - 0.05
    assert sar_precision(data.labelled, decided, **given, **prior) == pytest.approx(
        precision_score(data.positive, decided), abs=0.015
    )
    assert sar_balanced_accuracy(data.labelled, decided, **given, **prior) == pytest.approx(
        balanced_accuracy_score(data.positive, decided), abs=0.015
    )


def test_joint_risk_is_least_at_the_truth():
    data = make_double_logistic(50_000, random_state=0)
    risk = partial(joint_risk, data.labelled)
    truth = risk(data.posterior, propensity=data.propensity)
    assert truth < risk(data.posterior, propensity=0.5)
    assert truth < risk(data.posterior**2, propensity=data.propensity)
    assert risk(data.propensity, propensity=data.posterior) == pytest.approx(truth)


def test_lee_liu_is_precision_times_recall_over_the_prior(said):
    s, decided, _, _, _ = said
    product_ = precision_score(s, decided) * recall_score(s, decided) / s.mean()
    assert lee_liu_score(s, decided) == pytest.approx(product_)
    assert lee_liu_score(s, decided) == lee_liu_score(s, decided, propensity=0.5)
    assert lee_liu_score(s, np.zeros(60, bool)) == 0.0
    assert lee_liu_score(s, np.ones(60, bool)) == 1.0


@pytest.mark.parametrize(
    ("s", "y_pred"),
    [
        ([1, 0, 0, 1, 0], [1, 1, 0, 0, 0]),
        ([1, -1, -1, 1, -1], [1, 1, -1, -1, -1]),
        (["yes", "no", "no", "yes", "no"], ["yes", "yes", "no", "no", "no"]),
        (["ill", None, None, "ill", None], ["ill", "ill", "", "", ""]),
        (pd.Series([1, None, None, 1, None], dtype="Int64"), [1, 1, 0, 0, 0]),
        (["yes", "no", "no", "yes", "no"], [True, True, False, False, False]),
    ],
)
def test_labels_are_read_as_by_fit(s, y_pred):
    assert sar_recall(s, y_pred, propensity=[0.25, 0.5, 0.5, 0.5, 0.5]) == pytest.approx(2 / 3)


def test_estimates_beyond_one_are_held_there():
    s, decided = [1, 1, 0, 0], [1, 1, 0, 0]
    assert sar_precision(s, decided, propensity=0.6) == 1.0
    assert sar_balanced_accuracy(s, decided, propensity=0.6) == 1.0
    with pytest.warns(UndefinedMetricWarning, match="prior is 1"):
        assert sar_balanced_accuracy(s, decided, propensity=0.1) == 0.5
    with pytest.warns(UndefinedMetricWarning, match="no row is predicted positive"):
        assert sar_precision(s, [0, 0, 0, 0], propensity=0.5) == 0.0


def test_a_chance_called_impossible_costs_no_infinity():
    assert joint_risk([1, 0], [0.0, 1.0], propensity=1.0) == pytest.approx(-np.log(np.finfo(float).eps), rel=1e-12)


@pytest.mark.parametrize("all_the_same", [True, False])
def test_truth_values_may_be_all_the_same(all_the_same):
    s = np.full(3, all_the_same)
    assert joint_risk(s, [0.5] * 3, propensity=0.5) == pytest.approx(-np.log(0.25 if all_the_same else 0.75))


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"propensity": [0.0, 0.5, 0.5, 0.5]}, InvalidPropensity, "0 for a labelled row"),
        ({"propensity": 1.5}, InvalidPropensity, "1.5 at row 0"),
        ({"propensity": [0.5, np.nan, 0.5, 0.5]}, InvalidPropensity, "nan at row 1"),
        ({"propensity": [0.5, 0.5]}, InvalidPropensity, r"shape \(2,\) but s has 4"),
        ({"y_pred": [0.2, 0.9, 0.1, 0.5]}, InvalidLabels, "y_pred contains 0.1, but the classes are 0 and 1"),
        ({"y_pred": [1.0, np.nan, 0.0, 0.0]}, InvalidInput, "NaN"),
        ({"y_pred": [1, 0]}, InvalidInput, r"y_pred has shape \(2,\)"),
        ({"sample_weight": [-1, 1, 1, 1]}, InvalidWeights, "negative"),
        ({"sample_weight": [0, 0, 1, 1]}, NoLabelledInstances, "positive weight"),
        ({"prior": 0.0}, InvalidInput, "prior=0.0"),
        ({"s": [0, 1, 2, 3]}, InvalidLabels, "Only binary"),
    ],
)
def test_what_is_wrong_is_named(changed, error, words):
    given = {"s": [1, 1, 0, 0], "y_pred": [1, 0, 0, 0], "propensity": 0.5, **changed}
    with pytest.raises(error, match=words):
        sar_precision(**given)
