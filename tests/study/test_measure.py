"""One cell measured: the split, the labels, the scores, each held to an independent telling."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from propense import JERM, Naive
from propense.datasets import Dataset, describe
from propense.labelling import MECHANISMS
from propense.study import PAPER_METHODS, Cell, Method, measure
from propense.study.measure import choose_columns, prepare

# The package offers the function under the module's name.
measure_module = sys.modules["propense.study.measure"]


def test_a_record_scores_the_truth():
    record = measure(Cell("wdbc", "S2", 0.5, PAPER_METHODS["oracle"], 0, "paper", 0))
    assert record.error is None
    assert record.balanced_accuracy > 0.95
    assert record.auc > 0.98
    assert record.prior_error == 0
    assert record.propensity_error is None
    naive = measure(Cell("wdbc", "S1", 0.5, PAPER_METHODS["naive"], 0, "paper", 0))
    assert naive.propensity_error == pytest.approx(0.5, abs=1e-9)
    assert naive.rounds >= 1
    assert naive.converged


def test_a_record_holds_what_scikit_learn_says_of_the_fit():
    """Every score of one record, from the parts: split, labels, fit."""
    cell = Cell("wdbc", "S2", 0.3, Method("jerm", "propense.JERM", (("decision", "balanced"),)), 1, "paper", 3)
    record, data = measure(cell), prepare("wdbc", "paper", 1, 3)
    drawn = measure_module._label(cell)
    model = JERM(decision="balanced").fit(data.X_train, drawn.labelled)
    predicted, chance = model.predict(data.X_test), model.predict_proba(data.X_test)[:, 1]
    assert record.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(data.y_test, predicted))
    assert record.accuracy == pytest.approx(metrics.accuracy_score(data.y_test, predicted))
    assert record.f1 == pytest.approx(metrics.f1_score(data.y_test, predicted))
    assert record.auc == pytest.approx(metrics.roc_auc_score(data.y_test, chance))
    assert record.log_loss == pytest.approx(metrics.log_loss(data.y_test, chance))
    off = np.abs(model.predict_propensity(data.X_train) - drawn.propensity)
    assert record.propensity_error == pytest.approx(off[data.y_train].mean())
    assert record.prior_error == pytest.approx(abs(model.prior_ - data.y_train.mean()))
    assert (record.rounds, record.converged) == (model.n_iter_, True)
    assert 0 < record.seconds < 60


def test_labels_are_drawn_anew_for_every_setting_and_as_the_paper_drew_them(monkeypatch):
    labels = [
        measure_module._label(Cell("wdbc", mechanism, c, PAPER_METHODS["naive"], repeat, "paper", 0)).labelled
        for mechanism, c, repeat in (("S1", 0.3, 0), ("S1", 0.5, 0), ("S2", 0.5, 0), ("S2", 0.5, 1))
    ]
    assert all((one[:400] != other[:400]).any() for one, other in itertools.combinations(labels, 2))
    # Log-odds so large that the probability is exactly 1 or 0 count as those of .999 and .001.
    data = prepare("wdbc", "paper", 0, 0)
    score = np.where(data.y_train, 1000.0, -1000.0)
    monkeypatch.setattr(measure_module, "class_score", lambda X, y: score)
    cell = Cell("wdbc", "S2", 0.5, PAPER_METHODS["naive"], 0, "paper", 11)
    expected = MECHANISMS["S2"].propensity(np.where(data.y_train, np.log(999), -np.log(999)), data.y_train, 0.5)
    np.testing.assert_allclose(measure_module._label(cell).propensity, expected)


def test_methods_without_a_seed_are_given_one():
    lbe = Method("lbe", "propense.LBE", (("max_iter", 1), ("variant", "published")))
    cells = [Cell("wdbc", "S2", 0.5, lbe, 0, "paper", seed) for seed in (0, 0)]
    one, other = (replace(measure(cell), seconds=None) for cell in cells)
    assert one == other
    assert one.error is None


class Scribbler(Naive):
    """Writes into the features it is given."""

    def fit(self, X, y):
        super().fit(X, y)
        X[:] = 0.0
        return self


def test_an_estimator_that_writes_into_its_input_harms_itself_alone():
    scribbler = Method("scribbler", f"{__name__}.Scribbler")
    cells = [
        Cell("wdbc", "S2", 0.5, method, 0, "paper", 0)
        for method in (PAPER_METHODS["naive"], scribbler, PAPER_METHODS["naive"])
    ]
    first, failed, last = [measure(cell) for cell in cells]
    assert "read-only" in failed.error
    assert first.balanced_accuracy == last.balanced_accuracy


class Leaver(Naive):
    def fit(self, X, y):
        raise SystemExit(3)


def test_an_estimator_that_ends_the_process_is_a_failure():
    assert measure(Cell("wdbc", "S2", 0.5, Method("l", f"{__name__}.Leaver"), 0, "paper", 0)).error == "SystemExit: 3"


def test_missing_cells_and_scaling_are_the_papers(monkeypatch, tmp_path):
    """A table of one's own under a known name: medians, min–max over all rows, no choice among few columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 100.0]
    X[::7, 1] = np.nan
    y = rng.random(40) < 0.5
    entry = replace(describe("breast-w"), scaling="min-max")
    monkeypatch.setattr(measure_module, "_load", lambda name: Dataset(X, y, ["a", "b", "c"], None, entry, "here"))
    measure_module._prepare_whole.cache_clear()
    try:
        found, chosen = measure_module._prepare_whole("breast-w")
    finally:
        measure_module._prepare_whole.cache_clear()
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    np.testing.assert_allclose(found, (filled - filled.min(axis=0)) / np.ptp(filled, axis=0))
    assert chosen.tolist() == [0, 1, 2]


