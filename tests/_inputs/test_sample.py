"""What may be passed, and what is said of the rest."""

import tracemalloc

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JERM, LBE, JointMLE, Naive, Oracle, PUClassifier, SparseJoint, intervals, scar_test
from propense.errors import (
    InvalidFeatures,
    InvalidLabels,
    InvalidOption,
    InvalidWeights,
    NoLabelledInstances,
    NoUnlabelledInstances,
    PropenseError,
)


@pytest.fixture
def problem(rng):
    positive = rng.random(150) < 0.4
    X = rng.normal(size=(150, 3)) + np.outer(positive, [2.5, -1.5, 0.0])
    return X, (positive & (rng.random(150) < 0.5)).astype(int)


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=["age", "dose", "weight"]),
    "polars": lambda X: pl.DataFrame(X, schema=["age", "dose", "weight"]),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32), columns=["age", "dose", "weight"]),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("estimator", [JERM, Naive, Oracle])
def test_frames_are_matrices_with_names(problem, estimator, frame):
    X, s = problem
    named = FRAMES[frame](X)
    model = estimator().fit(named, s)
    plain = estimator().fit(np.asarray(named), s)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == ["age", "dose", "weight"]
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict_proba(named), plain.predict_proba(np.asarray(named)))
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decision_function", "predict_propensity", "predict_hidden"]
)
def test_columns_are_checked_at_every_prediction(problem, method):
    X, s = problem
    model = JERM().fit(FRAMES["pandas"](X), s)
    with pytest.raises(InvalidFeatures, match="feature names"):
        getattr(model, method)(FRAMES["pandas"](X)[["dose", "age", "weight"]])
    with pytest.raises(InvalidFeatures, match="feature names"):
        getattr(model, method)(FRAMES["pandas"](X).rename(columns={"age": "years"}))
    with pytest.raises(InvalidFeatures, match="2 features"):
        getattr(JERM().fit(X, s), method)(X[:, :2])


@pytest.mark.parametrize(
    "storage", [np.asarray, np.asfortranarray, lambda X: X[::1, ::-1][:, ::-1], lambda X: X.tolist()]
)
def test_layout_does_not_matter(problem, storage):
    X, s = problem
    np.testing.assert_allclose(JERM().fit(storage(X), s).coef_, JERM().fit(X, s).coef_, rtol=1e-9)


def test_memory_mapped_and_read_only_arrays_are_read(problem, tmp_path):
    X, s = problem
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(JERM().fit(mapped, s).coef_, JERM().fit(X, s).coef_)


def test_fit_changes_nothing_it_was_given(problem):
    X, s = problem
    weights = np.ones(len(s))
    kept = X.copy(), s.copy(), weights.copy()
    model = JERM()
    before = model.get_params()
    model.fit(X, s, sample_weight=weights)
    for given, copy in zip((X, s, weights), kept, strict=True):
        np.testing.assert_array_equal(given, copy)
    assert model.get_params() == before


def bad(X, value, row=7, column=1):
    X = X.copy()
    X[row, column] = value
    return X


def test_a_nan_is_found_and_named(problem):
    X, s = problem
    with pytest.raises(
        InvalidFeatures, match=r"1 entries that are NaN or infinite, the first \(nan\) at row 7, column 1"
    ):
        JERM().fit(bad(X, np.nan), s)
    with pytest.raises(InvalidFeatures, match=r"\(-inf\) at row 7, column 'dose'"):
        JERM().fit(FRAMES["pandas"](bad(X, -np.inf)), s)
    with pytest.raises(InvalidFeatures, match=r"\(inf\) at row 7, column 1"):
        JERM().fit(sp.csr_array(bad(X, np.inf)), s)
    model = JERM().fit(X, s)
    with pytest.raises(InvalidFeatures, match="NaN"):
        model.predict(bad(X, np.nan))


