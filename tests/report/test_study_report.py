"""The page of a study: complete, self-contained, and alive in a browser."""

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from propense.report import gather_study, render_study
from propense.study import METHODS, Study
from propense.study.published import published

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
STUDY = Study(("breast-w", "wdbc", "heart"), ("S1", "S2"), (0.3, 0.5, 0.7), tuple(METHODS.values()), repeats=2)


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
    return render_study(gather_study(STUDY, made_up_rows(), "Study of three sets"))


class Outline(HTMLParser):
    """Counts elements, and checks that each is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.counts, self.addresses = [], {}, []

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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
    outline = Outline()
    outline.feed(page)
    assert all(address.startswith("#") for address in outline.addresses)
    assert not re.search(r"@import|url\((?!#)", page)


def test_what_users_write_is_escaped(page):
    assert "<b>no" not in page
    assert "&lt;b&gt;no &amp; no" in page


def test_a_study_the_paper_does_not_have_says_so():
    rows = [{**row, "mechanism": "falling"} for row in made_up_rows()]
    study = Study(STUDY.datasets, ("falling",), STUDY.frequencies, STUDY.methods, repeats=2)
    assert "The paper has no cell of this study" in render_study(gather_study(study, rows, "x"))


def test_the_page_is_the_same_every_time(page):
    assert render_study(gather_study(STUDY, made_up_rows(), "Study of three sets")) == page


PROBE = """
<script>
window.problems = [];
window.addEventListener("error", (event) => problems.push(event.message));
window.addEventListener("load", () => {
  const table = document.querySelector("#means table"), button = table.querySelectorAll("thead button")[2];
  const values = () => [...table.tBodies[0].rows].map((line) => parseFloat(line.children[2].textContent));
  button.click(); const up = values(); button.click(); const down = values();
  const fine = (x, last, sign) => isNaN(x) || isNaN(last) || sign * (x - last) >= 0;
  const sorted = (list, sign) => list.every((x, i) => !i || fine(x, list[i - 1], sign));
  const wide = document.documentElement.scrollWidth > window.innerWidth;
  document.title = JSON.stringify({problems, up: sorted(up, 1), down: sorted(down, -1), rows: up.length, wide});
});
</script>
"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not on this machine")
@pytest.mark.parametrize("size", ["1200,900", "390,800"], ids=["desk", "phone"])
def test_the_page_lives_in_a_browser(page, tmp_path, size):
    """Loads without an error, sorts by a click both ways, and does not scroll sideways."""
    (tmp_path / "page.html").write_text(page.replace("<head>", "<head>" + PROBE))
    result = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={size}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            f"file://{tmp_path / 'page.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    title = re.search(r"<title>(\{.*?\})</title>", result.stdout)
    assert title, result.stderr[-500:]
    assert title.group(1) == '{"problems":[],"up":true,"down":true,"rows":4,"wide":false}'
