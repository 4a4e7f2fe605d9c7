"""Label scores: out of fold for the rows of fit, the mean of the fold models for others, each by its definition."""

import math
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import missing, tensor
from propense import PUClassifier
from propense._designs import as_design
from propense._inputs.preparation import Preparation
from propense._inputs.sample import Sample
from propense._maths.arrays import to_host
from propense._solvers import newton
from propense._steps import label_scores, learner_weights
from propense._steps.label_learners import BOOSTED, TREES, LabelLearner, auto_learners, given_learners, learnable
from propense._steps.label_scores import fit_label_score
from propense._steps.pair_curve import PairSettings, fit_pair_curve

SETTINGS = PairSettings(1.0, 1.0, lambda risk, start: newton(risk, start, tol=1e-8, max_iter=200), 200)


@pytest.fixture
def problem(rng):
    positive = rng.random(240) < 0.4
    X = rng.normal(size=(240, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, positive & (rng.random(240) < 0.5)


def score(X, s, learners, *, cv=4, pair=None, n_jobs=None, weights=None, **more):
    sample = Sample(as_design(X), s, weights, None, **more)
    return fit_label_score(sample, learners, cv=cv, n_jobs=n_jobs, seed=0, pair=pair)


def by_hand(X, s, make, *, cv=4):
    """Out-of-fold log-odds, and those of the mean of the fold models for other rows."""
    out, models = np.empty(len(s)), []
    for rest, held in StratifiedKFold(cv, shuffle=True, random_state=0).split(X, s):
        models.append(make().fit(X[rest], s[rest]))
        out[held] = log_odds(models[-1], X[held])
    return out, models


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


class First(GaussianNB):
    """Learns from some columns alone; if turned, it takes labels for their absence."""

    columns, turned = (0,), False

    def fit(self, X, y, sample_weight=None):
        return super().fit(X[:, self.columns], np.asarray(y, dtype=bool) ^ self.turned, sample_weight)

    def predict_log_proba(self, X):
        return super().predict_log_proba(X[:, self.columns])


class More(First):
    columns = (0, 2)


class Backwards(First):
    columns, turned = (1,), True


class Memory(KNeighborsClassifier):
    """Remembers every row of fit."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_a_learner_that_remembers_every_row_does_not_know_a_row_of_its_own(rng):
    X, s = rng.normal(size=(300, 2)), rng.random(300) < 0.3
    found = score(X, s, given_learners([Memory(1)]), cv=5)
    assert roc_auc_score(s, Memory(1).fit(X, s).predict_proba(X)[:, 1]) == 1.0
    assert roc_auc_score(s, found.t) < 0.6
    assert found.learned["Memory"] == pytest.approx(roc_auc_score(s, found.t), abs=1e-12)


def stack_by_hand(scores, s, pull=100.0):
    """Weights, none below 0, of scores of spread 1: the least logistic loss with a penalty on their differences."""

    def loss(at):
        weights, z = at[:-1], scores @ at[:-1] + at[-1]
        return np.logaddexp(0, z).sum() - z[s].sum() + pull / 2 * ((weights - weights.mean()) ** 2).sum()

    count = scores.shape[1]
    bounds = [(0, None)] * count + [(None, None)]
    found = minimize(loss, np.append(np.full(count, 0.5), 0.0), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9})
    return found.x[:-1]


def test_scores_are_log_odds_of_the_same_spread_with_weights_that_predict_the_labels(problem, rng):
    X, s = problem
    kinds = (GaussianNB, LogisticRegression, Coin)
    found = score(X, s, given_learners([each() for each in kinds]))
    Z, fresh = StandardScaler().fit_transform(X), rng.normal(size=(50, 3))
    rows, ours, new = StandardScaler().fit(X).transform(fresh), [], []
    for make in kinds:
        out, models = by_hand(Z, s, make)
        ours.append((out - out.mean()) / out.std())
        new.append((np.mean([log_odds(each, rows) for each in models], axis=0) - out.mean()) / out.std())
        assert found.learned[make.__name__] == pytest.approx(roc_auc_score(s, out), abs=1e-12)
    weights = stack_by_hand(np.column_stack(ours), s)
    spread = (weights @ ours).std()
    np.testing.assert_allclose(found.t, weights @ ours / spread, atol=1e-4)
    np.testing.assert_allclose(found.score.of(as_design(fresh)), weights @ new / spread, atol=1e-4)


def test_many_rows_leave_out_a_learner_that_knows_nothing_and_few_do_not(rng):
    shared = []
    for n in (150, 20_000):
        X = rng.normal(size=(n, 3))
        s = rng.random(n) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))
        found = score(X, s, given_learners([LogisticRegression(), Coin()]))
        shared.append(np.corrcoef(found.t, Coin().log_odds(StandardScaler().fit_transform(X)))[0, 1])
    assert shared[0] > 0.3
    assert shared[1] < 0.05


def test_a_learner_that_expects_the_opposite_is_left_out(rng):
    X = rng.normal(size=(3000, 2))
    s = rng.random(3000) < 1 / (1 + np.exp(1 - 2 * X[:, 0] - X[:, 1]))
    both = score(X, s, given_learners([First(), Backwards()]))
    assert [member.name for member in both.score.members] == list(both.learned) == ["First"]


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
    one, two = (score(X, s, learners, n_jobs=jobs, pair=SETTINGS) for jobs in (None, 2))
    np.testing.assert_array_equal(one.t, two.t)
    np.testing.assert_array_equal(one.score.of(as_design(X)), two.score.of(as_design(X)))


def test_a_learner_that_says_the_same_of_every_row_has_no_say(problem):
    X, s = problem
    constant = GaussianNB(priors=[0.5, 0.5], var_smoothing=1e300)
    both, one = (
        score(X, s, given_learners(each)) for each in ([LogisticRegression(), constant], [LogisticRegression()])
    )
    assert list(both.learned) == ["LogisticRegression"]
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
    X, s = rng.normal(size=(n, 2)), np.arange(n) < labels
    found = score(X, s, [LabelLearner("ours")])
    assert len(found.score.members[0].predictors) == folds


def test_every_fold_has_its_share_of_the_labels_and_of_the_known_negatives(problem):
    X, s = problem
    negative = ~s & (X[:, 0] < 0)
    sample = Sample(as_design(X), s, None, None, negative=negative)
    held = list(label_scores.split_rows(sample, 4, 0))
    np.testing.assert_array_equal(np.sum(held, axis=0), 1)
    for rows in (s, negative):
        counts = [int((mask & rows).sum()) for mask in held]
        assert max(counts) - min(counts) <= 1


def test_areas_are_scikit_learns_with_ties_and_weights(rng):
    t, s = rng.integers(0, 5, size=200).astype(float), rng.random(200) < 0.4
    weights = rng.random(200)
    sample = Sample(as_design(t[:, np.newaxis]), s, weights, None)
    assert learner_weights.area(sample, t) == pytest.approx(roc_auc_score(s, t, sample_weight=weights), abs=1e-12)


def test_a_pair_with_strong_evidence_counts_as_much_as_all_others(rng):
    X = rng.normal(size=(1500, 4))
    s = (rng.random(1500) < 1 / (1 + np.exp(-3 * X[:, 0]))) & (rng.random(1500) < 1 / (1 + np.exp(-3 * X[:, 1])))
    learners = [LabelLearner("ours"), *given_learners([GaussianNB()])]
    without, found = (score(X, s, learners, pair=each) for each in (None, SETTINGS))
    assert (without.evidence, without.alignment) == (0.0, 0.0)
    assert found.evidence > 10
    names = [member.name for member in found.score.members]
    assert names == ["ours", "GaussianNB", "linear pair"]
    scores = [member.log_odds(*[as_design(found.score.preparation.transform(X))] * 2) for member in found.score.members]
    spreads = found.score.weights * np.array([each.std() for each in scores])
    assert spreads[2] == pytest.approx(2 * spreads[0], rel=0.05)
    # The labels depend on both columns alike; y of the pair far more on one of them.
    labels, y = (np.mean([each.coef for each in found.score.members[place].predictors], axis=0) for place in (0, 2))
    assert abs(labels[2] / labels[1]) > 0.8
    assert abs(y[2] / y[1]) < 0.5
    whole = Sample(as_design(found.score.preparation.transform(X)), s, None, None)
    assert found.evidence == pytest.approx(fit_pair_curve(whole, SETTINGS).evidence, rel=1e-6)


def test_a_pair_counts_as_much_as_all_others_where_one_of_them_is_left_out(rng):
    X = rng.normal(size=(3000, 4))
    s = (rng.random(3000) < 1 / (1 + np.exp(-3 * X[:, 0]))) & (rng.random(3000) < 1 / (1 + np.exp(-3 * X[:, 1])))
    found = score(X, s, given_learners([First(), More(), Backwards()]), pair=SETTINGS).score
    assert [member.name for member in found.members] == ["First", "More", "linear pair"]
    design = as_design(found.preparation.transform(X))
    parts = [weight * each.log_odds(design, design) for weight, each in zip(found.weights, found.members, strict=True)]
    assert np.std(parts[2]) == pytest.approx(np.std(parts[0] + parts[1]), rel=0.05)


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
    assert auto_learners(sample, 0)[1].classifier.min_samples_leaf == count
    assert len(auto_learners(replace(sample, design=as_design(sp.csr_array(X))), 0)) == 1


@pytest.mark.parametrize(("n", "leaf"), [(900, 10), (10_000, 34)])
def test_leaves_of_extra_trees_grow_with_the_root_of_the_rows(n, leaf):
    sample = Sample(as_design(np.zeros((n, 2))), np.arange(n) < 40, None, None)
    _, boosted, trees, _ = auto_learners(sample, 7)
    assert trees.classifier.min_samples_leaf == leaf
    assert boosted.classifier.random_state == trees.classifier.random_state == 7


def test_many_rows_get_larger_boosted_trees_and_no_extra_trees():
    found = []
    for n in (10_000, 10_001):
        sample = Sample(as_design(np.zeros((n, 2))), np.arange(n) < 40, None, None)
        found.append({each.name: each.classifier for each in auto_learners(sample, 0)})
    few, many = found
    assert few.keys() - many.keys() == {TREES}
    assert many[BOOSTED].max_leaf_nodes > few[BOOSTED].max_leaf_nodes
    assert many[BOOSTED].max_iter > few[BOOSTED].max_iter


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
    here = score(X, s, [LabelLearner("ours")], pair=SETTINGS)
    design = as_design(elsewhere(X))
    sample = Sample(design, design.send(s), None, None)
    there = fit_label_score(sample, [LabelLearner("ours")], cv=4, n_jobs=None, seed=0, pair=SETTINGS)
    np.testing.assert_allclose(to_host(there.t), here.t, atol=1e-6)
    np.testing.assert_allclose(there.score.of(as_design(X)), here.score.of(as_design(X)), atol=1e-6)
    assert there.learned == pytest.approx(here.learned)
    assert there.evidence == pytest.approx(here.evidence, abs=1e-4)


@pytest.mark.slow
def test_a_linear_learner_stands_alone_where_labels_are_clearly_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    linear = rng.random(3000) < 1.0 / (1.0 + np.exp(1.0 - X @ np.linspace(-1.5, 1.5, 8)))
    curved = rng.random(3000) < 0.9 * (np.abs(X[:, 0]) > 1.0)
    alone = PUClassifier(random_state=0, cv=2).fit(X, linear).diagnosis_.learners
    assert list(alone) == ["logistic regression, hardly penalised"]
    several = PUClassifier(random_state=0, cv=2).fit(X, curved).diagnosis_.learners
    assert list(several) == ["logistic regression", "boosted trees", "extra trees"]


def row_losses(s, score, weights):
    """The loss of each label by scikit-learn."""
    model = LogisticRegression(C=1e3, tol=1e-10).fit(score[:, np.newaxis], s, weights)
    return -model.predict_log_proba(score[:, np.newaxis])[np.arange(len(s)), s.astype(int)]


def test_the_loss_of_a_label_is_that_of_a_weighted_regression_on_the_score(problem, rng):
    X, s = problem
    weights = rng.exponential(size=240) ** 2
    found = learner_weights.label_loss(Sample(as_design(X), s, weights, None), X[:, 0])
    np.testing.assert_allclose(found, row_losses(s, X[:, 0], weights), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_learner_stands_alone_if_it_is_two_standard_errors_better_than_the_better_trees(rng, weighted, paired):
    n, seen = 400, []
    names = ["logistic regression", "boosted trees", "extra trees", "logistic regression, hardly penalised"]
    names += ["linear pair"] * paired
    weights = rng.exponential(size=n) if weighted else None
    for noise in (*np.linspace(0.0, 1.5, 25), 3.0):
        signal = rng.normal(size=n)
        s = rng.random(n) < 1 / (1 + np.exp(0.5 - 1.5 * signal))
        ours, worse, worst = (signal + much * rng.normal(size=n) for much in (0.3, noise, 4.0))
        # With a pair, that is the good one.
        raw = [signal, worse, worst, worst if paired else ours, ours][: len(names)]
        gain = row_losses(s, worse, weights) - row_losses(s, ours, weights)
        mean = np.average(gain, weights=weights)
        total = n if weights is None else weights.sum()
        clear = mean / np.sqrt(np.average((gain - mean) ** 2, weights=weights) / total)
        sample = Sample(as_design(signal[:, np.newaxis]), s, weights, None)
        kept = learner_weights.choose(sample, names, raw, ours if paired else None)
        alone = ["linear pair"] if paired else ["logistic regression, hardly penalised"]
        several = [name for name in names if name != "logistic regression, hardly penalised"]
        assert [names[place] for place in kept] == (alone if clear > 2.0 else several)
        seen.append(np.digitize(clear, [0.0, 2.0]))
    assert set(seen) == {0, 1, 2}


@pytest.mark.parametrize("noise", [0.2, 3.0])
def test_a_pair_is_refuted_if_the_learners_together_predict_labels_better(rng, noise):
    signal = rng.normal(size=600)
    s = rng.random(600) < 1 / (1 + np.exp(0.5 - 1.5 * signal))
    names = ["logistic regression", "boosted trees", "logistic regression, hardly penalised", "linear pair"]
    # Each of the two learners is worse than the pair; what was left out of the mean is best.
    one, two, pair = (signal + much * rng.normal(size=600) for much in (1.0, 1.0, noise))
    sample = Sample(as_design(signal[:, np.newaxis]), s, None, None)
    losses = [row_losses(s, each, None).mean() for each in (one / one.std() + two / two.std(), pair)]
    found = learner_weights.is_refuted(sample, names, [one, two, signal, np.zeros(600)], pair)
    assert found == (losses[0] < losses[1]) == (noise > 1.0)


@pytest.mark.slow
def test_a_linear_pair_stays_out_where_its_e_makes_up_for_a_class_that_is_curved():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    positive = rng.random(1500) < 1 / (1 + np.exp(3 - 3 * X[:, 0] - 4.5 * X[:, 1] ** 2))
    s = positive & (rng.random(1500) < 1 / (1 + np.exp(-3 * X[:, 2])))
    found = PUClassifier(random_state=0, cv=2).fit(X, s).diagnosis_
    assert found.evidence > 20
    assert "linear pair" not in found.learners


def test_what_a_fold_is_scored_by_does_not_depend_on_its_labels(rng):
    """Not the learners, and not the pair, whose search starts from a fit to all rows."""
    X = rng.normal(size=(600, 3))
    s = (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))) & (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 1])))
    held = np.array_split(rng.permutation(600), 3)
    folds = [(np.setdiff1d(np.arange(600), each), each) for each in held]
    other = s.copy()
    other[held[0]] = ~s[held[0]]
    learners = [LabelLearner("ours"), *given_learners([GaussianNB()])]
    named = {"cv": folds, "pair": SETTINGS, "propensity_columns": np.array([1])}
    one, two = (score(X, each, learners, **named) for each in (s, other))
    assert [each.name for each in one.score.members] == ["ours", "GaussianNB", "linear pair"]
    design = as_design(one.score.preparation.transform(X))
    members = {each.name: each for each in two.score.members}
    # A learner that did badly on the changed labels is left out.
    both = [(each, members[each.name]) for each in one.score.members if each.name in members]
    assert len(both) > 1
    for before, after in both:
        gaps = [
            np.abs(a.log_odds(design) - b.log_odds(design)).max()
            for a, b in zip(before.predictors, after.predictors, strict=True)
        ]
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


def test_the_columns_of_e_are_found_among_the_prepared_columns_of_the_class(rng):
    X, s = rng.normal(size=(60, 5)), np.arange(60) < 20
    X[:, 3] = rng.integers(0, 3, 60)
    X[::7, 4] = np.nan
    sample = Sample(as_design(X), s, None, None, levels=np.array([0, 0, 0, 3, 0]))
    for columns, own, places in (
        # Prepared: numbers, where numbers are missing, and a column for each level but the first.
        (None, [3, 4], [3, 4, 5, 6]),
        ([1, 3, 4], [1, 3], [0, 3, 4]),
        ([2, 4], [4, 0], [1, 2]),
        ([1, 2], [0, 3], None),
    ):
        chosen = np.arange(5) if columns is None else np.array(columns)
        preparation = Preparation.fit(sample.levels[chosen], X[:, chosen])
        prepared = as_design(preparation.transform(X[:, chosen]))
        named = replace(
            sample, class_columns=None if columns is None else chosen, propensity_columns=np.array(own, dtype=np.intp)
        )
        found = label_scores._pair_sample(named, prepared, preparation)
        assert (None if found is None else found.propensity_columns.tolist()) == places


@pytest.mark.slow
def test_threads_change_no_digit_of_a_score(problem, monkeypatch):
    X, s = problem
    sample = Sample(as_design(X), s, None, None)
    found = score(X, s, auto_learners(sample, 0)).score
    assert any(member.plain for member in found.members)
    rows = np.tile(X, (5, 1)) * np.linspace(0.1, 2.0, 1200)[:, np.newaxis]
    inside, ran = threading.get_ident(), []
    monkeypatch.setattr(label_scores, "fits_at_once", lambda n_jobs: 3)
    alone = label_scores._predict_alone

    def watched(design, predictor):
        ran.append(threading.get_ident())
        return alone(design, predictor)

    monkeypatch.setattr(label_scores, "_predict_alone", watched)
    threaded = found.of(as_design(rows))
    assert len(ran) == 8
    assert inside not in ran
    monkeypatch.setattr(label_scores, "_THREADED_ROWS", 10**6)
    assert threaded.tobytes() == found.of(as_design(rows)).tobytes()
    assert ran[8:] == [inside] * 8
