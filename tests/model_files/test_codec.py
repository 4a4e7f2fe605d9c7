"""Every model that a file takes comes back the same, and the others are refused by name."""

import pickle
import sys
import warnings
from collections import UserList
from dataclasses import is_dataclass
from functools import partial
from inspect import signature
from operator import itemgetter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import scipy.special
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, FastICA, TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    mutual_info_classif,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
    scale,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

import propense
from conftest import fit
from propense import JERM, LBE, SAREM, TM, KnownPropensity, Naive, PGLin, load, save
from propense.errors import MissingExtra, ModelFileError
from propense.model_files import inspect
from propense.model_files.codec import build_model, describe_model
from propense.model_files.methods import method_classes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SCORES = ("decision_function", "predict_proba", "predict", "predict_propensity", "predict_hidden")


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(120, 4))
    return X, ((X[:, 0] > 0.2) & (rng.random(120) < 0.6)).astype(int)


@pytest.fixture
def frame(rng):
    """Numbers with gaps, words, whole numbers, and labels."""
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 150),
            "ward": rng.choice(["north", "south", "west"], 150, p=[0.5, 0.45, 0.05]),
            "dose": rng.normal(size=150),
            "visits": rng.integers(0, 4, 150),
        }
    )
    s = (X["dose"] > 0) & (rng.random(150) < 0.6)
    X.loc[::7, "age"] = np.nan
    return X, s.to_numpy()


@pytest.fixture
def kept(tmp_path):
    """A model after a file."""

    def through_a_file(model):
        save(model, tmp_path / "m.propense")
        return load(tmp_path / "m.propense")

    return through_a_file


def scores(model, X):
    """Everything a model says of X; a pipeline's through its last step where the pipeline has no such method."""
    if not isinstance(model, Pipeline):
        return [getattr(model, name)(X) for name in SCORES]
    prepared = model[:-1].transform(X)
    return [getattr(model, name)(X) for name in SCORES[:3]] + [getattr(model[-1], name)(prepared) for name in SCORES]


def assert_same_bits(one, other):
    if isinstance(one, UserList):
        one = one.data  # scikit-learn 1.6's for the columns that remain
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same_bits(*pair)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind == "O":
            assert_same_bits(one.ravel().tolist(), other.ravel().tolist())
        else:
            assert one.tobytes() == other.tobytes()
    elif hasattr(one, "get_params"):
        assert_same_model(one, other)
    elif is_dataclass(one) or isinstance(one, make_column_selector):
        assert_same_bits(vars(one), vars(other))
    else:
        assert one == other or (one != one and other != other)


def assert_same_model(one, other):
    """Parameters, everything learned, and what scikit-learn keeps privately."""
    assert_same_bits(one.get_params(deep=False), other.get_params(deep=False))
    # Requests have no equality, and the names of features are set again by transform.
    unequal = {"_metadata_request", "_transformers_feature_names_out"}
    # Answers for the rows of fit stay out of files.
    kept = [{name: value for name, value in vars(each).items() if not name.startswith("oof_")} for each in (one, other)]
    learned = [{name: value for name, value in each.items() if name not in unequal} for each in kept]
    assert_same_bits(*(dict(sorted(each.items())) for each in learned))


def assert_survives(model, kept, X):
    again = kept(model)
    assert_same_model(model, again)
    for one, other in zip(scores(model, X), scores(again, X), strict=True):
        assert_same_bits(one, other)
    return again


def test_every_public_estimator_has_its_place_in_a_file():
    public = [getattr(propense, name) for name in propense.__all__ if name != "BasePUClassifier"]
    named = {name: each for name, each in method_classes().items() if "." not in name}
    assert set(named.values()) == {each for each in public if isinstance(each, type)}


