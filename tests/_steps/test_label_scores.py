"""Label scores: out of fold for the rows of fit, of a fit to all rows for others, each by its definition."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import missing, tensor
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense._maths.arrays import to_host
from propense._steps import label_scores
from propense._steps.label_learners import BOOSTED, LOGISTIC, LabelLearner, auto_learners, given_learners, learnable
from propense._steps.label_scores import fit_label_score


@pytest.fixture
def problem(rng):
    positive = rng.random(240) < 0.4
    X = rng.normal(size=(240, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, positive & (rng.random(240) < 0.5)


def score(X, s, learners, *, cv=4, n_jobs=None, weights=None, **more):
    sample = Sample(as_design(X), s, weights, None, **more)
    return fit_label_score(sample, learners, cv=cv, n_jobs=n_jobs, seed=0)


def by_hand(X, s, make, *, cv=4):
    """Out-of-fold log-odds."""
    out = np.empty(len(s))
    for rest, held in StratifiedKFold(cv, shuffle=True, random_state=0).split(X, s):
        out[held] = log_odds(make().fit(X[rest], s[rest]), X[held])
    return out


def log_odds(model, X):
    chances = model.predict_log_proba(X)
    return chances[:, 1] - chances[:, 0]


class Coin(GaussianNB):
    """Knows nothing: its log-odds are noise, the same for the same row."""

    def log_odds(self, X):
        return np.sin(1e5 * np.asarray(X).sum(axis=1))

    def predict_log_proba(self, X):
        z = self.log_odds(X)
        return np.column_stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)])

    def predict_proba(self, X):
        return np.exp(self.predict_log_proba(X))


class Memory(KNeighborsClassifier):
    """Remembers every row of fit."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_a_learner_that_remembers_every_row_does_not_know_a_row_of_its_own(rng):
    X, s = rng.normal(size=(300, 2)), rng.random(300) < 0.3
    found = score(X, s, given_learners([Memory(1)]), cv=5)
    assert roc_auc_score(s, Memory(1).fit(X, s).predict_proba(X)[:, 1]) == 1.0
    assert roc_auc_score(s, found.t) < 0.6


def test_scores_are_the_mean_of_the_log_odds_that_models_give_rows_they_have_not_seen(problem, rng):
    X, s = problem
    kinds = (GaussianNB, LogisticRegression, Coin)
    found = score(X, s, given_learners([each() for each in kinds]))
    Z, fresh = StandardScaler().fit_transform(X), rng.normal(size=(50, 3))
    rows, ours, new = StandardScaler().fit(X).transform(fresh), [], []
    for make in kinds:
        ours.append(by_hand(Z, s, make))
        new.append(log_odds(make().fit(Z, s), rows))
    np.testing.assert_allclose(found.parts, ours, atol=1e-9)
    mean = np.mean(ours, axis=0)
    np.testing.assert_allclose(found.t, (mean - mean.mean()) / mean.std(), atol=1e-9)
    np.testing.assert_allclose(
        found.score.of(as_design(fresh)), (np.mean(new, axis=0) - mean.mean()) / mean.std(), atol=1e-9
    )


def test_our_logistic_regression_is_scikit_learns(problem):
    X, s = problem
    found = score(X, s, [LabelLearner("logistic regression")])
    out = np.empty(len(s))
    for rest, held in StratifiedKFold(4, shuffle=True, random_state=0).split(X, s):
        scaler = StandardScaler().fit(X[rest])
        model = LogisticRegression(C=1 / math.sqrt(len(rest)), tol=1e-10).fit(scaler.transform(X[rest]), s[rest])
        out[held] = model.decision_function(scaler.transform(X[held]))
    np.testing.assert_allclose(found.t, (out - out.mean()) / out.std(), atol=1e-5)


