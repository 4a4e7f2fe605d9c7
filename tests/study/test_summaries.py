"""Tables against the paper's own: its ranks, wins and shares follow from its means."""

import csv

import numpy as np
import pytest

from conftest import data_home
from propense.datasets import CATALOGUE
from propense.study.compare import caveats, compare, per_method, published, published_methods
from propense.study.grids import WRITERS, Grid, duel_grid, mean_grids, win_grid
from propense.study.plan import PAPER_METHODS, Method, Study, method_named
from propense.study.significance import rank_methods
from propense.study.summaries import Duel, Summary, average_ranks, duels, summarise, wins

# The paper's table of wins, losses and draws of JERM: NAIVE, SAR-EM, LBE, PGLIN, TM for each strategy and frequency.
PAPER_DUELS = {
    ("S1", 0.3): [(19, 0, 1), (17, 0, 3), (1, 1, 18), (8, 2, 10), (3, 5, 12)],
    ("S2", 0.3): [(20, 0, 0), (18, 0, 2), (3, 1, 16), (13, 0, 7), (14, 0, 6)],
    ("S3", 0.5): [(17, 0, 3), (14, 0, 6), (2, 1, 17), (7, 2, 11), (9, 0, 11)],
    ("S4", 0.7): [(14, 0, 6), (10, 1, 9), (3, 0, 17), (5, 2, 13), (10, 0, 10)],
}
OPPONENTS = ("naive", "sar-em-published", "lbe-published", "pglin", "tm")


def test_the_published_numbers_are_all_there():
    cells = published()
    assert len(cells) == 1680
    assert {each.method for each in cells} == set(PAPER_METHODS)
    assert {each.dataset for each in cells} == set(CATALOGUE)
    first = next(each for each in cells if (each.dataset, each.setting, each.method) == ("wdbc", ("S1", 0.5), "tm"))
    assert first.mean == 0.918
    means = {name: np.mean([each.mean for each in cells if each.method == name]) for name in PAPER_METHODS}
    # What is said of the paper in methods.md, from the same numbers read by others.
    for name, mean in {
        "jerm": 0.804,
        "lbe-published": 0.801,
        "pglin": 0.769,
        "tm": 0.768,
        "sar-em-published": 0.704,
        "naive": 0.649,
    }.items():
        assert means[name] == pytest.approx(mean, abs=0.0006)


@pytest.mark.parametrize("setting", PAPER_DUELS)
def test_wins_losses_and_draws_are_the_papers(setting):
    """Up to two data sets of twenty: the paper compared unrounded means, of which three digits are printed."""
    found = duels(published(), "jerm")[setting]
    for name, printed in zip(OPPONENTS, PAPER_DUELS[setting], strict=True):
        ours = found[name]
        assert ours.wins + ours.losses + ours.draws == 20
        assert np.abs(np.subtract((ours.wins, ours.losses, ours.draws), printed)).max() <= 2


def test_shares_of_wins_are_the_papers():
    shares = wins(published(), "jerm")
    for mechanism, printed in {"S1": (0.91, 0.8, 0.42, 0.48, 0.42), "S4": (0.97, 0.9, 0.65, 0.77, 0.87)}.items():
        for name, share in zip(OPPONENTS, printed, strict=True):
            assert shares[mechanism][name] == pytest.approx(share, abs=0.05)


