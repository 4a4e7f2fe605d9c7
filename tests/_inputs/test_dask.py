"""Dask arrays and data frames: the answers of NumPy, of rows that need not be in memory."""

import os
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from conftest import fit

dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from distributed import Client  # noqa: E402

import propense  # noqa: E402
from blocks import as_dask, chunks_of  # noqa: E402
from propense import JERM, KnownPropensity, Naive, Oracle  # noqa: E402
from propense._designs.dask.blocks import Blocks  # noqa: E402
from propense.errors import (  # noqa: E402
    InvalidFeatures,
    InvalidLabels,
    InvalidOption,
    InvalidPropensity,
    InvalidWeights,
    NoLabelledInstances,
)

# TM may still be moving after the rounds that it is given.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # What a cluster leaves behind when it is slow to start or to end is no fault of ours.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def problem(rng):
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, (positive & (rng.random(300) < 1 / (1 + np.exp(-X[:, 2] - 0.3)))).astype(int)


def assert_same(model, plain, X, *, atol=1e-6):
    """One model, and predictions on NumPy's that are those on Dask's."""
    for name in ("coef_", "intercept_", "propensity_coef_", "propensity_intercept_"):
        if hasattr(plain, name):
            np.testing.assert_allclose(getattr(model, name), getattr(plain, name), rtol=1e-6, atol=atol)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=atol)
    np.testing.assert_allclose(model.predict_propensity(X), plain.predict_propensity(X), atol=atol)
    assert model.prior_ == pytest.approx(plain.prior_, abs=atol)
    assert model.label_frequency_ == pytest.approx(plain.label_frequency_, abs=atol)


@pytest.mark.parametrize("method", [JERM(spy_quantile=0.1, max_iter=3), KnownPropensity()], ids=str)
def test_weights_weigh_and_zero_leaves_out(method, problem, rng):
    X, s = problem
    weights = rng.integers(0, 4, size=len(s))
    weights[:160] = 0  # The whole first block.
    model = fit(clone(method), as_dask(X), s, sample_weight=da.from_array(weights, chunks=70))
    plain = fit(clone(method), X, s, sample_weight=weights)
    assert_same(model, plain, X)
    assert_same(fit(clone(method), as_dask(X), s, sample_weight=weights), plain, X)
    if isinstance(method, JERM):
        np.testing.assert_array_equal(model.spies_, plain.spies_)
    assert_same(fit(clone(method), as_dask(X), s, sample_weight=2.0), fit(method, X, s, sample_weight=2.0), X)


def test_propensities_come_from_anywhere(problem, rng):
    X, s = problem
    e = np.where(s == 1, 0.3 + 0.5 * rng.random(300), rng.integers(0, 2, size=300))
    plain = KnownPropensity().fit(X, s, propensity=e)
    for propensity in (e, da.from_array(e, chunks=90), dd.from_pandas(pd.Series(e), npartitions=3)):
        assert_same(KnownPropensity().fit(as_dask(X), s, propensity=propensity), plain, X)


@pytest.mark.parametrize("options", [{"propensity_features": [0, 2]}, {"propensity_features": []}], ids=str)
def test_options_mean_what_they_mean(options, problem):
    X, s = problem
    assert_same(JERM(max_iter=1, **options).fit(as_dask(X), s), JERM(max_iter=1, **options).fit(X, s), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.bool_])
def test_numbers_are_read_as_what_they_are(problem, dtype):
    X, s = problem
    X = (3 * X).astype(dtype)
    model = Naive().fit(as_dask(X), s)
    assert_same(model, Naive().fit(X.astype(np.float64), s), X)
    expected = np.float32 if dtype in (np.float32, np.float16) else np.float64
    from propense._inputs.sample import read_features

    assert read_features(model, as_dask(X)).features.compute().dtype == expected


def test_sparse_blocks_stay_sparse(problem):
    X, s = problem
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    blocks = as_dask(X, sp.csr_array)
    model = JERM(max_iter=1).fit(blocks, s)
    assert_same(model, JERM(max_iter=1).fit(X, s), X)
    np.testing.assert_allclose(model.predict_hidden(blocks).compute(), model.predict_hidden(X))