def test_numbers_whose_squares_overflow_are_refused(problem):
    X, s = problem
    with pytest.raises(InvalidFeatures, match=r"too large to compute with, the first \(1e\+200\) at row 7, column 1"):
        JERM().fit(bad(X, 1e200), s)
    with pytest.raises(InvalidFeatures, match="Scale the column"):
        JERM().fit(sp.csr_array(bad(X, -1e150)), s)
    Naive().fit(bad(X, 1e6), s)


def test_numbers_that_trees_cannot_read_are_refused_with_their_column(problem):
    X, s = problem
    with pytest.raises(InvalidFeatures, match=r"1 entries beyond 3.4e\+38, .* \(1e\+40\) at row 7, column 'dose'"):
        PUClassifier().fit(FRAMES["pandas"](bad(X, 1e40)), s)
    with pytest.raises(
        InvalidFeatures, match=r"trees read, the first \(-1e\+40\) at row 7, column 1. Scale the column"
    ):
        PUClassifier().fit(bad(X, -1e40), s)
    with pytest.raises(InvalidFeatures, match="infinite"):
        PUClassifier().fit(bad(X, np.inf), s)


def test_columns_beyond_float64_are_told_to_be_standardised(problem):
    X, s = problem
    with pytest.raises(InvalidFeatures, match="StandardScaler"):
        JERM().fit(X + 1e9, s)


def test_an_unfitted_model_says_so(problem):
    X, s = problem
    model = JERM(solver="adam")
    with pytest.raises(InvalidOption):
        model.fit(X, s)
    for method in (model.predict, model.predict_hidden):
        with pytest.raises(NotFittedError):
            method(X)


def test_a_fit_short_of_its_tolerance_warns_with_a_way_out(problem):
    X, s = problem
    with pytest.warns(ConvergenceWarning, match="Naive stopped after 1 steps short of tol=1e-08"):
        Naive(max_iter=1).fit(X, s)


