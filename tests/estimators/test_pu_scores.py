"""PUClassifier from label scores: what must hold of every choice of learners, and what its parameters mean."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import mapped, missing, tensor
from propense import JERM, SAREM, PUClassifier
from propense._inputs.sample import read_features
from propense._maths.arrays import to_host
from propense._maths.logistic import sigmoid
from propense._steps.label_learners import LabelLearner
from propense.datasets import make_double_logistic
from propense.errors import DoubtfulFit, InvalidFeatures, InvalidOption, PropenseError

NB = [GaussianNB()]
ROWS = ("oof_posterior_", "oof_propensity_", "oof_hidden_", "oof_hidden_range_")
# Every way through the code with learners that take no time, and the default.
CHOICES = {
    "auto": {},
    "list": {"learners": [GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)]},
    "named": {"learners": NB, "propensity_features": [2]},
    "constant e": {"learners": NB, "propensity_features": []},
    "class": {"learners": NB, "class_features": [0, 1]},
    "both": {"learners": NB, "class_features": [0, 1], "propensity_features": [2]},
    "prior": {"learners": NB, "prior": 0.45},
    "low prior": {"learners": NB, "prior": 0.25},
    "named prior": {"learners": NB, "propensity_features": [2], "prior": 0.25},
    "a range": {"learners": NB, "prior": (0.5, 0.6)},
    "of a group": {"learners": NB, "prior": {1.0: 0.7}, "prior_groups": 3},
}


@pytest.fixture(params=CHOICES)
def choice(request, few_trees):
    return PUClassifier(random_state=0, **CHOICES[request.param])


FITTED = {}


@pytest.fixture
def fitted(choice, problem):
    """The choice, fitted to the problem once for all laws, which leave it as it is."""
    if str(choice) not in FITTED:
        FITTED[str(choice)] = clone(choice).fit(*problem)
    return FITTED[str(choice)]


def quick(**options):
    return PUClassifier(**{"learners": NB, "random_state": 0, **options})


def make(rng, n=300):
    positive = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    s = positive & (rng.random(n) < expit(X[:, 2] + 0.3))
    return np.column_stack([X, rng.integers(0, 2, n)]), s.astype(int), positive


@pytest.fixture
def problem(rng):
    return make(rng)[:2]


def assert_same(one, other, X, *, atol=0.0):
    for name in ("predict_proba", "predict_propensity", "predict_hidden"):
        np.testing.assert_allclose(getattr(one, name)(X), getattr(other, name)(X), rtol=0, atol=atol)
    assert one.prior_ == pytest.approx(other.prior_, abs=atol)


def assert_same_rows(one, other, *, atol=0.0):
    for name in ROWS:
        np.testing.assert_allclose(to_host(getattr(one, name)), to_host(getattr(other, name)), rtol=0, atol=atol)


def kinds_of(model):
    return {doubt.kind for doubt in model.doubts_}


# Laws of every choice.


def test_one_seed_is_one_answer_and_a_second_fit_forgets_the_first(choice, fitted, problem, rng):
    X, s = problem
    before = X.copy(), s.copy()
    again = choice.fit(*make(rng, 250)[:2]).fit(X, s)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(s, before[1])
    assert_same(fitted, again, X)
    assert_same_rows(fitted, again)
    assert again.diagnosis_ == fitted.diagnosis_
    assert vars(again).keys() == vars(fitted).keys()


def test_predictions_are_one_model(fitted, problem):
    X, s = problem
    model = fitted
    y, e, h = model.predict_proba(X)[:, 1], model.predict_propensity(X), model.predict_hidden(X)
    np.testing.assert_allclose(h, y * (1 - e) / (1 - y * e), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (y > model.prior_).astype(int))
    np.testing.assert_allclose(model.decision_function(X), logit(y) - logit(model.prior_), atol=1e-6)
    # Of the rows of fit, out of fold.
    y, e, h, ends = (getattr(model, name) for name in ROWS)
    np.testing.assert_allclose(h, y * (1 - e) / (1 - y * e), rtol=1e-6, atol=1e-12)
    assert model.prior_ == pytest.approx(np.where(s == 1, 1.0, h).mean(), rel=1e-9)
    assert model.label_frequency_ == pytest.approx(s.mean() / model.prior_, rel=1e-9)
    found = model.diagnosis_
    assert s.mean() - 1e-9 <= found.low <= model.prior_ + 1e-9 <= found.high + 2e-9
    if model.prior_groups is None:
        assert found.middle == pytest.approx(model.prior_, abs=1e-6)
    ranges = np.array([found.range(level) for level in (0.1, 0.5, 0.9, 0.98)])
    assert (np.diff(ranges[:, 0]) <= 0).all()
    assert (np.diff(ranges[:, 1]) >= 0).all()
    assert ("as it was given" if found.is_given else "The middle is") in str(found)
    new = model.predict_hidden_range(X)
    assert ((new >= 0) & (new <= 1)).all()
    for h, ends in ((model.oof_hidden_, model.oof_hidden_range_), (model.predict_hidden(X), new)):
        assert ((ends[:, 0] <= h + 1e-12) & (h <= ends[:, 1] + 1e-12)).all()


def test_weights_of_1_are_none(choice, fitted, problem):
    X, s = problem
    assert_same(fitted, choice.fit(X, s, np.ones(300)), X, atol=1e-6)


@pytest.mark.slow
def test_a_weight_of_0_leaves_the_row_out(choice, problem, rng):
    X, s = problem
    kept = rng.random(len(s)) < 0.8
    with_them, without = clone(choice).fit(X, s, kept.astype(float)), choice.fit(X[kept], s[kept])
    assert len(with_them.oof_posterior_) == kept.sum()
    assert_same(with_them, without, X, atol=1e-6)


def test_units_of_columns_do_not_matter(choice, fitted, problem):
    """By powers of two, which change no digit: otherwise trees may cut elsewhere by rounding."""
    X, s = problem
    units = np.array([2.0**-10, 1.0, 2.0**20, 1.0])
    other = choice.fit(X * units, s)
    assert_same_rows(fitted, other, atol=1e-6)
    np.testing.assert_allclose(other.predict_proba(X * units), fitted.predict_proba(X), atol=1e-6)


def test_the_order_of_the_rows_changes_no_more_than_another_seed(choice, fitted, problem, rng):
    X, s = problem
    order = rng.permutation(len(s))
    seeded, moved = clone(choice).set_params(random_state=1).fit(X, s), choice.fit(X[order], s[order])
    gaps = [np.abs(each.predict_proba(X) - fitted.predict_proba(X)).mean() for each in (seeded, moved)]
    assert gaps[1] < max(3 * gaps[0], 0.03)


STORES = {
    "mapped": mapped,
    "float32": lambda X: X.astype(np.float32),
    "column-major": np.asfortranarray,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto", "both"])
@pytest.mark.usefixtures("few_trees")
def test_storage_in_memory_does_not_matter(name, problem):
    X, s = problem
    X = X.astype(np.float32).astype(np.float64)
    choice = PUClassifier(random_state=0, **CHOICES[name])
    plain = clone(choice).fit(X, s)
    for store in STORES.values():
        kept = store(X)
        model = clone(choice).fit(kept, s)
        assert_same_rows(model, plain, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(kept), plain.predict_proba(X), atol=1e-6)


def test_a_model_survives_a_pickle_and_a_clone_forgets(fitted, problem):
    again = pickle.loads(pickle.dumps(fitted))
    assert_same(fitted, again, problem[0])
    assert_same_rows(fitted, again)
    assert not hasattr(clone(fitted), "classes_")


def test_nothing_else_the_size_of_the_data_stays(rng):
    X, s, _ = make(rng, 4000)
    model = quick().fit(X, s)
    assert max(np.size(value) for name, value in vars(model).items() if name not in ROWS) <= 10
    for name in ROWS:
        delattr(model, name)
    assert len(pickle.dumps(model)) < 30_000


def test_the_learners_that_were_passed_are_left_alone(problem):
    X, s = problem
    learner = GaussianNB()
    model = PUClassifier(learners=[learner]).fit(X, s)
    assert model.learners[0] is learner
    assert not hasattr(learner, "classes_")


# Out of fold.


class Memory(KNeighborsClassifier):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_rows_of_fit_are_scored_by_models_that_have_not_seen_them(rng):
    X, s, _ = make(rng, 400)
    noise = rng.normal(size=X.shape)
    model = PUClassifier(learners=[Memory(1)], random_state=0).fit(noise, s)
    # A model that remembers every row ranks them by their labels, where four of five of the averaged ones have seen it.
    assert roc_auc_score(s, model.predict_proba(noise)[:, 1]) > 0.95
    assert roc_auc_score(s, model.oof_posterior_) < 0.6
    assert "unexplained" in kinds_of(model)


@pytest.mark.slow
@pytest.mark.parametrize("e", ["own features", "class score"])
def test_it_is_never_the_worst(e):
    """JERM and EM win in one world each, where they know y and e to be logistic."""
    slopes = make_double_logistic(1, 10, random_state=0).coef[1:]
    options = {} if e == "own features" else {"propensity_coef": np.append(-2.25, slopes)}
    scores = {"pu": [], "jerm": [], "em": []}
    for seed in range(3):
        data = make_double_logistic(2000, 10, random_state=seed, **options)
        fresh = make_double_logistic(5000, 10, random_state=100 + seed, **options)
        for key, model in (("pu", PUClassifier(random_state=0)), ("jerm", JERM()), ("em", SAREM())):
            model.fit(data.X, data.labelled)
            scores[key].append(balanced_accuracy_score(fresh.positive, model.predict(fresh.X)))
    means = {key: np.mean(each) for key, each in scores.items()}
    assert means["pu"] > min(means["jerm"], means["em"]) + 0.01


@pytest.mark.usefixtures("few_trees")
def test_curves_are_learned(rng):
    """A ring of positives, which no line separates."""
    X = rng.normal(size=(1200, 2))
    positive = np.abs(np.hypot(*X.T) - 1.2) < 0.4
    s = positive & (rng.random(1200) < 0.5)
    accuracies = [
        balanced_accuracy_score(positive, PUClassifier(learners=each, random_state=0).fit(X, s).predict(X))
        for each in ("linear", "auto")
    ]
    assert accuracies[0] < 0.6
    assert accuracies[1] > 0.8


# Given folds.


def test_given_folds_are_used(problem, rng):
    X, s = problem
    parts = np.array_split(rng.permutation(300), 4)
    folds = [(np.setdiff1d(np.arange(300), part), part) for part in parts]
    model = quick(cv=folds, learners=[LogisticRegression()]).fit(X, s)
    Z = StandardScaler().fit_transform(X)
    raw = np.empty(300)
    for rest, part in folds:
        raw[part] = LogisticRegression().fit(Z[rest], s[rest]).decision_function(Z[part])
    np.testing.assert_array_equal(np.argsort(model.oof_propensity_ * model.oof_posterior_), np.argsort(raw))


@pytest.mark.slow
def test_with_given_folds_a_weight_is_that_many_copies_in_any_order(choice, problem, rng):
    if choice.learners == "auto":
        choice.set_params(learners=[LogisticRegression()])
    X, s = problem
    fold, copies = rng.integers(0, 4, size=300), rng.integers(1, 4, size=300)
    repeat = rng.permutation(np.repeat(np.arange(300), copies))
    one, other = (
        clone(choice).set_params(cv=[(np.flatnonzero(each != k), np.flatnonzero(each == k)) for k in range(4)])
        for each in (fold, fold[repeat])
    )
    one.fit(X, s, copies)
    other.fit(X[repeat], s[repeat])
    # Quantiles of scores are between rows.
    assert_same(one, other, X, atol=0.02)
    np.testing.assert_allclose(other.oof_hidden_, one.oof_hidden_[repeat], atol=0.05)


def test_folds_that_cannot_be_used_are_refused(problem):
    X, s = problem
    rows = np.arange(300)
    with pytest.raises(InvalidOption, match=r"row 150 is scored 0 times; it must be scored once"):
        quick(cv=[(rows, rows[:100]), (rows, rows[100:150])]).fit(X, s)
    with pytest.raises(InvalidOption, match=r"row 0 is scored 2 times"):
        quick(cv=[(rows, rows), (rows, rows[:10])]).fit(X, s)
    with pytest.raises(InvalidOption, match=r"the rows outside of fold 0 are all unlabelled"):
        quick(cv=[(rows[s == 0], rows[s == 1]), (rows[s == 1], rows[s == 0])]).fit(X, s)
    folds = [(rows[100:], rows[:100]), (rows[:100], rows[100:200]), (rows[:200], rows[200:])]
    with pytest.raises(InvalidOption, match="the rows to fit in fold 1 must be all rows that it does not score"):
        quick(cv=folds).fit(X, s)
    for wrong in ([], [(rows, rows)], [rows, rows], "all"):
        with pytest.raises(InvalidOption, match=r"cv must be None, a whole number from 2 to 1000, or a list of pairs"):
            quick(cv=wrong).fit(X, s)


def test_labels_are_counted_per_column_of_y(rng):
    X, s, _ = make(rng)
    wide = np.column_stack([X, rng.normal(size=(300, s.sum()))])
    assert "labels_per_feature" in kinds_of(quick().fit(wide, s))
    for learners in (NB, "linear"):
        assert "labels_per_feature" not in kinds_of(quick(class_features=[0, 1, 2, 3], learners=learners).fit(wide, s))


# The prior.


@pytest.mark.slow
@pytest.mark.parametrize("choice", [{}, {"propensity_features": [2]}, {"learners": "linear"}])
def test_a_known_share_is_a_condition_on_the_range(problem, choice):
    X, s = problem
    free = quick(**choice).fit(X, s)
    for low, high in ((0.3, 0.31), (0.5, 0.7), (0.9, 0.95), (0.01, 1.0)):
        known = quick(prior=(low, high), **choice).fit(X, s)
        assert low - 1e-9 <= known.diagnosis_.low <= known.prior_ + 1e-9 <= known.diagnosis_.high + 2e-9 <= high + 3e-9
        ((name, (before, after)),) = known.diagnosis_.moved.items()
        assert (name, before) == ("all rows", pytest.approx(free.prior_, abs=1e-6))
        assert after == pytest.approx(known.prior_, abs=1e-6)
    # What says nothing changes nothing.
    np.testing.assert_allclose(known.oof_posterior_, free.oof_posterior_, atol=1e-9)
    assert known.diagnosis_.shares == free.diagnosis_.shares
    point = quick(prior=0.5, **choice).fit(X, s)
    assert point.prior_ == pytest.approx(0.5, abs=1e-9)
    assert point.diagnosis_.range() == pytest.approx((0.5, 0.5), abs=1e-9)
    assert "as it was given: 50.0%" in str(point.diagnosis_)


@pytest.mark.parametrize("learners", [NB, "linear"])
def test_known_negatives_bound_the_range(rng, learners):
    X, s, positive = make(rng, 600)
    negative = ~positive & (rng.random(600) < 0.8)
    free, known = (quick(learners=learners).fit(X, s, known_negative=each) for each in (None, negative))
    assert known.diagnosis_.high <= 1 - negative.mean() + 1e-9
    assert known.prior_ <= 1 - negative.mean()
    assert known.diagnosis_.low <= positive.mean() <= known.diagnosis_.high
    assert free.diagnosis_.high > known.diagnosis_.high


def test_a_prior_is_refused_where_every_class_is_known(rng):
    X, _, positive = make(rng)
    for learners in (NB, "linear"):
        with pytest.raises(InvalidOption, match=r"prior=0\.9\): the class of every row is known, .*Leave out prior"):
            quick(learners=learners, prior=0.9).fit(X, positive, known_negative=~positive)


def test_a_prior_below_the_labels_is_refused(problem):
    X, s = problem
    for learners in (NB, "linear"):
        with pytest.raises(InvalidOption, match=r"% of the rows are labelled, so at least that share is positive"):
            quick(learners=learners, prior=(0.01, 0.05)).fit(X, s)
    for wrong in (0.0, 1.1, -1, "half", (0.5, 0.2), (0.1,), True, math.nan):
        with pytest.raises(InvalidOption, match=r"prior must be None, a number above 0 and at most 1, two of them"):
            quick(prior=wrong).fit(X, s)


# Columns of y and of e, and columns of every kind.


def people(rng, n=400):
    """A frame with a number, a category, a truth value and a date, cells missing."""
    positive = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, 40 + 15 * positive + rng.normal(0, 6, n)),
            "sector": np.where(rng.random(n) < np.where(positive, 0.7, 0.2), "care", rng.choice(["law", "farm"], n)),
            "insured": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "sector"] = None
    return frame, positive, positive & (rng.random(n) < np.where(frame["insured"], 0.8, 0.2))


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("learners", ["auto", NB])
def test_mixed_frames_go_straight_in(rng, learners):
    frame, positive, s = people(rng)
    model = PUClassifier(learners=learners, random_state=0).fit(frame, s)
    assert roc_auc_score(positive, model.oof_posterior_) > 0.8
    other = frame.head(20).assign(sector="a word that fit did not see", age=np.nan)
    assert np.isfinite(model.predict_hidden(other)).all()
    polars = pl.from_pandas(frame)
    np.testing.assert_array_equal(model.predict_proba(polars), model.predict_proba(frame))


def test_columns_are_named_for_y_and_e(rng):
    frame, positive, s = people(rng, 1500)
    named = quick(class_features=["age", "sector"], propensity_features=["insured"]).fit(frame, s)
    turned = frame.assign(insured=~frame["insured"], since=frame["since"] + pd.Timedelta(days=900))
    # y depends on what was named for it, e on what was named for it, and on nothing else.
    np.testing.assert_allclose(named.predict_proba(turned), named.predict_proba(frame), rtol=1e-12)
    e, insured = named.predict_propensity(frame), frame["insured"]
    assert e[insured].mean() > 2 * e[~insured].mean()
    assert named.diagnosis_.low <= positive.mean() <= named.diagnosis_.high
    assert named.diagnosis_.labelling == "named"
    category = quick(propensity_features=["sector", "age"]).fit(frame, s)
    assert np.isfinite(category.predict_propensity(frame.assign(sector=None, age=np.nan))).all()


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["auto", NB])
def test_a_strong_column_of_e_does_not_become_y(learners):
    """Labels follow x₂ far more than anything else, and y, a curve, does not depend on it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    positive = rng.random(1500) < expit(3 * np.abs(X[:, 0]) - 2.2 + X[:, 1])
    e = expit(4 * X[:, 2])
    model = PUClassifier(learners=learners, propensity_features=[2], random_state=0)
    model.fit(X, positive & (rng.random(1500) < e))
    assert np.corrcoef(model.predict_propensity(X), e)[0, 1] > 0.95
    if learners == "auto":
        assert balanced_accuracy_score(positive, model.oof_posterior_ > model.prior_) > 0.65
        assert abs(np.corrcoef(model.oof_posterior_, X[:, 2])[0, 1]) < 0.35


