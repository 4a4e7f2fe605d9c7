"""Trees for Dask arrays, by xgboost on a cluster: the same whatever the blocks, out of fold, and never gathered."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import KFold

from propense import PUClassifier, load, save
from propense._designs import as_design
from propense._inputs.sample import Sample
from propense.errors import InvalidOption, MissingExtra

pytest.importorskip("distributed")

import dask.array as da
import distributed

from blocks import as_dask
from propense._steps import block_boosting
from propense._steps.block_boosting import (
    BlockBooster,
    _chance,
    _code,
    _edges_of,
    _settings,
    _threshold,
    hold_out_blocks,
    log_odds_out_of_fold,
)
from propense._steps.label_learners import auto_learners
from propense._steps.label_scores import fit_label_score
from propense._steps.predictors import LogisticPredictor

N = 2000
COLUMNS = {
    "normal": lambda rng: rng.normal(size=3000),
    "few values": lambda rng: rng.integers(0, 5, 3000).astype(float),
    "one value": lambda rng: np.full(3000, 2.5),
    "neighbours": lambda rng: rng.choice(np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)]), 3000),
    "huge": lambda rng: rng.choice([-1.7e308, 1.7e308, 0.0], 3000),
    "float32": lambda rng: rng.normal(size=3000).astype(np.float32),
    "mostly zero": lambda rng: np.where(rng.random(3000) < 0.9, 0.0, rng.exponential(size=3000)),
}


# Without a cluster.


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_split_of_bins_is_the_same_split_of_values(kind, rng):
    column = COLUMNS[kind](rng)
    edges = _edges_of(column[:1000])
    codes = _code([edges], column[:, np.newaxis])[:, 0]
    assert codes.max() <= 254
    for condition in (-1.0, 0.0, 0.5, 1.0, 2.0, 17.0, 100.5, 254.0, 255.0, 300.0):
        np.testing.assert_array_equal(codes < condition, column < _threshold(edges, condition))


def test_bins_of_few_values_are_the_values(rng):
    column = COLUMNS["few values"](rng)
    np.testing.assert_array_equal(_code([_edges_of(column)], column[:, np.newaxis])[:, 0], column)


def test_bins_hold_about_as_many_rows_each(rng):
    column = rng.exponential(size=20_000)
    counts = np.bincount(_code([_edges_of(column)], column[:, np.newaxis])[:, 0], minlength=255)
    assert counts.min() > 0.8 * 20_000 / 255
    assert counts.max() < 1.2 * 20_000 / 255


def test_chances_are_spread_evenly_and_differ_between_seeds():
    first, second = (_chance(seed, np.arange(100_000)) for seed in (3, 4))
    assert np.abs(np.histogram(first, 20, (0.0, 1.0))[0] / 5000 - 1.0).max() < 0.06
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.015
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.015


def sample_of(X, s, chunks):
    features = da.from_array(X, chunks=(chunks, -1))
    return Sample(as_design(features), da.from_array(s, chunks=features.chunks[:1]), None, None)


def test_folds_do_not_depend_on_the_blocks_and_cover_every_row_once(problem):
    X, s, _ = problem
    found = [np.array(hold_out_blocks(sample_of(X, s, chunks), 5, 1)) for chunks in (1000, 770, (1900, 1, 99))]
    for masks in found:
        np.testing.assert_array_equal(masks, found[0])
    assert (found[0].sum(axis=0) == 1).all()
    assert np.abs(found[0].mean(axis=1) - 0.2).max() < 0.03


def test_given_folds_are_kept(problem):
    X, s, _ = problem
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    masks = hold_out_blocks(sample_of(X, s, 1000), folds, 0)
    for mask, (_, rows) in zip(masks, folds, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(mask.compute()), rows)
    with pytest.raises(InvalidOption, match="is scored 0 times"):
        hold_out_blocks(sample_of(X, s, 1000), folds[:2], 0)


def test_every_row_is_scored_by_the_model_of_its_fold(problem):
    X, s, _ = problem
    sample = sample_of(X, s, (1500, 0, 500))
    held = hold_out_blocks(sample, 3, 0)
    models = [LogisticPredictor(np.array([float(fold), 1.0, 0.0, 0.0, 0.0])) for fold in range(3)]
    found = log_odds_out_of_fold(models, sample.design, held).compute()
    np.testing.assert_allclose(found, X[:, 0] + np.argmax([mask.compute() for mask in held], axis=0))


ALONE = "Only logistic regression learned the labels, and no curves: "
LINES = {
    "no xgboost": (as_dask, 'xgboost is not installed. Add boosted trees: pip install "propense[boost]".'),
    "no cluster": (as_dask, "there is no cluster. Start one, distributed.Client(), to add boosted trees."),
    "sparse blocks": (partial(as_dask, storage=sp.csr_array), "the blocks of X are sparse."),
    "sparse": (sp.csr_array, "X is sparse. Pass a dense array, or learners of your own"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
def test_the_diagnosis_says_in_one_line_why_there_are_no_trees(problem, kind, monkeypatch):
    X, s, _ = problem
    if kind == "no xgboost":
        monkeypatch.setattr(block_boosting, "find_spec", lambda name: None)
    else:
        monkeypatch.setattr(block_boosting, "find_spec", lambda name: "found")
    made, words = LINES[kind]
    diagnosis = PUClassifier(random_state=0, cv=2).fit(made(X[:1000]), s[:1000]).diagnosis_
    assert list(diagnosis.learners) == ["logistic regression"]
    (line,) = (line for line in str(diagnosis).splitlines() if line.startswith(ALONE))
    assert words in line


@pytest.mark.slow
def test_nothing_is_missing_in_memory_and_small_blocks_belong_there(problem):
    X, s, _ = problem
    assert ALONE not in str(PUClassifier(random_state=0, cv=2).fit(X[:400], s[:400]).diagnosis_)
    # No cluster would help.
    small = str(PUClassifier(random_state=0, cv=2).fit(as_dask(X[:150]), s[:150]).diagnosis_)
    assert f"{ALONE}X is a small Dask array. Pass a NumPy array to add trees." in small


# On a cluster.


@pytest.fixture(scope="module")
def problem():
    """Positives on both sides: no line separates them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 4))
    positive = rng.random(N) < 1.0 / (1.0 + np.exp(4.0 - 5.0 * np.abs(X[:, 0])))
    return X, positive & (rng.random(N) < 0.6), positive