@pytest.mark.slow
def test_every_estimator_comes_back_bit_for_bit(method, problem, kept):
    X, s = problem
    again = assert_survives(fit(method, X, s), kept, X)
    with pytest.raises(AttributeError):
        again.feature_names_in_  # noqa: B018
    assert not hasattr(clone(again), "classes_")
    assert_same_bits(scores(pickle.loads(pickle.dumps(again)), X), scores(method, X))
    refitted = fit(clone(again), X, s)
    if "random_state" not in again.get_params() or again.random_state is not None:
        assert_same_bits(refitted.predict_proba(X), method.predict_proba(X))


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "model", [JERM(class_features=["a"], propensity_features=["b", "d"]), PGLin(), TM(decision="balanced")], ids=str
)
def test_names_and_their_order_are_kept(problem, kept, made, model):
    X, s = problem
    named = made(dict(zip("abcd", X.T, strict=True)))
    again = assert_survives(clone(model).fit(named, s), kept, named)
    with pytest.raises(ValueError, match="names"):
        again.predict(named[["b", "a", "c", "d"]])


class Busy(Naive):
    """A method of one's own that may start processes."""

    def __init__(self, *, n_jobs=None, decision="posterior", ridge=1.0, solver="auto", tol=1e-8, max_iter=1000):
        super().__init__(decision=decision, ridge=ridge, solver=solver, tol=tol, max_iter=max_iter)
        self.n_jobs = n_jobs


@pytest.mark.slow
def test_every_n_jobs_is_none_after_a_file(problem, kept):
    X, s = problem
    union = FeatureUnion([("scaled", StandardScaler())], n_jobs=1)
    forest = RandomForestClassifier(3, random_state=0, n_jobs=2)
    again = kept(make_pipeline(union, TM(estimator=forest)).fit(X, s))
    assert again[0].n_jobs is None
    assert again[-1].estimator.n_jobs is None
    assert again[-1].estimator_.n_jobs is None
    assert kept(Busy(n_jobs=2).fit(X, s)).n_jobs is None


NOT_FITTED = {
    "slopes where e = 1": (LBE(), "propensity", "coef", np.array([np.inf, 1e308, 0.0, 0.0, 0.0])),
    "e = 0": (LBE(), "propensity", "coef", np.array([-np.inf, 0.0, 0.0, 0.0, 0.0])),
    "a slope that is no number": (LBE(), "propensity", "coef", np.array([np.inf, np.nan, 0.0, 0.0, 0.0])),
    "y = 1": (LBE(), "posterior", "coef", np.array([np.inf, 0.0, 0.0, 0.0, 0.0])),
    "slopes whose sum is infinite": (LBE(), "posterior", "coef", np.array([0.0, 1e308, 1e308, -1e308, 0.0])),
    "an intercept of e that is too large": (LBE(), "propensity", "coef", np.array([-1.5e308, 0.0, 0.0, 0.0, 0.0])),
    "a root that is no number": (PGLin(), "posterior", "log_factor", np.nan),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_FITTED)
def test_numbers_that_no_fit_gives_are_refused(problem, name):
    method, which, key, value = NOT_FITTED[name]
    description = describe_model(clone(method).fit(*problem))
    build_model(description)
    description["fitted"][which][key] = value
    with pytest.raises(ModelFileError, match=rf"the {which} of .*(not finite|no valid)"):
        build_model(description)


@pytest.mark.parametrize("prior", [0.0, -0.5, 1.5])
def test_a_prior_that_is_not_a_share_is_refused(problem, prior):
    description = describe_model(LBE().fit(*problem))
    description["fitted"]["prior_"] = prior
    with pytest.raises(ModelFileError, match="prior_ of LBE is not valid"):
        build_model(description)


def test_certain_labels_come_back(problem):
    description = describe_model(LBE().fit(*problem))
    description["fitted"]["propensity"]["coef"] = np.array([np.inf, 0.0, 0.0, 0.0, 0.0])
    assert (build_model(description).predict_propensity(problem[0]) == 1).all()


CLASSES = {
    "words": np.array(["no", "yes"]),
    "wide words": np.array(["no", "yes", "perhaps"])[:2],
    "objects": np.array(["no", "yes"], dtype=object),
    "object numbers": np.array([0, 1], dtype=object),
    "truths": np.array([False, True]),
    "signs": np.array([-1, 1], dtype=np.int8),
    "unsigned": np.array([0, 2**63], dtype=np.uint64),
    "reals": np.array([0.25, 0.5]),
    "halves": np.array([0.25, 0.5], dtype=np.float16),
    "other letters": np.array(["ä", "–\U0001f40d\n"]),
}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_classes_of_any_kind_are_kept(problem, kept, classes):
    X, s = problem
    assert_survives(Naive(positive_label=classes.tolist()[1]).fit(X, classes[s]), kept, X)


