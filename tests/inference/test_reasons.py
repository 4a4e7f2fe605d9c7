"""Why a row: contributions of the columns, which add up to the log-odds of every method."""

import math
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from audited import FACTS
from conftest import fit
from propense import JERM, SAREM, Naive, PUClassifier, SeveralSources, load, reasons, save
from propense._designs import as_design
from propense._inputs.sample import read_features
from propense._inputs.typical import mean_row
from propense._maths.shapley import Part, carry
from propense._steps.predictors import ClassifierPredictor
from propense.errors import InvalidInput, ModelFileError
from propense.estimators._corrected import with_audit
from propense.inference._parts import Explained, part_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def problem(rng):
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, (positive & (rng.random(300) < 1 / (1 + np.exp(-X[:, 2] - 0.3)))).astype(int)


@pytest.fixture(scope="module")
def curved():
    """Columns of every kind with missing cells, relations that only trees can learn, and which rows are labelled."""
    rng = np.random.default_rng(5)
    n = 1200
    x, z, sex = rng.normal(size=n), rng.normal(size=n), rng.choice(["f", "m"], n)
    town = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]).astype(object)
    t = 3 * (np.abs(x) > 1) + 2 * (z > 0) * (town == "B") - 2
    s = (rng.random(n) < 1 / (1 + np.exp(-t))) & (rng.random(n) < np.where(sex == "f", 0.8, 0.3))
    town[rng.random(n) < 0.1] = None
    z[rng.random(n) < 0.1] = np.nan
    since = pd.Timestamp(2020, 1, 1) + pd.to_timedelta(rng.integers(0, 90, n), unit="D")
    return pd.DataFrame({"x": x, "z": z, "sex": sex, "town": town, "old": x > 0.3, "since": since}), s


@pytest.fixture(scope="module")
def named(curved):
    return PUClassifier(random_state=0, cv=2, propensity_features=["sex"]).fit(*curved)


def assert_adds_up(model, X, rows=None, atol=1e-8):
    found = reasons(model, X, rows=rows)
    design = read_features(model, X)
    for name in ("posterior", "propensity"):
        said = np.asarray(getattr(model, f"_{name}").log_odds(design), dtype=float)[found.rows]
        with np.errstate(invalid="ignore"):
            added = getattr(found, f"baseline_{name}") + getattr(found, name).sum(axis=1)
        np.testing.assert_allclose(added, said, atol=atol, rtol=0)
        assert np.isfinite(getattr(found, name)).all()
    return found


@pytest.mark.slow
def test_contributions_add_up_to_the_log_odds_of_every_method(method, problem):
    X, s = problem
    model = fit(method, X, s)
    found = assert_adds_up(model, X)
    assert found.columns == ("column 0", "column 1", "column 2")
    chances = model.predict_proba(X)
    with np.errstate(divide="ignore"):
        log_odds = np.log(chances[:, 1]) - np.log(chances[:, 0])
    plain = np.abs(log_odds) < 10
    np.testing.assert_allclose(
        (found.baseline_posterior + found.posterior.sum(axis=1))[plain], log_odds[plain], atol=1e-8, rtol=0
    )


@pytest.mark.slow
def test_contributions_add_up_after_an_audit_of_every_method(method, problem):
    X, s = problem
    assert_adds_up(with_audit(fit(method, X, s), FACTS, 0.6), X)


def test_a_linear_contribution_is_the_coefficient_times_the_distance_from_the_mean(problem):
    X, s = problem
    model = JERM().fit(X, s)
    found = reasons(model, X)
    np.testing.assert_allclose(found.posterior, model.coef_ * (X - X.mean(axis=0)), atol=1e-12)
    np.testing.assert_allclose(found.propensity, model.propensity_coef_ * (X - X.mean(axis=0)), atol=1e-12)
    # Rows of weight 0 do not exist, and the mean is of the rows of fit, whatever rows are explained.
    weights = np.where(X[:, 0] > 0, 2.0, 0.0)
    weighted = JERM().fit(X, s, sample_weight=weights)
    mean = X[X[:, 0] > 0].mean(axis=0)
    np.testing.assert_allclose(reasons(weighted, X[:1]).posterior, weighted.coef_ * (X[:1] - mean), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"prior": {"f": 0.4, "m": 0.6}, "prior_groups": "sex"},
        {"propensity_features": ["sex", "z"], "class_features": ["x", "z", "town"], "prior": (0.2, 0.3)},
        {"learners": "linear"},
        {"learners": "linear", "prior": {"f": 0.4, "m": 0.6}, "prior_groups": "sex"},
    ],
)
def test_contributions_add_up_in_frames_with_every_kind_of_column(curved, options):
    frame, s = curved[0][:600], curved[1][:600]
    model = PUClassifier(random_state=0, cv=2, **options).fit(frame, s)
    found = assert_adds_up(model, frame, rows=np.arange(40))
    assert found.columns == tuple(frame.columns)
    assert_adds_up(with_audit(model, FACTS, 0.6), frame, rows=np.arange(40))
    for name, least in (("class_features", found.posterior), ("propensity_features", found.propensity)):
        if name in options and "prior" not in options:
            unused = [j for j, column in enumerate(frame.columns) if column not in options[name]]
            assert not least[:, unused].any()


