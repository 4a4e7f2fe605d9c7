"""A PUClassifier with label scores comes back from a file to the bit; a file with forged numbers is refused."""

import copy
import datetime as dt
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from command import call
from propense import PUClassifier, load, save
from propense._steps.label_scores import Member
from propense._steps.small_trees import TreePredictor
from propense.errors import MissingExtra, ModelFileError
from propense.model_files import foreign, inspect
from propense.model_files.codec import build_model, describe_model
from propense.tables import TableFile, fit_table

N = 400
FOLDS = ("--set", "random_state=0", "--set", "cv=2")
SCORES = ("decision_function", "predict_proba", "predict", "predict_propensity", "predict_hidden")
FEW = (
    LogisticRegression(),
    HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
    ExtraTreesClassifier(3, max_depth=3, random_state=0),
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, rng.normal(50, 10, N)),
            "ward": pd.Series(rng.choice(["north", "south", "west", None], N), dtype=object),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], N)),
            "smoker": rng.choice([True, False, None], N),
            "admitted": [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 90, N)],
            "dose": rng.normal(size=N),
            "nothing": [None] * N,
        }
    )


@pytest.fixture(scope="module")
def labels(frame):
    positive = frame["dose"].to_numpy() + (frame["ward"] == "south") + 0.3 * (frame["grade"] == "b") > 0.5
    return (positive & (np.random.default_rng(6).random(N) < 0.6)).astype(int)


@pytest.fixture(scope="module")
def numbers(frame):
    return np.column_stack([frame["dose"], frame["age"].fillna(50), frame["ward"] == "south"]).astype(float)


@pytest.fixture(scope="module")
def auto(frame, labels):
    return PUClassifier(cv=2, random_state=0).fit(frame, labels)


@pytest.fixture(scope="module")
def auto_file(auto, tmp_path_factory):
    """The file of a model with all its trees, which takes seconds to write."""
    path = tmp_path_factory.mktemp("auto") / "m.propense"
    save(auto, path)
    return path


@pytest.fixture(scope="module")
def auto_again(auto_file):
    return load(auto_file)


@pytest.fixture(scope="module")
def small(frame, labels):
    """The same kind of model, with few trees."""
    return PUClassifier(learners=[clone(each) for each in FEW[1:]], cv=2, random_state=0).fit(frame, labels)


def kept(model, tmp_path):
    save(model, tmp_path / "m.propense")
    return load(tmp_path / "m.propense")


def assert_same(one, other, X):
    for name in SCORES:
        assert getattr(one, name)(X).tobytes() == getattr(other, name)(X).tobytes(), name
    assert repr(vars(one.diagnosis_)) == repr(vars(other.diagnosis_))
    assert one.doubts_ == other.doubts_


@pytest.mark.slow
def test_a_fit_to_a_mixed_frame_comes_back_to_the_bit(auto, auto_again, small, frame, labels, tmp_path):
    again = auto_again
    rows = frame.copy()
    rows.loc[3, "ward"] = "new"
    rows.loc[4, ["age", "grade", "smoker"]] = None
    assert_same(auto, again, rows)
    assert auto.predict_hidden_range(rows).tobytes() == again.predict_hidden_range(rows).tobytes()
    for made in (pl.from_pandas, pa.Table.from_pandas):
        assert again.predict_proba(made(rows)).tobytes() == auto.predict_proba(rows).tobytes()
    assert again.diagnosis_.details() == auto.diagnosis_.details()
    assert set(again.diagnosis_.learners) == {"logistic regression", "boosted trees"}
    assert_same(small, clone(kept(small, tmp_path)).fit(frame, labels), rows)


@pytest.mark.slow
def test_rows_of_fit_stay_out_of_the_file(auto, auto_file, auto_again):
    again = auto_again
    assert [name for name in vars(auto) if name.startswith("oof_")]
    assert not [name for name in vars(again) if name.startswith("oof_")]
    # The trees of 2 folds, deflated; their label score is written once.
    assert auto_file.stat().st_size < 8 * 10**5
    assert again._posterior.score is again._propensity.score
    assert again._posterior.curves is again._propensity.curves