def test_chunks_are_the_users_business(problem):
    X, s = problem
    model = JERM(max_iter=1)
    plain = clone(model).fit(X, s)
    unknown = as_dask(X)[da.from_array(np.ones(300, bool), chunks=(chunks_of(300),))]
    assert np.isnan(unknown.shape[0])
    for blocks in (da.from_array(X, chunks=(77, 2)), unknown, unknown.persist()):
        assert_same(model.fit(blocks, da.from_array(s, chunks=41)), plain, X)
        np.testing.assert_allclose(plain.predict_proba(blocks).compute(), plain.predict_proba(X))


@pytest.fixture
def frame(problem):
    """A data frame of which one partition is empty."""
    X, s = problem
    table = pd.DataFrame(X, columns=["age", "dose", "weight"]).assign(label=s)
    whole = dd.from_pandas(table, npartitions=3)
    return dd.concat([whole.partitions[0], whole.partitions[1].query("dose > 1e9"), whole.partitions[1:]])


FEATURES = ["age", "dose", "weight"]


def test_data_frames_have_names(frame, problem, tmp_path):
    X, s = problem
    table = pd.DataFrame(X, columns=FEATURES)
    model = JERM(propensity_features=["age", "weight"]).fit(frame[FEATURES], frame["label"])
    plain = JERM(propensity_features=["age", "weight"]).fit(table, s)
    assert model.feature_names_in_.tolist() == FEATURES
    assert_same(model, plain, table)
    np.testing.assert_allclose(plain.predict_proba(frame[FEATURES]).compute(), plain.predict_proba(table))
    with pytest.raises(InvalidFeatures, match="feature names should match"):
        model.predict(frame[["dose", "age", "weight"]])
    with pytest.raises(InvalidFeatures, match="X has 2 features, but JERM is expecting 3"):
        JERM().fit(X, s).predict(da.ones((4, 2)))
    propense.save(model, tmp_path / "model.propense")
    again = propense.load(tmp_path / "model.propense")
    np.testing.assert_array_equal(again.predict(frame[FEATURES]).compute(), model.predict(table))


def test_nullable_columns_are_numbers_and_na_is_refused(problem):
    X, s = problem
    table = pd.DataFrame(X, columns=FEATURES).round(3).astype("Float64").assign(dose=np.arange(300) % 7)
    table["dose"] = table["dose"].astype("Int64")
    blocks = dd.from_pandas(table, npartitions=3)
    assert_same(Naive().fit(blocks, s), Naive().fit(table.astype(float), s), table.astype(float))
    table.loc[222, "dose"] = pd.NA
    with pytest.raises(
        InvalidFeatures, match=r"1 entries that are NaN or infinite, the first \(nan\) at row 222, col.*'dose'"
    ):
        Naive().fit(dd.from_pandas(table, npartitions=3), s)
    words = table.assign(dose="much")
    with pytest.raises(InvalidFeatures, match=r"The column 'dose' contains values of type .*Encode or leave out"):
        Naive().fit(dd.from_pandas(words, npartitions=3), s)


@pytest.mark.parametrize(
    "values",
    [("no", "yes"), (-1, 1), (False, True), (None, "reported"), (np.nan, 1.0), ("", "x"), (pd.NA, True), (pd.NA, 3)],
    ids=str,
)
def test_any_two_labels_are_read_as_in_memory(problem, values):
    X, s = problem
    # By type where there are NAs: else Dask makes words of truth values and numbers beside them.
    dtype = {bool: "boolean", int: "Int64"}[type(values[1])] if values[0] is pd.NA else None
    series = pd.Series([values[each] for each in s], dtype=dtype)
    plain = Naive().fit(X, series)
    for y in (dd.from_pandas(series, npartitions=4), da.from_array(series.to_numpy(), chunks=99)):
        model = Naive().fit(as_dask(X), y)
        assert model.classes_.tolist() == plain.classes_.tolist()
        assert model.classes_.dtype.kind == plain.classes_.dtype.kind
        assert_same(model, plain, X)
    category = dd.from_pandas(series.astype("category"), npartitions=2)
    assert Naive().fit(as_dask(X), category).classes_.tolist() == plain.classes_.tolist()


