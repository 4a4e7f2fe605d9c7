"""Trees on Dask arrays: what is held out and drawn does not depend on the blocks, and fits are those in memory."""

import sys
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold

from propense import PUClassifier
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense.errors import InvalidOption

pytest.importorskip("dask")

import dask.array as da

from blocks import as_dask
from propense._steps import label_scores
from propense._steps.block_rows import _chance, hold_out_blocks, log_odds_out_of_fold
from propense._steps.label_learners import LabelLearner, auto_learners
from propense._steps.predictors import LogisticPredictor

N = 2000
CHUNKS = [1000, 770, (1900, 0, 1, 99)]


@pytest.fixture(scope="module")
def problem():
    """Positives on both sides: no line separates them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 4))
    positive = rng.random(N) < 1.0 / (1.0 + np.exp(4.0 - 5.0 * np.abs(X[:, 0])))
    return X, positive & (rng.random(N) < 0.6)


def sample_of(X, s, chunks, weights=None):
    features = da.from_array(X, chunks=(chunks, -1))
    rows = [None if each is None else da.from_array(each, chunks=features.chunks[:1]) for each in (s, weights)]
    return Sample(as_design(features), *rows, None)


def test_chances_are_spread_evenly_and_differ_between_seeds():
    first, second = (_chance(seed, np.arange(100_000)) for seed in (3, 4))
    assert np.abs(np.histogram(first, 20, (0.0, 1.0))[0] / 5000 - 1.0).max() < 0.06
    for one, other in ((first, second), (first[1:], first[:-1]), (first[1:], second[:-1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.015


def test_folds_do_not_depend_on_the_blocks_and_cover_every_row_once(problem):
    found = [np.array(hold_out_blocks(sample_of(*problem, chunks), 5, 1)) for chunks in CHUNKS]
    for masks in found:
        np.testing.assert_array_equal(masks, found[0])
    assert (found[0].sum(axis=0) == 1).all()
    assert np.abs(found[0].mean(axis=1) - 0.2).max() < 0.03


def test_given_folds_are_kept_and_every_row_is_scored_by_the_model_of_its_fold(problem):
    X, _ = problem
    sample, folds = sample_of(*problem, (1500, 0, 500)), list(KFold(3, shuffle=True, random_state=0).split(X))
    held = hold_out_blocks(sample, folds, 0)
    models = [LogisticPredictor(np.array([float(fold), 1.0, 0.0, 0.0, 0.0])) for fold in range(3)]
    expected = X[:, 0].copy()
    for fold, (_, rows) in enumerate(folds):
        expected[rows] += fold
    np.testing.assert_allclose(log_odds_out_of_fold(models, sample.design, held).compute(), expected)
    with pytest.raises(InvalidOption, match="is scored 0 times"):
        hold_out_blocks(sample, folds[:2], 0)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunks", [None, *CHUNKS])
def test_drawn_rows_stand_for_all(problem, chunks, weighted, monkeypatch):
    X, labels = problem
    weights = np.exp(X[:, 1]) if weighted else None
    # Room for all labelled rows and a part of the others; for a part of both; for all, most of which are labelled.
    for room, s in ((1500, labels), (400, labels), (N, ~labels)):
        monkeypatch.setattr(label_scores, "_MOST_CELLS", 4 * room)
        sample = Sample(as_design(X), s, weights, None) if chunks is None else sample_of(X, s, chunks, weights)
        masks = [np.arange(N) % 3 == each for each in range(3)]
        held = masks if chunks is None else [sample.design.send(mask) for mask in masks]
        lesson = label_scores._lesson(sample, sample.design, held, 0, LabelLearner("trees", "any", plain=True))
        drawn, full = lesson.design.features, np.ones(N) if weights is None else weights
        assert abs(len(drawn) - room) < 60
        assert (lesson.labelled.sum() == s.sum()) == (room > 400)
        assert (lesson.weights is None) == (room == N and not weighted)
        own = np.ones(len(drawn)) if lesson.weights is None else lesson.weights
        for column, expected in ((lesson.labelled, s), (drawn[:, 0] ** 2, X[:, 0] ** 2), (lesson.held[1], masks[1])):
            assert np.average(column, weights=own) == pytest.approx(np.average(expected, weights=full), abs=0.12)
        assert own.sum() == pytest.approx(full.sum(), rel=0.15)
        # A row keeps its label and its fold.
        places = [np.flatnonzero((row == X).all(axis=1))[0] for row in drawn]
        np.testing.assert_array_equal(lesson.labelled, s[places])
        np.testing.assert_array_equal(lesson.held, np.array(masks)[:, places])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"class_features": [0, 1], "propensity_features": [3]}])
def test_a_fit_on_blocks_is_that_in_memory_without_a_cluster(problem, options, monkeypatch):
    X, s = problem
    monkeypatch.setitem(sys.modules, "distributed", None)
    folds = list(KFold(2, shuffle=True, random_state=0).split(X))
    here, there = (PUClassifier(random_state=0, cv=folds, **options).fit(each, s) for each in (X, as_dask(X)))
    assert "boosted trees" in there.diagnosis_.learners
    found = there.predict_proba(da.from_array(X, chunks=(700, -1)))
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), there.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(found.compute(), here.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(np.asarray(there.oof_hidden_), here.oof_hidden_, atol=1e-4)


@pytest.mark.slow
def test_trees_of_drawn_rows_rank_rows_like_those_of_all(problem, monkeypatch):
    X, s = problem
    fresh, found = as_design(np.random.default_rng(12).normal(size=(N, 4))), []
    for room, sample in ((N, Sample(as_design(X), s, None, None)), (N // 2, sample_of(X, s, 770))):
        monkeypatch.setattr(label_scores, "_MOST_CELLS", 4 * room)
        trees = auto_learners(sample, 0)[1:]
        found.append(label_scores.fit_label_score(sample, trees, cv=2, n_jobs=None, seed=0).score.of(fresh))
    assert np.corrcoef(*found)[0, 1] > 0.9


ALONE = "Only logistic regression learned the labels, and no curves: "
LINES = {
    "small blocks": (lambda X: as_dask(X[:150]), "X is a small Dask array. Pass a NumPy array to add trees."),
    "sparse blocks": (partial(as_dask, storage=sp.csr_array), "the blocks of X are sparse. Make them dense to add"),
    "sparse": (sp.csr_array, "X is sparse. Pass a dense array, or learners of your own"),
    "dense": (np.asarray, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
def test_the_diagnosis_says_in_one_line_why_there_are_no_trees(problem, kind):
    X, s = problem
    made, words = LINES[kind]
    stored = made(X[:1000])
    diagnosis = PUClassifier(random_state=0, cv=2).fit(stored, s[: stored.shape[0]]).diagnosis_
    assert ("boosted trees" in diagnosis.learners) == (not words)
    lines = [line for line in str(diagnosis).splitlines() if line.startswith(ALONE)]
    assert [words in line for line in lines] == [True] * bool(words)