def test_images_keep_their_split(monkeypatch):
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 3 == 0
    test = np.arange(20) >= 15
    entry = replace(describe("usps"), scaling="raw")
    monkeypatch.setattr(measure_module, "_load", lambda name: Dataset(X, y, ["a", "b"], test, entry, "here"))
    measure_module._prepare_whole.cache_clear()
    prepare.cache_clear()
    try:
        data = prepare("usps", "paper", 5, 0)
    finally:
        measure_module._prepare_whole.cache_clear()
        prepare.cache_clear()
    np.testing.assert_array_equal(data.X_train, X[:15])
    np.testing.assert_array_equal(data.X_test, X[15:])
    np.testing.assert_array_equal(data.y_test, y[15:])


def test_the_clean_protocol_chooses_columns_without_the_test_rows(monkeypatch):
    chosen = []
    monkeypatch.setattr(
        measure_module, "choose_columns", lambda X, y: (chosen.append((X, y)), np.arange(X.shape[1]))[1]
    )
    prepare.cache_clear()
    data = prepare("wdbc", "clean", 3, 0)
    prepare.cache_clear()
    np.testing.assert_array_equal(chosen[0][0], data.X_train)
    np.testing.assert_array_equal(chosen[0][1], data.y_train)


def test_seeds_move_the_labels_and_in_the_clean_protocol_the_splits():
    cell = Cell("wdbc", "S2", 0.3, PAPER_METHODS["naive"], 0, "paper", 0)
    assert measure(cell).balanced_accuracy != measure(replace(cell, seed=1)).balanced_accuracy
    paper = [prepare("wdbc", "paper", 0, seed).y_test for seed in (0, 1)]
    np.testing.assert_array_equal(*paper)
    clean = [prepare("wdbc", "clean", 0, seed).y_test for seed in (0, 1)]
    assert (clean[0] != clean[1]).any()


def test_the_clean_protocol_looks_at_the_training_rows_alone():
    data = prepare("wdbc", "clean", 0, 0)
    np.testing.assert_allclose(data.X_train.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(data.X_train.std(axis=0), 1, atol=1e-9)
    assert np.abs(data.X_test.mean(axis=0)).max() > 1e-3


def test_columns_nearly_alike_and_beyond_thirty_are_left_out(rng):
    y = rng.random(400) < 0.5
    X = rng.normal(size=(400, 40))
    X[:, 5] = X[:, 2] + 0.01 * rng.normal(size=400)
    X[:, 6] = -X[:, 2]  # Signed: an opposite is kept.
    X[:, 30:] += 2.0 * y[:, None]
    chosen = choose_columns(X, y)
    assert len(chosen) == 30
    assert 5 not in chosen
    assert set(range(30, 40)) <= set(chosen.tolist())
    assert choose_columns(X[:, :8], y).tolist() == [0, 1, 2, 3, 4, 6, 7]
