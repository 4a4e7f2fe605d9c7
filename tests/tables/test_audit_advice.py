"""An audit is asked for where it would say more than the labels, with what it would say."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from propense.report import gather_fit, render
from propense.tables import AuditAdvice, advise_audit, fit_table
from propense.tables.audit_advice import widths_after

pytestmark = pytest.mark.usefixtures("few_simulations")
QUICK = {"learners": [LogisticRegression()], "cv": 2}


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", id="patient", scar_test=False, parameters=QUICK)


def with_range(found, low, high):
    """The fit, as if its worlds gave this range."""
    diagnosis = replace(found.estimator.diagnosis_, shares=tuple(np.linspace(low, high, 99).tolist()))
    changed = type(found.estimator).__new__(type(found.estimator))
    changed.__dict__ |= {**found.estimator.__dict__, "diagnosis_": diagnosis}
    return replace(found, estimator=changed)


@pytest.mark.parametrize("share", [0.2, 0.4, 0.7])
def test_the_width_is_that_of_intervals_that_hold_the_share_95_times_in_a_hundred(share, rng):
    """Against samples of rows of which as many are positive; few rows have too wide intervals, and none too narrow."""
    rows, labelled = 20_000, 2_000
    hidden = (share * rows - labelled) / (rows - labelled)
    for size, width in widths_after(rows, labelled, share).items():
        drawn = rng.binomial(size, hidden, 4000) * (rows - labelled) / size / rows + labelled / rows
        assert 3.92 * drawn.std() < width < 5.2 * drawn.std()
    assert list(widths_after(rows, labelled, share)) == [20, 50, 200]


def test_what_leaves_no_row_unchecked_leaves_nothing_open():
    widths = widths_after(302, 100, 0.5)
    assert widths[200] < widths_after(10**6, 331_126, 0.5)[200] / 5
    assert widths_after(110, 100, 0.95) == {}
    assert list(widths_after(140, 100, 0.8)) == [20]
    for share in (0.5, 1.0):
        assert all(0.0 < width < 1.0 for width in widths_after(1000, 500, share).values())


def test_it_is_asked_for_where_it_is_surer_than_the_range(found):
    n, labelled = found.counts.rows, found.counts.labelled
    widths = widths_after(n, labelled, (labelled + found.counts.hidden) / n)
    middle = (labelled + found.counts.hidden) / n
    wide = with_range(found, middle - 0.1, middle + 0.1)
    assert advise_audit(wide).widths == widths
    narrow = min(widths.values()) / 2
    assert advise_audit(with_range(found, middle - 0.9 * narrow, middle + 0.9 * narrow)) is None


def test_it_needs_no_range_and_is_not_asked_for_where_nothing_is_hidden(clinic):
    asked = {"id": "patient", "scar_test": False}
    assert advise_audit(fit_table(clinic, "reported", **asked, method="pglin")).size == 200
    for options in ({"method": "naive"}, {"learners": "linear", "prior": 0.5}):
        assert advise_audit(fit_table(clinic, "reported", **asked, **options)) is None


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
    middle = found.estimator.diagnosis_.middle
    assert "Have some rows checked" not in render(gather_fit(with_range(found, middle, middle + 1e-3), "x")).html


def test_it_is_said_in_words():
    advice = AuditAdvice({20: 0.29, 50: 0.171, 200: 0.066})
    assert str(advice) == (
        "If people check 20, 50 or 200 unlabelled rows that propense draws at random, the 95% interval of the share of "
        "positives is about 29, 17 or 6.6 points wide, whatever decides which rows are labelled."
    )
    draw = "propense audit draw t.csv --model m.propense --size 200 --out check.csv"
    assert advice.commands("t.csv", "m.propense") == (
        draw,
        "propense audit read check.csv --table t.csv --model m.propense",
    )
    assert advice.with_command("t.csv", "m.propense").endswith(f"rows are labelled: {draw}")