def test_labels_that_are_none_are_refused_as_in_memory(problem):
    X, s = problem
    some = np.where(s == 1, 1.0, np.nan)
    for y in (
        np.arange(300),
        np.zeros(300),
        np.full(300, np.nan),
        np.array(["a"] * 300),
    ):
        with pytest.raises(InvalidLabels) as plain:
            Naive().fit(X, y)
        with pytest.raises(type(plain.value)) as blocks:
            Naive().fit(as_dask(X), da.from_array(y, chunks=100))
        assert str(blocks.value) == str(plain.value)
    # Known negatives by a third value are read from what is in memory alone.
    with pytest.raises(InvalidLabels, match="known_negative="):
        Naive().fit(as_dask(X), da.from_array(some + (np.arange(300) > 200), chunks=100))
    y = s.astype(float)
    y[[150, 250]] = np.nan
    with pytest.raises(InvalidLabels, match="missing in 2 rows, first in row 150"):
        Oracle().fit(as_dask(X), da.from_array(y, chunks=100))
    with pytest.raises(InvalidLabels, match=r"inconsistent numbers of samples: \[300, 299\]"):
        Naive().fit(as_dask(X), da.from_array(s[1:], chunks=100))
    with pytest.raises(InvalidLabels, match="1d array"):
        Naive().fit(as_dask(X), as_dask(X))
    with pytest.raises(InvalidLabels, match="requires y"):
        Naive().fit(as_dask(X), None)
    with pytest.warns(match="column-vector y"):
        assert_same(Naive().fit(as_dask(X), as_dask(s[:, None])), Naive().fit(X, s), X)
    # And y of Dask's beside X in memory is brought there.
    assert_same(Naive().fit(X, da.from_array(s, chunks=100)), Naive().fit(X, s), X)


def test_what_is_wrong_is_named(problem):
    X, s = problem
    for value, wrong in ((np.nan, "NaN or infinite"), (-np.inf, "NaN or infinite"), (1e200, "squares are too large")):
        bad = X.copy()
        bad[[203, 281], [1, 2]] = value
        for blocks in (as_dask(bad), as_dask(bad, sp.csr_array)):
            with pytest.raises(InvalidFeatures, match=rf"X has 2 entries .*{wrong}.*at row 203, column 1"):
                Naive().fit(blocks, s)
        lazy = Naive().fit(X, s).predict(as_dask(bad))
        with pytest.raises(InvalidFeatures, match=f"{wrong}.*at row [0-9]+ of a block, column [12]"):
            lazy.compute()
    for X_, wrong in (
        (da.from_array(X.astype(str), chunks=100), "X contains values of type <U"),
        (da.ones(5), "Expected 2D array, got 1D"),
        (da.ones((5, 0)), "no column"),
        (da.ones((1, 2)), r"Found 1 sample\(s\)"),
    ):
        with pytest.raises(InvalidFeatures, match=wrong):
            Naive().fit(X_, [0, 1])
    with pytest.raises(InvalidOption, match=r"JERM\(propensity_estimator=…\): .* cannot be fitted to a Dask"):
        JERM(propensity_estimator=DecisionTreeClassifier()).fit(as_dask(X), s)


def test_weights_and_propensities_are_checked(problem):
    X, s = as_dask(problem[0]), problem[1]
    weights = np.ones(300)
    weights[270] = -2.0
    with pytest.raises(InvalidWeights, match=r"negative \(-2\) at row 270"):
        Naive().fit(X, s, sample_weight=da.from_array(weights, chunks=100))
    with pytest.raises(InvalidWeights, match="contains NaN or infinity in 1 rows"):
        Naive().fit(X, s, sample_weight=da.from_array(np.where(weights < 0, np.nan, 1.0), chunks=100))
    with pytest.raises(InvalidWeights, match="type object"):
        Naive().fit(X, s, sample_weight=da.from_array(np.array(["a"] * 300, dtype=object), chunks=100))
    with pytest.raises(InvalidWeights, match=r"\[300, 4\]"):
        Naive().fit(X, s, sample_weight=da.ones(4))
    with pytest.raises(InvalidWeights, match="zero for every row"):
        Naive().fit(X, s, sample_weight=da.zeros(300))
    with pytest.raises(InvalidWeights, match="2 dimensions"):
        Naive().fit(X, s, sample_weight=da.ones((300, 2)))
    with pytest.raises(NoLabelledInstances, match="has a sample_weight above 0"):
        Naive().fit(X, s, sample_weight=da.from_array(1.0 - s, chunks=100))
    with pytest.raises(InvalidPropensity, match=r"propensity is 1\.5 at row 299"):
        KnownPropensity().fit(X, s, propensity=da.from_array(np.r_[np.full(299, 0.5), 1.5], chunks=100))
    with pytest.raises(InvalidPropensity, match=f"propensity is 0 at row {s.argmax()}, but the row is labelled"):
        KnownPropensity().fit(X, s, propensity=da.zeros(300))


