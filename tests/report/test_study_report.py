"""The page of a study: complete, self-contained, and alive in a browser."""

import pytest

from browser import SIZES, Outline, asked_of_the_network, needs_browser, seen_in_browser
from propense.report import gather_study, render
from propense.study import PAPER_METHODS, Study
from propense.study.compare import published

STUDY = Study(("breast-w", "wdbc", "heart"), ("S1", "S2"), (0.3, 0.5, 0.7), tuple(PAPER_METHODS.values()), repeats=2)


def made_up_rows():
    """Two records for each published cell, whose mean and sd are the published ones; one of them failed."""
    rows = [
        {
            "dataset": each.dataset,
            "mechanism": each.mechanism,
            "frequency": each.frequency,
            "method": each.method,
            "repeat": repeat,
            "balanced_accuracy": each.mean + (-1) ** repeat * each.sd,
            "seconds": 0.5,
            "error": None,
        }
        for each in published()
        if each.dataset in STUDY.datasets and each.mechanism in STUDY.mechanisms
        for repeat in range(2)
    ]
    rows[7] = {**rows[7], "balanced_accuracy": None, "error": "ValueError: <b>no & no</b>"}
    return rows


@pytest.fixture(scope="module")
def page():
    return render(gather_study(STUDY, made_up_rows(), "Study of three sets")).html


@pytest.mark.slow
def test_every_table_and_figure_is_on_the_page(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    # Six tables of means, two of wins, two of the comparison; six curves and the ranks.
    assert outline.counts["table"] == 10
    assert outline.counts["svg"] == 7
    for words in ("Study of three sets", "251 of 252, 1 failed", "average rank", "0.971 ± 0.", "Friedman"):
        assert words in page


def test_nothing_is_asked_of_the_network(page):
    assert asked_of_the_network(page) == []


def test_what_users_write_is_escaped(page):
    assert "<b>no" not in page
    assert "&lt;b&gt;no &amp; no" in page


@pytest.mark.slow
def test_a_study_the_paper_does_not_have_says_so():
    rows = [{**row, "mechanism": "falling"} for row in made_up_rows()]
    study = Study(STUDY.datasets, ("falling",), STUDY.frequencies, STUDY.methods, repeats=2)
    assert "The paper reports none of this study" in render(gather_study(study, rows, "x")).html


@pytest.mark.slow
def test_the_page_is_the_same_every_time(page):
    assert render(gather_study(STUDY, made_up_rows(), "Study of three sets")).html == page


PROBE = """
  const table = document.querySelector("#means table"), button = table.querySelectorAll("thead button")[2];
  const values = () => [...table.tBodies[0].rows].map((line) => parseFloat(line.children[2].textContent));
  button.click(); const up = values(); button.click(); const down = values();
  const fine = (x, last, sign) => isNaN(x) || isNaN(last) || sign * (x - last) >= 0;
  const sorted = (list, sign) => list.every((x, i) => !i || fine(x, list[i - 1], sign));
  return {up: sorted(up, 1), down: sorted(down, -1), rows: up.length};
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("size", SIZES)
def test_the_page_lives_in_a_browser(page, tmp_path, size):
    """Loads without an error, sorts by a click both ways, and does not scroll sideways."""
    assert seen_in_browser(page, tmp_path, size, PROBE) == {
        "problems": [],
        "wide": False,
        "up": True,
        "down": True,
        "rows": 4,
    }
