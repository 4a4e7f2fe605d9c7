"""An audit is asked for where it would say more than the labels."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense.report import gather_fit, render
from propense.tables import AuditAdvice, advise_audit, fit_table

pytestmark = pytest.mark.usefixtures("few_simulations")
QUICK = {"learners": [LogisticRegression()], "cv": 2}


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", id="patient", scar_test=False, parameters=QUICK)


def with_range(found, low, high):
    """The fit, as if its readings gave this range."""
    estimator = replace(found.estimator.diagnosis_, low=low, high=high)
    changed = type(found.estimator).__new__(type(found.estimator))
    changed.__dict__ |= {**found.estimator.__dict__, "diagnosis_": estimator}
    return replace(found, estimator=changed)


def test_it_is_asked_for_if_a_random_sample_would_be_surer(found, rng):
    """Against samples drawn from rows of which the middle of the range is positive."""
    n, labelled = found.counts.rows, found.counts.labelled
    advice = advise_audit(with_range(found, 0.3, 0.8))
    assert (advice.low, advice.high, advice.size) == (0.3, 0.8, 200)
    hidden = round(0.55 * n) - labelled
    rest = np.r_[np.ones(hidden), np.zeros(n - labelled - hidden)]
    shares = [rng.choice(rest, 200, replace=False).mean() * len(rest) / n + labelled / n for _ in range(4000)]
    assert advice.half_width == pytest.approx(1.96 * np.std(shares), rel=0.05)
    wide = 2 * advice.half_width
    assert advise_audit(with_range(found, 0.55 - 0.51 * wide, 0.55 + 0.51 * wide)) is not None
    assert advise_audit(with_range(found, 0.55 - 0.49 * wide, 0.55 + 0.49 * wide)) is None


def test_what_was_named_or_given_is_part_of_what_leaves_it_open(clinic):
    asked = {"id": "patient", "scar_test": False, "propensity_features": ["age"], "parameters": QUICK}
    advice = advise_audit(with_range(fit_table(clinic, "reported", **asked), 0.3, 0.8))
    assert str(advice).startswith("The labels and the named columns leave open")
    advice = advise_audit(with_range(fit_table(clinic, "reported", **asked, prior=(0.3, 0.8)), 0.3, 0.8))
    assert str(advice).startswith("The labels, the named columns and the given share leave open")


def test_it_is_not_asked_for_without_a_range(clinic):
    for asked in ({"method": "pglin"}, {"method": "naive"}, {"learners": "linear", "prior": 0.5}):
        assert advise_audit(fit_table(clinic, "reported", id="patient", scar_test=False, **asked)) is None


def test_the_first_page_has_the_two_commands(found):
    advice = advise_audit(found)
    page = render(gather_fit(found, "clinic.csv", files=("my clinic.csv", None))).html
    start = page.index('id="how-many"')
    first = page[start : page.index("</section>", start)]
    assert "Have some rows checked" in first
    assert str(advice) in first
    assert "propense audit draw &#39;my clinic.csv&#39; --model FILE --size 200 --out check.csv\n" in first
    assert "propense audit read check.csv --table &#39;my clinic.csv&#39; --model FILE</pre>" in first
    # Without a file there are no commands, and without doubt no audit.
    assert "audit draw" not in render(gather_fit(found, "clinic.csv")).html
    assert "Have some rows checked" not in render(gather_fit(with_range(found, 0.54, 0.56), "x")).html


def test_it_is_said_in_words():
    advice = AuditAdvice(0.17, 0.53, 200, 0.061)
    assert str(advice) == (
        "The labels leave open whether 17% or 53% of the rows are positive. If people check 200 rows that propense "
        "draws, the share is known to about ±6 points."
    )
    assert advice.commands("t.csv", "m.propense") == (
        "propense audit draw t.csv --model m.propense --size 200 --out check.csv",
        "propense audit read check.csv --table t.csv --model m.propense",
    )
    assert str(AuditAdvice(0.2, 0.9, 32, 0.0)) == (
        "The labels leave open whether 20% or 90% of the rows are positive. If people check all 32 unlabelled rows, "
        "the share is known."
    )
    # Small shares have the digits of the headline.
    assert "whether 6.6% or 60% of" in str(AuditAdvice(0.0658, 0.599, 200, 0.06))
    assert str(AuditAdvice(0.2, 0.9, 200, 0.06, "labels and the named columns")).startswith(
        "The labels and the named columns leave open whether 20% or 90%"
    )
    assert "about ±0.3 points" in str(AuditAdvice(0.2, 0.9, 200, 0.003))