def test_average_ranks_are_the_papers():
    home = data_home()
    if home is None or not (home.parent / "paper").is_dir():
        pytest.skip("the paper's tables are not on this machine")
    ranks = average_ranks(published())
    with (home.parent / "paper" / "balanced_accuracy.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] == "(average rank)" and row["method"] != "ORACLE"]
    assert len(rows) == 72
    for row in rows:
        name = {"SAR-EM": "sar-em-published", "LBE": "lbe-published"}.get(row["method"], row["method"].lower())
        ours = ranks[row["strategy"], float(row["c"])][name]
        assert ours == pytest.approx(float(row["mean"]), abs=0.15)


def row(dataset, method, value, repeat=0, mechanism="S1", frequency=0.5):
    return {
        "dataset": dataset,
        "mechanism": mechanism,
        "frequency": frequency,
        "method": method,
        "repeat": repeat,
        "balanced_accuracy": value,
    }


def test_summaries_are_means_over_repeats_without_failures():
    rows = [row("a", "x", 0.5), row("a", "x", 0.7, 1), row("a", "x", None, 2), row("a", "y", 0.9)]
    assert summarise(rows) == [
        Summary("a", "S1", 0.5, "x", 0.6, pytest.approx(0.1), 2),
        Summary("a", "S1", 0.5, "y", 0.9, 0.0, 1),
    ]


def test_ranks_share_ties_leave_out_the_oracle_and_incomplete_sets():
    rows = [row("a", "oracle", 1.0), row("a", "x", 0.5), row("a", "y", 0.5), row("a", "z", 0.9), row("b", "x", 0.9)]
    assert average_ranks(summarise(rows)) == {("S1", 0.5): {"x": 1.5, "y": 1.5, "z": 3.0}}


def test_intervals_that_touch_are_a_draw():
    def summary(method, mean, sd):
        return Summary("a", "S1", 0.5, method, mean, sd, 10)

    assert duels([summary("x", 0.8, 0.1), summary("y", 0.6, 0.1)], "x")["S1", 0.5]["y"] == Duel(0, 0, 1)
    assert duels([summary("x", 0.8, 0.1), summary("y", 0.6, 0.09)], "x")["S1", 0.5]["y"] == Duel(1, 0, 0)
    assert duels([summary("x", 0.6, 0.09), summary("y", 0.8, 0.1)], "x")["S1", 0.5]["y"] == Duel(0, 1, 0)


def test_comparison_is_by_cell_and_by_method():
    moved = [
        Summary(each.dataset, each.mechanism, each.frequency, each.method, each.mean + 0.01, each.sd, 10)
        for each in published()
    ]
    moved.append(Summary("wdbc", "falling", 0.5, "jerm", 0.7, 0.1, 10))
    differences = compare(moved)
    assert len(differences) == 1680
    assert max(abs(each.difference - 0.01) for each in differences) < 1e-12
    assert per_method(differences)["jerm"] == (pytest.approx(0.01), pytest.approx(0.01), 240)


def test_grids_hold_the_papers_tables():
    grids = mean_grids(published())
    assert len(grids) == 12
    first = grids[0]
    assert first.title == "Balanced accuracy, S1, c = 0.3"
    assert first.head == ["data set", "oracle", "naive", "sar-em-published", "lbe-published", "pglin", "tm", "jerm"]
    assert first.lines[0][:3] == ["breast-w", "0.952 ± 0.017", "0.529 ± 0.022"]
    assert first.lines[-1][:2] == ["average rank", "–"]
    assert len(first.lines) == 21
    wins_of_jerm = duel_grid(published(), "jerm")
    assert wins_of_jerm.lines[0][0] == "S1, c = 0.3"
    assert sum(map(int, wins_of_jerm.lines[0][2].split("/"))) == 20
    assert len(win_grid(published(), "jerm").lines) == 4


def test_grids_are_written_in_three_ways():
    grid = Grid("A title_1", ["data set", "x"], [["a", "0.5 ± 0.1"], ["b", "–"]])
    assert WRITERS["markdown"]([grid]).splitlines()[2:] == [
        "| data set | x |",
        "| --- | ---: |",
        "| a | 0.5 ± 0.1 |",
        "| b | – |",
    ]
    latex = WRITERS["latex"]([grid])
    assert r"a & 0.5 $\pm$ 0.1 \\" in latex
    assert r"A title\_1" in latex
    assert latex.count("{") == latex.count("}")
    assert list(csv.reader(WRITERS["csv"]([grid]).splitlines())) == [
        ["table", "data set", "x"],
        ["A title_1", "a", "0.5 ± 0.1"],
        ["A title_1", "b", "–"],
    ]


def test_a_method_with_fewer_repeats_is_not_compared_there():
    """A mean over the repeats that did not fail is another problem's mean."""
    full = [
        Summary(name, "S1", 0.5, method, mean, 0.0, 10) for name in "ab" for method, mean in (("x", 0.7), ("y", 0.6))
    ]
    short = [*full[:3], Summary("b", "S1", 0.5, "y", 0.9, 0.0, 4)]
    assert average_ranks(short)["S1", 0.5] == {"x": 2.0, "y": 1.0}
    assert duels(short, "x")["S1", 0.5]["y"] == Duel(1, 0, 0)
    assert wins(short, "x")["S1"]["y"] == 1.0
    assert rank_methods(short).problems == 1
    lines = mean_grids(short)[0].lines
    assert lines[0] == ["a", "0.700 ± 0.000", "0.600 ± 0.000"]
    assert lines[1] == ["b", "0.700 ± 0.000", "0.900 ± 0.000 (4)"]


def test_only_the_papers_own_methods_are_set_beside_its_numbers():
    stiff = Method("jerm", "propense.JERM", (("ridge", 5.0),))
    study = Study(("wdbc",), ("S1",), (0.5,), (PAPER_METHODS["tm"], stiff), protocol="clean")
    assert published_methods(study) == ["tm"]
    summaries = [Summary("wdbc", "S1", 0.5, name, 0.9, 0.0, 10) for name in ("tm", "jerm")]
    assert [each.method for each in compare(summaries, published_methods(study))] == ["tm"]
    assert caveats(study) == [
        "The protocol is clean; the paper's numbers come from another one.",
        "Not compared, because the paper does not have them: jerm.",
    ]
    assert caveats(Study(("wdbc",), ("S1",), (0.5,), (PAPER_METHODS["tm"],))) == []
    assert caveats(Study(("wdbc",), ("S1",), (0.5,), (method_named("lbe"),))) == [
        "lbe is not compared: use lbe-published, the variant behind the paper's numbers."
    ]


def test_features_of_another_network_are_named(monkeypatch, tmp_path):
    (tmp_path / "features").mkdir()
    entry = CATALOGUE["usps"]
    y = np.arange(entry.n) < entry.positives
    np.savez(
        tmp_path / "features" / "usps.npz",
        X_train=np.zeros((entry.n, 3), dtype=np.float16),
        y_train=y,
        X_test=np.zeros((5, 3), dtype=np.float16),
        y_test=y[:5],
    )
    monkeypatch.setenv("PROPENSE_DATA", str(tmp_path))
    (words,) = caveats(Study(("usps", "wdbc"), ("S1",), (0.5,), (PAPER_METHODS["tm"],)))
    assert words.startswith("The features of usps come from a network other than")


def test_names_with_signs_of_the_format_stay_in_their_cells():
    grid = Grid("50 % of a_b", ["set", "a|b#1"], [["x~y", "1 ± 2 {$}"]])
    assert r"| set | a\|b#1 |" in WRITERS["markdown"]([grid])
    latex = WRITERS["latex"]([grid])
    for words in (r"50 \% of a\_b", r"a|b\#1", r"x\textasciitilde{}y", r"1 $\pm$ 2 \{\$\}"):
        assert words in latex
