"""The page of a fit: complete, self-contained, true to the numbers, and alive in a browser."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from browser import SIZES, Outline, asked_of_the_network, needs_browser, seen_in_browser
from conftest import TABLE_METHODS
from propense import JERM, PGLin
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption
from propense.report import gather_fit, render, report_fit
from propense.tables import describe_learning, fit_table, list_rows

SECTIONS = ["how-many", "learned", "warnings", "groups", "review", "naive", "assumptions", "cite", "details"]
pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture(scope="module")
def found(clinic):
    odd = clinic.rename_columns([*clinic.column_names[:-2], "<b>region & more</b>", "reported"])
    return fit_table(odd, "reported", id="patient")


@pytest.fixture(scope="module")
def page(found):
    return render(gather_fit(found, "clinic.csv")).html


def test_every_section_is_on_the_page(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert re.findall(r'<section id="([\w-]+)">', page) == SECTIONS
    # The bar of rows, seven of five columns (two are numbers with a curve), simulated labels, expected hits.
    assert outline.counts["svg"] == 10
    assert outline.counts["table"] == 3


def test_the_numbers_are_those_of_the_fit(found, page):
    expected = found.expected.sum()
    words = " ".join(re.sub("<[^>]+>", "", page).split())
    labelled, (low, high) = found.labelled.sum(), (600 * share for share in found.prior_range)
    assert f"About {expected:,.0f} of 600 rows are positive ({low:,.0f} to {high:,.0f})." in words
    share = f"{labelled / expected:.0%} of the positives ({labelled / high:.0%} to {labelled / low:.0%})"
    assert f"{labelled} of them are labelled, which is {share}." in words
    between = f"({low - labelled:,.0f} to {high - labelled:,.0f})"
    assert f"The other {expected - labelled:,.0f} {between} are hidden among the unlabelled rows." in words
    review = list_rows(found, 25)
    first, (least, most) = review.rows[0], review.hidden_range[0]
    cells = f"<td>{review.hidden[0]:.2f}</td><td>{least:.2f} to {min(most, 0.99):.2f}</td>"
    assert f'<th scope="row">p{first}</th>{cells}' in page
    assert str(review.promise) in words


def test_the_page_says_what_was_learned_and_states_the_number_once(found, page):
    words = " ".join(re.sub("<[^>]+>", "", page).split())
    for line in describe_learning(found):
        assert words.count(line) == 1
    assert words.count(" rows are positive (") == 1
    assert "Estimated share of positive rows" not in words


def test_rows_that_the_method_has_seen_are_listed_without_a_promise(clinic):
    report = gather_fit(fit_table(clinic, "reported", id="patient", method="sar-em", scar_test=False), "x")
    assert report.review_words.startswith("No number of positives is promised for these 25 rows: SAREM was fitted")
    assert report.hits is None
    assert report.review.head == ["id", "positive, given no label", "labelled, if positive"]
    assert len(report.review.lines) == 25


def test_where_too_little_was_learned_rows_have_no_chances(clinic):
    few = clinic.set_column(6, "reported", pa.array([i < 10 for i in range(600)]))
    report = gather_fit(fit_table(few, "reported", id="patient", scar_test=False), "x")
    assert "too little was learned" in report.review_words
    assert report.review.head == ["id", "labelled, if positive"]


@pytest.mark.slow
def test_groups_do_not_contradict_the_test_of_labels_at_random(found):
    assert found.scar.p_value > 0.05
    assert "may be due to chance" in gather_fit(found, "x").about_groups
    for scar in (None, replace(found.scar, p_value=0.01)):
        assert "may be due to chance" not in gather_fit(replace(found, scar=scar), "x").about_groups


@pytest.mark.slow
def test_a_share_that_was_given_is_not_called_an_estimate(clinic):
    found = fit_table(clinic, "reported", id="patient", prior=0.5, scar_test=False)
    report = gather_fit(found, "x")
    words = " ".join(re.sub("<[^>]+>", "", render(report).html).split())
    assert "About 300 of 600 rows are positive (as was given)." in words
    assert "by the method PUClassifier, kept to the share of positives that was given." in words
    assert "Ranges are in brackets. Those of the groups" in words
    assert "The share of positives is 50%, as was given." in report.assumptions
    assert report.naive.lines[0][2] == "300 (50%)"
    # What the rows are is uncertain all the same.
    assert all(" to " in line[3] for line in report.groups.lines)


def test_no_chance_of_a_row_is_certain_and_all_have_ranges(found):
    """e = s/y with y = h + s·(1 − h); the most of h is the least of e."""
    report = gather_fit(found, "x")
    review = list_rows(found, 25)
    rows, sure = review.rows, lambda chance: f"{np.clip(chance, 0.01, 0.99):.2f}"
    s = found.scores.posterior[rows] * found.scores.propensity[rows]
    ends = s[:, np.newaxis] / (review.hidden_range + s[:, np.newaxis] * (1 - review.hidden_range))
    propensity = found.scores.propensity[rows]
    for line, h, e, (high, low) in zip(report.review.lines, review.hidden, propensity, ends, strict=True):
        assert line[1] == sure(h)
        assert line[3] == f"{sure(e)} ({sure(low)} to {sure(high)})"
        assert low <= e <= high
    assert report.naive.lines[0][2].endswith("%; {:.0%} to {:.0%})".format(*found.prior_range))
    groups = [group for each in found.groups for group in each.groups]
    for line, group in zip(report.groups.lines, groups, strict=True):
        low, high = group.frequency_range
        assert line[4] == f"{group.frequency:.0%} ({low:.0%} to {high:.0%})"


def test_nothing_is_asked_of_the_network(page):
    assert asked_of_the_network(page) == []


def test_what_users_write_is_escaped(page):
    assert "<b>region" not in page
    assert "&lt;b&gt;region &amp; more" in page


@pytest.mark.slow
def test_the_page_is_the_same_every_time(found, page):
    assert render(gather_fit(found, "clinic.csv")).html == page


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLE_METHODS)
def test_every_method_has_its_page(clinic, method):
    found = fit_table(clinic, "reported", id="patient", method=method)
    report = gather_fit(found, "x")
    assert len(report.assumptions) > 3
    assert report.citation or method == "naive"
    assert "Rejchel" in report.citation or method != "jerm"
    for note in found.notes:
        assert note in report.notes
    outline = Outline()
    outline.feed(render(report).html)
    assert outline.open == []
    assert outline.counts["section"] == len(SECTIONS)


@pytest.mark.slow
def test_a_notebook_shows_and_keeps_the_page(tmp_path):
    data = make_double_logistic(300, 3, random_state=0)
    model = JERM().fit(data.X, data.labelled)
    page = report_fit(model, data.X, data.labelled, title="By hand")
    page.write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(InvalidOption, match="was not written: No such file"):
        page.write(tmp_path / "nowhere" / "page.html")
    assert "column 0" in page.html
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert '"' not in shown[len('<iframe srcdoc="') : shown.index('" style=')]


def test_sparse_features_have_a_page_without_groups():
    import scipy.sparse as sp

    data = make_double_logistic(300, 3, random_state=0)
    model = PGLin().fit(sp.csr_array(data.X), data.labelled)
    assert "There are no columns to group by." in report_fit(model, sp.csr_array(data.X), data.labelled).html


@pytest.mark.slow
def test_a_fit_that_did_not_converge_says_so(clinic):
    page = render(gather_fit(fit_table(clinic, "reported", id="patient", method="tm"), "x")).html
    assert "The fit stopped after 100 rounds without converging." in page
    assert "Risk after each round" in page
    assert re.search(r'class="note">TM stopped after 100 rounds', page)


@pytest.mark.slow
def test_a_table_without_names_for_rows_numbers_them(clinic):
    numbers = clinic.drop_columns(["patient"])
    report = gather_fit(fit_table(numbers, "reported"), "x")
    assert report.review.head[0] == "row"
    assert all(1 <= int(line[0]) <= 600 for line in report.review.lines)
    assert pa.compute.equal(numbers.column("reported").take(pa.array([int(report.review.lines[0][0]) - 1])), "")[
        0
    ].as_py()


PROBE = """
  const ids = [...document.querySelectorAll("section")].map((section) => section.id);
  const list = document.querySelector("#review table"), button = list.querySelectorAll("thead button")[3];
  button.click();
  const values = [...list.tBodies[0].rows].map((line) => parseFloat(line.children[3].textContent));
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  return {ids, sorted: values.every((x, i) => !i || x >= values[i - 1]), rows: values.length};
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("size", SIZES)
def test_the_page_lives_in_a_browser(page, tmp_path, size):
    """Loads without an error, has its sections, sorts by a click, and does not scroll sideways."""
    assert seen_in_browser(page, tmp_path, size, PROBE) == {
        "problems": [],
        "wide": False,
        "ids": SECTIONS,
        "sorted": True,
        "rows": 25,
    }