def test_how_many_run_at_a_time_changes_no_bit(problem):
    X, s = problem
    learners = [LabelLearner("ours"), *given_learners([DecisionTreeClassifier(max_depth=3, random_state=0)])]
    one, two = (score(X, s, learners, n_jobs=jobs) for jobs in (None, 2))
    np.testing.assert_array_equal(one.t, two.t)
    np.testing.assert_array_equal(one.score.of(as_design(X)), two.score.of(as_design(X)))


def test_a_learner_that_says_the_same_of_every_row_has_no_say(problem):
    X, s = problem
    constant = GaussianNB(priors=[0.5, 0.5], var_smoothing=1e300)
    both, one = (
        score(X, s, given_learners(each)) for each in ([LogisticRegression(), constant], [LogisticRegression()])
    )
    np.testing.assert_allclose(both.t, one.t, atol=1e-9)


def test_where_nothing_is_learned_every_score_is_0():
    s = np.arange(40) < 10
    for cv in (2, 5):
        found = score(np.full((40, 2), 3.3), s, [LabelLearner("ours")], cv=cv)
        assert np.isfinite(found.t).all()
    one = np.arange(40) < 1
    assert not score(np.full((40, 2), 3.3), one, [LabelLearner("ours")]).t.any()


@pytest.mark.parametrize(("n", "labels", "folds"), [(240, 60, 4), (150, 60, 3), (240, 20, 3), (240, 2, 2), (240, 1, 1)])
def test_small_tables_have_fewer_folds(rng, n, labels, folds):
    sample = Sample(as_design(rng.normal(size=(n, 2))), np.arange(n) < labels, None, None)
    assert len(list(label_scores.split_rows(sample, 4, 0))) == folds


def test_every_fold_has_its_share_of_the_labels_and_of_the_known_negatives(problem):
    X, s = problem
    negative = ~s & (X[:, 0] < 0)
    sample = Sample(as_design(X), s, None, None, negative=negative)
    held = list(label_scores.split_rows(sample, 4, 0))
    np.testing.assert_array_equal(np.sum(held, axis=0), 1)
    for rows in (s, negative):
        counts = [int((mask & rows).sum()) for mask in held]
        assert max(counts) - min(counts) <= 1


def test_only_the_columns_of_the_class_are_learned_from(problem, rng):
    X, s = problem
    learners = [LabelLearner("ours"), *given_learners([DecisionTreeClassifier(max_depth=3, random_state=0)])]
    chosen = score(X, s, learners, class_columns=np.array([0, 2]))
    narrow = score(X[:, [0, 2]], s, learners)
    np.testing.assert_array_equal(chosen.t, narrow.t)
    moved = X.copy()
    moved[:, 1] = rng.normal(size=len(X))
    np.testing.assert_array_equal(chosen.score.of(as_design(moved)), chosen.score.of(as_design(X)))


def test_columns_with_hardly_a_cell_are_left_out(rng):
    X = rng.normal(size=(100, 3))
    X[9:, 1] = np.nan
    sample = Sample(as_design(X), X[:, 0] > 1, None, None)
    assert learnable(sample, 5).class_columns.tolist() == [0, 2]
    assert learnable(replace(sample, class_columns=np.array([1, 2])), 5).class_columns.tolist() == [2]
    assert learnable(sample, 4) is sample
    # Of a few rows, all cells are not few.
    assert learnable(Sample(as_design(X[:4]), X[:4, 0] > 0, None, None), 5).class_columns is None


def test_learners_are_named_once_each():
    names = [each.name for each in given_learners([GaussianNB(), LogisticRegression(), GaussianNB()])]
    assert names == ["GaussianNB 1", "LogisticRegression", "GaussianNB 3"]


@pytest.mark.parametrize(("n", "labels", "count"), [(200, 30, 20), (199, 30, 10), (200, 29, 10)])
def test_leaves_of_small_tables_are_half_as_large(rng, n, labels, count):
    X = rng.normal(size=(n, 2))
    sample = Sample(as_design(X), np.arange(n) < labels, None, None)
    logistic, boosted = auto_learners(sample, 7)
    assert (logistic.name, boosted.name) == (LOGISTIC, BOOSTED)
    assert boosted.classifier.min_samples_leaf == count
    assert boosted.classifier.random_state == 7
    assert len(auto_learners(replace(sample, design=as_design(sp.csr_array(X))), 0)) == 1