@pytest.fixture
def client(workers):
    pytest.importorskip("xgboost")
    with distributed.Client(workers) as client:
        yield client


NAMED = PUClassifier(random_state=0, cv=2, class_features=[0, 1], propensity_features=[3])


@pytest.fixture(scope="module")
def fitted(workers, problem):
    pytest.importorskip("xgboost")
    X, s, _ = problem
    with distributed.Client(workers):
        return clone(NAMED).fit(da.from_array(X, chunks=(1000, -1)), s)


@pytest.mark.slow
def test_a_curved_class_is_learned_on_a_cluster(fitted, problem):
    X, s, positive = problem
    assert "boosted trees" in fitted.diagnosis_.learners
    assert ALONE not in str(fitted.diagnosis_)
    curved = balanced_accuracy_score(positive, fitted.predict(X))
    linear = clone(NAMED).set_params(learners="linear").fit(X, s)
    assert curved > balanced_accuracy_score(positive, linear.predict(X)) + 0.15
    # Named neither for y nor for e.
    other = X * [1.0, 1.0, -5.0, 1.0]
    np.testing.assert_allclose(fitted.predict_proba(other), fitted.predict_proba(X), atol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_trees_on_blocks_learn_as_well_as_trees_in_memory(problem):
    X, s, _ = problem
    fresh = as_design(np.random.default_rng(12).normal(size=(N, 4)))
    found = []
    for sample in (sample_of(X, s, 1000), Sample(as_design(X), s, None, None)):
        trees = [each for each in auto_learners(sample, 0) if each.name == "boosted trees"]
        found.append(fit_label_score(sample, trees, cv=3, n_jobs=None, seed=0))
    one, other = (each.score.members[0].log_odds(fresh, fresh) for each in found)
    assert np.corrcoef(one, other)[0, 1] > 0.95
    areas = [roc_auc_score(s, np.asarray(each.t)) for each in found]
    assert areas[0] == pytest.approx(areas[1], abs=0.02)


@pytest.mark.slow
def test_predictions_are_lazy_and_those_of_rows_in_memory(fitted, problem):
    X, _, _ = problem
    there = fitted.predict_proba(da.from_array(X, chunks=(1234, -1)))
    assert isinstance(there, da.Array)
    np.testing.assert_allclose(there.compute(), fitted.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(X.astype(np.float32)), fitted.predict_proba(X), atol=0.2)


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(block_boosting, "_ROUNDS", 20)


@pytest.mark.slow
@pytest.mark.usefixtures("client", "few_rounds")
def test_rows_of_fit_are_scored_by_trees_that_have_not_seen_them():
    # Labels at random: what has seen them would rank them above chance.
    rng = np.random.default_rng(3)
    X, s = rng.normal(size=(600, 4)), rng.random(600) < 0.3
    sample = sample_of(X, s, 200)
    held = hold_out_blocks(sample, 2, 0)
    models = list(BlockBooster(0).fit(sample.design, sample.labelled, None, held))
    assert roc_auc_score(s, log_odds_out_of_fold(models, sample.design, held).compute()) < 0.58
    seen = ~held[0].compute()
    assert roc_auc_score(s[seen], models[0].of_rows(X[seen])) > 0.7


@pytest.mark.slow
@pytest.mark.usefixtures("client", "few_rounds")
@pytest.mark.parametrize(("weighted", "chunks"), [(False, 1000), (True, ((1300, 0, 1, 699),))])
def test_the_trees_are_those_of_xgboost_in_memory_whatever_the_blocks(problem, weighted, chunks):
    import xgboost

    X, s, _ = problem
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N) * 1e9 if weighted else None
    sample = sample_of(X, s, *chunks) if weighted else sample_of(X, s, chunks)
    mask = np.arange(N) % 3 == 0
    held = [sample.design.send(mask)]
    there = None if weights is None else sample.design.send(weights)
    (found,) = BlockBooster(5).fit(sample.design, sample.labelled, there, held)
    codes = _code([_edges_of(column) for column in X.T], X)
    own = np.ones(N) if weights is None else weights / weights[~mask].mean()
    share = float(np.float32(np.average(s[~mask], weights=own[~mask])))
    data = xgboost.QuantileDMatrix(codes[~mask], s[~mask], weight=own[~mask], max_bin=256)
    booster = xgboost.train({**_settings(4, share, 5), "nthread": 1}, data, num_boost_round=20)
    expected = booster.predict(xgboost.DMatrix(codes), output_margin=True)
    np.testing.assert_allclose(found.of_rows(X), expected, atol=2e-4)
    assert np.std(expected) > 0.3


