"""The check of named columns: each number is what other means give, each verdict what a world with known truth asks."""

import importlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import missing, tensor
from propense import SAREM, JointMLE, KnownPropensity, Naive, PGLin, PUClassifier, SeveralSources, column_check
from propense.datasets import make_double_logistic
from propense.errors import InvalidOption

NAMED = SAREM(propensity_features=[3, 4])


@pytest.fixture(scope="module")
def data():
    """y depends on columns 0, 1, 2 and e on 3, 4, 5."""
    return make_double_logistic(1500, 6, random_state=0)


@pytest.fixture(scope="module")
def result(data):
    return column_check(NAMED, data.X, data.labelled)


@pytest.mark.slow
def test_the_answer_and_its_changes_are_those_of_refits(data, result):
    fits = {
        "nothing named": SAREM(),
        "without column 3": SAREM(propensity_features=[4]),
        "without column 4": SAREM(propensity_features=[3]),
        "kept out of being positive, too": SAREM(propensity_features=[3, 4], class_features=[0, 1, 2, 5]),
    }
    assert list(result.changes) == list(fits)
    base, X, rest = clone(NAMED).fit(data.X, data.labelled), data.X, ~data.labelled
    assert result.prior == base.prior_
    for name, model in fits.items():
        model.fit(X, data.labelled)
        change = result.changes[name]
        assert change.prior == pytest.approx(model.prior_, abs=1e-12)
        assert change.changed == np.mean(model.predict(X) != base.predict(X))
        expected = scipy.stats.spearmanr(model.predict_hidden(X[rest]), base.predict_hidden(X[rest])).statistic
        assert change.correlation == pytest.approx(expected, abs=1e-9)


def test_the_middle_of_the_propensities_is_that_of_draws_of_the_positives(data, result, rng):
    base = clone(NAMED).fit(data.X, data.labelled)
    h = np.where(data.labelled, 1.0, base.predict_hidden(data.X))
    e = np.concatenate([base.predict_propensity(data.X[rng.random(len(h)) < h]) for _ in range(200)])
    np.testing.assert_allclose(result.propensity, np.quantile(e, [0.1, 0.9]), atol=0.005)


def test_the_gain_on_held_out_rows_is_that_of_scikit_learn(data, result):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    losses = []
    for columns in ([], [0, 1, 2, 5], range(6)):
        X = data.X[:, list(columns)] if len(columns) else np.zeros((1500, 1))
        model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
        p = cross_val_predict(model, X, data.labelled, cv=folds, method="predict_proba")[:, 1]
        losses.append(-np.where(data.labelled, np.log(p), np.log(1 - p)))
    fall = losses[1] - losses[2]
    assert result.gain == pytest.approx(fall.mean(), rel=1e-4)
    assert result.gain_error == pytest.approx(fall.std() / np.sqrt(1500), rel=1e-3)
    assert result.share == pytest.approx(fall.mean() / (losses[0] - losses[2]).mean(), rel=1e-4)


@pytest.mark.slow
def test_the_verdict_is_that_of_worlds_with_a_known_truth(rng):
    """Columns that move nothing; that move the labels, which the labels show by themselves; and that decide."""
    data = make_double_logistic(4000, 6, random_state=0)
    X = np.column_stack([data.X, np.random.default_rng(0).normal(size=(4000, 2))])
    for names, verdict in (((6, 7), "weak"), ((3, 4, 5), "idle"), ((0, 1, 2), "decisive")):
        found = column_check(SAREM(propensity_features=names), X, data.labelled)
        assert found.verdict == verdict
        if names == (6, 7):
            assert found.p_value > 0.01
            assert "hardly move the labels" in str(found)
            assert "every positive is equally likely to be labelled" in str(found)
        else:
            assert found.p_value < 1e-6


def test_words_name_the_columns_and_the_shares(data, result):
    lines = str(result).splitlines()
    assert lines[0] == "Named for labelling: column 3, column 4."
    assert f"they add {result.share:.0%} of what all columns say about the labels (p < 0.001)" in lines[1]
    assert lines[3] == f"As named: {result.prior:.1%} positive."
    assert lines[4].startswith(f"Nothing named: {result.changes['nothing named'].prior:.1%} positive, ")
    assert lines[-1].startswith("Naming them decides much")


@pytest.mark.slow
def test_a_frame_has_names_categories_and_gaps(data):
    frame = pd.DataFrame(data.X.copy(), columns=["age", "bmi", "dose", "visits", "ward", "hair"])
    frame["centre"] = np.where(data.X[:, 3] > 0.5, "north", np.where(data.X[:, 3] < -0.5, "south", "east"))
    frame.loc[::9, "visits"] = np.nan
    model = PUClassifier(learners=[LogisticRegression()], cv=3, propensity_features=["centre", "visits"])
    found = column_check(model.set_params(random_state=0), frame, data.labelled)
    assert found.columns == ["visits", "centre"]
    # The number, its missing cells, and two levels next to the most frequent.
    assert found.coefficients == 4
    assert found.p_value < 1e-6
    assert set(found.changes) >= {"without visits", "without centre"}