def test_many_rows_get_larger_boosted_trees():
    few, many = (
        auto_learners(Sample(as_design(np.zeros((n, 2))), np.arange(n) < 40, None, None), 0)[1].classifier
        for n in (10_000, 10_001)
    )
    assert many.max_leaf_nodes > few.max_leaf_nodes
    assert many.max_iter > few.max_iter


def blocks(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, 3))


ELSEWHERE = {"sparse": sp.csr_array, "torch": tensor, "dask": blocks}


@pytest.fixture(params=[pytest.param(name, marks=missing(name)) for name in ELSEWHERE])
def elsewhere(request):
    return ELSEWHERE[request.param]


def test_a_score_fitted_in_memory_is_the_same_elsewhere(problem, elsewhere):
    X, s = problem
    learners = [LabelLearner("ours"), *given_learners([DecisionTreeClassifier(max_depth=3, random_state=0)])]
    found = score(X, s, learners)
    there = found.score.of(as_design(elsewhere(X)))
    np.testing.assert_allclose(to_host(there), found.score.of(as_design(X)), atol=1e-12)


def test_our_logistic_regression_is_the_same_elsewhere(problem, elsewhere, monkeypatch):
    X, s = problem
    if elsewhere is not sp.csr_array:
        # Tensors and blocks are scored by the fit to all rows.
        monkeypatch.setattr(label_scores, "split_rows", lambda *_: iter([None]))
    here = score(X, s, [LabelLearner("ours")])
    design = as_design(elsewhere(X))
    sample = Sample(design, design.send(s), None, None)
    there = fit_label_score(sample, [LabelLearner("ours")], cv=4, n_jobs=None, seed=0)
    np.testing.assert_allclose(to_host(there.t), here.t, atol=1e-6)
    np.testing.assert_allclose(there.score.of(as_design(X)), here.score.of(as_design(X)), atol=1e-6)


def test_what_a_fold_is_scored_by_does_not_depend_on_its_labels(rng):
    X = rng.normal(size=(600, 3))
    s = (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))) & (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 1])))
    held = np.array_split(rng.permutation(600), 3)
    folds = [(np.setdiff1d(np.arange(600), each), each) for each in held]
    other = s.copy()
    other[held[0]] = ~s[held[0]]
    learners = [LabelLearner("ours"), *given_learners([GaussianNB()])]
    one, two = (score(X, each, learners, cv=folds) for each in (s, other))
    for before, after in zip(one.parts, two.parts, strict=True):
        gaps = [np.abs(before - after)[rows].max() for rows in held]
        assert gaps[0] < 1e-4
        assert min(gaps[1:]) > 0.1


def test_boosting_gets_categories_as_such_wherever_their_columns_are(rng):
    X, s = rng.normal(size=(200, 4)), np.arange(200) < 40
    X[:, 1], X[:, 3] = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    sample = Sample(as_design(X), s, None, None, levels=np.array([0, 3, 0, 2]))
    for columns, categories in ((None, [1, 3]), ([1, 2, 3], [0, 2]), ([0, 3], [1]), ([0, 2], [])):
        chosen = None if columns is None else np.array(columns)
        boosted = auto_learners(replace(sample, class_columns=chosen), 0)[1]
        assert boosted.name == "boosted trees"
        assert boosted.classifier.categorical_features.tolist() == categories


def test_weights_count_where_columns_are_prepared(problem, rng):
    X, s = problem
    weights = rng.exponential(size=240)
    found = score(X, s, [LabelLearner("ours")], weights=weights)
    np.testing.assert_allclose(found.score.preparation.means, np.average(X, axis=0, weights=weights), rtol=1e-9)
