"""What the benchmarks with other packages, and of coverage, compute from their measurements."""

from datetime import date

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import coverage
from coverage_page import judge
from peer_measure import WORLDS
from peer_methods import METHODS, Known, fit, method, predict
from peer_page import accuracy_table
from peer_results import Accuracy, Cost, Results, exponent, figures, mean_and_error, number
from peers import FEW, FULL, ask
from propense._steps.label_learners import LOGISTIC, LabelLearner, given_learners
from propense.datasets import make_double_logistic


@pytest.fixture
def results():
    """Two methods: the unit, which takes 1e-6·n·√p seconds, and one that failed on the larger sizes."""
    costs = [
        Cost("LogisticRegression", n, p, 1e-6 * n * p**0.5, 1e-6 * n * p**0.5, 1e6, 8.0 * n * p) for n, p in FULL.all()
    ]
    costs.append(Cost("JERM()", 4000, 5, 2.0, 0.5, 1e6, 160_000.0))
    costs.append(Cost("JERM()", 4000, 20, ended="over 120 s"))
    accuracies = [
        Accuracy("LogisticRegression", "", "easy", (0.6, 0.7)),
        Accuracy("JERM()", "posterior", "easy", (0.9, 0.9)),
        Accuracy("JERM()", "balanced", "easy", (0.8,), "over 120 s"),
    ]
    return Results(
        accuracies,
        costs,
        FULL.rows,
        FULL.columns,
        FULL.n,
        FULL.p,
        2,
        120.0,
        1,
        date(2026, 1, 2),
        3.0,
        "python x.py",
        0.0,
    )


@pytest.mark.parametrize("k", [0.5, 1.0, 2.0])
def test_exponent_of_a_power_law_is_its_power(k):
    sizes = np.array([1000, 4000, 16_000, 64_000])
    assert exponent(sizes, 3e-7 * sizes**k) == pytest.approx(k)


def test_two_sizes_have_no_exponent():
    assert np.isnan(exponent([1, 2], [1, 2]))


def test_error_is_that_of_the_mean():
    # The sample standard deviation of 0 and 1 is √½; divided by √2, ½.
    assert mean_and_error([0.0, 1.0]) == "0.500 ± 0.500"
    assert mean_and_error([0.25]) == "0.250"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00123, "0.0012"), (0.5, "0.50"), (1.26, "1.3"), (12.6, "13"), (12345.6, "12 346"), (np.nan, "–")],
)
def test_numbers_have_two_digits(value, shown):
    assert number(value) == shown


def test_growth_follows_one_line_of_sizes(results):
    assert results.growth("LogisticRegression", "n")[0] == [*FULL.rows]
    assert exponent(*results.growth("LogisticRegression", "n")) == pytest.approx(1.0)
    assert results.growth("LogisticRegression", "p")[0] == [*FULL.columns]
    assert exponent(*results.growth("LogisticRegression", "p")) == pytest.approx(0.5)


def test_best_of_a_world_is_bold_the_told_among_themselves(results):
    results.accuracies.append(Accuracy("NNPUClassifier", "", "easy", (0.5, 0.6)))
    results.accuracies.append(Accuracy("Oracle()", "posterior", "easy", (0.95, 0.95)))
    rows = accuracy_table(results).splitlines()[2:]
    assert ["**" in row for row in rows] == [False, True, False, True, False]
    assert "0.800 (1 of 2 seeds, then over 120 s)" in rows[2]


def test_every_figure_is_kept(results):
    rows = figures(results)
    assert len(rows) == 5 + 3 * len(results.costs)
    assert ("scikit-learn", "LogisticRegression", "balanced accuracy", "easy, seed 1", "0.7") in rows


def test_names_of_methods_are_unique():
    assert len({each.name for each in METHODS}) == len(METHODS)
    assert [method(name).name for name in FEW] == [*FEW]


@pytest.mark.parametrize("world", WORLDS)
def test_half_of_the_positives_are_labelled_in_every_world(world):
    data = make_double_logistic(100_000, 10, random_state=0, **WORLDS[world])
    assert data.positive.mean() == pytest.approx(0.5, abs=0.01)
    assert data.labelled.sum() / data.positive.sum() == pytest.approx(0.5, abs=0.02)


