"""The page of a fit: complete, self-contained, true to the numbers, and alive in a browser."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from browser import SIZES, Outline, asked_of_the_network, needs_browser, seen_in_browser
from clinic import make_clinic
from conftest import TABLE_METHODS
from propense import JERM, PGLin, PUClassifier
from propense._diagnostics.doubts import KINDS, Doubt
from propense.audit import Audit, correct, draw, read
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption
from propense.report import gather_fit, render, report_fit
from propense.report.compare import gather_comparison
from propense.report.plain import PLAIN
from propense.tables import Suggestion, capacity, compare_table, describe_learning, fit_table, list_rows

# One learner out of fold: what is tested is the page.
QUICK = {"learners": [LogisticRegression()], "cv": 2}
SECTIONS = ["how-many", "review", "groups", "learned", "warnings", "assumptions", "naive", "details"]
pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture(scope="module")
def found(clinic):
    odd = clinic.rename_columns([*clinic.column_names[:-2], "<b>region & more</b>", "reported"])
    return fit_table(odd, "reported", id="patient", parameters=QUICK)


@pytest.fixture(scope="module")
def page(found):
    return render(gather_fit(found, "clinic.csv")).html


def test_every_section_is_on_the_page(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert re.findall(r'<section id="([\w-]+)"', page) == SECTIONS
    # The curve of what lists find; what to review, the list, all groups, the naive count.
    assert outline.counts["svg"] == 1
    assert outline.counts["table"] == outline.counts["caption"] == 4


def words_of(page):
    """What a reader sees, without the style and the scripts."""
    text = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub("<[^>]+>", "", text).split())


def test_the_numbers_are_those_of_the_fit(found, page):
    words = words_of(page)
    labelled, (low, high) = found.labelled.sum(), (600 * share for share in found.prior_range)
    middle = found.expected.sum()
    assert f"At least {labelled} of 600 rows are positive ({labelled / 600:.0%}): those that are labelled." in words
    between = f"{low:,.0f} to {high:,.0f} are ({low / 600:.0%} to {high / 600:.0%})"
    assert f"In 9 of 10 worlds whose labels look like these, {between}; the middle is {middle:,.0f} (" in words
    assert f"In that range, {labelled / high:.0%} to {labelled / low:.0%} of the positives are labelled" in words
    assert f", and {round(low) - labelled:,} to {round(high) - labelled:,} have no label." in words
    review = list_rows(found, 100)
    first, (least, most) = review.rows[0], review.hidden_range[0]
    cells = f"<td>1</td><td>{least:.2f} to {min(most, 0.99):.2f}</td><td>{review.hidden[0]:.2f}</td>"
    assert f'<th scope="row">p{first}</th>{cells}' in page
    assert str(review.promise) in words


def test_the_page_says_what_was_learned_and_the_range_before_any_number(found, page):
    words = words_of(page)
    for line in describe_learning(found):
        assert words.count(line) == 1
    assert words.count(" rows are positive (") == 1
    assert re.search(r"How many rows are positive\?\s*At least", words)
    assert "Estimated share of positive rows" not in words


def test_the_slider_begins_with_what_a_list_of_fifty_promises(found, page):
    data = json.loads(re.search(r'id="capacity-data">(.*?)</script>', page)[1])
    promise = capacity(found).at(50)
    place = data["lengths"].index(50)
    assert data["expected"][place] == pytest.approx(promise.expected, abs=0.01)
    assert (data["low"][place], data["high"][place]) == pytest.approx((promise.low, promise.high), abs=0.01)
    assert f"Review the first 50 rows: {promise.low:,.0f} to {promise.high:,.0f} should be positive" in words_of(page)
    for name in ("expected", "low", "high"):
        assert np.all(np.diff(data[name]) >= -0.02)


def test_the_curve_says_why_it_ends_before_all_rows(found, page):
    curves, last = capacity(found), json.loads(re.search(r'id="capacity-data">(.*?)</script>', page)[1])["lengths"][-1]
    assert last < curves.unlabelled
    rest = 1 - curves.expected[last] / curves.expected[-1]
    said = f"The curve ends after {last:,} of the {curves.unlabelled:,} unlabelled rows: in the middle, the others "
    assert f"{said}hold only {rest:.0%} of the positives without a label." in words_of(page)
    assert "more than there are" not in page


def test_what_a_share_of_a_group_is_stands_next_to_every_table_of_groups(found):
    alike = found.groups
    # As many more labels in the first groups as there are positives.
    apart = [
        replace(each, groups=(replace(each.groups[0], labelled=round(each.groups[0].positives)), *each.groups[1:]))
        for each in alike
    ]
    for groups, differing in ((alike, False), (apart, True)):
        report = gather_fit(replace(found, groups=groups, scar=None), "x")
        assert bool(report.group_charts) == differing
        said = " ".join([*report.about_groups, report.group_words])
        assert said.count("A group's share is its number of labels divided by") == 1


def test_columns_that_may_be_named_are_a_next_step_with_the_options_of_the_command_line(found, monkeypatch):
    suggestion = Suggestion(["visits", "region"], ["access", "place"], others=("age",))
    monkeypatch.setattr("propense.report.fit.suggest_columns", lambda _: suggestion)
    page = words_of(render(gather_fit(found, "x", files=("x.csv", None))).html)
    assert "If visits and region say who gets labelled rather than who is positive, say so and fit again" in page
    assert "If you agree: --propensity-features visits,region (and --class-features age" in page
    # Elsewhere there is no such option, but the question is the same.
    page = words_of(render(gather_fit(found, "x")).html)
    assert "If visits and region say who gets labelled" in page
    assert "--propensity-features" not in page


def test_the_range_keeps_to_a_share_that_was_given(clinic):
    asked = {"id": "patient", "scar_test": False, "parameters": QUICK}
    given = gather_fit(fit_table(clinic, "reported", **asked, prior=(0.2, 0.3)), "x")
    assert given.sureness[0] == "The range keeps to the share of positives that was given: 20% to 30%."
    assert given.sureness[-1] == "It rests on this share and on assumptions that labels alone cannot prove."


API = (
    r"diagnosis_|propensity_features|class_features|\bridge\b|predict_proba|prior_|label_frequency_|doubts_|SAREM|JERM|"
    r"\bcv\b"
)


def test_no_word_of_the_programming_interface_is_outside_the_details(found):
    every = [Doubt(kind, f"Raise ridge (diagnosis_.{kind}).") for kind in KINDS]
    estimator = type(found.estimator).__new__(type(found.estimator))
    estimator.__dict__ |= {**found.estimator.__dict__, "doubts_": tuple(every)}
    doubtful = replace(found, estimator=estimator, notes=[each.message for each in every])
    report = gather_fit(doubtful, "x")
    assert len(report.notes) == len(KINDS)
    page = render(report).html
    before, details = page.split('<section id="details"')
    assert not re.search(API, words_of(before))
    for each in every:
        assert each.message in details
    assert not re.search(API, words_of(render(gather_fit(found, "x")).html.split('<section id="details"')[0]))


def test_every_doubt_has_plain_words():
    assert PLAIN.keys() == KINDS.keys()
    for words in PLAIN.values():
        assert not re.search(API, words)


def test_only_the_scripts_of_the_page_may_run(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_rows_that_the_method_has_seen_are_listed_without_a_promise(clinic):
    report = gather_fit(fit_table(clinic, "reported", id="patient", method="sar-em", scar_test=False), "x")
    words = "No number of positives is given for these 100 rows: the method was fitted"
    assert report.review_words.startswith(words)
    assert report.capacity is None
    assert report.review.head[:4] == ["id", "rank", "chance of being positive", "chance of a label, if positive"]
    assert len(report.review.lines) == 100


def test_where_too_little_was_learned_rows_have_no_chances(clinic):
    few = clinic.set_column(6, "reported", pa.array([i < 10 for i in range(600)]))
    report = gather_fit(fit_table(few, "reported", id="patient", scar_test=False, parameters=QUICK), "x")
    assert "too little was learned" in report.review_words
    assert report.review.head == ["id", "rank"]
    assert "is left open: too little was learned" in report.headline
    assert report.capacity is None
    assert report.audit.startswith("If people check 20, 50 or 200 unlabelled rows")


@pytest.mark.slow
def test_a_share_that_was_given_is_not_called_an_estimate(clinic):
    found = fit_table(clinic, "reported", id="patient", prior=0.5, scar_test=False, parameters=QUICK)
    report = gather_fit(found, "x")
    assert report.headline == "300 of 600 rows are positive (50%): that share was given."
    assert "The number is not an estimate" in words_of(render(report).html)
    assert "The share of positives is 50%, as was given." in report.assumptions
    assert report.naive.lines[0][2] == "300 (50%)"
    # What the rows are is uncertain all the same.
    assert all(" to " in line[3] for line in report.groups.lines)


def test_no_chance_of_a_row_is_certain_and_all_have_ranges(found):
    """e = s/y with y = h + s·(1 − h); the most of h is the least of e."""
    report = gather_fit(found, "x")
    review = list_rows(found, 100)
    rows, sure = review.rows, lambda chance: f"{np.clip(chance, 0.01, 0.99):.2f}"
    s = found.scores.posterior[rows] * found.scores.propensity[rows]
    ends = s[:, np.newaxis] / (review.hidden_range + s[:, np.newaxis] * (1 - review.hidden_range))
    propensity = found.scores.propensity[rows]
    for line, h, e, (high, low) in zip(report.review.lines, review.hidden, propensity, ends, strict=True):
        assert line[3] == sure(h)
        assert line[4] == f"{sure(e)} ({sure(low)} to {sure(high)})"
        assert low <= e <= high
    for line in report.groups.lines:
        assert re.fullmatch(r"\d+% \(\d+% to \d+%\)|–", line[4])


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
        assert note in report.notes or note in report.messages
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
    assert re.search(r'class="note">TM stopped after 100 rounds', page.split('id="details"')[1])
    assert "The computation stopped before its numbers had settled" in page


@pytest.mark.slow
def test_a_table_without_names_for_rows_numbers_them(clinic):
    numbers = clinic.drop_columns(["patient"])
    report = gather_fit(fit_table(numbers, "reported", parameters=QUICK), "x")
    assert report.review.head[0] == "row"
    assert all(1 <= int(line[0]) <= 600 for line in report.review.lines)
    assert pa.compute.equal(numbers.column("reported").take(pa.array([int(report.review.lines[0][0]) - 1])), "")[
        0
    ].as_py()


PROBE = """
  const ids = [...document.querySelectorAll("section")].map((section) => section.id);
  const list = document.querySelector("#review-list table"), button = list.querySelectorAll("thead button")[3];
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
        "rows": 100,
    }