@pytest.mark.slow
def test_columns_may_be_tried_before_they_are_named(data, result):
    assert column_check(SAREM(), data.X, data.labelled, propensity_features=[3, 4]) == result
    fitted = clone(NAMED).fit(data.X, data.labelled)
    assert column_check(fitted, data.X, data.labelled) == result


def test_both_kinds_named_leave_less_to_try(data):
    model = JointMLE(class_features=[0, 1, 2], propensity_features=[3], n_starts=2, random_state=0)
    found = column_check(model, data.X, data.labelled)
    assert list(found.changes) == ["nothing named"]
    plain = JointMLE(n_starts=2, random_state=0).fit(data.X, data.labelled)
    assert found.changes["nothing named"].prior == pytest.approx(plain.prior_, abs=1e-12)


@pytest.mark.slow
def test_rows_may_weigh_and_some_may_not_count(data, rng):
    weights = rng.integers(0, 3, size=1500)
    found = column_check(NAMED, data.X, data.labelled, sample_weight=weights)
    kept = weights > 0
    without = column_check(NAMED, data.X[kept], data.labelled[kept], sample_weight=weights[kept])
    assert found == without
    ones = column_check(NAMED, data.X, data.labelled, sample_weight=np.ones(1500))
    assert ones.share == pytest.approx(column_check(NAMED, data.X, data.labelled).share, rel=1e-9)


KINDS = {
    "sparse": sp.csr_array,
    "torch": tensor,
    "dask": lambda X: importlib.import_module("dask.array").from_array(X, chunks=(500, 6)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=missing(kind)) for kind in KINDS])
def test_features_may_live_elsewhere(data, kind):
    model = JointMLE(propensity_features=[3, 4], n_starts=1, random_state=0)
    result, found = (column_check(model, X, data.labelled) for X in (data.X, KINDS[kind](data.X)))
    assert found.verdict == result.verdict
    for name in ("likelihood_ratio", "gain", "share", "propensity", "prior"):
        np.testing.assert_allclose(getattr(found, name), getattr(result, name), rtol=1e-4)


@pytest.mark.slow
def test_a_pipeline_is_its_last_step(data):
    """Fitted or not: the steps before it are fitted as the pipeline would fit them."""
    scaled = StandardScaler().fit_transform(data.X)
    expected = column_check(NAMED, scaled, data.labelled)
    pipeline = make_pipeline(StandardScaler(), clone(NAMED))
    search = GridSearchCV(pipeline, {f"{pipeline.steps[-1][0]}__ridge": [NAMED.ridge]}, cv=2)
    for model in (pipeline, search.fit(data.X, data.labelled)):
        found = column_check(model, data.X, data.labelled)
        assert (found.prior, found.p_value, found.verdict) == (expected.prior, expected.p_value, expected.verdict)


WRONG = [
    (SAREM(), {}, r"column_check\(propensity_features=None\): no column is named"),
    (SAREM(propensity_features=[]), {}, r"propensity_features=\[\]\): no column is named"),
    (SAREM(), {"propensity_features": ["age"]}, "there is no column 'age'; X has no column names"),
    (Naive(), {"propensity_features": [1]}, "Naive does not estimate which rows are labelled"),
    (PGLin(), {"propensity_features": [1]}, "PGLin does not estimate which rows are labelled"),
    (KnownPropensity(propensity_features=[1]), {}, "KnownPropensity does not estimate which rows"),
    (SeveralSources(propensity_features=[1]), {}, "takes one column of labels, and SeveralSources has several"),
    (make_pipeline(StandardScaler(), SAREM()), {}, "no column is named"),
    (LogisticRegression(), {}, "LogisticRegression is neither a fitted estimator of propense"),
    (NAMED, {"random_state": "a"}, "random_state='a'"),
    (SAREM(ridge=-1.0, propensity_features=[1]), {}, "ridge=-1.0"),
    (SAREM(variant="published", propensity_features=[1]), {"known_negative": np.arange(1500) < 0}, None),
]


@pytest.mark.parametrize(("model", "options", "words"), WRONG, ids=[f"case {n}" for n in range(len(WRONG))])
def test_what_cannot_be_checked_is_one_error(data, model, options, words):
    if words is None:
        negative = ~data.labelled & (np.arange(1500) < 100)
        options, words = {"known_negative": negative}, "cannot use known negatives"
    with pytest.raises(InvalidOption, match=words):
        column_check(model, data.X, data.labelled, **options)