@pytest.mark.slow
def test_the_command_line_saves_and_scores_the_same_numbers(frame, labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.drop(columns="nothing").assign(reported=labels).to_csv("t.csv", index=False)
    fitted = call("fit", "t.csv", "--label", "reported", "--model", "m.propense", *FOLDS)
    assert fitted.returncode == 0, fitted.stderr
    assert call("score", "t.csv", "--model", "m.propense", "--out", "scored.csv").returncode == 0
    table = TableFile(Path("t.csv")).read()
    model = fit_table(table, "reported", parameters={"random_state": 0, "cv": 2}, scar_test=False).model
    assert model.estimator.learners == "auto"
    scored = TableFile(Path("scored.csv")).read()
    expected = model.score(table)
    for name in ("posterior", "propensity", "hidden"):
        np.testing.assert_array_equal(scored[name].to_numpy().astype(np.float64), getattr(expected, name))


VARIANTS = {
    "columns for y": {"class_features": ["dose", "ward"]},
    "columns for e": {"propensity_features": ["age", "grade"]},
    "columns for both": {"class_features": ["dose"], "propensity_features": ["ward", "smoker"]},
    "a constant e": {"propensity_features": []},
    "a known prior": {"prior": 0.6},
    "a range of priors": {"prior": (0.5, 0.6), "propensity_features": ["age"]},
    "a prior of a group": {"prior": {"b": 0.7}, "prior_groups": "grade"},
    "and columns for e": {"prior": {"b": 0.7}, "prior_groups": "grade", "propensity_features": ["age"]},
    "columns in an index": {"class_features": pd.Index(["dose", "ward"])},
    "a tuple of learners": {"learners": FEW},
    "folds": {"cv": list(KFold(2).split(np.zeros((N, 1))))},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_kind_of_predictor_comes_back(frame, labels, tmp_path, name):
    options = {"learners": [clone(FEW[2])], "cv": 2, "random_state": 0, **VARIANTS[name]}
    model = PUClassifier(**options).fit(frame, labels)
    again = kept(model, tmp_path)
    assert_same(model, again, frame)
    assert again.predict_hidden_range(frame).tobytes() == model.predict_hidden_range(frame).tobytes()
    assert type(again.learners) is type(model.learners)


def test_how_many_processes_to_start_is_not_taken_from_a_file(numbers, labels, tmp_path):
    learners = [ExtraTreesClassifier(3, max_depth=3, n_jobs=2)]
    again = kept(PUClassifier(learners=learners, cv=2, n_jobs=2).fit(numbers, labels), tmp_path)
    assert again.n_jobs is None
    assert again.learners[0].n_jobs is None
    assert all(each.classifier.n_jobs is None for each in again._posterior.score.members[0].predictors)


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.float32], ids=["dense", "sparse", "float32"])
def test_every_storage_comes_back(numbers, labels, tmp_path, storage):
    X = storage(numbers)
    for learners in ([LogisticRegression()], "linear", "auto" if sp.issparse(X) else FEW):
        model = PUClassifier(learners=learners, cv=2, prior=0.6, random_state=0)
        assert_same(model.fit(X, labels), kept(model, tmp_path), X)


def test_a_model_of_known_classes_comes_back(numbers, labels, tmp_path):
    model = PUClassifier(learners=[LogisticRegression()], cv=2, random_state=0)
    model.fit(numbers, labels, known_negative=labels == 0)
    assert model.diagnosis_.labelling == "complete"
    assert_same(model, kept(model, tmp_path), numbers)


def test_learners_are_shown_by_their_text(small, tmp_path):
    kept(small, tmp_path)
    shown = inspect(tmp_path / "m.propense")["parameters"]["learners"]
    assert shown == [" ".join(repr(each).split()) for each in small.learners]


def test_what_cannot_be_saved_is_named(numbers, labels, tmp_path):
    class Mine(LogisticRegression):
        pass

    model = PUClassifier(learners=[Mine()], cv=2).fit(numbers, labels)
    with pytest.raises(ModelFileError, match=r"learner 'Mine' of this PUClassifier|the learners of this PUClassifier"):
        save(model, tmp_path / "m.propense")


