"""Several methods on one table: their answers are those of separate fits, and the words follow from them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy.stats import spearmanr

from propense._diagnostics.doubts import KINDS, SHORT, Doubt
from propense.errors import InvalidOption, InvalidTable
from propense.estimators import BasePUClassifier
from propense.tables import FitOptions, compare_table, fit_table, list_rows
from propense.tables.compare import Comparison, MethodResult

QUICK = ("pu-linear", "pglin", "sar-em", "naive")


@pytest.fixture(scope="module")
def found(clinic):
    return compare_table(clinic, "reported", id="patient", methods=QUICK, top=50)


@pytest.mark.slow
def test_each_method_says_what_a_fit_of_its_own_says(clinic, found):
    fits = {
        "pu-linear": fit_table(clinic, "reported", id="patient", learners="linear", scar_test=False),
        "pglin": fit_table(clinic, "reported", id="patient", method="pglin", scar_test=False),
        "sar-em": fit_table(clinic, "reported", id="patient", method="sar-em", scar_test=False),
    }
    for result in found.results:
        if result.baseline:
            assert result.share == pytest.approx(found.labelled / found.rows)
            continue
        one = fits[result.name]
        assert result.share == one.estimator.prior_
        assert result.predicted == one.counts.positive
        assert result.doubts == one.estimator.doubts_
        if one.prior_range is None:
            assert not result.has_range
        else:
            assert (result.low, result.high) == pytest.approx(one.prior_range)
    first, second = fits["pu-linear"], fits["pglin"]
    shared = set(list_rows(first, 50).rows) & set(list_rows(second, 50).rows)
    assert found.overlap[0, 1] == found.overlap[1, 0] == len(shared) / 50
    assert found.agreement[0, 1] == np.mean(first.positive == second.positive)
    rest = ~first.labelled
    ranks = spearmanr(first.scores.hidden[rest], second.scores.hidden[rest]).statistic
    assert found.correlation[0, 1] == pytest.approx(ranks)


@pytest.mark.slow
def test_the_rows_on_all_lists_are_in_the_list_of_each_method(clinic, found):
    for method in ("pglin", "sar-em"):
        listed = list_rows(fit_table(clinic, "reported", id="patient", method=method, scar_test=False), 50).rows
        assert set(found.on_all) <= set(listed)
    assert len(found.on_all) <= 50 * found.overlap[:3, :3].min()


def test_a_method_that_fails_or_does_not_apply_is_a_line_with_its_reason(clinic):
    class Broken(BasePUClassifier):
        def _fit(self, sample):
            raise RuntimeError("no luck today")

    import sys
    import types

    module = types.ModuleType("broken_methods")
    Broken.__module__, Broken.__qualname__, module.Broken = "broken_methods", "Broken", Broken
    sys.modules["broken_methods"] = module
    try:
        found = compare_table(clinic, "reported", id="patient", methods=["pglin", "oracle", "broken_methods.Broken"])
    finally:
        del sys.modules["broken_methods"]
    assert [bool(each.failure) for each in found.results] == [False, True, True]
    assert found.results[2].failure == "RuntimeError: no luck today"
    assert "oracle gave no estimate: The method oracle needs the true class of every row" in str(found)
    assert "no luck today" in found._repr_html_()


def test_options_that_a_method_cannot_use_are_left_out_and_said(clinic):
    asked = {"propensity_features": ["sex"], "methods": ["pu-linear", "pglin"]}
    found = compare_table(clinic, "reported", id="patient", **asked)
    named = fit_table(clinic, "reported", id="patient", learners="linear", propensity_features=["sex"], scar_test=False)
    assert found.results[0].share == named.estimator.prior_
    assert found.results[0].assumes[0] == "The chance of a label depends wholly, partly or not on sex."
    assert [each.ignored for each in found.results] == [(), ("propensity_features",)]
    assert "pglin cannot use the columns named for labelling: it leaves that out." in str(found)


def test_shares_by_group_go_to_methods_that_find_the_groups(clinic):
    prior = {"f": 0.5, "m": 0.45}
    found = compare_table(
        clinic, "reported", id="patient", prior=prior, prior_groups="sex", methods=["pu-linear", "jerm"]
    )
    assert found.results[0].share == pytest.approx(0.5 * 0.55 + 0.45 * 0.45, abs=0.02)
    assert set(found.results[1].ignored) == {"prior", "prior_groups"}


def test_the_table_is_prepared_once(clinic, monkeypatch):
    from propense.tables import begin

    calls, real = [], begin.prepare_table
    monkeypatch.setattr(begin, "prepare_table", lambda *a, **named: calls.append(1) or real(*a, **named))
    compare_table(clinic, "reported", id="patient", methods=["pglin", "pu-linear"])
    assert calls == [1]


@pytest.mark.slow
def test_progress_and_jobs_change_nothing(clinic, found):
    seen = []
    other = compare_table(
        clinic,
        FitOptions("reported", id="patient", method="jerm"),
        methods=QUICK,
        top=50,
        jobs=2,
        progress=lambda name, done, total: seen.append((name, done, total)),
    )
    assert {name for name, _, _ in seen} == set(QUICK)
    assert [done for _, done, _ in seen] == [1, 2, 3, 4]
    assert str(other) == str(found)


def test_large_tables_are_sampled_and_that_is_said(clinic):
    found = compare_table(clinic, "reported", id="patient", methods=["pglin"], max_rows=400)
    assert (found.rows, found.rows_of_table) == (400, 600)
    assert "compared on 400 rows drawn at random from the 600 of the table" in str(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["pglin", "jermm"]}, "There is no method 'jermm'"),
        ({"methods": []}, "names no method"),
        ({"jobs": 0}, "jobs=0"),
        ({"top": 0}, "top=0"),
    ],
)
def test_wrong_options_are_one_error_before_any_work(clinic, options, words):
    with pytest.raises(InvalidOption, match=words):
        compare_table(clinic, "reported", id="patient", **options)


def test_several_label_columns_are_refused(clinic):
    with pytest.raises(InvalidOption, match="takes one label column"):
        compare_table(clinic, ["reported", "smoker"], id="patient")


def comparison(*shares, doubts=(), ranges=()):
    """A comparison of made-up answers, on 1,000 rows of which 100 are labelled."""
    results = tuple(MethodResult(f"m{i}", share, assumes=(f"Assumption {i}.",)) for i, share in enumerate(shares))
    results = tuple(
        replace(each, doubts=doubts if i == len(shares) - 1 else (), **dict(zip(("low", "high"), ranges, strict=False)))
        if i in (0, len(shares) - 1)
        else each
        for i, each in enumerate(results)
    )
    size = len(shares)
    one = np.ones((size, size))
    return Comparison(results, 1000, 100, 1000, 50, one, one, one, np.arange(50))


def test_close_estimates_agree_and_far_ones_ask_for_an_audit():
    close, far = str(comparison(0.30, 0.31, 0.33)), str(comparison(0.14, 0.16, 0.35))
    assert "The 3 methods agree: they say 30% to 33%." in close
    assert "Agreement is not proof" in close
    assert "do not agree: they say that 14% to 35% of the rows are positive" in far
    assert "Fewer positives: m0 (14%) and m1 (16%). More positives: m2 (35%)." in far
    assert "- m2: Assumption 2." in far
    for words in (close, far):
        assert "If people check 20, 50 or 200 unlabelled rows" in words
        assert "propense audit draw" in words


def test_what_a_range_holds_is_said():
    words = str(comparison(0.2, 0.3, 0.9, ranges=(0.15, 0.4)))
    assert "The range of m0, 15% to 40%, contains the estimates of all other methods except m2." in words
    assert "m1 gives no range" in words


def test_a_range_is_compared_by_the_digits_that_are_shown():
    words = str(comparison(0.3, 0.206, 0.404, ranges=(0.209, 0.396)))
    assert "The range of m0, 21% to 40%, contains the estimates of all other methods." in words
    assert "contains no other estimate." in str(comparison(0.3, 0.204, 0.406, ranges=(0.206, 0.394)))


def test_the_naive_method_may_be_outside_a_range():
    found = comparison(0.2, 0.3, 0.35, ranges=(0.15, 0.4))
    naive = MethodResult("naive", 0.1, baseline=True)
    wider = np.ones((4, 4))
    found = replace(found, results=(*found.results, naive), overlap=wider, agreement=wider, correlation=wider)
    assert "The range of m0, 15% to 40%, contains the estimates of all other methods except naive." in str(found)


def test_doubts_are_words_in_the_table():
    assert set(SHORT) == set(KINDS)
    doubts = Doubt("unlike_worlds", "It is open: why."), Doubt("one_of_mine", "Mine.")
    summary = comparison(0.2, 0.3, doubts=doubts).summary()
    assert [line[-1] for line in summary.lines] == ["none", "unlike every world, one_of_mine"]


def test_a_comparison_without_an_answer_says_so():
    none = MethodResult("m0", failure="It broke.")
    empty = np.full((1, 1), np.nan)
    found = Comparison((none,), 1000, 100, 1000, 50, empty, empty, empty, np.array([], dtype=np.intp))
    assert "No method gave an estimate" in str(found)
    assert repr(found) == "<Comparison: no method gave an estimate>"


def test_names_of_columns_cannot_run_in_a_notebook(clinic):
    hostile = clinic.rename_columns(
        [name if name != "age" else "<script>alert(1)</script>" for name in clinic.column_names]
    )
    assert isinstance(hostile, pa.Table)
    page = compare_table(
        hostile, "reported", id="patient", methods=["pglin"], propensity_features=["<script>alert(1)</script>"]
    )._repr_html_()
    assert "<script" not in page


def test_repeated_rows_and_notes_are_those_of_a_fit(clinic):
    unnamed = clinic.drop_columns(["patient"])
    stacked = pa.concat_tables([unnamed.slice(0, 100), unnamed])
    asked = {"duplicates": "drop", "missing": ["north"]}
    several = compare_table(stacked, "reported", methods=["pglin", "naive"], top=40, **asked)
    one = fit_table(stacked, "reported", method="pglin", scar_test=False, **asked)
    assert (several.rows, several.rows_of_table, several.results[0].share) == (600, 600, one.estimator.prior_)
    assert several.on_all.tolist() == sorted(list_rows(one, 40).rows.tolist())
    assert several.notes == tuple(one.notes)
    assert "Note: 100 rows repeat an earlier row in every column and were left out" in str(several)
    with pytest.raises(InvalidTable, match="holds every row exactly twice"):
        compare_table(pa.concat_tables([unnamed, unnamed]), "reported", methods=["naive"])


def test_rows_on_all_lists_of_a_sample_are_rows_of_the_table(clinic):
    drawn = compare_table(clinic, "reported", id="patient", methods=["pglin"], top=20, max_rows=400)
    labelled = np.array(clinic["reported"].to_pylist()) == "yes"
    assert len(drawn.on_all) == 20
    assert drawn.on_all.max() >= 400
    assert not labelled[drawn.on_all].any()


@pytest.mark.slow
def test_rows_of_one_id_stay_in_one_fold_as_in_a_fit(clinic):
    names = pa.array([f"p{row // 3}" for row in range(600)])
    table = clinic.set_column(0, "patient", names)
    found = compare_table(table, "reported", id="patient", methods=["pu"])
    assert found.results[0].share == fit_table(table, "reported", id="patient", scar_test=False).estimator.prior_


def test_a_single_answer_is_said_in_a_sentence(clinic):
    found = compare_table(clinic, "reported", id="patient", methods=["pu-linear", "naive"])
    only = found.results[0]
    said = f"it says {only.share:.0%}, range {only.low:.0%} to {only.high:.0%}."
    assert f"pu-linear is the only method with an estimate: {said}" in str(found)


def test_a_table_may_be_a_file_or_a_data_frame(clinic, tmp_path):
    csv.write_csv(clinic, tmp_path / "t.csv")
    asked = {"label": "reported", "id": "patient", "methods": ["naive"]}
    shares = [compare_table(each, **asked).results[0].share for each in (tmp_path / "t.csv", clinic.to_pandas())]
    assert shares == [compare_table(clinic, **asked).results[0].share] * 2