def test_predictions_wait_until_they_are_asked_for(problem):
    X, s = problem
    read = []

    def count(block):
        read.append(len(block))
        return block

    counted = as_dask(X).map_blocks(count, meta=np.empty((0, 3)))
    model = JERM().fit(X, s)
    methods = ("predict", "predict_proba", "decision_function", "predict_propensity", "predict_hidden")
    lazy = [getattr(model, name)(counted) for name in methods]
    assert read == []
    found = dask.compute(*lazy)
    # All five from one reading.
    assert sum(read) == 300
    for name, values in zip(methods, found, strict=True):
        np.testing.assert_allclose(values, getattr(model, name)(X), atol=1e-12)
    assert model.score(counted, da.from_array(s, chunks=100)) == model.score(X, s)


def test_a_model_with_a_tree_inside_predicts_block_by_block(problem):
    X, s = problem
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = JERM(propensity_estimator=tree, propensity_features=[0, 2]).fit(X, s)
    blocks = da.from_array(X, chunks=(120, 3))
    np.testing.assert_allclose(model.predict_propensity(blocks).compute(), model.predict_propensity(X))


@pytest.fixture
def cluster(workers):
    # By name: the configuration is sent to a worker that is started again, and a client cannot be sent.
    with Client(workers) as client, dask.config.set(scheduler="distributed"):
        yield client


def test_a_cluster_finds_the_same(cluster, problem):
    X, s = problem
    held = da.from_array(X, chunks=(100, 3)).persist()
    weights = np.arange(300) % 3
    model = KnownPropensity().fit(held, da.from_array(s, chunks=60), weights, propensity=0.5)
    assert_same(model, KnownPropensity().fit(X, s, weights, propensity=0.5), X)
    np.testing.assert_allclose(model.predict_hidden(held).compute(), model.predict_hidden(X), atol=1e-12)


def test_nothing_the_size_of_the_data_reaches_the_client(cluster, rng, monkeypatch):
    n = 12_000
    X = da.random.default_rng(0).normal(size=(n, 3), chunks=(4_000, 3))
    s = (X[:, 0] > 2.0) & (X[:, 1] > 0.0)
    sizes, gather = [], Client.gather

    def watched(self, *args, **kwargs):
        out = gather(self, *args, **kwargs)
        sizes.append(len(pickle.dumps(out)))
        return out

    monkeypatch.setattr(Client, "gather", watched)
    JERM(max_iter=1, max_steps=3).fit(X, s)
    assert len(sizes) > 10
    # Not even one bit a row; the largest are the numbers of the spies.
    assert max(sizes) < n / 2


def test_a_worker_that_is_killed_does_not_lose_the_fit(cluster, problem, monkeypatch):
    X, s = problem
    passes, killed = [], []
    plain_sum, gather = Blocks.sum, Client.gather
    victim = next(iter(cluster.run(os.getpid).values()))

    def counted(self, *rest):
        passes.append(len(killed))
        return plain_sum(self, *rest)

    def deadly(self, *args, **options):
        # In the middle of a pass: it is under way, and the rows held by that worker die with it.
        if len(passes) == 10 and not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)
        return gather(self, *args, **options)

    monkeypatch.setattr(Blocks, "sum", counted)
    monkeypatch.setattr(Client, "gather", deadly)
    few = JERM(max_iter=1, max_steps=10)
    model = clone(few).fit(da.from_array(X, chunks=(100, 3)), da.from_array(s, chunks=100))
    assert killed
    assert sum(passes) > 10
    assert_same(model, few.fit(X, s), X)
    # Others use the cluster: another worker takes the place of this one.
    cluster.wait_for_workers(2, timeout=600)