def test_the_share_of_known_negatives_is_the_most_likely_one_for_y_and_e():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(1200, 2))
    positive = rng.random(1200) < expit(1.5 * (X[:, 0] + X[:, 1] - 0.7))
    s = positive & (rng.random(1200) < expit(1.5 * (X[:, 0] + X[:, 1]) - 2))
    negative = ~positive & (rng.random(1200) < 0.6)
    model = quick().fit(X, s, known_negative=negative)
    y, e, rest = model.oof_posterior_, model.oof_propensity_, ~s & ~negative
    shares = np.linspace(0.001, 0.999, 999)[:, np.newaxis]
    unknown = (1 - y[rest]) * (1 - shares)
    likelihood = negative.sum() * np.log(shares[:, 0]) + np.log(y[rest] * (1 - e[rest]) + unknown).sum(axis=1)
    best = unknown[likelihood.argmax()]
    hidden = 1 - best / (best + y[rest] * (1 - e[rest]))
    assert model.prior_ == pytest.approx((s.sum() + hidden.sum()) / 1200, abs=5e-4)


def test_wrong_columns_are_named_in_the_error(problem, rng):
    X, s = problem
    frame = people(rng)[0].head(300)
    with pytest.raises(InvalidOption, match=r"class_features=\['height'\].*: there is no column 'height'; the"):
        quick(class_features=["height"]).fit(frame, s)
    with pytest.raises(InvalidOption, match=r"class_features=\[4\].*: there is no column 4; the columns"):
        quick(class_features=[4]).fit(X, s)
    model = quick().fit(frame, s)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(InvalidFeatures, match=r"fitted to a data frame in which 'sector' is a category"):
        model.predict(X)
    with pytest.raises(ValueError, match="features"):
        quick().fit(X, s).predict(X[:, :2])