@pytest.mark.slow
@pytest.mark.usefixtures("few_rounds")
def test_the_rows_stay_on_the_workers(client, monkeypatch):
    monkeypatch.setattr(block_boosting, "_BIN_ROWS", 200)
    counts, gather = [], client.gather

    def rows(value):
        if isinstance(value, list | tuple):
            return sum(map(rows, value))
        return len(value) if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 4 else 0

    def watched(*args, **options):
        out = gather(*args, **options)
        counts.append(rows(out))
        return out

    monkeypatch.setattr(client, "gather", watched)
    features = da.random.default_rng(0).normal(size=(N, 4), chunks=(500, -1))
    sample = Sample(as_design(features), (abs(features[:, 0]) > 1.0).persist(), None, None)
    learners = auto_learners(sample, 0)
    assert [each.name for each in learners][:2] == ["logistic regression", "boosted trees"]
    fit_label_score(sample, learners[1:2], cv=2, n_jobs=None, seed=0)
    # Only those that bins come from, about 200 of 2 000.
    assert 100 < sum(counts) < 300


@pytest.mark.slow
@pytest.mark.usefixtures("client", "few_rounds")
def test_trees_learn_from_a_part_of_very_many_rows(problem, monkeypatch):
    X, s, positive = problem
    monkeypatch.setattr(block_boosting, "_MOST_CELLS", 4 * N // 2)
    seen, own = [], BlockBooster._fit_one
    monkeypatch.setattr(BlockBooster, "_fit_one", lambda self, *args: seen.append(args[0].shape[0]) or own(self, *args))
    sample = sample_of(X, s, 1000)
    held = hold_out_blocks(sample, 2, 0)
    models = list(BlockBooster(0).fit(sample.design, sample.labelled, None, held))
    assert all(0.9 < count / (N / 4) < 1.1 for count in seen)
    assert roc_auc_score(positive, log_odds_out_of_fold(models, sample.design, held).compute()) > 0.8


@pytest.mark.slow
def test_a_model_from_a_cluster_comes_back_to_the_bit_without_xgboost(fitted, problem, tmp_path):
    X, _, _ = problem
    save(fitted, tmp_path / "m.propense")
    assert (tmp_path / "m.propense").stat().st_size < 1_000_000
    again = load(tmp_path / "m.propense")
    assert again.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert again.diagnosis_ == fitted.diagnosis_
    np.save(tmp_path / "X.npy", X)
    code = """
import sys
sys.modules.update(xgboost=None, dask=None, skops=None)
import numpy as np, propense
model = propense.load("m.propense")
np.save("y.npy", model.predict_proba(np.load("X.npy")))
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
    assert np.load(tmp_path / "y.npy").tobytes() == fitted.predict_proba(X).tobytes()


@pytest.mark.slow
def test_workers_without_xgboost_give_one_clear_error(workers, problem):
    pytest.importorskip("xgboost")
    X, s, _ = problem
    with distributed.Client(workers) as client:
        client.run(exec, "import sys; sys.kept = sys.modules.get('xgboost'); sys.modules['xgboost'] = None")
        sample = sample_of(X, s, 1000)
        try:
            with pytest.raises(MissingExtra, match=r"The Dask worker tcp://.* cannot import xgboost. Install it on"):
                next(BlockBooster(0).fit(sample.design, sample.labelled, None, [sample.labelled]))
        finally:
            kept = "{'xgboost': sys.kept} if sys.kept else {}"
            client.run(exec, f"import sys; sys.modules.pop('xgboost'); sys.modules.update({kept})")