@pytest.mark.slow
def test_what_was_not_learned_gives_rows_neither_chances_nor_reasons():
    report = gather_fit(fit_table(make_clinic(60)[0], "reported", id="patient", scar_test=False), "x")
    assert report.headline.endswith("too little was learned from these rows.")
    assert report.review.head == ["id", "rank"]
    # Of 49 rows without a label nobody can check 50.
    assert report.audit.startswith("If people check 20 unlabelled rows that propense draws at random, ")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["naive", "jerm", "tm", "joint-mle"])
def test_letters_of_the_paper_and_options_are_in_the_details(clinic, method):
    table = clinic.append_column("case_id", pa.array(range(7000, 7600)))
    report = gather_fit(fit_table(table, "reported", id="patient", method=method, scar_test=False), "x")
    before, details = render(report).html.split('<section id="details"')
    assert not re.search(rf"{API}|\b[ey]\b(?!-)|Pass |GroupComparison", words_of(before.partition("<h1>")[2]))
    assert "The column &#39;case_id&#39; counts the rows one by one and was left out." in before
    assert "Pass id=&#39;case_id&#39;" in details
    assert "y and e are separated by" in words_of(details)


def test_a_comparison_names_no_code_of_a_doubt(clinic):
    found = compare_table(clinic, "reported", id="patient", methods=["naive", "jerm", "pu-linear"])
    doubtful = replace(found.results[1], doubts=(Doubt("all_likely", "Too many."),))
    found = replace(found, results=(found.results[0], doubtful, *found.results[2:]))
    report = gather_comparison(found, "x")
    assert report.summary.head[-1] == "doubts its own fit"
    assert report.summary.lines[1][-1] == "yes: see above"
    assert "all_likely" not in render(report).html


def test_after_an_audit_the_page_rests_on_verdicts_and_on_no_assumptions():
    data = make_double_logistic(600, 3, random_state=0)
    X, labelled = data.X, data.labelled
    model = PUClassifier(learners="linear").fit(X, labelled)
    hidden = model.predict_hidden(X)
    drawn = draw(hidden, 60, labelled=labelled, random_state=0)
    found = read(Audit(drawn, data.positive[drawn.rows].astype(float)), hidden, labelled=labelled)
    page = words_of(report_fit(correct(model, found), X, labelled).html)
    assert "It rests on the rows that people checked, not on assumptions." in page
    assert "To know the number better, have more rows checked." in page
    assert (
        "were drawn at random, and the verdicts on them are right. The order of the list is that of the model." in page
    )
    for other in (
        "assumptions that labels alone",
        "If people check 20",
        "The labels alone show",
        "no data can prove them",
    ):
        assert other not in page
