"""What results look like in a terminal and in a notebook."""

import re
from html.parser import HTMLParser

import pytest
from sklearn.utils import estimator_html_repr

import propense
from propense import _representation
from propense._representation import Readable, Sheet, as_html, documentation_of
from propense.audit import Audit, draw, read
from propense.datasets import make_double_logistic
from propense.tables import advise_audit, compare_table, fit_table, headline, list_rows

HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e&'


class Tags(HTMLParser):
    """The tags of a page, each closed again."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def results(clinic):
    """One of each result that a person looks at."""
    data = make_double_logistic(400, 4, random_state=0)
    X, s = data.X, data.labelled
    linear = propense.PUClassifier(learners="linear", propensity_features=[2, 3], random_state=0).fit(X, s)
    plain = propense.PUClassifier(learners="linear", random_state=0).fit(X, s)
    table = fit_table(clinic, "reported", id="patient", learners="linear", scar_test=False)
    hidden = plain.predict_hidden(X)
    drawn = draw(hidden, 50, labelled=s, random_state=0)
    return {
        "Diagnosis": plain.diagnosis_,
        "Intervals": propense.intervals(plain, X, s, n_resamples=4, random_state=0),
        "ScarTest": propense.scar_test(X, s, n_simulations=9, random_state=0),
        "Bounds": propense.bounds(plain, X, s),
        "ColumnCheck": propense.column_check(linear, X, s),
        "Findings": read(Audit(drawn, data.positive[drawn.rows].astype(float)), hidden, labelled=s),
        "TableModel": table.model,
        "TableFit": table,
        "ReviewList": list_rows(table, 12),
        "Promise": list_rows(table, 12).promise,
        "AuditAdvice": advise_audit(table),
        "Comparison": compare_table(clinic, "reported", id="patient", methods=["pglin", "pu-linear"]),
    }


@pytest.mark.slow
def test_every_result_has_a_text_a_line_and_a_page(results):
    for name, found in results.items():
        assert type(found).__name__ == name
        line, page = repr(found), found._repr_html_()
        assert re.fullmatch(f"<{name}: .+>", line), line
        assert "\n" not in line
        assert len(line) < 160
        assert str(found) != line
        assert "array(" not in line + str(found)
        assert not Tags(page).open
        assert not {"script", "iframe", "img"} & Tags(page).seen
        assert name in page
        assert "nan" not in re.sub("<[^>]*>", " ", page).split(), name


@pytest.mark.slow
def test_the_numbers_are_those_of_the_result(results):
    found = results["Intervals"]
    assert f"{found.prior.estimate:.1%}" in found._repr_html_()
    assert f"{found.prior.low:.1%} to {found.prior.high:.1%}" in repr(found)
    review = results["ReviewList"]
    assert str(review.rows[0] + 1) in str(review)
    assert review._repr_html_().count("<tr>") == 1 + 10
    assert f"p = {results['ScarTest'].p_value:.3f}" in repr(results["ScarTest"])
    table = results["TableFit"]
    assert str(headline(table))[:100] in repr(table)
    assert "sex" in results["TableModel"]._repr_html_()


def test_titles_lines_and_cells_are_escaped():
    class Result(Readable):
        def __str__(self):
            return HOSTILE

    page = as_html(HOSTILE, [HOSTILE], [Sheet(HOSTILE, [HOSTILE, "x"], [[HOSTILE, HOSTILE]])])
    assert page.count("&lt;script&gt;") == 6
    for text in (page, repr(Result()), Result()._repr_html_()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script" not in page


def test_estimators_link_to_their_page_once_there_is_a_site(monkeypatch):
    class Mine(propense.Naive):
        pass

    assert "JERM.html" not in estimator_html_repr(propense.JERM())
    assert propense.JERM()._get_doc_link() == ""
    monkeypatch.setattr(_representation, "SITE", "https://docs.test/propense/")
    page = "https://docs.test/propense/reference/generated/propense.JERM.html"
    assert propense.JERM()._get_doc_link() == page
    assert f'href="{page}"' in estimator_html_repr(propense.JERM())
    assert Mine()._get_doc_link() == ""
    assert documentation_of("propense.TM", "") == ""
