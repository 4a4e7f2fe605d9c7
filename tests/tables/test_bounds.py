"""The sentences on bounds are those of `propense.bounds`."""

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
    found = bounds(model, data.X, data.labelled)
    assert f"at least {found.labelled:.0%} of the rows are positive" in words
    assert f"If all {found.top_rows} rows to which the model gives the highest chance of a label are positive" in words
    assert f"{found.between(1)[0]:.0%} of the rows are if no positive is harder to label" in words
    assert f"at most {found.between(3)[1]:.0%} if the hardest ones are up to 3 times harder to label" in words
    assert found.robustness_words(found.estimate) in words


def test_the_report_says_it_unless_nothing_is_hidden(fitted):
    pytest.importorskip("jinja2")
    model, data = fitted
    lines = describe_bounds(summarise_estimator(model, data.X, data.labelled))
    page = report_fit(model, data.X, data.labelled).html
    assert "What may still be said with less" in page
    assert all(line in page for line in lines)
    naive = report_fit(Naive().fit(data.X, data.labelled), data.X, data.labelled).html
    assert "What may still be said with less" not in naive