def test_told_is_the_truth_of_the_sample():
    data = make_double_logistic(500, random_state=0)
    known = Known.of(data)
    assert known.n_labelled + known.n_unlabelled == 500
    hidden = known.positive_unlabelled * known.n_unlabelled
    assert hidden + known.n_labelled == pytest.approx(data.positive.sum())
    assert known.unlabelled_positive * data.positive.sum() == pytest.approx(hidden)


def test_batches_score_every_row_once():
    data = make_double_logistic(300, random_state=0)
    each = method("LogisticRegression")
    model = fit(each, data)
    batched = method("WeightedElkanotoPuClassifier")
    assert batched.in_batches
    np.testing.assert_array_equal(predict(batched, model, data.X, 70), predict(each, model, data.X, 70))


@pytest.mark.slow
def test_a_process_says_what_went_wrong():
    lines, ended = ask("time", method("LogisticRegression"), 3, 1, limit=60, threads=1)
    assert lines == []
    assert ended.startswith("InvalidInput: n_features=1")


def test_a_range_is_judged_by_its_width_and_20_times_its_miss():
    found = judge([0.1, 0.3, np.nan], [0.2, 0.5, np.nan], [0.15, 0.6, 0.5])
    np.testing.assert_allclose(found, [[1, 0, np.nan], [0.1, 0.2, np.nan], [0.1, 2.2, np.nan]])


@pytest.mark.slow
def test_worlds_of_coverage_are_labelled_as_they_say_whatever_else_is_drawn():
    place = coverage.Place("wine 0", 0, 0)
    few, more = (
        {(facts["mechanism"], facts["c"]): rest for facts, *rest in coverage.worlds_of(place, cs)}
        for cs in ((0.4,), (0.4, 0.9))
    )
    assert len(more) == 2 * len(few) == 2 * len(coverage.MECHANISMS | coverage.FOLLOWED)
    for key, (X, positive, labelled, named) in few.items():
        np.testing.assert_array_equal(labelled, more[key][2])
        assert not (labelled & ~positive).any()
        assert len(named) == X.shape[1] - 13 == (3 if key[0] in coverage.FOLLOWED else 0)
    e = coverage.propensity(np.arange(10.0), np.arange(10) > 3, 0.3, power=10)
    assert e[4:].mean() == pytest.approx(0.3, abs=1e-10)
    assert (np.diff(e) > 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_of_coverage_that_was_stopped_measures_nothing_twice(tmp_path, monkeypatch, capsys):
    learners = [LabelLearner(LOGISTIC), *given_learners([GaussianNB()])]
    monkeypatch.setattr("propense.estimators._pu.auto_learners", lambda *_: learners)
    monkeypatch.setattr(coverage, "MECHANISMS", {"rising": coverage.MECHANISMS["rising"]})
    monkeypatch.setattr(coverage, "FOLLOWED", {"access, wholly": 1.0})
    monkeypatch.setattr(coverage, "RIVALS", {"DEDPUL": "rivals.DEDPUL", "absent": "no_such_package.Name"})
    store, figure = tmp_path / "kept.sqlite", tmp_path / "figure.svg"
    call = ["coverage.py", "--tables", "wine 0", "--seeds", "1", "--jobs", "1", "--store", str(store)]
    monkeypatch.setattr("sys.argv", [*call, "--minutes", "0"])
    coverage.main()
    assert not coverage.Kept(store).rows()
    monkeypatch.setattr("sys.argv", call)
    coverage.main()
    kept = coverage.Kept(store)
    (key, row), *others = kept.rows().items()
    assert len(others) == 5
    kept.keep([(*key, {**row, "estimate": 0.123})])
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", [*call, "--rivals", "--figure", str(figure)])
    coverage.main()
    printed = capsys.readouterr().out
    assert "Not installed: absent." in printed
    assert kept.rows()[key]["estimate"] == 0.123
    assert sum(row["method"] == "DEDPUL" for row in kept.rows().values()) == 2
    assert "| DEDPUL | 2 |" in printed
    assert "DEDPUL" in figure.read_text()
    # With another library, only rivals are known.
    monkeypatch.setattr(coverage.zlib, "crc32", lambda _: 0)
    assert {row["method"] for row in coverage.Kept(store).rows().values()} == {"DEDPUL"}