def test_logistic_learners_need_no_skops(numbers, labels, tmp_path, monkeypatch):
    # Trees do not take sparse rows.
    model = PUClassifier(random_state=0).fit(sp.csr_array(numbers), labels)
    boosted = PUClassifier(learners=[FEW[1]], cv=2, random_state=0).fit(numbers, labels)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert_same(model, kept(model, tmp_path), numbers)
    with pytest.raises(MissingExtra, match=r'pip install "propense\[files\]".*learners="linear"') as raised:
        save(boosted, tmp_path / "m.propense")
    assert "\n" not in str(raised.value)


def at(*path):
    """What changes the value at a place of the fitted facts."""

    def change(value):
        def apply(facts):
            inner = facts
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value
            return facts

        return apply

    return change


def without(*path):
    def apply(facts):
        inner = facts
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return facts

    return apply


def spoilt(value):
    """The array with this for its first number."""
    return lambda array: np.concatenate([[value], array.ravel()[1:]]).reshape(array.shape).astype(array.dtype)


SCORE, CURVES = "score", "curves"
FORGED = {
    "no score": without(SCORE),
    "no curves": without(CURVES),
    "a score that is not used": lambda facts: {
        **facts,
        "posterior": {"coef": np.zeros(8)},
        "propensity": {"coef": np.zeros(8)},
    },
    "a score of nothing": at(SCORE)({}),
    "no members": at(SCORE, "members")([]),
    "a member without a name": without(SCORE, "members", 0, "name"),
    "a member of numbers": at(SCORE, "members", 0)(1.0),
    "a member named by a number": at(SCORE, "members", 0, "name")(1),
    "neither plain nor prepared": at(SCORE, "members", 0, "plain")(1),
    "prepared columns for trees": at(SCORE, "members", 0, "plain")(False),
    "two kinds of members in one": at(SCORE, "members", 0, "coefs")(np.zeros((2, 9))),
    "bytes that are not an archive": at(SCORE, "members", 0, "classifiers")(np.zeros(9, dtype=np.uint8)),
    "no bytes": at(SCORE, "members", 0, "classifiers")("text"),
    "no spread": without(SCORE, "spread"),
    "a spread of 0": at(SCORE, "spread")(0.0),
    "a spread that is no number": at(SCORE, "spread")(np.nan),
    "a spread in words": at(SCORE, "spread")("1"),
    "an infinite mean": at(SCORE, "mean")(np.inf),
    "a mean that is an array": at(SCORE, "mean")(np.zeros(1)),
    "columns that are not there": at(SCORE, "columns")(np.arange(1, 8)),
    "negative columns": at(SCORE, "columns")(np.arange(-1, 6)),
    "fewer columns": at(SCORE, "columns")(np.arange(6)),
    "columns that are numbers": at(SCORE, "columns")(np.arange(7.0)),
    "no preparation of medians": without(SCORE, "preparation", "medians"),
    "a median that is no number": at(SCORE, "preparation", "medians")(spoilt(np.nan)),
    "a scale of 0": at(SCORE, "preparation", "scales")(spoilt(0.0)),
    "a marked column that is not there": at(SCORE, "preparation", "marked")(spoilt(99)),
    "too few means": at(SCORE, "preparation", "means")(lambda means: means[1:]),
    "a height of 0": at(CURVES, "label", "height")(0.0),
    "a height above 1": at(CURVES, "label", "height")(1.1),
    "a height that is no number": at(CURVES, "label", "height")(np.nan),
    "an infinite slope": at(CURVES, "hidden", "slope")(np.inf),
    "a huge level": at(CURVES, "low", "level")(1e200),
    "a truth for a level": at(CURVES, "high", "level")(True),
    "a knot that is no number": at(CURVES, "high", "knots")(lambda knots: (np.nan, *knots[1:])),
    "a knot in words": at(CURVES, "low", "knots")(lambda knots: ("0", *knots[1:])),
    "a change too few": at(CURVES, "low", "changes")(lambda changes: changes[1:]),
    "changes that are one number": at(CURVES, "low", "changes")(1.0),
    "a million knots": lambda facts: {
        **facts,
        CURVES: {**facts[CURVES], "low": {**facts[CURVES]["low"], "knots": (0.0,) * 10**6, "changes": (0.0,) * 10**6}},
    },
    "no low end": without(CURVES, "low"),
    "a low end of nothing": at(CURVES, "low")({}),
    "more in a curve": at(CURVES, "label")(lambda facts: {**facts, "more": 1.0}),
    "more curves": at(CURVES)(lambda facts: {**facts, "more": facts["low"]}),
    "one curve for two": lambda facts: {**facts, "propensity": {"coef": np.zeros(8)}},
    "a line and curves": lambda facts: {**facts, "posterior": {"level": 0.0, "slope": 1.0}},
    "a shift that is no list": lambda facts: {**facts, "shifts": 0.0},
    "shifts of nothing": lambda facts: {**facts, "shifts": [{}]},
    "an infinite shift": lambda facts: {**facts, "shifts": [{"shift": np.inf, "moves": (0.0, 0.0, np.inf)}]},
    "a shift in words": lambda facts: {**facts, "shifts": [{"shift": "0", "moves": (0.0, 0.0, 0.0)}]},
    "moves in words": lambda facts: {**facts, "shifts": [{"shift": 0.0, "moves": ("0", "0", "0")}]},
    "no moves": lambda facts: {**facts, "shifts": [{"shift": 0.0}]},
    "too few moves": lambda facts: {**facts, "shifts": [{"shift": 0.0, "moves": (0.0, 0.0)}]},
    "moves of another prior": lambda facts: {**facts, "shifts": [{"shift": 0.0, "moves": (0.0, 0.0, 1.0)}]},
    "more in a shift": lambda facts: {**facts, "shifts": [{"shift": 0.0, "moves": (0.0, 0.0, 0.0), "more": 1}]},
    "too few shares": at("diagnosis_", "shares")(lambda shares: shares[1:]),
    "an infinite share": at("diagnosis_", "shares")(lambda shares: (*shares[1:], np.inf)),
    "an unknown labelling": at("diagnosis_", "labelling")("rising"),
    "no number of worlds": without("diagnosis_", "worlds"),
    "a learner in words": at("diagnosis_", "learners")({"trees": "good"}),
    "a billion features": lambda facts: {**{k: v for k, v in facts.items() if k != "columns"}, "n_features_in_": 10**9},
}