WRONG = {
    "no labelled row": (lambda X, s: (X, np.zeros_like(s), None), NoLabelledInstances),
    "no unlabelled row": (lambda X, s: (X, np.ones_like(s), None), NoUnlabelledInstances),
    "one row": (lambda X, s: (X[:1], s[:1], None), InvalidFeatures),
    "no row": (lambda X, s: (X[:0], s[:0], None), InvalidFeatures),
    "no column": (lambda X, s: (X[:, :0], s, None), InvalidFeatures),
    "one dimension": (lambda X, s: (X[:, 0], s, None), InvalidFeatures),
    "strings": (lambda X, s: (X.astype(str).astype(object) + "x", s, None), InvalidFeatures),
    "fewer labels than rows": (lambda X, s: (X, s[:-1], None), InvalidLabels),
    "no labels": (lambda X, s: (X, None, None), InvalidLabels),
    "three values": (lambda X, s: (X, s + (np.arange(len(s)) == 3) * 5, None), InvalidLabels),
    "negative weight": (lambda X, s: (X, s, np.where(np.arange(len(s)) == 4, -1.0, 1.0)), InvalidWeights),
    "NaN weight": (lambda X, s: (X, s, np.where(np.arange(len(s)) == 4, np.nan, 1.0)), InvalidWeights),
    "too few weights": (lambda X, s: (X, s, np.ones(len(s) - 1)), InvalidWeights),
    "weights in a matrix": (lambda X, s: (X, s, np.ones((len(s), 2))), InvalidWeights),
    "only zero weights": (lambda X, s: (X, s, np.zeros(len(s))), InvalidWeights),
    "labelled rows weigh nothing": (lambda X, s: (X, s, 1 - s), NoLabelledInstances),
    "unlabelled rows weigh nothing": (lambda X, s: (X, s, s), NoUnlabelledInstances),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("estimator", [JERM, Naive, Oracle])
def test_bad_input_is_one_error_of_ours(problem, case, estimator):
    spoil, error = WRONG[case]
    X, y, weights = spoil(*problem)
    if estimator is Oracle and issubclass(error, InvalidLabels):
        error = InvalidLabels  # It knows of classes, not of labelled and unlabelled.
    with pytest.raises(error) as caught:
        estimator().fit(X, y, sample_weight=weights)
    assert isinstance(caught.value, PropenseError)
    assert isinstance(caught.value, ValueError)


def test_a_negative_weight_is_named(problem):
    X, s = problem
    weights = np.ones(len(s))
    weights[4] = -0.5
    with pytest.raises(InvalidWeights, match=r"negative \(-0.5\) at row 4"):
        JERM().fit(X, s, sample_weight=weights)


OPTIONS = [
    ({"solver": "adam"}, "solver must be one of 'auto', 'mm', 'newton'"),
    ({"variant": "Paper"}, "variant must be one of 'published', 'paper'"),
    ({"decision": None}, "decision must be one of"),
    ({"ridge": -1.0}, "ridge must be a number ≥ 0"),
    ({"ridge": "1"}, "ridge must be a number"),
    ({"ridge": True}, "ridge must be a number"),
    ({"propensity_ridge": np.inf}, "propensity_ridge must be a number"),
    ({"spy_quantile": 1.5}, "spy_quantile must be a number from 0 to 1"),
    ({"max_iter": 0}, "max_iter must be a whole number from 1 to 1000000000"),
    ({"max_iter": 2.5}, "max_iter must be a whole number from 1 to 1000000000"),
    ({"max_steps": False}, "max_steps must be a whole number from 1 to 1000000000 or None"),
    ({"tol": -1e-3}, "tol must be a number ≥ 0 or None"),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=str)
def test_an_unknown_option_is_named_with_its_choices(problem, options, words):
    with pytest.raises(InvalidOption, match=words):
        JERM(**options).fit(*problem)


@pytest.mark.parametrize("seed", [np.random.default_rng(0), "x", -1, 1.5, True], ids=str)
def test_a_seed_that_will_not_do_is_named(problem, seed):
    for model in (JointMLE(random_state=seed), LBE(random_state=seed)):
        with pytest.raises(InvalidOption, match="random_state must be None, a whole number"):
            model.fit(*problem)


def test_a_decision_changed_after_fit_is_checked_too(problem):
    X, s = problem
    model = JERM().fit(X, s).set_params(decision="best")
    with pytest.raises(InvalidOption, match="decision must be one of"):
        model.predict(X)


def test_numpy_numbers_are_numbers(problem):
    ours, theirs = {"ridge": 0.5, "max_iter": 100}, {"ridge": np.float32(0.5), "max_iter": np.int64(100)}
    models = [JERM(spy_quantile=0, **each).fit(*problem) for each in (ours, theirs)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.slow
def test_columns_too_many_for_a_square_matrix_need_none():
    X = sp.random(20, 30_000, density=1e-3, format="csr", random_state=0)
    s = np.arange(20) % 2
    tracemalloc.start()
    for model in (
        JERM(),
        Naive(),
        Naive(solver="newton"),
        JERM(solver="newton", ridge=1.0),
        JERM(variant="paper", ridge=1.0),
    ):
        assert model.fit(X, s).converged_
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The matrix would take 7 GB.
    assert peak < 5e7


def test_a_scalar_weight_is_a_weight_for_all(problem):
    X, s = problem
    np.testing.assert_allclose(
        Naive(ridge=0.0).fit(X, s, sample_weight=3.0).coef_, Naive(ridge=0.0).fit(X, s).coef_, atol=1e-7
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_lives_among_scikit_learn_tools(problem):
    X, s = problem
    frame = FRAMES["pandas"](X)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), JERM())
    grid = GridSearchCV(pipeline, {"jerm__spy_quantile": [0.0, 0.1], "jerm__ridge": [0.0, 1.0]}, cv=3)
    grid.fit(frame, s)
    assert set(grid.best_params_) == {"jerm__spy_quantile", "jerm__ridge"}
    assert cross_val_predict(pipeline, frame, s, cv=3, method="predict_proba").shape == (150, 2)
    assert clone(grid.best_estimator_).get_params()["jerm__ridge"] == grid.best_params_["jerm__ridge"]


def test_weights_are_routed_when_asked_for(problem):
    X, s = problem
    weights = np.arange(len(s)) % 3 + 1.0
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), Naive().set_fit_request(sample_weight=True)
        )
        pipeline.fit(X, s, sample_weight=weights)
    direct = Naive().fit(StandardScaler().fit_transform(X), s, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)


