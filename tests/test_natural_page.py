"""The page of natural labels: its tables are those of the records, and are written again without a change."""

import numpy as np
import pytest

import natural_page
from propense.errors import LedgerError

METHODS = (*natural_page.BY_YEAR, "PUClassifier, access + audit", "SAREM, access")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    made = []
    for task in natural_page.TASKS:
        for year in ("before 2013", "before 2011"):
            for method in dict.fromkeys(METHODS):
                names = [f"{kind}propensity_{key}" for key in natural_page.GROUPS.values() for kind in ("", "true_")]
                names += ["auc", "balanced_accuracy", "precision_50", "precision_200", "precision_1000", "group_error"]
                row = {name: float(rng.random()) for name in [*names, "true_prior", "prior"]}
                row |= {"dataset": task, "mechanism": year, "method": method, "error": None}
                made.append(row | {"hidden_auc": 0.7, "hidden_auc_low": 0.65, "hidden_auc_high": 0.75})
    return made


@pytest.mark.slow
def test_the_tables_stand_between_the_marks_and_are_written_again_alike(rows, tmp_path, monkeypatch):
    page, figure = tmp_path / "page.md", tmp_path / "figure.svg"
    page.write_text(f"before\n\n{natural_page.BEGIN}\nbefore them\n{natural_page.END}\n\nafter\n")
    monkeypatch.setattr(natural_page, "rows_of", lambda *_: rows)
    monkeypatch.setattr("sys.argv", ["natural_page.py", "--page", str(page), "--figure", str(figure)])
    natural_page.main()
    once, drawn = page.read_text(), figure.read_bytes()
    natural_page.main()
    assert page.read_text() == once
    assert figure.read_bytes() == drawn
    assert once.startswith("before\n")
    assert once.endswith("\n\nafter\n")
    assert "before them" not in once
    first = next(row for row in rows if row["method"] == "boosted trees")
    line = next(line for line in once.splitlines() if line.startswith("| boosted trees |"))
    cells = [each.strip() for each in line.strip("|").split("|")]
    assert cells[1:3] == [natural_page.number(first["auc"]), ".700 (.650–.750)"]
    # What the method does not say is left empty.
    assert cells[7] == ""


def test_a_number_has_no_leading_0_and_what_is_missing_is_empty():
    assert [natural_page.number(each) for each in (0.25, 1.0, None, float("nan"))] == [".250", "1.000", "", ""]


def test_a_study_that_is_not_finished_makes_no_page(tmp_path):
    plan = tmp_path / "natural.toml"
    plan.write_text(natural_page.PLAN.read_text())
    with pytest.raises((SystemExit, LedgerError)):
        natural_page.rows_of(plan, tmp_path / "natural.ledger")