@pytest.fixture(scope="module")
def described(small):
    return describe_model(small)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED)
def test_forged_values_give_one_clear_error(described, watched, name):
    description = {**described, "fitted": FORGED[name](copy.deepcopy(described["fitted"]))}
    with watched(), pytest.raises(ModelFileError) as raised:
        build_model(description)
    assert "\n" not in str(raised.value)


def test_what_is_forged_is_fine_before(small, described, frame):
    assert_same(small, build_model(copy.deepcopy(described)), frame)


@pytest.fixture(scope="module")
def tabled(numbers, labels):
    """A model whose trees are tables, as those of a Dask array are."""
    model = PUClassifier(learners=[LogisticRegression()], cv=2, random_state=0).fit(numbers, labels)
    rng, score = np.random.default_rng(1), model._posterior.score
    features, thresholds = (
        rng.integers(0, 3, (4, 3)),
        np.where(rng.random((4, 3)) < 0.2, -np.inf, rng.normal(size=(4, 3))),
    )
    trees = TreePredictor(-0.5, features, thresholds, rng.normal(size=(4, 8)))
    score = replace(score, members=(Member("boosted trees", True, (trees, trees)),), preparation=None)
    model._posterior, model._propensity = (replace(each, score=score) for each in (model._posterior, model._propensity))
    return model


def test_trees_in_tables_come_back_to_the_bit(tabled, numbers, tmp_path):
    again = kept(tabled, tmp_path)
    assert np.unique(tabled.predict_proba(numbers)).size > 10
    assert_same(tabled, again, numbers)