def test_a_model_survives_a_file(problem, tmp_path):
    X, s = problem
    model = JERM(decision="balanced").fit(FRAMES["pandas"](X), s)
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_hidden(FRAMES["pandas"](X)), model.predict_hidden(FRAMES["pandas"](X)))


def test_nothing_the_size_of_the_data_stays_on_the_model(rng):
    X = rng.normal(size=(5000, 3))
    s = (X[:, 0] > 0.8) & (rng.random(5000) < 0.3)
    model = JERM().fit(X, s)
    sizes = {name: np.size(value) for name, value in vars(model).items() if name.endswith("_")}
    assert sizes.pop("spies_") <= s.sum()
    assert max(sizes.values()) <= 100


def broken(X, kind):
    """X as a sparse matrix whose indices are wrong; making one is not an error in SciPy."""
    form = kind.split()[0]
    out = sp.coo_matrix(X).asformat(form)
    if kind == "csr short indptr":
        out.indptr = out.indptr[:-1]
    elif kind.endswith("unordered indptr"):
        out.indptr[2:4] = out.indptr[3:1:-1].copy()
    elif kind.endswith("indptr beyond the values"):
        out.indptr[-1] = 10**6
    elif kind.endswith("indptr from 3"):
        out.indptr[0] = 3
    elif kind.endswith("few values"):
        out.data = out.data[:10]
    else:
        index = out.col if form == "coo" else out.indices
        index[7] = int(kind.split()[1])
    return out


BROKEN = [
    *(f"{form} {index}" for form in ("csr", "csc", "bsr", "coo") for index in (-5, 10**6)),
    "csr short indptr",
    *(f"{form} unordered indptr" for form in ("csr", "csc", "bsr")),
    *(f"{form} indptr beyond the values" for form in ("csr", "csc", "bsr")),
    *(f"{form} indptr from 3" for form in ("csr", "csc", "bsr")),
    *(f"{form} few values" for form in ("csr", "csc")),
]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_damaged_sparse_matrix_is_refused_before_compiled_code_reads_it(problem, kind):
    X, s = problem
    model = Naive().fit(X, s)
    for use in (lambda X: JERM().fit(X, s), model.predict_proba):
        with pytest.raises(InvalidFeatures, match=r"X is a damaged sparse matrix: .* Build it again"):
            use(broken(X, kind))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_a_sparse_matrix_of_any_form_is_read_and_left_as_it_was(problem, form):
    X, s = problem
    given = sp.coo_array(X).asformat(form)
    np.testing.assert_allclose(Naive().fit(given, s).coef_, Naive().fit(X, s).coef_, rtol=1e-9)
    assert given.format == form
    np.testing.assert_array_equal(given.toarray(), X)


def test_an_index_outside_a_list_of_lists_is_found_too(problem):
    X, s = problem
    given = sp.lil_array(X)
    given.rows[3][1] = 77
    with pytest.raises(InvalidFeatures, match=r"the column index 77, but its columns are numbered 0 to 2"):
        Naive().fit(given, s)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e153, 1e-162, 1e308, 5e-324], ids=str)