@pytest.mark.slow
def test_contributions_add_up_with_classifiers_of_every_kind(curved):
    frame, s = curved
    X = np.nan_to_num(frame[["x", "z", "old"]].to_numpy(dtype=float))
    wide = np.column_stack([X, X**2, X[:, :2] ** 3])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    inner = [RandomForestClassifier(5, random_state=0), GaussianNB(), DecisionTreeClassifier(max_depth=4), pipeline]
    assert_adds_up(PUClassifier(learners=inner, cv=2, random_state=0).fit(X, s), X, rows=range(30))
    # More columns than all sets are tried of.
    model = PUClassifier(learners=[GaussianNB()], cv=2, random_state=0).fit(wide, s)
    found = assert_adds_up(model, wide, rows=range(5))
    np.testing.assert_array_equal(found.posterior, reasons(model, wide, rows=range(5)).posterior)
    trees = HistGradientBoostingClassifier(max_iter=5)
    assert_adds_up(SAREM(estimator=trees, propensity_estimator=LogisticRegression(), max_iter=3).fit(X, s), X)


def test_contributions_add_up_with_several_sources(problem, rng):
    X, s = problem
    other = np.where(rng.random(len(s)) < 0.3, s, 0)
    labels = np.column_stack([s, other]).astype(float)
    assert_adds_up(SeveralSources().fit(X, labels), X)


def test_sparse_rows_and_a_pipeline_are_explained_like_dense_ones(problem):
    X, s = problem
    model = JERM().fit(sp.csr_array(X), s)
    np.testing.assert_allclose(reasons(model, sp.csr_array(X)).posterior, reasons(model, X).posterior, atol=1e-12)
    pipe = make_pipeline(StandardScaler(), JERM()).fit(pd.DataFrame(X, columns=list("abc")), s)
    found = reasons(pipe, pd.DataFrame(X, columns=list("abc")), rows=[4])
    assert found.columns == ("a", "b", "c")
    scaled = pipe[:-1].transform(pd.DataFrame(X, columns=list("abc")))
    np.testing.assert_allclose(found.posterior, reasons(pipe[-1], scaled, rows=[4]).posterior)
    search = GridSearchCV(make_pipeline(StandardScaler(), JERM()), {"jerm__ridge": [JERM().ridge]}, cv=2)
    searched = reasons(search.fit(pd.DataFrame(X, columns=list("abc")), s), pd.DataFrame(X, columns=list("abc")))
    assert searched.columns == ("a", "b", "c")
    np.testing.assert_allclose(searched.posterior[[4]], found.posterior)


@pytest.mark.slow
def test_y_and_e_have_the_same_reasons_where_both_follow_one_score(curved, named):
    frame, s = curved
    found = assert_adds_up(PUClassifier(random_state=0, cv=2).fit(frame, s), frame, rows=range(20))
    assert found.one_score
    ratio = found.propensity / found.posterior
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(6), rtol=1e-6)
    assert "so the same columns are the reasons for both" in str(found)
    other = assert_adds_up(named, frame, rows=range(20))
    assert not other.one_score
    assert np.abs(other.propensity[:, 2]).mean() > 5 * np.abs(other.propensity[:, [0, 1, 3, 4, 5]]).mean()


@pytest.mark.slow
def test_the_columns_that_matter_are_named_and_in_the_right_direction(curved, named):
    frame, _ = curved
    far, near = (frame["x"].abs() > 1.5).to_numpy(), (frame["x"].abs() < 0.7).to_numpy()
    found = reasons(named, frame)
    assert found.posterior[far, 0].mean() > 0.5
    assert found.posterior[near, 0].mean() < -0.2
    men = (frame["sex"] == "m").to_numpy()
    assert (found.propensity[men, 2] < 0).all()
    assert (found.propensity[~men, 2] > 0).all()
    first = int(np.flatnonzero(far & men)[0])
    assert re.search(r"raised by .*\bx \(\+", found.words(first))
    assert "lowered by sex (-" in found.words(first)


@pytest.mark.slow
def test_a_saved_model_gives_the_same_reasons(curved, tmp_path):
    frame, s = curved
    trees = [HistGradientBoostingClassifier(max_iter=5)]
    for options in ({"learners": trees, "propensity_features": ["sex"]}, {"learners": "linear"}):
        model = PUClassifier(random_state=0, cv=2, **options).fit(frame, s)
        save(model, tmp_path / "m.propense")
        loaded = load(tmp_path / "m.propense")
        # One row alone: what it is compared with is in the file.
        one, other = (reasons(each, frame.iloc[[3]]) for each in (model, loaded))
        np.testing.assert_allclose(other.posterior, one.posterior, rtol=1e-12)
        np.testing.assert_allclose(other.propensity, one.propensity, rtol=1e-12)


