"""The sentences on bounds are those of `propense.bounds`."""

import re

import pytest

from propense import JointMLE, Naive, bounds
from propense.datasets import make_double_logistic
from propense.report import report_fit
from propense.tables import describe_bounds, summarise_estimator


@pytest.fixture(scope="module")
def fitted():
    data = make_double_logistic(800, 4, random_state=0)
    return JointMLE(propensity_features=[2, 3], n_starts=1, random_state=0).fit(data.X, data.labelled), data


def test_sentences_have_the_numbers_of_bounds(fitted):
    model, data = fitted
    words = " ".join(describe_bounds(summarise_estimator(model, data.X, data.labelled)))
    assert f"at least {data.labelled.mean():.0%} of the rows are positive" in words
    for least in (0.5, 0.25, 0.1):
        most = bounds(model, data.X, data.labelled, propensity=least).prior[1]
        assert re.search(f"at least {least:.0%}, at most {most:.0%}[; .]", words)
    found = bounds(model, data.X, data.labelled, odds_ratio=3)
    assert f"between any two positives, at most {found.prior[1]:.0%} are." in words
    assert f"{found.robustness_value.halved:.3g} times those of the model, there are half as many" in words
    assert f"if they are {found.robustness_value.doubled:.3g} times lower, twice as many" in words


def test_the_report_says_it_unless_nothing_is_hidden(fitted):
    pytest.importorskip("jinja2")
    model, data = fitted
    lines = describe_bounds(summarise_estimator(model, data.X, data.labelled))
    page = report_fit(model, data.X, data.labelled).html
    assert "What may still be said with less" in page
    assert all(line in page for line in lines)
    naive = report_fit(Naive().fit(data.X, data.labelled), data.X, data.labelled).html
    assert "What may still be said with less" not in naive