@pytest.mark.usefixtures("few_trees")
def test_missing_numbers_are_learned_from(rng):
    """The value says nothing; that it is missing does."""
    positive = rng.random(600) < 0.4
    X = rng.normal(size=(600, 2))
    X[rng.random(600) < np.where(positive, 0.9, 0.1), 0] = np.nan
    s = positive & (rng.random(600) < 0.5)
    for learners in ("auto", NB):
        assert roc_auc_score(positive, quick(learners=learners).fit(X, s).oof_posterior_) > 0.8
    assert roc_auc_score(positive, quick(learners="linear").fit(X, s).predict_proba(X)[:, 1]) > 0.8


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("learners", "cells"), [("auto", 3), (NB, 0), (NB, 1)])
def test_a_column_that_is_missing_nearly_everywhere_says_nothing(problem, learners, cells):
    X, s = problem
    rare = np.full((300, 1), np.nan)
    rare[:cells] = 1.0
    one, other = (quick(learners=learners).fit(each, s) for each in (X, np.hstack([X, rare])))
    assert_same_rows(one, other)
    np.testing.assert_array_equal(other.predict_proba(np.hstack([X, rare * 0 + 5])), one.predict_proba(X))


# Odd tables.


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("n", "labels"), [(2, 1), (3, 1), (3, 2), (10, 5), (50, 1), (50, 12), (250, 5)])
def test_small_tables_are_fitted_and_doubted(rng, n, labels):
    X = rng.normal(size=(n, 3))
    X[0, 0] = np.nan if n > 3 else 0.0
    s = np.arange(n) < labels
    with pytest.warns(DoubtfulFit, match="too few labelled rows"):
        model = PUClassifier(random_state=0).fit(X, s)
    # Trees are judged by rows that they have not seen.
    assert ("trees need at least two" in str(model.diagnosis_)) == (min(labels, n - labels) < 2)
    for name in ROWS:
        assert np.isfinite(getattr(model, name)).all()
    assert s.mean() <= model.prior_ <= 1.0
    assert np.isfinite(model.predict_hidden(X)).all()