def test_a_mean_row_in_a_file_that_does_not_fit_is_refused(problem, tmp_path):
    model = JERM().fit(*problem)
    for wrong in (np.zeros(2), np.array([0.0, np.nan, 1.0]), "no"):
        model._mean = wrong
        with pytest.raises(ModelFileError, match="mean"):
            save(model, tmp_path / "m.propense")


def test_rows_that_are_not_there_are_refused(problem):
    X, s = problem
    model = JERM().fit(X, s)
    with pytest.raises(InvalidInput, match="rows= has 300, and the rows of X are numbered 0 to 299"):
        reasons(model, X, rows=[3, 300])
    with pytest.raises(InvalidInput, match="mask of 4 rows"):
        reasons(model, X, rows=np.ones(4, dtype=bool))
    with pytest.raises(InvalidInput, match="numbers of rows"):
        reasons(model, X, rows=[0.5])
    with pytest.raises(InvalidInput, match="LogisticRegression is neither a fitted estimator of propense"):
        reasons(LogisticRegression().fit(X, s), X)
    assert reasons(model, X, rows=[]).posterior.shape == (0, 3)
    mask = np.arange(300) < 2
    np.testing.assert_array_equal(reasons(model, X, rows=mask).posterior, reasons(model, X, rows=[0, 1]).posterior)


def test_naive_has_no_reason_for_a_label(problem):
    X, s = problem
    found = assert_adds_up(Naive().fit(X, s), X)
    assert not found.propensity.any()
    assert "whatever the columns hold" in found.words(0)


def test_boosted_trees_are_compared_with_the_rows_of_fit(rng):
    X = rng.normal(size=(400, 4))
    X[:, 2] = rng.integers(0, 5, 400)
    y = X[:, 0] + (X[:, 2] == 3) + X[:, 1] * X[:, 3] + rng.normal(size=400) > 0.5
    X[rng.random((400, 4)) < 0.1] = np.nan
    columns = np.array([0, 1, 2])
    classifier = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, categorical_features=[2], random_state=0)
    predictor = ClassifierPredictor(classifier.fit(X[:, columns], y), columns)
    said = predictor.log_odds(as_design(X))
    # What they are compared with does not depend on the mean of the columns.
    part = part_of(predictor, Explained(as_design(X), np.full(8, np.inf), np.array([0, 0, 5, 0])))
    np.testing.assert_allclose(part.base + part.shares.sum(axis=1), said, atol=1e-8)
    assert part.base == pytest.approx(said.mean(), abs=0.02)
    assert np.flatnonzero(np.abs(part.shares).sum(axis=0)).tolist() == [0, 1, 2]


def test_a_function_of_parts_is_split_exactly_also_at_the_baseline(rng):
    shares = rng.normal(size=(50, 3))
    shares[0] = [2.0, -2.0, 0.0]
    one = Part(0.5, 0.5 + shares.sum(axis=1), shares)
    other = Part(-1.0, np.full(50, -1.0), np.zeros((50, 3)))
    split = carry(lambda a, b: np.tanh(a) * np.exp(b), one, other)
    np.testing.assert_allclose(split.base + split.shares.sum(axis=1), split.value, atol=1e-10)
    # Two columns that cancel out still pull, by the slope of the function.
    slope = (1 - np.tanh(0.5) ** 2) * np.exp(-1.0)
    np.testing.assert_allclose(split.shares[0], slope * shares[0], rtol=1e-6)
    # In each row by its own slope.
    shares[1] = [1.0, -4.0, 3.0]
    other = Part(-1.0, np.linspace(-2.0, 1.0, 50), rng.normal(size=(50, 3)))
    split = carry(lambda a, b: np.tanh(a) + np.exp(b) * a, Part(0.5, 0.5 + shares.sum(axis=1), shares), other)
    alone = carry(lambda b: 0.5 * np.exp(b), other)
    slopes = 1 - np.tanh(0.5) ** 2 + np.exp(other.value[:2])
    np.testing.assert_allclose(
        (split.shares - alone.shares)[:2], slopes[:, np.newaxis] * shares[:2], rtol=1e-6, atol=1e-9
    )
    certain = Part(math.inf, np.full(50, math.inf), np.zeros((50, 3)))
    assert np.isfinite(carry(lambda a, b: a + 0 * np.isinf(b), one, certain).shares).all()


def test_the_mean_row_has_the_shares_of_levels_and_leaves_out_missing_cells():
    X = np.array([[1.0, 0.0], [np.nan, 2.0], [4.0, 0.0], [np.nan, 1.0]])
    levels = np.array([0, 3])
    np.testing.assert_allclose(mean_row(as_design(X), levels), [2.5, 0.5, 0.25, 0.25])
    weights = np.array([3.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(mean_row(as_design(X), levels, weights), [1.75, 4 / 6, 1 / 6, 1 / 6])
