"""SeveralSources: closed forms, EM, worlds with a known truth, gaps, doubts, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JointMLE, SeveralSources, intervals, load, save
from propense.errors import DoubtfulFit, InvalidLabels, InvalidOption, NoLabelledInstances, NoUnlabelledInstances
from sources import WORLDS, make


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def world(rng, n=4000, *, chances=None):
    """Rows, which are positive, and the labels of two sources that prefer clear cases, or with these chances."""
    X = rng.normal(size=(n, 3))
    a = -0.5 + 2.0 * X[:, 0] + X[:, 1]
    positive = rng.random(n) < sigmoid(a)
    e = np.column_stack([sigmoid(0.2 + 0.5 * a), sigmoid(-0.2 + X[:, 2])]) if chances is None else chances
    return X, positive, positive[:, None] & (rng.random((n, np.shape(e)[-1])) < e)


def test_two_sources_without_columns_are_lincoln_and_petersen(rng):
    X, _, Y = world(rng, chances=[0.5, 0.3])
    model = SeveralSources(class_features=[], propensity_features=[]).fit(X, Y)
    one, other, both = Y[:, 0].sum(), Y[:, 1].sum(), Y.all(axis=1).sum()
    assert model.prior_ * len(Y) == pytest.approx(one * other / both, rel=1e-6)
    np.testing.assert_allclose(model.source_frequency_, [both / other, both / one], rtol=1e-6)
    np.testing.assert_array_equal(model.source_overlap_, [[one, both], [both, other]])


def test_three_sources_without_columns_maximise_the_likelihood_of_their_counts(rng):
    X, _, Y = world(rng, chances=[0.5, 0.3, 0.2])
    model = SeveralSources(class_features=[], propensity_features=[]).fit(X, Y)
    patterns, counts = np.unique(Y, axis=0, return_counts=True)

    def loss(t):
        y, e = sigmoid(t[0]), sigmoid(t[1:])
        chances = y * np.where(patterns, e, 1 - e).prod(axis=1) + (1 - y) * ~patterns.any(axis=1)
        return -counts @ np.log(chances) / len(Y)

    best = minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(model.prior_, sigmoid(best[0]), atol=1e-5)
    np.testing.assert_allclose(model.source_frequency_, sigmoid(best[1:]), atol=1e-4)


@pytest.mark.slow
def test_it_is_where_em_ends(rng):
    X, _, Y = world(rng, 600)
    Y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    model = SeveralSources().fit(X, Y)
    looked, given = ~np.isnan(Y), np.nan_to_num(Y)
    # The ridge of 1 in units of standard deviations, as scikit-learn has it.
    Z = X / X.std(axis=0)
    y, e = np.full(len(Y), 0.5), np.full(Y.shape, 0.5)
    regression = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000)

    def chances(targets, weights):
        rows, classes = np.vstack([Z, Z]), np.repeat([1, 0], len(Z))
        doubled = np.concatenate([weights * targets, weights * (1 - targets)])
        return regression.fit(rows, classes, sample_weight=doubled).predict_proba(Z)[:, 1]

    for _ in range(300):
        none = y * np.where(looked, 1 - e, 1.0).prod(axis=1)
        likely = np.where(given.any(axis=1), 1.0, none / (1 - y + none))
        before = y
        y = chances(likely, np.ones(len(Y)))
        e = np.column_stack([chances(given[:, k], likely * looked[:, k]) for k in range(2)])
        if np.abs(y - before).max() < 1e-8:
            break
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y, atol=1e-4)
    np.testing.assert_allclose(model.predict_source_propensities(X), e, atol=1e-4)
    assert model.prior_ == pytest.approx(likely.mean(), abs=1e-5)


@pytest.mark.slow
def test_it_recovers_what_one_look_cannot():
    found, single = [], []
    for seed in range(8):
        X, positive, Y = world(np.random.default_rng(seed))
        model = SeveralSources().fit(X, Y)
        found.append(model.prior_ - positive.mean())
        single.append(JointMLE(n_starts=1).fit(X, Y.any(axis=1)).prior_ - positive.mean())
    assert abs(np.mean(found)) < 0.01
    assert np.abs(found).max() < 0.04
    assert np.abs(single).mean() > 0.05


def test_a_source_that_missed_rows_is_not_a_source_that_said_no(rng):
    X, positive, Y = world(rng)
    gone = rng.random(len(Y)) < 0.5
    partly = np.where(np.column_stack([np.zeros(len(Y), dtype=bool), gone]), np.nan, Y)
    model = SeveralSources().fit(X, partly)
    assert model.prior_ == pytest.approx(positive.mean(), abs=0.03)
    assert model.source_rows_.tolist() == [len(Y), (~gone).sum()]
    # What the second source would label if it looked at all rows.
    assert model.source_frequency_[1] == pytest.approx(Y[positive, 1].mean(), abs=0.04)
    wrong = SeveralSources().fit(X, np.nan_to_num(partly))
    assert wrong.source_frequency_[1] < 0.7 * model.source_frequency_[1]
    # A row counts by the sources that looked at it.
    y, e = model.predict_proba(X)[:, 1], model.predict_source_propensities(X)
    none = y * (1 - e[:, 0]) * np.where(gone, 1.0, 1 - e[:, 1])
    likely = np.where(np.nansum(partly, axis=1) > 0, 1.0, none / (1 - y + none))
    assert model.prior_ == pytest.approx(likely.mean(), rel=1e-9)
    np.testing.assert_allclose(model.source_frequency_, likely @ e / likely.sum(), rtol=1e-9)
    # The likelihood, whose intercepts have no penalty, expects as many labels as there are.
    assert model.source_frequency_[0] == pytest.approx(Y[:, 0].mean() / model.prior_, rel=1e-6)


def test_rows_that_no_source_looked_at_count_by_their_columns_alone(rng):
    X, _, Y = world(rng, 2000)
    nobody = np.arange(2000) >= 1500
    model = SeveralSources().fit(X, np.where(nobody[:, None], np.nan, Y))
    part = SeveralSources(ridge=0.0).fit(X[:1500], Y[:1500])
    whole = SeveralSources(ridge=0.0).fit(X, np.where(nobody[:, None], np.nan, Y))
    np.testing.assert_allclose(whole.coef_, part.coef_, rtol=1e-5)
    h, y = model.predict_hidden(X), model.predict_proba(X)[:, 1]
    expected = np.where(nobody, y, np.where(Y.any(axis=1), 1.0, h))
    assert model.prior_ == pytest.approx(expected.mean(), rel=1e-9)


def test_predictions_are_of_any_label(rng):
    X, _, Y = world(rng, 1000)
    model = SeveralSources().fit(X, Y)
    e = model.predict_source_propensities(X)
    assert e.shape == (1000, 2)
    np.testing.assert_allclose(model.predict_propensity(X), 1 - (1 - e).prod(axis=1), rtol=1e-10)
    expected = sigmoid(np.column_stack([np.ones(1000), X]) @ np.vstack([model.source_intercept_, model.source_coef_.T]))
    np.testing.assert_allclose(e, expected, rtol=1e-10)
    assert model.label_frequency_ == pytest.approx(Y.any(axis=1).mean() / model.prior_)
    with pytest.raises(AttributeError, match="not linear"):
        model.propensity_coef_  # noqa: B018


def test_one_column_is_a_plain_method_with_a_doubt(rng):
    X, _, Y = world(rng, 1000)
    flat = SeveralSources().fit(X, Y[:, 0])
    assert flat.doubts_[0].kind == "one_source"
    np.testing.assert_array_equal(flat.predict_proba(X), SeveralSources().fit(X, Y[:, :1].ravel()).predict_proba(X))
    assert flat.propensity_coef_.shape == (1, 3)
    # With columns in units of their standard deviation the ridge is that of JointMLE.
    Z = X / X.std(axis=0)
    pair = JointMLE(propensity_features=[2], n_starts=1).fit(Z, Y[:, 1])
    np.testing.assert_allclose(SeveralSources(propensity_features=[2]).fit(Z, Y[:, 1]).coef_, pair.coef_, atol=1e-4)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_sources_of_a_frame_have_its_names(rng, frame):
    X, _, Y = world(rng, 1000)
    registry, survey = np.where(Y, "yes", "no").T.tolist()
    survey = [None if not i % 7 else word for i, word in enumerate(survey)]
    model = SeveralSources().fit(X, frame({"registry": registry, "survey": survey}))
    assert model.source_names_.tolist() == ["registry", "survey"]
    assert model.classes_.tolist() == ["no", "yes"]
    plain = SeveralSources().fit(X, np.column_stack([Y[:, 0], np.where(np.arange(1000) % 7 == 0, np.nan, Y[:, 1])]))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-12)


def test_columns_may_be_named_for_each_source(rng):
    X, _, Y = world(rng, 2000)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SeveralSources(class_features=["a", "b"], propensity_features=[None, ["c"]]).fit(frame, Y)
    zero = model.source_coef_ == 0.0
    np.testing.assert_array_equal(zero, [[False] * 3, [True, True, False]])
    np.testing.assert_array_equal(model.coef_[0] == 0.0, [False, False, True])
    both = SeveralSources(propensity_features=["c"]).fit(frame, Y)
    np.testing.assert_array_equal(both.source_coef_ == 0.0, [[True, True, False]] * 2)


def test_mixed_columns_are_prepared(rng):
    X, positive, Y = world(rng, 3000)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["ward"] = rng.choice(["north", "south", "west"], 3000)
    frame.loc[::9, "b"] = np.nan
    model = SeveralSources(propensity_features=[["c"], ["ward", "c"]]).fit(frame, Y)
    assert model.coef_names_[:4] == ["a", "b", "c", "b missing"]
    assert len(model.coef_names_) == 6
    zero = (model.source_coef_ == 0.0).sum(axis=1)
    assert zero.tolist() == [5, 3]
    assert model.prior_ == pytest.approx(positive.mean(), abs=0.05)


def test_a_weight_is_that_many_rows(rng):
    X, _, Y = world(rng, 600)
    Y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    copies = rng.integers(0, 4, size=600)
    repeat = np.repeat(np.arange(600), copies)
    one = SeveralSources().fit(X, Y, sample_weight=copies)
    other = SeveralSources().fit(X[repeat], Y[repeat])
    np.testing.assert_allclose(one.predict_source_propensities(X), other.predict_source_propensities(X), atol=1e-6)
    for name in ("source_frequency_", "source_rows_", "source_overlap_", "prior_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6)


def test_a_model_file_keeps_the_sources(rng, tmp_path):
    X, _, Y = world(rng, 1000)
    model = SeveralSources(propensity_features=[[2], None]).fit(X, pd.DataFrame(Y, columns=["a", "b"]))
    save(model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    np.testing.assert_array_equal(again.predict_source_propensities(X), model.predict_source_propensities(X))
    np.testing.assert_array_equal(again.predict_hidden(X), model.predict_hidden(X))
    np.testing.assert_array_equal(again.source_overlap_, model.source_overlap_)
    assert again.source_names_.tolist() == ["a", "b"]
    assert again.propensity_features == [[2], None]


BAD = {
    "looked at no row": (lambda Y: np.column_stack([Y, np.full(len(Y), np.nan)]), InvalidLabels, "looked at no row"),
    "only ones": (lambda Y: np.column_stack([Y, np.where(Y[:, 0], 1.0, np.nan)]), InvalidLabels, "Write 0 where it"),
    "no label": (
        lambda Y: np.column_stack([Y, np.zeros(len(Y))]),
        NoLabelledInstances,
        "'source 3': y has no",
    ),
    "every row": (lambda Y: np.column_stack([Y, np.ones(len(Y))]), NoUnlabelledInstances, "'source 3'"),
    "three values": (lambda Y: np.column_stack([Y, np.arange(len(Y)) % 3]), InvalidLabels, "'source 3': Only binary"),
    "other values": (lambda Y: np.column_stack([Y, 2 * Y[:, 0]]), InvalidLabels, "the same two values"),
    "other rows": (lambda Y: Y[:-1], InvalidLabels, "inconsistent numbers"),
    "same names": (lambda Y: pd.DataFrame(Y, columns=["a", "a"]), InvalidLabels, "two columns 'a'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_labels_are_refused_by_name(rng, case):
    X, _, Y = world(rng, 200)
    spoil, error, words = BAD[case]
    with pytest.raises(error, match=words):
        SeveralSources().fit(X, spoil(Y.astype(float)))


def test_bad_columns_are_refused(rng):
    X, _, Y = world(rng, 200)
    with pytest.raises(InvalidOption, match="3 lists of columns for 2 sources"):
        SeveralSources(propensity_features=[[0], [1], [2]]).fit(X, Y)
    with pytest.raises(InvalidOption, match="there is no column 7"):
        SeveralSources(propensity_features=[None, [7]]).fit(X, Y)


def test_a_source_without_a_label_on_the_rows_that_count_is_refused(rng):
    X, _, Y = world(rng, 200)
    with pytest.raises(NoLabelledInstances, match="'source 2'"):
        SeveralSources().fit(X, Y, sample_weight=~Y[:, 1])


def test_other_methods_say_which_one_takes_several_sources(rng):
    X, _, Y = world(rng, 200)
    with pytest.raises(InvalidLabels, match="use SeveralSources"):
        JointMLE().fit(X, Y)


def test_columns_of_labels_pass_through_scikit_learn(rng):
    X, positive, Y = world(rng, 600)
    assert cross_val_predict(SeveralSources(), X, Y, cv=3, method="predict_proba").shape == (600, 2)
    grid = GridSearchCV(make_pipeline(StandardScaler(), SeveralSources()), {"severalsources__ridge": [0.1, 10.0]}, cv=3)
    grid.set_params(error_score="raise").fit(X, Y)
    model = grid.best_estimator_[-1]
    Z = grid.best_estimator_[0].transform(X)
    assert model.score(Z, Y) == np.mean(model.predict(Z) == Y.any(axis=1))
    assert model.score(Z, positive) == np.mean(model.predict(Z) == positive)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["class", "rare", "shared", "curved"])
def test_two_looks_are_within_two_points_of_the_truth(world):
    """Worlds of `benchmarks/sources.py`, where methods for one source are further off."""
    errors = []
    for seed in range(100, 108):
        X, positive, Y = make(WORLDS[world], seed)
        errors.append(SeveralSources().fit(X, Y).prior_ - positive.mean())
    assert np.abs(errors).mean() < 0.02
    assert abs(np.mean(errors)) < 0.015


@pytest.mark.slow
def test_intervals_refit_the_sources(rng):
    X, positive, Y = world(rng, 2000)
    model = SeveralSources().fit(X, Y)
    found = intervals(model, X, Y, n_resamples=40, random_state=0)
    assert found.failed == 0
    assert found.prior.low < model.prior_ < found.prior.high
    assert found.prior.low < positive.mean() < found.prior.high
    assert found.prior.high - found.prior.low < 0.15


def test_rows_that_two_sources_labelled_are_counted(rng):
    X, _, Y = world(rng, 600)
    both = np.flatnonzero(Y.all(axis=1))
    Y[both[9:], 1] = False
    with pytest.warns(DoubtfulFit, match="Only 9 rows have labels from two of the 2 sources"):
        SeveralSources().fit(X, Y)
    Y[both[:9], 1] = False
    with pytest.warns(DoubtfulFit, match="No row has labels from two of the 2 sources"):
        SeveralSources().fit(X, Y)