ODD = {
    "constant": lambda rng: np.full((300, 3), 3.3),
    "two rows, over and over": lambda rng: np.repeat(rng.normal(size=(2, 3)), 150, axis=0),
    "one column": lambda rng: rng.normal(size=(300, 1)),
    "a column twice": lambda rng: np.repeat(rng.normal(size=(300, 1)), 2, axis=1),
    "wide": lambda rng: rng.normal(size=(300, 400)),
    "missing everywhere": lambda rng: np.full((300, 2), np.nan),
    "far from 0": lambda rng: rng.normal(size=(300, 2)) + 1e7,
    "heavy tails": lambda rng: rng.standard_cauchy(size=(300, 3)) ** 3,
    "whole numbers": lambda rng: rng.integers(0, 3, size=(300, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_fitted_and_doubted(rng, name):
    """Labels by chance: nothing to learn, and every table says so."""
    X, s = ODD[name](rng), rng.random(300) < 0.3
    for learner in (LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        model = quick(learners=[learner]).fit(X, s)
        for each in ROWS:
            assert np.isfinite(getattr(model, each)).all()
        assert kinds_of(model) & {"unexplained", "labels_per_feature"}


@pytest.mark.slow
def test_many_columns_do_not_hide_that_labels_were_learned(rng):
    """Rows are scored by models that have not seen them, which gain nothing by columns that are noise."""
    X, s, _ = make(rng, 1000)
    wide = np.hstack([X, rng.normal(size=(1000, 60))])
    model = quick(learners=[LogisticRegression(C=0.01)]).fit(wide, s)
    assert roc_auc_score(s, model.oof_posterior_) > 0.7
    assert "unexplained" not in kinds_of(model)
    assert "unexplained" in kinds_of(quick(learners=[LogisticRegression(C=0.01)]).fit(wide[:, 4:], s))


def test_columns_that_are_named_count_where_labels_are_by_chance(rng):
    """Along named columns y and e are fitted to all rows, so that noise looks learned."""
    X, s = rng.normal(size=(1500, 150)), rng.random(1500) < 0.2
    names = {"class_features": list(range(75)), "propensity_features": list(range(75, 150))}
    assert "unexplained" in kinds_of(quick(learners=[LogisticRegression(C=0.01)], **names).fit(X, s))


@pytest.mark.usefixtures("few_trees")
def test_nearly_all_rows_may_be_labelled(rng):
    X = rng.normal(size=(100, 2))
    for unlabelled in (1, 3):
        model = PUClassifier(random_state=0).fit(X, np.arange(100) >= unlabelled)
        assert model.prior_ >= 1 - unlabelled / 100


def test_where_every_class_is_known_it_learns_the_class(rng):
    X, _, positive = make(rng, 600)
    X[::50, 0] = np.nan
    model = quick(decision="posterior").fit(X, positive, known_negative=~positive)
    assert model.diagnosis_.labelling == "complete"
    assert model.prior_ == pytest.approx(positive.mean(), rel=1e-9)
    assert balanced_accuracy_score(positive, model.oof_posterior_ > 0.5) > 0.8
    np.testing.assert_allclose(model.predict_propensity(X), 1.0)
    with pytest.raises(InvalidOption, match="gives no range"):
        model.predict_hidden_range(X)


def test_curves_along_a_score_have_no_coefficients(problem):
    with pytest.raises(AttributeError, match="not linear, so it has no coefficients"):
        _ = quick(learners="linear").fit(*problem).coef_


# Learners.


def test_learners_may_be_pipelines_and_those_that_take_no_nan(problem, rng):
    X, s = problem
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    for weights in (None, rng.random(300)):
        model = quick(learners=[pipeline, LogisticRegression(), DecisionTreeClassifier(max_depth=3)]).fit(X, s, weights)
        assert list(model.diagnosis_.learners) == ["Pipeline", "LogisticRegression", "DecisionTreeClassifier"]
        assert np.isfinite(model.predict_hidden(X)).all()
        assert "Pipeline: 0." in model.diagnosis_.details()


@pytest.mark.parametrize(
    "wrong", [None, [], "boosted", GaussianNB(), [GaussianNB], [None], ["auto"], 5, [KNeighborsClassifier()]], ids=str
)
def test_wrong_learners_are_refused_in_one_line(problem, wrong):
    with pytest.raises(InvalidOption, match=r"learners must be one of 'auto', 'linear', or a list of") as caught:
        PUClassifier(learners=wrong).fit(*problem)
    assert "\n" not in str(caught.value)


class Silent(GaussianNB):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


def test_a_learner_that_gives_nan_is_named(problem):
    with pytest.raises(InvalidOption, match=r"predict_proba of Silent gives NaN\. Leave it out"):
        quick(learners=[GaussianNB(), Silent()]).fit(*problem)


@pytest.mark.parametrize("wrong", [{"cv": 1}, {"cv": 2.5}, {"n_jobs": 0}, {"n_jobs": "two"}])
def test_other_wrong_options_are_refused(problem, wrong):
    with pytest.raises(InvalidOption, match=f"{next(iter(wrong))} must be"):
        quick(**wrong).fit(*problem)


def blocks(X):
    return pytest.importorskip("dask.array").from_array(X, chunks=(100, *X.shape[1:]))


ELSEWHERE = {"sparse": sp.csr_array, "torch": tensor, "dask": blocks}


@pytest.fixture(params=[pytest.param(name, marks=missing(name)) for name in ELSEWHERE])
def elsewhere(request):
    return ELSEWHERE[request.param]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"propensity_features": [2], "prior": 0.5}, {"class_features": [0, 1]}])
def test_elsewhere_logistic_regression_is_the_same(problem, elsewhere, options, monkeypatch):
    X, s = problem
    monkeypatch.setattr("propense.estimators._pu.auto_learners", lambda *_: [LabelLearner("logistic regression")])
    if elsewhere is not sp.csr_array:
        # Tensors and blocks are scored by the fit to all rows.
        monkeypatch.setattr("propense._steps.label_scores.split_rows", lambda *_: iter([None]))
    here, there = (PUClassifier(random_state=0, **options).fit(each, s) for each in (X, elsewhere(X)))
    assert next(iter(there.diagnosis_.learners)) == "logistic regression"
    assert_same_rows(here, there, atol=1e-5)
    assert_same(here, there, X, atol=1e-5)
    for model in (here, there):
        np.testing.assert_allclose(to_host(model.predict_proba(elsewhere(X))), here.predict_proba(X), atol=1e-5)
        np.testing.assert_allclose(
            to_host(model.predict_hidden_range(elsewhere(X))), here.predict_hidden_range(X), atol=1e-5
        )


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
def test_trees_fitted_in_memory_predict_elsewhere(problem, elsewhere):
    X, s = problem
    model = PUClassifier(random_state=0).fit(X, s)
    np.testing.assert_allclose(to_host(model.predict_proba(elsewhere(X))), model.predict_proba(X), atol=1e-9)


def test_classifiers_that_cannot_read_x_are_refused(problem, elsewhere):
    X, s = problem
    if elsewhere is sp.csr_array:
        assert PUClassifier(learners=[LogisticRegression()]).fit(sp.csr_array(X), s).prior_ > s.mean()
    with pytest.raises(PropenseError, match=r"dense features|NumPy arrays|in memory"):
        PUClassifier(learners=NB).fit(elsewhere(X), s)


def test_naming_columns_leaves_the_chance_of_a_label_as_it_is_found(rng):
    """y and e move to the share in worlds together: y·e is that of the fit before, which e's columns decide alone."""
    frame, _, s = people(rng, 1500)
    named = quick(class_features=["age", "sector"], propensity_features=["insured"]).fit(frame, s)
    y, e = named._posterior.posterior, named._posterior.propensity
    design = read_features(named, frame)
    before = sigmoid(y.log_odds(design)) * sigmoid(e.log_odds(design))
    np.testing.assert_allclose(named.predict_proba(frame)[:, 1] * named.predict_propensity(frame), before, rtol=1e-9)
    moved = read_features(named, frame.assign(age=20.0, sector="farm"))
    np.testing.assert_allclose(e.log_odds(moved), e.log_odds(design), rtol=1e-9)


def test_no_columns_for_e_make_it_constant(problem):
    X, s = problem
    e = quick(propensity_features=[]).fit(X, s).predict_propensity(X)
    np.testing.assert_allclose(e, e[0], rtol=1e-9)


def test_an_empty_column_hardly_matters(rng):
    """It only counts as a column."""
    X, s, _ = make(rng, 600)
    options = {"propensity_features": [1], "learners": [LogisticRegression()], "random_state": 0}
    full, gap = (PUClassifier(**options).fit(each, s) for each in (X, np.column_stack([X, np.full(600, np.nan)])))
    assert gap.diagnosis_.learners == full.diagnosis_.learners
    assert gap.prior_ == pytest.approx(full.prior_, abs=0.05)


def test_a_prior_that_known_negatives_exclude_is_refused(rng):
    X, s, positive = make(rng)
    with pytest.raises(InvalidOption, match=r"prior=0\.95\): .*known to be negative, so at most"):
        quick(prior=0.95).fit(X, s, known_negative=~positive & (X[:, 1] > 0))