TREES = (SCORE, "members", 0, "trees")
FORGED_TREES = {
    "no trees": at(*TREES)([]),
    "trees that are a number": at(*TREES)(1.0),
    "a tree that is a number": at(*TREES, 0)(1.0),
    "no values": without(*TREES, 0, "values"),
    "more": at(*TREES, 0)(lambda facts: {**facts, "more": 1.0}),
    "a column that is not there": at(*TREES, 0, "features")(spoilt(3)),
    "a negative column": at(*TREES, 0, "features")(spoilt(-1)),
    "columns that are fractions": at(*TREES, 0, "features")(lambda features: features + 0.5),
    "one list of columns": at(*TREES, 0, "features")(np.zeros(3, dtype=np.int64)),
    "a question too many": at(*TREES, 0, "features")(np.zeros((4, 4), dtype=np.int64)),
    "questions without end": at(*TREES, 0, "features")(np.zeros((4, 60), dtype=np.int64)),
    "a threshold too few": at(*TREES, 0, "thresholds")(lambda thresholds: thresholds[:, 1:]),
    "a threshold that is no number": at(*TREES, 0, "thresholds")(spoilt(np.nan)),
    "thresholds in words": at(*TREES, 0, "thresholds")("low"),
    "a tree too few": at(*TREES, 0, "values")(lambda values: values[1:]),
    "a cell too few": at(*TREES, 0, "values")(lambda values: values[:, 1:]),
    "a value that is no number": at(*TREES, 0, "values")(spoilt(np.nan)),
    "an infinite value": at(*TREES, 0, "values")(spoilt(np.inf)),
    "an infinite start": at(*TREES, 0, "start")(-np.inf),
    "a start in words": at(*TREES, 0, "start")("0"),
    "a line break in what is missing": at("diagnosis_", "missing")("nothing\nat all"),
    "colours in what is missing": at("diagnosis_", "missing")("\x1b[31m"),
    "a book of what is missing": at("diagnosis_", "missing")("x" * 10**4),
    "a number for what is missing": at("diagnosis_", "missing")(1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGED_TREES)
def test_forged_trees_give_one_clear_error(tabled, watched, name):
    description = describe_model(tabled)
    facts = copy.deepcopy(description["fitted"])
    description["fitted"] = FORGED_TREES[name](facts)
    with watched(), pytest.raises(ModelFileError) as raised:
        build_model(description)
    assert "\n" not in str(raised.value)


NAMED = {
    "a column that is not there": at("propensity", "columns")(np.array([0, 7])),
    "another number of columns": at("propensity", "columns")(np.array([0])),
    "too few coefficients": at("propensity", "coef")(lambda coef: coef[1:]),
    "a coefficient that is no number": at("propensity", "coef")(spoilt(np.nan)),
    "a huge coefficient": at("propensity", "coef")(spoilt(1e301)),
    "a scale of 0": at("propensity", "preparation", "scales")(spoilt(0.0)),
    "more": lambda facts: {**facts, "propensity": {**facts["propensity"], "more": 1}},
    "no columns": without("propensity", "columns"),
}


@pytest.fixture(scope="module")
def named(frame, labels):
    return PUClassifier(
        learners=[clone(FEW[2])], cv=2, propensity_features=["age", "grade"], prior=0.6, random_state=0
    ).fit(frame, labels)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_a_forged_propensity_over_named_columns_gives_one_clear_error(named, name):
    description = describe_model(named)
    description["fitted"] = NAMED[name](copy.deepcopy(description["fitted"]))
    with pytest.raises(ModelFileError, match="the propensity of PUClassifier"):
        build_model(description)


OWN = {
    "a column that is not there": (at("own", "columns")(np.array([0, 7])), "names columns that are not there"),
    "too few coefficients": (at("own", "coef")(lambda coef: coef[1:]), "does not have"),
    "no preparation": (without("own", "preparation"), "slopes of y that do not belong to a label score"),
    "not a table": (lambda facts: {**facts, "own": 3}, "own of PUClassifier is not valid"),
}


@pytest.mark.parametrize("name", OWN)
def test_forged_slopes_of_y_give_one_clear_error(named, name):
    description = describe_model(named)
    forge, message = OWN[name]
    description["fitted"] = forge(copy.deepcopy(description["fitted"]))
    with pytest.raises(ModelFileError, match=message):
        build_model(description)


def test_slopes_of_y_without_a_score_are_refused(named, small):
    description = describe_model(small)
    description["fitted"]["own"] = describe_model(named)["fitted"]["own"]
    with pytest.raises(ModelFileError, match="slopes of y that do not belong to a label score"):
        build_model(description)


LINES = {
    "no slope": without("posterior", "slope"),
    "an infinite level": at("posterior", "level")(np.inf),
    "a slope that is no number": at("posterior", "slope")(np.nan),
    "a level in words": at("posterior", "level")("0"),
    "no score": without("score"),
    "curves as well": lambda facts: {**facts, "curves": {}},
}


@pytest.mark.parametrize("name", LINES)
def test_a_forged_line_gives_one_clear_error(named, name):
    description = describe_model(named)
    description["fitted"] = LINES[name](copy.deepcopy(description["fitted"]))
    with pytest.raises(ModelFileError):
        build_model(description)


@pytest.mark.parametrize("name", ["classes", "features", "not a list", "no classifier"])
def test_classifiers_for_other_rows_are_refused(small, numbers, labels, name):
    other = {
        "classes": lambda: [LogisticRegression().fit(np.zeros((N, 7)), labels + 1)],
        "features": lambda: [LogisticRegression().fit(numbers, labels)],
        "not a list": lambda: LogisticRegression().fit(np.zeros((N, 7)), labels),
        "no classifier": lambda: [np.zeros(7)],
    }[name]()
    description = describe_model(small)
    description["fitted"][SCORE]["members"][0]["classifiers"] = foreign.dump_together(other, "it")
    with pytest.raises(ModelFileError, match="does not consist of classifiers"):
        build_model(description)


BROKEN = {
    "a count in words": {"n_estimators": "100"},
    "a negative count": {"n_estimators": -1},
    "no outputs": {"n_outputs_": None},
    "trees that are not there": {"estimators_": []},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_learner_that_cannot_score_a_row_is_refused(small, name):
    forests = [copy.deepcopy(each.classifier) for each in small._posterior.score.members[1].predictors]
    vars(forests[1]).update(BROKEN[name])
    description = describe_model(small)
    description["fitted"][SCORE]["members"][1]["classifiers"] = foreign.dump_together(forests, "it")
    with pytest.raises(ModelFileError, match=r"cannot score a row|inconsistent"):
        build_model(description)


def test_what_a_loaded_learner_prints_is_not_taken_from_a_file(numbers, labels, tmp_path, capfd):
    model = PUClassifier(learners=[ExtraTreesClassifier(3, verbose=1)], cv=2).fit(numbers, labels)
    again = kept(model, tmp_path)
    capfd.readouterr()
    again.predict(numbers)
    assert capfd.readouterr() == ("", "")


def test_another_version_of_scikit_learn_is_named_in_one_line(small, frame, tmp_path, monkeypatch):
    versions = {"scikit-learn": "0.1"}
    monkeypatch.setattr("propense.model_files._versions", lambda: versions)
    save(small, tmp_path / "m.propense")
    with pytest.warns(UserWarning, match=r"m\.propense was written with scikit-learn 0\.1, and this is") as caught:
        again = load(tmp_path / "m.propense")
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)
    assert_same(small, again, frame)


def test_other_versions_do_not_matter_to_plain_arrays(numbers, labels, tmp_path, monkeypatch):
    monkeypatch.setattr("propense.model_files._versions", lambda: {"scikit-learn": "0.1"})
    kept(PUClassifier(learners="linear").fit(numbers, labels), tmp_path)


@pytest.mark.slow
def test_loading_does_not_need_what_was_imported_to_save(small, tmp_path):
    save(small, tmp_path / "m.propense")
    code = f"import propense; print(propense.load({str(tmp_path / 'm.propense')!r}).prior_)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(ended.stdout) == small.prior_