@pytest.mark.parametrize("label", ["churn", np.str_("churn"), 1, np.int64(1), 0.5, False, np.False_, None])
def test_the_value_of_labelled_rows_is_kept(problem, kept, label):
    X, s = problem
    other = {str: "stay", np.str_: "stay", bool: True, np.bool_: True}.get(type(label), 7)
    again = kept(Naive(positive_label=label).fit(X, np.where(s == 1, 8 if label is None else label, other)))
    assert again.positive_label == label
    assert again.classes_.tolist() == [other, 8 if label is None else label]
    np.testing.assert_array_equal(again.fit(X, np.where(s == 1, again.classes_[1], other)).classes_, again.classes_)


def test_one_label_with_missing_values_is_kept(problem, kept):
    X, s = problem
    y = np.where(s == 1, "reported", None)
    assert_survives(Naive().fit(X, y), kept, X)


PARAMETERS = {
    "a tuple": ((1, 2), (1, 2)),
    "an array": (np.array([1, 2]), np.array([1, 2])),
    "a range": (range(1, 3), [1, 2]),
    "a set": ({2}, [2]),
    "an index": (pd.Index([1, 2]), [1, 2]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_columns_come_back_in_a_list_where_they_were_in_none_of_numpys_or_pythons_rows(problem, kept, name):
    X, s = problem
    columns, expected = PARAMETERS[name]
    model = SAREM(propensity_features=columns, ridge=np.float32(0.5), tol=1).fit(X, s)
    again = kept(model)
    assert_same_bits(again.propensity_features, expected)
    assert_same_bits(again.ridge, np.float32(0.5))
    assert_same_bits(scores(model, X), scores(again, X))


def gaps(X):
    X = X.copy()
    X[::5, 1] = np.nan
    X[1::7, 3] = np.nan
    return X


STEPS = [
    StandardScaler(),
    MinMaxScaler(feature_range=(-1, 2), clip=True),
    RobustScaler(quantile_range=(10.0, 90.0), unit_variance=True),
    MissingIndicator(features="all"),
    FunctionTransformer(np.abs),
    FunctionTransformer(np.clip, kw_args={"a_min": -1.0, "a_max": 1.0}),
    FunctionTransformer(np.nan_to_num, feature_names_out="one-to-one"),
    FunctionTransformer(scipy.special.expit, inverse_func=scipy.special.logit),
    FunctionTransformer(scale),
    KBinsDiscretizer(n_bins=3, quantile_method="averaged_inverted_cdf")
    if "quantile_method" in signature(KBinsDiscretizer).parameters
    else KBinsDiscretizer(n_bins=3),
    PolynomialFeatures(2),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=20),
    Normalizer(),
    Binarizer(),
    TargetEncoder(),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    PCA(2),
    TruncatedSVD(2),
    FastICA(2, random_state=0),
    SelectKBest(k=2),
    SelectPercentile(mutual_info_classif, percentile=50),
    SelectFromModel(LogisticRegression()),
    VarianceThreshold(),
    RFE(LogisticRegression()),
    Nystroem(n_components=5, random_state=0),
    RBFSampler(random_state=0),
    GaussianRandomProjection(2, random_state=0),
    FeatureUnion([("components", PCA(2)), ("scaled", MaxAbsScaler())]),
]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_step_of_scikit_learn_works_alike(problem, kept, step):
    X, s = problem
    again = assert_survives(make_pipeline(clone(step), Naive()).fit(X, s), kept, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(again).fit(X, s)


IMPUTERS = [
    SimpleImputer(add_indicator=True),
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="most_frequent", add_indicator=True),
    SimpleImputer(strategy="constant", fill_value=0.1, keep_empty_features=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("imputer", IMPUTERS, ids=str)
def test_imputers_fill_alike(problem, kept, imputer, dtype):
    X, s = problem
    X = gaps(X).astype(dtype)
    model = make_pipeline(clone(imputer), Naive()).fit(X, s)
    # Gaps where there were none, and other precision: what is filled in shows the dtype of fit.
    other = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X).astype(np.float64)
    for matrix in (X, other):
        assert_survives(model, kept, matrix)


def test_sparse_features_are_prepared_alike(problem, kept):
    X, s = problem
    X = sp.csc_array(np.where(X > 0.5, gaps(X), 0.0).astype(np.float32))
    model = make_pipeline(SimpleImputer(add_indicator=True), MaxAbsScaler(), Naive()).fit(X, s)
    assert_survives(model, kept, X)


ENCODERS = [
    OneHotEncoder(),
    OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32),
    OneHotEncoder(drop="if_binary", dtype="float64"),
    OneHotEncoder(drop=["south", 1], dtype=np.dtype("int64")),
    OneHotEncoder(categories=[["west", "south", "north"], [0, 1, 2, 3, 9]]),
    OneHotEncoder(min_frequency=20, max_categories=2, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(max_categories=2, drop="first"),
    OneHotEncoder(min_frequency=0.1, drop=["south", 1]),
    OneHotEncoder(min_frequency=0.1, drop="if_binary"),
]


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_encoders_encode_alike(frame, kept, encoder):
    X, s = frame
    words = X[["ward", "visits"]]
    for each in (words, words.to_numpy(dtype=object)):
        model = make_pipeline(clone(encoder), Naive()).fit(each, s)
        again = assert_survives(model, kept, each)
        assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
        if encoder.handle_unknown != "error":
            unknown = np.array([["east", 17], ["north", 1]], dtype=object)
            unknown = pd.DataFrame(unknown, columns=words.columns) if each is words else unknown
            assert_same_bits(scores(model, unknown), scores(again, unknown))


CATEGORIES = {
    "words of NumPy": np.array(["a", "bcd", "e"]),
    "numbers": np.array([1.5, np.nan, 2.5]),
    "objects with gaps": np.array(["a", None, "b"], dtype=object),
    "objects with NaN": np.array(["a", np.nan, "b"], dtype=object),
    "truths": np.array([True, False, True]),
    "small numbers": np.array([1, 2, 200], dtype=np.uint8),
}


@pytest.mark.parametrize("values", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_of_any_kind_are_kept(rng, kept, values):
    column = values[rng.choice(3, size=100, p=[0.5, 0.1, 0.4])][:, np.newaxis]
    model = make_pipeline(OneHotEncoder(min_frequency=30), Naive()).fit(column, rng.random(100) < 0.5)
    assert_survives(model, kept, column)


@pytest.mark.parametrize("vectoriser", [CountVectorizer(), TfidfVectorizer()], ids=str)
def test_texts_are_read_alike(rng, kept, vectoriser):
    texts = [" ".join(rng.choice(["north", "south", "west", "east"], 3)) for _ in range(60)]
    assert_survives(make_pipeline(clone(vectoriser), Naive()).fit(texts, rng.random(60) < 0.5), kept, texts)


CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegressionCV(cv=2),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(4, random_state=0),
    ExtraTreesClassifier(4, random_state=0),
    HistGradientBoostingClassifier(max_iter=3),
    HistGradientBoostingClassifier(max_iter=3, early_stopping=True, random_state=0),
    AdaBoostClassifier(n_estimators=2),
    BaggingClassifier(n_estimators=2, random_state=0),
    CalibratedClassifierCV(GaussianNB()),
    CalibratedClassifierCV(GaussianNB(), method="isotonic"),
    BernoulliNB(),
    DummyClassifier(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_a_classifier_inside_an_estimator_is_kept(problem, kept, classifier):
    X, s = problem
    for model in (
        TM(estimator=clone(classifier), max_iter=2),
        SAREM(estimator=clone(classifier), class_features=[0, 2], max_iter=2),
        JERM(propensity_estimator=clone(classifier), propensity_features=[1, 3], max_iter=2),
    ):
        again = kept(model.fit(X, s))
        assert_same_bits(scores(model, X), scores(again, X))
        assert repr(again) == repr(model)


def test_a_classifier_inside_a_model_that_was_taken_back_is_kept(problem, kept):
    X, s = problem
    model = TM(estimator=LogisticRegression(), max_iter=2).fit(X, s).set_params(estimator=None)
    assert_same_bits(scores(kept(model), X), scores(model, X))


def test_what_is_inside_is_shown_in_words(problem, tmp_path):
    X, s = problem
    save(TM(estimator=RandomForestClassifier(3, max_depth=2), max_iter=2).fit(X, s), tmp_path / "m.propense")
    shown = inspect(tmp_path / "m.propense")["parameters"]["estimator"]
    assert shown == "RandomForestClassifier(max_depth=2, n_estimators=3)"


def mixed(columns, **options):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return ColumnTransformer(
        [("numbers", numbers, columns[0]), ("words", OneHotEncoder(), columns[1]), ("none", StandardScaler(), [])],
        **options,
    )


REMAINDERS = ["drop", "passthrough", MinMaxScaler()]
COLUMNS = {
    "names": (["age", "dose"], ["ward"]),
    "numbers": ([0, 2], [1]),
    "tuples and arrays": (np.array(["age", "dose"]), ("ward",)),
    "negative": ([0, -2], [-3]),
    "masks": ([True, False, True, False], np.array([False, True, False, False])),
    "slices": (slice(0, 1), slice(1, 2)),
    "slices of names": (slice("age", "age"), slice("ward", "ward")),
    "index": (pd.Index(["age", "dose"]), pd.Index(["ward"])),
}


@pytest.mark.slow
@pytest.mark.parametrize("remainder", REMAINDERS, ids=str)
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_a_frame_are_prepared_alike(frame, kept, columns, remainder):
    X, s = frame
    model = make_pipeline(mixed(columns, remainder=clone(remainder, safe=False)), JERM()).fit(X, s)
    again = kept(model)
    if not any(isinstance(each, pd.Index) for each in columns):
        assert_same_model(model, again)
    assert_same_bits(scores(model, X), scores(again, X))
    assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    # Frames are read by name: columns may come in another order.
    turned = X[["visits", "dose", "ward", "age"]]
    assert_same_bits(again.predict_proba(turned), model.predict_proba(X))
    assert_same_bits(clone(again).fit(X, s).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="missing"):
        again.predict(X.drop(columns="ward"))


@pytest.mark.slow
@pytest.mark.parametrize("remainder", REMAINDERS, ids=str)
def test_columns_of_an_array_are_prepared_alike(problem, kept, remainder):
    X, s = problem
    X = gaps(X)
    parts = [("a", SimpleImputer(), [1, 3]), ("b", "passthrough", [0]), ("c", "drop", [2]), ("d", "passthrough", [])]
    for used in (parts, parts[:2]):
        model = make_pipeline(ColumnTransformer(used, remainder=clone(remainder, safe=False)), Naive()).fit(X, s)
        assert_survives(model, kept, X)


OLD = pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="needs scikit-learn 1.9")


@pytest.mark.parametrize("remainder", ["drop", pytest.param("passthrough", marks=OLD)])
def test_columns_of_a_polars_frame_are_prepared_alike(frame, kept, remainder):
    pytest.importorskip("pyarrow", reason="polars reads frames of pandas by pyarrow")
    X, s = frame
    X = pl.from_pandas(X, nan_to_null=False)
    model = make_pipeline(mixed(COLUMNS["names"], remainder=remainder), JERM()).fit(X, s)
    assert_survives(model, kept, X)


@pytest.mark.slow
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_the_chosen_containers_are_kept(frame, kept, container):
    if container == "polars":
        pytest.importorskip("pyarrow", reason="polars reads frames of pandas by pyarrow")
    X, s = frame
    X = X if container == "pandas" else pl.from_pandas(X, nan_to_null=False)
    words = OneHotEncoder(sparse_output=False)
    parts = [
        ("a", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        ("b", words, ["ward"]),
        ("c", "drop", []),
    ]
    both = ColumnTransformer(parts, remainder="passthrough", verbose_feature_names_out=False)
    model = make_pipeline(both.set_output(transform=container), Naive()).fit(X, s)
    again = assert_survives(model, kept, X)
    assert again[-1].feature_names_in_.tolist() == model[0].get_feature_names_out().tolist()
    assert type(again[0].transform(X)) is type(X)


def test_the_same_column_may_be_prepared_twice(frame, kept):
    X, s = frame
    parts = [("a", OneHotEncoder(sparse_output=False), ["visits"]), ("b", StandardScaler(), ["visits"])]
    for container in ("default", "pandas"):
        both = ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform=container)
        assert_survives(make_pipeline(both, Naive()).fit(X, s), kept, X)


def test_words_with_gaps_are_filled_alike(frame, kept):
    X, s = frame
    X.loc[::6, "ward"] = None
    for imputer in (
        SimpleImputer(strategy="most_frequent", add_indicator=False),
        SimpleImputer(strategy="constant", fill_value="unknown"),
        SimpleImputer(strategy="constant"),
    ):
        words = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore"))
        model = make_pipeline(ColumnTransformer([("words", words, ["ward"])]), Naive()).fit(X, s)
        assert_survives(model, kept, X)


def test_pipelines_may_hold_pipelines_and_steps_that_do_nothing(problem, kept):
    X, s = problem
    inner = Pipeline([("nothing", "passthrough"), ("scale", StandardScaler()), ("none", None)])
    model = Pipeline([("first", "passthrough"), ("inner", inner), ("last", make_pipeline(MaxAbsScaler(), Naive()))])
    model.fit(X, s)
    again = kept(model)
    assert_same_model(model, again)
    assert_same_bits(model.predict_proba(X), again.predict_proba(X))


def test_what_metadata_is_asked_for_is_kept(problem, kept):
    X, s = problem
    with sklearn.config_context(enable_metadata_routing=True):
        known = KnownPropensity().set_fit_request(propensity=True, sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = make_pipeline(scaler, known).fit(X, s, propensity=np.full(len(s), 0.5))
        again = kept(model)
        refitted = clone(again).fit(X, s, propensity=np.full(len(s), 0.5))
        assert_same_bits(refitted.predict_proba(X), model.predict_proba(X))
    assert_same_model(model, kept(model))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"skip_parameter_validation": True}, {"transform_output": "pandas"}])
def test_what_is_set_globally_changes_no_file(frame, kept, options):
    X, s = frame
    model = make_pipeline(mixed(COLUMNS["names"], remainder="passthrough", sparse_threshold=0), JERM()).fit(X, s)
    expected = scores(model, X)
    with sklearn.config_context(**options):
        again = kept(model)
    assert_same_model(model, again)
    assert_same_bits(expected, scores(again, X))


def doubled(X):
    return 2 * X


class Scaler(StandardScaler):
    """A transformer of one's own."""


REFUSED = {
    "a class that is not in the list": (
        TM(estimator=SVC(probability=True), max_iter=2),
        "the estimator of this TM holds sklearn.svm._classes.SVC, which a model file may not contain.*joblib",
    ),
    "a function of one's own": (
        make_pipeline(FunctionTransformer(doubled), Naive()),
        r"this Pipeline holds .*test_codec\.doubled, which a model file may not contain",
    ),
    "a lambda": (
        make_pipeline(ColumnTransformer([("all", StandardScaler(), lambda X: [0, 1])]), Naive()),
        "this Pipeline holds .*<lambda>, which a model file may not contain",
    ),
    "a transformer of one's own": (make_pipeline(Scaler(), Naive()), r"this Pipeline holds .*test_codec\.Scaler"),
    "a partial function": (
        make_pipeline(FunctionTransformer(partial(np.clip, a_min=0, a_max=1)), Naive()),
        "this Pipeline holds functools.partial",
    ),
    "a getter": (make_pipeline(FunctionTransformer(itemgetter(slice(None))), Naive()), "holds operator.itemgetter"),
    "a sparse matrix": (make_pipeline(SparseRandomProjection(2), Naive()), "holds scipy.sparse._csr.csr_matrix"),
    "a search": (
        make_pipeline(
            SelectFromModel(
                GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
                threshold=0.0,
                importance_getter="best_estimator_.coef_",
            ),
            Naive(),
        ),
        "holds sklearn.model_selection._search.GridSearchCV",
    ),
    "names by a format": (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), [0])], verbose_feature_names_out="{feature_name}"), Naive()
        ),
        "holds a ColumnTransformer with a value of verbose_feature_names_out that a model file may not contain",
    ),
    "a random state": (
        LBE(random_state=np.random.RandomState(0)),
        "random_state of this LBE: a value of type RandomState cannot be saved. Set another random_state",
    ),
    "a random state inside": (
        make_pipeline(PCA(2, random_state=np.random.RandomState(0)), Naive()),
        "holds numpy.random.mtrand.RandomState",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_does_not_take_is_refused_by_name(problem, tmp_path, name):
    model, words = REFUSED[name]
    X, s = problem
    X[:, 2] = X[:, 2] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(X, s)
    with pytest.raises(ModelFileError, match=f"m.propense was not written: .*{words}"):
        save(model, tmp_path / "m.propense")
    assert list(tmp_path.glob("*.propense*")) == []


def test_a_pipeline_with_a_cache_is_refused(problem, tmp_path):
    model = make_pipeline(StandardScaler(), Naive(), memory=str(tmp_path / "cache")).fit(*problem)
    with pytest.raises(ModelFileError, match=r"this Pipeline holds a Pipeline with a value of memory"):
        save(model, tmp_path / "m.propense")
    save(model.set_params(memory=None), tmp_path / "m.propense")


def test_a_part_that_was_changed_after_the_fit_is_kept_as_it_is(frame, kept):
    X, s = frame
    parts = [("a", StandardScaler(), ["dose"]), ("b", OneHotEncoder(), ["ward"])]
    model = make_pipeline(ColumnTransformer(parts, remainder=SimpleImputer()), Naive()).fit(X, s)
    model[0].set_params(a="passthrough")
    assert_survives(model, kept, X)


@pytest.mark.parametrize("model", [make_pipeline(MaxAbsScaler(), Naive()), TM(estimator=GaussianNB(), max_iter=1)])
def test_without_skops_the_extra_is_named(problem, tmp_path, monkeypatch, model):
    save(model.fit(*problem), tmp_path / "m.propense")
    save(Naive().fit(*problem), tmp_path / "plain.propense")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for use in (lambda: save(model, tmp_path / "n.propense"), lambda: load(tmp_path / "m.propense")):
        with pytest.raises(MissingExtra, match=r'pip install "propense\[files\]"'):
            use()
    assert inspect(tmp_path / "m.propense")["method"] == type(model).__name__.replace("Pipeline", "Naive")
    load(tmp_path / "plain.propense")


def test_columns_may_be_chosen_by_a_selector(frame, kept):
    X, s = frame
    numbers, words = make_column_selector(dtype_include=np.number), make_column_selector(pattern="war.")
    chosen = ColumnTransformer([("n", SimpleImputer(), numbers), ("w", OneHotEncoder(), words)])
    again = assert_survives(make_pipeline(chosen, Naive()).fit(X, s), kept, X)
    assert again[0].transformers[0][2](X) == ["age", "dose", "visits"]


def half_fitted():
    model = Naive()
    with pytest.raises(ValueError, match="no labelled rows"):
        model.fit(np.eye(3), [0, 0, 0])
    return model


UNFITTED = [
    Naive(),
    JERM(),
    half_fitted(),
    make_pipeline(StandardScaler(), Naive()),
    make_pipeline(StandardScaler(), Naive().fit(np.eye(3), [0, 0, 1])),
    make_pipeline(mixed(([0], [1])), Naive().fit(np.eye(3), [0, 0, 1])),
]


@pytest.mark.parametrize("model", UNFITTED, ids=range(len(UNFITTED)))
def test_an_unfitted_model_is_refused(tmp_path, model):
    with pytest.raises(ModelFileError, match=r"is not fitted.*\. Fit the model first"):
        save(model, tmp_path / "m.propense")


def test_only_models_of_propense_are_models(problem, tmp_path):
    X, s = problem
    grid = GridSearchCV(Naive(), {"ridge": [1.0]}, cv=2).fit(X, s)
    for model, words in (
        (grid, "GridSearchCV is not an estimator of propense, .*Save its best_estimator_"),
        (StandardScaler().fit(X), "StandardScaler is not an estimator of propense"),
        (make_pipeline(Naive(), "passthrough"), "a str is not an estimator"),
        (None, "a NoneType is not an estimator"),
        (Naive, "a ABCMeta is not an estimator"),
    ):
        with pytest.raises(ModelFileError, match=words):
            save(model, tmp_path / "m.propense")


def test_an_attribute_that_would_be_lost_is_named(problem, tmp_path):
    X, s = problem
    model = Naive().fit(X, s)
    model.note_ = "checked by hand"
    with pytest.raises(ModelFileError, match=r"has an attribute 'note_' .*about="):
        save(model, tmp_path / "m.propense")
