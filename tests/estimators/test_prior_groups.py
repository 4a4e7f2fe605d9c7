"""A share of positives that is known in each of some groups: what moves, what stays, and what is refused."""

import importlib
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from conftest import missing, tensor
from propense import PUClassifier, intervals, load, save
from propense._inputs.prior_groups import PriorGroups
from propense._maths.arrays import to_host
from propense._steps.label_learners import LabelLearner
from propense.errors import InvalidOption, ModelFileError
from propense.model_files import inspect

pytestmark = pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit")

NB = [GaussianNB()]
# Every way through the code, with learners that take no time.
CHOICES = {
    "scores": {"learners": NB},
    "named": {"learners": NB, "propensity_features": [2]},
    "linear": {"learners": "linear"},
    "linear named": {"learners": "linear", "propensity_features": [2]},
}


def make(rng, n=600):
    """Rows of three groups, 0, 1 and 2, in column 3; which are labelled, and which positive."""
    group = rng.integers(0, 3, n)
    positive = rng.random(n) < np.array([0.3, 0.5, 0.4])[group]
    X = rng.normal(size=(n, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return np.column_stack([X, group]), positive & (rng.random(n) < expit(X[:, 2] + 0.3)), positive


@pytest.fixture
def problem(rng):
    return make(rng)[:2]


@pytest.fixture(params=CHOICES)
def choice(request):
    return PUClassifier(random_state=0, **CHOICES[request.param])


def known(model, prior, groups=3):
    return clone(model).set_params(prior=prior, prior_groups=groups)


def share(model, X, s, rows):
    """The estimated share of positives among rows of fit."""
    hidden = model.oof_hidden_ if hasattr(model, "oof_hidden_") else model.predict_hidden(X)
    return np.where(s, 1.0, hidden)[rows].mean()


@pytest.mark.slow
def test_each_group_meets_its_share_and_the_labels_are_left_alone(problem, choice):
    X, s = problem
    free, given = clone(choice).fit(X, s), known(choice, {0: 0.35, 2: 0.7}).fit(X, s)
    assert share(given, X, s, X[:, 3] == 0) == pytest.approx(0.35, abs=1e-7)
    assert share(given, X, s, X[:, 3] == 2) == pytest.approx(0.7, abs=1e-7)
    # A group that was not named stays as it was.
    others = X[:, 3] == 1
    assert share(given, X, s, others) == pytest.approx(share(free, X, s, others), abs=1e-12)
    for method in ("predict_proba", "predict_propensity", "predict_hidden"):
        np.testing.assert_allclose(getattr(given, method)(X[others]), getattr(free, method)(X[others]), atol=1e-12)
    chances = [model.predict_proba(X)[:, 1] * model.predict_propensity(X) for model in (free, given)]
    np.testing.assert_allclose(chances[1], chances[0], rtol=1e-6)
    shares = [share(given, X, s, X[:, 3] == each) for each in range(3)]
    assert given.prior_ == pytest.approx(np.average(shares, weights=np.bincount(X[:, 3].astype(int))))


def test_the_log_odds_of_a_group_move_by_one_number(problem):
    """By hand: the number at which the group's share, from y and e of the fit without groups, is the known one."""
    X, s = problem
    free, given = (PUClassifier(learners="linear", random_state=0, **each).fit(X, s) for each in ({}, GIVEN))
    y, e = free.oof_posterior_, free.oof_propensity_
    for group, wanted in GIVEN["prior"].items():
        rows = X[:, 3] == group

        def excess(shift, rows=rows, wanted=wanted):
            moved = np.maximum(expit(logit(y) + shift), y * e)
            hidden = (moved - y * e) / (1 - y * e)
            return np.where(s, 1.0, hidden)[rows].mean() - wanted

        moved = expit(logit(y[rows]) + brentq(excess, -20, 20, xtol=1e-12))
        np.testing.assert_allclose(given.oof_posterior_[rows], np.maximum(moved, (y * e)[rows]), rtol=1e-6)


GIVEN = {"prior": {0: 0.35, 2: 0.6}, "prior_groups": 3}


@pytest.mark.slow
def test_a_group_of_all_rows_is_a_prior_of_all_rows(problem, choice):
    X, s = problem
    X = np.column_stack([X[:, :3], np.ones(len(X))])
    for prior in (0.6, (0.55, 0.6)):
        overall = clone(choice).set_params(prior=prior).fit(X, s)
        given = known(choice, {1: prior}).fit(X, s)
        low, high = prior if isinstance(prior, tuple) else (prior, prior)
        for found in (overall, given):
            ends = found.diagnosis_.low, found.prior_, found.diagnosis_.high
            assert low - 1e-7 <= ends[0] <= ends[1] + 1e-7 <= ends[2] + 2e-7 <= high + 3e-7


@pytest.mark.slow
def test_a_range_moves_a_group_only_as_far_as_it_must(problem, choice):
    X, s = problem
    free = clone(choice).fit(X, s)
    own = [share(free, X, s, X[:, 3] == each) for each in range(3)]
    wide = known(choice, {0: (0.001, 1.0), 1: (own[1] + 0.1, 0.99), 2: [own[2] - 0.01, own[2] + 0.01]}).fit(X, s)
    assert share(wide, X, s, X[:, 3] == 0) == pytest.approx(own[0], rel=1e-9)
    assert share(wide, X, s, X[:, 3] == 1) == pytest.approx(own[1] + 0.1, abs=1e-7)
    assert share(wide, X, s, X[:, 3] == 2) == pytest.approx(own[2], rel=1e-9)
    assert wide.diagnosis_.moved["1"] == pytest.approx((own[1], own[1] + 0.1), abs=1e-7)
    assert wide.diagnosis_.moved["2"] == pytest.approx((own[2], own[2]), abs=1e-9)


@pytest.mark.slow
def test_ranges_follow_what_is_known(problem, choice):
    X, s = problem
    sizes = np.bincount(X[:, 3].astype(int)) / len(X)
    point = known(choice, {0: 0.35, 1: 0.55, 2: 0.5}).fit(X, s)
    # Every group is known: so is their mean, to the bit.
    assert point.diagnosis_.low == point.diagnosis_.high == pytest.approx(sizes @ [0.35, 0.55, 0.5])
    assert "as it was given" in str(point.diagnosis_)
    around = known(choice, {0: (0.3, 0.4), 1: (0.5, 0.6), 2: (0.45, 0.55)}).fit(X, s)
    assert sizes @ [0.3, 0.5, 0.45] - 1e-12 <= around.diagnosis_.low < around.prior_
    assert around.prior_ < around.diagnosis_.high <= sizes @ [0.4, 0.6, 0.55] + 1e-12
    part = known(choice, {0: 0.35}).fit(X, s)
    assert part.diagnosis_.low < part.prior_ < part.diagnosis_.high
    rest = X[:, 3] != 0
    assert part.diagnosis_.low >= sizes[0] * 0.35 + (s & rest).mean() - 1e-12


@pytest.mark.slow
def test_new_rows_move_with_their_group_and_rows_of_a_new_one_do_not(problem, choice):
    X, s = problem
    free, given = clone(choice).fit(X, s), known(choice, {0: 0.35, 1: 0.7}).fit(X, s)
    for group, way in ((0, -1), (1, 1), (2, 0), (7, 0)):
        rows = np.column_stack([X[:50, :3], np.full(50, group)])
        moved = given.decision_function(rows) + logit(given.prior_)
        moved -= free.decision_function(rows) + logit(free.prior_)
        if way:
            # Each group moves one way or the other; what labels show is a floor.
            rise = share(given, X, s, X[:, 3] == group) - share(free, X, s, X[:, 3] == group)
            assert (moved * np.sign(rise) >= -1e-9).all()
            assert np.abs(moved).max() > 0.001
        else:
            np.testing.assert_allclose(moved, 0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("learners", [[LogisticRegression()], "linear"], ids=["scores", "linear"])
@pytest.mark.parametrize("kind", ["sparse", "float32", pytest.param("torch", marks=missing("torch"))])
def test_groups_are_found_wherever_the_column_lives(problem, kind, learners):
    X, s = problem
    stored = {"sparse": sp.csr_array, "float32": np.float32, "torch": tensor}[kind](X)
    learners = "auto" if kind == "torch" and learners != "linear" else learners
    free, model = (PUClassifier(learners=learners, random_state=0, **each).fit(stored, s) for each in ({}, GIVEN))
    chances = [to_host(each.predict_proba(stored)[:, 1] * each.predict_propensity(stored)) for each in (free, model)]
    np.testing.assert_allclose(chances[1], chances[0], rtol=1e-5)
    others = X[:, 3] == 1
    hidden = [to_host(getattr(each, "oof_hidden_", each.predict_hidden(stored))) for each in (free, model)]
    np.testing.assert_allclose(hidden[1][others], hidden[0][others], rtol=1e-9)
    for group, wanted in GIVEN["prior"].items():
        assert np.where(s, 1.0, hidden[1])[X[:, 3] == group].mean() == pytest.approx(wanted, abs=1e-6)


def test_a_number_that_float32_rounds_is_still_its_group(problem):
    X, s = problem
    X = X.astype(np.float32)
    X[:, 3] = X[:, 3] + np.float32(0.1)
    model = PUClassifier(learners="linear", prior={0.1: 0.4, 2.1: 0.5}, prior_groups=3, random_state=0).fit(X, s)
    assert share(model, X, s, X[:, 3] < 1) == pytest.approx(0.4, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["auto", "linear"])
def test_blocks_have_groups(problem, learners, monkeypatch):
    pytest.importorskip("dask")
    monkeypatch.setattr("propense.estimators._pu.auto_learners", lambda *_: [LabelLearner("logistic regression")])
    X, s = (each[:300] for each in problem)
    blocks = importlib.import_module("blocks").as_dask(X)
    # One reading, which takes fewer sweeps.
    columns = None if learners == "linear" else [2]
    model = PUClassifier(learners=learners, propensity_features=columns, random_state=0, **GIVEN).fit(blocks, s)
    hidden = np.asarray(model.predict_hidden(blocks))
    for group, wanted in GIVEN["prior"].items():
        assert np.where(s, 1.0, hidden)[X[:, 3] == group].mean() == pytest.approx(wanted, abs=1e-6)
    np.testing.assert_allclose(model.predict_hidden(X), hidden, atol=1e-9)


@pytest.fixture
def frame(problem, rng):
    """Groups as text, truth values, categories and numbers, with missing numbers elsewhere."""
    X, s = problem
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame.loc[rng.random(len(X)) < 0.1, "b"] = np.nan
    frame["sex"] = np.array(["f", "m", "x"], dtype=object)[X[:, 3].astype(int)]
    frame["ward"] = pd.Categorical(X[:, 3].astype(int) + 10)
    frame["old"] = X[:, 3] == 1
    frame["site"] = X[:, 3]
    return frame, s


CASES = {
    "text": ("sex", {"f": 0.35, "m": 0.6}, "f"),
    "category": ("ward", {10: 0.35, "11": 0.6}, "f"),
    "truth": ("old", {True: 0.6}, "m"),
    "word": ("old", {"TRUE": 0.6}, "m"),
    "number": ("site", {0: 0.35, "1": 0.6}, "f"),
    "place": (3, {"f": 0.35, "m": 0.6}, "f"),
}


@pytest.mark.slow
@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("case", CASES)
def test_groups_of_a_frame_are_its_words_or_numbers(frame, case, convert):
    data, s = frame
    column, prior, first = CASES[case]
    X = convert(data)
    model = PUClassifier(learners="linear", prior=prior, prior_groups=column, random_state=0).fit(X, s)
    assert share(model, X, s, data["sex"] == first) == pytest.approx(next(iter(prior.values())), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("learners", [NB, "linear"], ids=["scores", "linear"])
def test_a_file_restores_it_to_the_bit(frame, case, learners, tmp_path):
    X, s = frame
    column, prior, first = CASES[case]
    model = PUClassifier(learners=learners, prior=prior, prior_groups=column, random_state=0).fit(X, s)
    assert share(model, X, s, X["sex"] == first) == pytest.approx(next(iter(prior.values())), abs=1e-6)
    save(model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    for name in ("predict_proba", "predict_propensity", "predict_hidden", "predict"):
        np.testing.assert_array_equal(getattr(again, name)(X), getattr(model, name)(X))
    if learners != "linear":
        np.testing.assert_array_equal(again.predict_hidden_range(X), model.predict_hidden_range(X))
    assert again.prior == model.prior
    assert again.diagnosis_ == model.diagnosis_ or str(again.diagnosis_) == str(model.diagnosis_)
    assert again.diagnosis_.moved == model.diagnosis_.moved
    assert inspect(tmp_path / "m.propense")["parameters"]["prior"] == prior
    pickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(pickled.predict_proba(X), model.predict_proba(X))
    # Fitted again, it is the same.
    np.testing.assert_array_equal(clone(again).fit(X, s).predict_proba(X), model.predict_proba(X))


FORGED = {
    "three shifts": {"shift": (0.0, 0.0, 0.0), "moves": ((0.0, 0.0, 0.0),) * 3},
    "an infinite shift": {"shift": (0.0, np.inf), "moves": ((0.0, np.inf),) * 3},
    "a column that is not there": {"groups": PriorGroups(np.array([99]), np.zeros((2, 1)))},
    "a column in words": {"groups": PriorGroups(["sex"], np.zeros((2, 1)))},
    "no groups": {"groups": PriorGroups(np.array([0]), np.zeros((0, 1)))},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_forged_groups_give_one_clear_error(problem, name, tmp_path):
    model = PUClassifier(learners="linear", random_state=0, **GIVEN).fit(*problem)
    save(model, tmp_path / "m.propense")
    model._posterior = replace(model._posterior, **FORGED[name])
    with pytest.raises(ModelFileError) as raised:
        save(model, tmp_path / "m.propense")
    assert "\n" not in str(raised.value)


LINEAR = PUClassifier(learners="linear", random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "groups", "said"),
    [
        ({"f": 0.4}, None, r"pass the column that shows the groups as prior_groups, by its name or number"),
        (0.4, "sex", r"\(prior_groups='sex'\): pass the share of positives in each group .* such as \{'f': 0\.12"),
        (None, "sex", r"\(prior_groups='sex'\): pass the share of positives in each group"),
        ({}, "sex", r"prior=\{\}\): prior must be None, .* or a dictionary of one or more groups"),
        ({"f": 0.0}, "sex", r"prior must be None, a number above 0"),
        ({"f": (0.5, 0.4)}, "sex", r"prior must be None, a number above 0"),
        ({"f": 0.4, "w": 0.5}, "sex", r"no row is in the group 'w'\. The groups are 'f', 'm', 'x'\."),
        ({"f": 0.4, 3: 0.5}, "sex", r"no row is in the group 3\. The groups are 'f', 'm', 'x'\."),
        ({4: 0.4}, "site", r"no row is in the group 4\. The groups are 0, 1, 2\."),
        ({"north": 0.4}, "site", r"no row is in the group 'north'\. The groups are 0, 1, 2\."),
        ({"yes": 0.4}, "old", r"no row is in the group 'yes'\. The groups are False, True\."),
        ({0: 0.4, "0": 0.5}, "site", r"two of the groups are the same"),
        ({"f": 0.02}, "sex", r"% of the rows in the group 'f' are labelled, so at least that share is positive"),
        ({"f": 0.4}, "gender", r"prior_groups='gender'\): there is no such column; the columns are 'a', 'b'"),
        ({"f": 0.4}, 70, r"there is no such column; the columns are numbered 0 to 8"),
        ({"f": 0.4}, ["sex"], r"prior_groups must be None, or the name or the number of a column of X"),
        ({"f": 0.4}, True, r"prior_groups must be None, or the name or the number"),
        ({1.0: 0.4}, "b", r"the group of \d+ rows is missing, so it is not known which share they belong to"),
        ({"u": 0.4}, "town", r"the group of \d+ rows is missing, so it is not known which share they belong to"),
        ({"2020": 0.4}, "since", r"the column holds dates, so it does not show groups"),
    ],
)
@pytest.mark.parametrize("learners", [NB, "linear"], ids=["bayes", "linear"])
def test_what_contradicts_the_rows_is_refused(frame, learners, prior, groups, said):
    X, s = frame
    X = X.assign(town=["u", "v", None] * (len(X) // 3), since=pd.Timestamp(2020, 1, 1))
    with pytest.raises(InvalidOption, match=said) as raised:
        PUClassifier(learners=learners, prior=prior, prior_groups=groups).fit(X, s)
    assert "\n" not in str(raised.value)


def test_known_negatives_bound_a_group(problem):
    X, s = problem
    negative = ~s & (X[:, 0] < 0) & (X[:, 3] == 1)
    with pytest.raises(InvalidOption, match=r"of the rows in the group '1' are known to be negative, so at most"):
        known(LINEAR, {1: 0.9}).fit(X, s, known_negative=negative)
    model = known(LINEAR, {1: 0.6}).fit(X, s, known_negative=negative)
    assert model.diagnosis_.moved["1"][1] == pytest.approx(0.6, abs=1e-6)


def test_weights_count_in_each_group(problem, rng):
    X, s = problem
    copies = rng.integers(0, 3, len(X))
    weighted = known(LINEAR, {0: 0.4, 2: 0.6}).fit(X, s, copies)
    repeated = known(LINEAR, {0: 0.4, 2: 0.6}).fit(np.repeat(X, copies, axis=0), np.repeat(s, copies))
    # Folds are of rows, so that they differ.
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=0.1)
    for found, rows, labelled, times in (
        (weighted, X[copies > 0], s[copies > 0], copies[copies > 0]),
        (repeated, np.repeat(X, copies, axis=0), np.repeat(s, copies), np.ones(copies.sum())),
    ):
        for group, wanted in ((0, 0.4), (2, 0.6)):
            some = rows[:, 3] == group
            expected = np.where(labelled, 1.0, found.oof_hidden_)[some]
            assert np.average(expected, weights=times[some]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_resampled_rows_keep_their_groups(problem):
    X, s = problem
    model = known(LINEAR, {0: 0.4, 1: 0.6, 2: 0.5}).fit(X, s)
    found = intervals(model, X, s, n_resamples=10, random_state=0)
    # Only the sizes of the groups vary: their shares are known.
    assert found.failed == 0
    assert 0.4 < found.prior.low < model.prior_ < found.prior.high < 0.6
    free = intervals(clone(LINEAR).fit(X, s), X, s, n_resamples=10, random_state=0)
    assert found.prior.high - found.prior.low < 0.5 * (free.prior.high - free.prior.low)


@pytest.mark.slow
def test_shares_by_group_mend_what_the_labels_hide():
    """Two groups of equal label rates: in one, more are positive and fewer of them labelled. Only the shares say so."""
    rng = np.random.default_rng(0)
    n = 6000
    group = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2))
    y = expit(2.0 * X[:, 0] + np.where(group == 1, 1.0, -1.5))
    positive = rng.random(n) < y
    s = positive & (rng.random(n) < np.where(group == 1, 0.3, 0.8))
    rows = np.column_stack([X, group])
    truth = {each: positive[group == each].mean() for each in (0, 1)}
    model = PUClassifier(learners=[LogisticRegression()], random_state=0)
    overall = clone(model).set_params(prior=positive.mean()).fit(rows, s)
    by_group = known(model, truth, 2).fit(rows, s)
    errors = [np.abs(each.predict_proba(rows)[:, 1] - y).mean() for each in (overall, by_group)]
    assert errors[1] < 0.4 * errors[0]
    e = np.where(group == 1, 0.3, 0.8)
    errors = [np.abs(each.predict_propensity(rows) - e)[positive].mean() for each in (overall, by_group)]
    assert errors[1] < 0.7 * errors[0]
