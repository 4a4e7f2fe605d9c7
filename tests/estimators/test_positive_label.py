"""The value of y that marks labelled rows, named or read, in every place where an estimator meets it."""

import importlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer as sklearn_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import fit, in_few_rounds, missing
from propense import SAREM, Naive, Oracle, SeveralSources, load, save
from propense._inputs.sample import read_sample
from propense.datasets import make_double_logistic
from propense.errors import DoubtfulFit, InvalidFeatures, InvalidLabels, NoLabelledInstances
from propense.metrics import get_scorer

DATA = make_double_logistic(300, 4, random_state=0)
X, S = DATA.X, DATA.labelled
WORDS = np.where(S, "churn", "stay")

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{each.__module__}.{each.__name__}")
    for each in (DoubtfulFit, ConvergenceWarning)
]


@pytest.mark.slow
def test_every_method_takes_the_value_and_keeps_it_in_a_file(method, tmp_path):
    method = in_few_rounds(method, 3)
    assert method.get_params()["positive_label"] is None
    truth = fit(clone(method), X, S)
    named = fit(clone(clone(method).set_params(positive_label="churn")), X, WORDS)
    np.testing.assert_array_equal(named.predict_proba(X), truth.predict_proba(X))
    assert named.classes_.tolist() == ["stay", "churn"]
    np.testing.assert_array_equal(named.predict(X) == "churn", truth.predict(X))
    with pytest.raises(InvalidLabels, match="'churn' and 'stay', and it is not certain"):
        fit(clone(method), X, WORDS)
    with pytest.raises(NoLabelledInstances, match="positive_label='left'"):
        fit(clone(method).set_params(positive_label="left"), X, WORDS)
    save(named, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.positive_label == "churn"
    np.testing.assert_array_equal(again.predict(X), named.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(name, marks=missing(name)) for name in ("torch", "dask")])
def test_arrays_elsewhere_are_read_alike(kind):
    library = importlib.import_module("torch" if kind == "torch" else "dask.array")
    send = library.tensor if kind == "torch" else lambda values: library.from_array(values, chunks=100)
    expected = Naive().fit(X, S).coef_
    numbers = np.where(S, 1, 2)
    for y in (numbers, send(numbers)):
        model = Naive(positive_label=1).fit(send(X), y)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-5, atol=1e-6)
        assert model.classes_.tolist() == [2, 1]
        np.testing.assert_array_equal(np.asarray(model.predict(send(X))) == 1, Naive().fit(X, S).predict(X))
    if kind == "dask":
        model = Naive(positive_label="churn").fit(send(X), send(WORDS))
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-5, atol=1e-6)
        with pytest.raises(InvalidLabels, match="not certain"):
            Naive().fit(send(X), send(WORDS))
        with pytest.warns(DoubtfulFit, match="pass positive_label=1"):
            Naive().fit(send(X), send(numbers))


def test_several_sources_share_the_value(rng):
    Y = DATA.positive[:, None] & (rng.random((300, 2)) < 0.6)
    words = pd.DataFrame(np.where(Y, "churn", "stay"), columns=["a", "b"])
    model = SeveralSources(positive_label="churn").fit(X, words)
    np.testing.assert_array_equal(model.coef_, SeveralSources().fit(X, Y).coef_)
    assert model.score(X, words) == SeveralSources().fit(X, Y).score(X, Y)
    with pytest.raises(InvalidLabels, match=r"y, column 'a': .*not certain"):
        SeveralSources().fit(X, words)
    with pytest.raises(NoLabelledInstances, match="y, column 'a': No row of y is positive_label='left'"):
        SeveralSources(positive_label="left").fit(X, words)


def test_the_oracle_reads_true_classes_likewise():
    truth = np.where(DATA.positive, "default", "paid")
    with pytest.raises(InvalidLabels, match="not certain"):
        Oracle().fit(X, truth)
    found = Oracle(positive_label="default").fit(X, truth)
    np.testing.assert_array_equal(found.coef_, Oracle().fit(X, DATA.positive).coef_)
    smaller = Oracle(positive_label=0).fit(X, np.where(DATA.positive, 0, 1))
    np.testing.assert_array_equal(smaller.coef_, found.coef_)


@pytest.mark.slow
def test_searches_pipelines_and_scorers_speak_of_the_same_value():
    folds = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    found = []
    for y, label in ((S, None), (WORDS, "churn")):
        pipeline = make_pipeline(StandardScaler(), SAREM(positive_label=label))
        scoring = get_scorer("neg_joint_risk")
        search = GridSearchCV(pipeline, {"sarem__ridge": [0.1, 10.0]}, scoring=scoring, cv=folds).fit(X, y)
        found.append((search.best_params_, search.best_score_, search.score(X, y)))
    assert found[0] == found[1]


def test_what_scikit_learn_numbers_by_the_alphabet_is_noticed():
    """Some of its tools number the words of y before a method sees them."""
    words = np.where(S, "positive", "unlabelled")
    with pytest.warns(DoubtfulFit, match="the value 1, .* pass positive_label=0"):
        cross_val_predict(Naive(), X, words, method="predict_proba", cv=2)
    with pytest.warns(DoubtfulFit, match="pass positive_label=0"):
        VotingClassifier([("one", Naive())]).fit(X, words)
    with pytest.raises(NoLabelledInstances, match=r"numbered in the order of the alphabet.*pass y == 'churn'"):
        cross_val_predict(Naive(positive_label="churn"), X, WORDS, method="predict_proba", cv=2)


def test_scorers_that_ask_for_the_classes_are_right_and_those_that_sort_are_not():
    """As the guide to scikit-learn says: pass truth values to scorers by name that sort the classes themselves."""
    words = np.where(S, "positive", "unlabelled")
    named, plain = Naive().fit(X, words), Naive().fit(X, S)
    for name in ("accuracy", "balanced_accuracy"):
        assert sklearn_scorer(name)(named, X, words) == sklearn_scorer(name)(plain, X, S)
    auc = sklearn_scorer("roc_auc")
    assert auc(named, X, words) == pytest.approx(1.0 - auc(plain, X, S))
    assert named.predict_proba(X)[:, list(named.classes_).index("positive")].mean() == pytest.approx(S.mean(), abs=0.01)


def test_a_lazy_frame_is_to_be_collected():
    lazy = pl.DataFrame(X, schema=list("abcd")).lazy()
    with pytest.raises(InvalidFeatures, match=r"X is a LazyFrame of polars.*Call \.collect\(\) first"):
        Naive().fit(lazy, S)
    with pytest.raises(InvalidLabels, match=r"y is a LazyFrame of polars.*Call \.collect\(\) first"):
        Naive().fit(X, lazy)
    with pytest.raises(InvalidFeatures, match=r"Call \.collect\(\) first"):
        Naive().fit(lazy.collect(), S).predict(lazy)


def test_a_reader_of_its_own_needs_no_such_argument():
    """Methods outside the package, whose constructors do not take it, read y as before."""

    class Own(Naive):
        def __init__(self, *, decision="posterior"):
            super().__init__(decision=decision)

    assert "positive_label" not in Own().get_params()
    assert Own().fit(X, S).prior_ == Naive().fit(X, S).prior_
    sample, classes = read_sample(Own(), X, S, None, None, Own._read_labels)
    assert (int(sample.labelled.sum()), classes.tolist()) == (int(S.sum()), [False, True])