@pytest.mark.parametrize(
    "estimator",
    [JERM(), Naive(), LBE(), JointMLE(n_starts=1), PUClassifier(propensity_features=[], cv=2, random_state=0)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_huge_and_tiny_weights_give_finite_answers(problem, estimator, size):
    X, s = problem
    model = clone(estimator).fit(X, s, sample_weight=np.full(len(s), size))
    near = clone(estimator).fit(X, s, sample_weight=np.full(len(s), 1e130 if size > 1 else 1e-130))
    assert 0.0 <= model.prior_ <= 1.0
    np.testing.assert_allclose(model.prior_, near.prior_, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), near.predict_proba(X), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e308, 5e-324], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_answers_are_finite_where_huge_weights_leave_a_pair_without_a_penalty(problem, size):
    """No coefficients of e are best then, as positives and negatives can be separated; so the digits are not fixed."""
    X, s = problem
    model = PUClassifier(cv=2, random_state=0).fit(X, s, sample_weight=np.full(len(s), size))
    assert s.mean() <= model.prior_ <= 1.0
    for values in (model.predict_proba(X), model.predict_propensity(X), model.predict_hidden_range(X)):
        assert ((values >= 0.0) & (values <= 1.0)).all()


def test_weights_beyond_float64_count_as_the_same_weights_within(problem):
    X, s = problem
    weights = np.arange(len(s)) % 3 + 1.0
    large = [Naive(ridge=0.0).fit(X, s, sample_weight=weights * 2.0**k) for k in (380, 400, 600, 1000)]
    for model in large[1:]:
        np.testing.assert_array_equal(model.coef_, large[0].coef_)
        assert model.prior_ == large[0].prior_


def test_weights_that_cannot_be_added_in_float64_are_refused(problem):
    X, s = problem
    for low, words in ((5e-324, "The largest sample_weight is 1e\\+308"), (1e-170, "e-171 of the total sample_weight")):
        weights = np.where(s == 1, low, 1e308 if low == 5e-324 else 1.0)
        with pytest.raises(InvalidWeights, match=words):
            JERM().fit(X, s, sample_weight=weights)
    with pytest.raises(InvalidWeights, match="The labelled rows have 1 of the total sample_weight"):
        JERM().fit(X, s, sample_weight=np.where(s == 1, 1.0, 1e-20))


HUGE = {"array": np.asarray, "list": lambda X: X.tolist(), "frame": lambda X: pd.DataFrame(X, columns=list("abc"))}


@pytest.mark.parametrize("kind", HUGE)
def test_a_whole_number_beyond_float64_is_found(problem, kind):
    X, s = problem
    huge = HUGE[kind](bad(X.astype(object), 10**400))
    with pytest.raises(InvalidFeatures, match=r"X contains a number beyond float64, .*, at row 7, column 1\. Scale"):
        JERM().fit(huge, s)
    with pytest.raises(InvalidFeatures, match="beyond float64"):
        Naive().fit(HUGE[kind](X), s).predict(huge)
    for weights in (10**400, bad(X.astype(object), 10**400)[:, 1]):
        with pytest.raises(InvalidWeights, match="sample_weight contains a number beyond float64"):
            JERM().fit(X, s, sample_weight=weights)


@pytest.mark.parametrize(("estimator", "name"), [(JERM, "ridge"), (JERM, "tol"), (SparseJoint, "alpha")])
@pytest.mark.parametrize("digits", [400, 5000])
def test_an_option_beyond_float64_is_named(problem, estimator, name, digits):
    with pytest.raises(
        InvalidOption, match=rf"{name}=a whole number of about {digits + 1} digits, .* must be a number"
    ):
        estimator(**{name: 10**digits}).fit(*problem)


@pytest.mark.parametrize("name", ["max_iter", "max_steps", "spy_sample"])
def test_more_rounds_than_anyone_waits_for_are_refused(problem, name):
    with pytest.raises(InvalidOption, match=rf"{name}=10{{20}}\b.*must be a whole number from 1 to 1000000000\b"):
        JERM(**{name: 10**20}).fit(*problem)
    JERM(**{name: 10**9}).fit(*problem)


def test_more_repetitions_than_can_be_held_are_refused(problem):
    model = Naive().fit(*problem)
    for name, use in {
        "n_alphas": lambda: SparseJoint(n_alphas=10**20).fit(*problem),
        "n_starts": lambda: JointMLE(n_starts=10**20).fit(*problem),
        "n_simulations": lambda: scar_test(*problem, n_simulations=10**20),
        "n_resamples": lambda: intervals(model, *problem, n_resamples=10**20),
    }.items():
        with pytest.raises(InvalidOption, match=rf"{name}=10{{20}}\b.*must be a whole number from \d to 1000000"):
            use()
