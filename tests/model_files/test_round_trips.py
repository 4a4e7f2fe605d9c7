"""Every model that a file takes comes back with the same scores, bit for bit, and gives the same file again."""

import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from inspect import signature
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import scipy.special
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.feature_selection import mutual_info_classif
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import scale
from sklearn.utils import all_estimators

import propense
from audited import FACTS
from conftest import TABLE_METHODS, fit
from propense import JERM, SAREM, TM, Naive, PGLin, PUClassifier, SeveralSources, load, save
from propense._steps.corrected import correct_pair
from propense._steps.predictors import LogisticPredictor
from propense.estimators import BasePUClassifier, Description, Model
from propense.model_files import inspect
from propense.tables import correct_model, draw_audit, fit_table, read_audit, write_audit
from propense.tables.spelling import Spelling
from trees import Trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SK = SimpleNamespace(**dict(all_estimators()))
N = 200
SCORES = ("decision_function", "predict_proba", "predict", "predict_propensity", "predict_hidden")
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 4))
S = ((X[:, 0] > 0.2) & (RNG.random(N) < 0.6)).astype(int)
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, X[:, 0]),
        "ward": pd.Series(RNG.choice(["north", "south", "ä\udc80", None], N), dtype=object),
        "grade": pd.Categorical(RNG.choice(["a", "b"], N)),
        "smoker": RNG.choice([True, False, None], N),
        "admitted": [f"{1 + k % 12}/{13 + k % 9}/2020" for k in range(N)],
        "stay": pd.to_timedelta(RNG.integers(1, 90, N), unit="h"),
        "dose": X[:, 1],
        "nothing": [None] * N,
    }
)


@pytest.fixture
def through(tmp_path):
    """A model after a file, which another save, of the same or of the loaded model, writes again byte for byte."""

    def through_a_file(model):
        files = [tmp_path / name for name in ("one", "other", "again")]
        for path in files[:2]:
            save(model, path)
        again = load(files[0])
        save(again, files[2])
        first, other, third = (path.read_bytes() for path in files)
        # Without a list of the bytes.
        assert (first == other, first == third) == (True, True)
        return again

    return through_a_file


def scores_of(model, rows):
    """Everything a model says of rows; a pipeline's through its last step where the pipeline has no such method."""
    if isinstance(model, Pipeline):
        prepared = model[:-1].transform(rows)
        return [*(getattr(model, name)(rows) for name in SCORES[:3]), *scores_of(model[-1], prepared)]
    known = getattr(model, "diagnosis_", None)
    ranged = hasattr(model, "audit_") or (known is not None and known.labelling != "complete")
    return [getattr(model, name)(rows) for name in (*SCORES, *["predict_hidden_range"] * ranged)]


def facts_of(model):
    facts = {name: value for name, value in vars(model).items() if not name.startswith(("oof_", "_"))}
    return {name: repr(value) for name, value in {**facts, "_columns": model._columns}.items()}


def assert_same(model, again, rows):
    for one, other in zip(scores_of(model, rows), scores_of(again, rows), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    if not isinstance(model, Pipeline):
        assert facts_of(model) == facts_of(again)


@pytest.mark.slow
def test_every_method_comes_back_bit_for_bit(method, through):
    model = fit(method, X, S)
    again = through(model)
    assert_same(model, again, X)
    assert not hasattr(clone(again), "classes_")
    assert_same(pickle.loads(pickle.dumps(again)), model, X)
    if "random_state" not in again.get_params() or again.random_state is not None:
        np.testing.assert_array_equal(fit(clone(again), X, S).predict_proba(X), model.predict_proba(X))


FEW = [SK.ExtraTreesClassifier(3, max_depth=3, random_state=0)]
QUICK = {"cv": 2, "random_state": 0}
BOOSTING = SK.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)
BY_LEVEL = SK.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, categorical_features=[1, 2])
POLARS = pl.DataFrame({"age": X[:, 0], "dose": X[:, 1]})
VARIANTS = {
    "the default": (PUClassifier(**QUICK), FRAME),
    "columns for y": (PUClassifier(class_features=["dose", "ward"], **QUICK), FRAME),
    "columns for e": (PUClassifier(propensity_features=["age", "grade"], **QUICK), FRAME),
    "columns for both": (PUClassifier(class_features=["dose"], propensity_features=["ward"], **QUICK), FRAME),
    "a constant e": (PUClassifier(propensity_features=[], **QUICK), FRAME),
    "a known prior": (PUClassifier(prior=0.6, **QUICK), FRAME),
    "a range of priors": (PUClassifier(prior=(0.5, 0.6), propensity_features=["age"], **QUICK), FRAME),
    "priors of groups": (PUClassifier(prior={"b": 0.7, "a": (0.4, 0.6)}, prior_groups="grade", **QUICK), FRAME),
    "folds": (PUClassifier(cv=list(KFold(2).split(X)), random_state=0), X),
    "linear": (PUClassifier(learners="linear", random_state=0), FRAME),
    "learners": (PUClassifier(learners=(SK.LogisticRegression(), BOOSTING, *FEW), **QUICK), X),
    "learners by level": (PUClassifier(learners=[BY_LEVEL], **QUICK), FRAME),
    "sparse rows": (PUClassifier(random_state=0), sp.csr_array(np.where(X > 0, X, 0))),
    "float32": (PUClassifier(**QUICK), X.astype(np.float32)),
    "polars": (JERM(class_features=["dose"], propensity_features=["age"]), POLARS),
    "a prior": (JERM(prior=0.5), FRAME[["age", "dose"]].fillna(0)),
    "columns in a tuple": (SAREM(propensity_features=(1, 2), ridge=np.float32(0.5), tol=1), X),
    "columns in an array": (SAREM(propensity_features=np.array([1, 2])), X),
    "a balanced decision": (TM(decision="balanced"), X),
    "a method of one's own": (Trees(propensity_features=["age", "dose"]), FRAME.drop(columns="nothing")),
    "a forest": (SAREM(estimator=SK.RandomForestClassifier(3, max_depth=3, random_state=0), max_iter=2), X),
    "trees": (SAREM(estimator=BOOSTING, propensity_estimator=SK.DecisionTreeClassifier(max_depth=2), max_iter=2), X),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_every_kind_of_option_comes_back(through, name):
    model, rows = VARIANTS[name]
    model = clone(model).fit(rows, S)
    again = through(model)
    assert_same(model, again, rows)
    if "ward" in getattr(model, "feature_names_in_", ()):
        assert_same(model, again, rows.assign(ward="new", age=None))
    np.testing.assert_array_equal(clone(again).fit(rows, S).predict_proba(rows), model.predict_proba(rows))


COLUMNS = {"a range": range(1, 3), "a set": {2, 1}, "an index": pd.Index([1, 2])}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_in_other_containers_come_back_in_a_list(through, name):
    model = SAREM(propensity_features=COLUMNS[name]).fit(X, S)
    again = through(model)
    assert again.propensity_features == [1, 2]
    np.testing.assert_array_equal(again.predict_hidden(X), model.predict_hidden(X))


CLASSES = {
    "words": np.array(["no", "yes", "perhaps"])[:2],
    "objects": np.array(["no", "yes"], dtype=object),
    "object numbers": np.array([0, 1], dtype=object),
    "truths": np.array([False, True]),
    "signs": np.array([-1, 1], dtype=np.int8),
    "unsigned": np.array([0, 2**63], dtype=np.uint64),
    "halves": np.array([0.25, 0.5], dtype=np.float16),
    "other letters": np.array(["ä", "–\U0001f40d\n"]),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_any_kind_come_back(through, name):
    classes = CLASSES[name]
    for label in (classes.tolist()[1], classes[1]):
        model = Naive(positive_label=label).fit(X, classes[S])
        again = through(model)
        assert_same(model, again, X)
        assert type(again.positive_label) is type(label)


def test_known_negatives_several_sources_and_requests_come_back(through):
    model = PUClassifier(learners=FEW, **QUICK).fit(X, S, known_negative=S == 0)
    assert_same(model, through(model), X)
    sources = np.column_stack([S, S * (X[:, 1] > 0)]).astype(float)
    model = SeveralSources().fit(FRAME[["age", "ward"]], pd.DataFrame(sources, columns=["a", "b"]))
    assert_same(model, through(model), FRAME[["age", "ward"]])
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            Naive()
            .set_fit_request(sample_weight=True, known_negative="negative")
            .set_score_request(sample_weight=False)
        )
        model.fit(X, S)
        again = through(model)
        assert_same(model, again, X)
        assert repr(again.get_metadata_routing()) == repr(model.get_metadata_routing())


@pytest.mark.parametrize("method", [JERM(), PUClassifier(learners="linear", random_state=0)], ids=str)
def test_a_model_that_an_audit_has_corrected_comes_back(through, method):
    model = clone(method).fit(X, S)
    model.audit_ = FACTS
    model._posterior, model._propensity = correct_pair(model._posterior, model._propensity, FACTS)
    again = through(model)
    assert_same(model, again, X)
    assert again.audit_ == FACTS


@dataclass(frozen=True)
class Found:
    """What `Own` keeps."""

    share: float
    words: tuple[str, ...]

    @staticmethod
    def is_valid(facts):
        return isinstance(facts, dict) and isinstance(facts.get("share"), float)


class Own(BasePUClassifier):
    """A method of one's own."""

    description: ClassVar = Description(keeps={"found_": Found, "count_": int})

    def __init__(self, *, n_jobs=None):
        self.n_jobs = n_jobs

    def _fit(self, sample):
        coef = np.linspace(-1, 1, sample.design.shape[1])
        kept = {"found_": Found(0.5, ("a", "b")), "count_": 3}
        return Model(LogisticPredictor(coef), LogisticPredictor(-coef), 1, True, [], kept=kept)


def test_what_a_method_of_ones_own_keeps_comes_back(through):
    again = through(Own().fit(X, S))
    assert (again.found_, again.count_) == (Found(0.5, ("a", "b")), 3)


def test_how_many_processes_to_start_is_not_taken_from_a_file(tmp_path):
    union = SK.FeatureUnion([("scaled", SK.StandardScaler())], n_jobs=1)
    forest = SK.RandomForestClassifier(3, random_state=0, n_jobs=2, verbose=1)
    save(make_pipeline(union, TM(estimator=forest)).fit(X, S), tmp_path / "m")
    save(Own(n_jobs=2).fit(X, S), tmp_path / "own")
    again = load(tmp_path / "m")
    assert (again[0].n_jobs, again[-1].estimator.n_jobs, again[-1].estimator_.n_jobs) == (None, None, None)
    assert (again[-1].estimator_.verbose, load(tmp_path / "own").n_jobs) == (0, None)


# Made where they are used.
STEPS = """StandardScaler() MinMaxScaler(clip=True) RobustScaler(unit_variance=True) MissingIndicator(features="all")
    FunctionTransformer(np.abs) FunctionTransformer(np.clip,kw_args={"a_min":-1.0,"a_max":1.0})
    FunctionTransformer(special.expit,inverse_func=special.logit) FunctionTransformer(scale) PowerTransformer()
    PolynomialFeatures((2,3)) PolynomialFeatures(2,interaction_only=True) PolynomialFeatures(0) TruncatedSVD(2)
    QuantileTransformer(n_quantiles=20) KBinsDiscretizer(3,strategy="uniform") Normalizer() Binarizer() PCA(2)
    TargetEncoder() FastICA(2,random_state=0) SelectKBest(k=2) SelectPercentile(mutual_info_classif,percentile=50)
    VarianceThreshold() RFE(LogisticRegression()) SelectFromModel(LogisticRegression()) RBFSampler(random_state=0)
    Nystroem(n_components=5,random_state=0) GaussianRandomProjection(2,random_state=0)
    FeatureUnion([("components",PCA(2)),("scaled",MaxAbsScaler())])
    SimpleImputer(strategy="constant",fill_value=0.1,add_indicator=True)"""


def made(text):
    given = {"np": np, "special": scipy.special, "scale": scale, "mutual_info_classif": mutual_info_classif}
    return eval(text, {**vars(SK), **given})


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS.split())
def test_a_step_of_scikit_learn_comes_back(through, step):
    model = make_pipeline(made(step), Naive()).fit(X, S)
    again = through(model)
    assert_same(model, again, X)
    clone(again).fit(X, S)


NUMBERS = make_pipeline(SK.SimpleImputer(add_indicator=True), SK.StandardScaler())
WORDS = [SK.OneHotEncoder(min_frequency=5), SK.OneHotEncoder(drop="first", sparse_output=False), SK.OrdinalEncoder()]
TEXTS = pd.Series([f"{'good' if s else 'bad'} {word}" for s, word in zip(S, FRAME["grade"], strict=True)])
MIXED = FRAME[["age", "ward", "dose"]]
PIPELINES = {
    **{
        str(step): (
            SK.ColumnTransformer([("n", NUMBERS, ["age"]), ("w", step, ["ward"])], remainder="passthrough"),
            MIXED,
        )
        for step in WORDS
    },
    "selectors": (SK.ColumnTransformer([("n", NUMBERS, make_column_selector(dtype_include=float))]), FRAME),
    "words": (SK.CountVectorizer(), TEXTS),
    "weighted words": (SK.TfidfVectorizer(ngram_range=(1, 2)), TEXTS),
    "a pipeline": (NUMBERS, X),
    "nothing": ("passthrough", X),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_come_back(through, name):
    step, rows = PIPELINES[name]
    model = make_pipeline(step, JERM(ridge=0.1)).fit(rows, S)
    assert_same(model, through(model), rows)
    nested = Pipeline([("before", "passthrough"), ("inner", model)])
    assert_same(model, through(nested)[-1], rows)


CLASSIFIERS = """LogisticRegression(C=2) SGDClassifier(loss="modified_huber",random_state=0) DummyClassifier()
    SGDClassifier(loss="log_loss",random_state=0) GaussianNB() BernoulliNB() AdaBoostClassifier(n_estimators=3)
    BaggingClassifier(n_estimators=3,random_state=0) ExtraTreesClassifier(3,max_depth=3,random_state=0)
    CalibratedClassifierCV(GaussianNB(),cv=2) CalibratedClassifierCV(GaussianNB(),method="isotonic",cv=2)
    MLPClassifier((3,),max_iter=5,random_state=0) Pipeline([("a",StandardScaler()),("b",GaussianNB())])"""


@pytest.mark.slow
@pytest.mark.parametrize("classifier", CLASSIFIERS.split())
def test_a_classifier_of_the_users_own_comes_back(through, classifier):
    if classifier.startswith("MLP") and "sample_weight" not in signature(SK.MLPClassifier.fit).parameters:
        pytest.skip("needs scikit-learn 1.7")
    model = PUClassifier(learners=[made(classifier)], **QUICK).fit(X, S)
    assert_same(model, through(model), X)


TABLE_OPTIONS = {"lbe": {"max_iter": 5}, "pu": QUICK, "joint-mle": {"n_starts": 2}}


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulations")
@pytest.mark.parametrize("method", TABLE_METHODS)
@pytest.mark.parametrize("id", ["patient", None])
def test_a_model_of_a_table_comes_back(through, clinic, method, id):
    table = clinic.slice(0, 300) if id else clinic.slice(0, 300).drop_columns(["patient"])
    options = TABLE_OPTIONS.get(method, {})
    model = fit_table(table, "reported", id=id, method=method, scar_test=False, parameters=options).model
    model = replace(model, spelling=Spelling(",", "cp1252", "Patients"))
    assert_same_table(model, through(model), table)


def assert_same_table(model, again, table):
    for name in ("label", "id", "schema", "spelling", "feature_names"):
        assert getattr(again, name) == getattr(model, name)
    scores, expected = again.score(table), model.score(table)
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(scores, name), value)
    assert repr(again.seen) == repr(model.seen)


@pytest.mark.usefixtures("few_simulations")
def test_audits_and_several_label_columns_come_back(through, clinic, tmp_path):
    table = clinic.append_column("seen", clinic["smoker"].cast("int64"))
    table = table.append_column(
        "asked", [["yes" if each == "yes" else "no" for each in clinic["reported"].to_pylist()]]
    )
    model = fit_table(table.drop_columns(["reported"]), ["asked", "seen"], id="patient", scar_test=False).model
    assert_same_table(model, through(model), table)
    model = fit_table(clinic, "reported", id="patient", method="pglin", scar_test=False).model
    drawn = draw_audit(model, clinic, 20).set_column(1, "verdict", [["yes", "no"] * 10])
    write_audit(drawn, clinic, tmp_path / "check.csv")
    corrected = correct_model(model, read_audit(model, clinic, [tmp_path / "check.csv"]))
    again = through(corrected)
    assert_same_table(corrected, again, clinic)
    assert repr(again.audits) == repr(corrected.audits)
    assert again.estimator.audit_ == corrected.estimator.audit_


# In a process of its own: the default, saved and loaded where nothing can import skops.
ALONE = """
import sys, time
sys.modules["skops"] = None
import numpy as np, propense
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
model = propense.PUClassifier(random_state=0).fit(X, (X[:, 0] > 0) & (rng.random(600) < 0.5))
propense.save(model, sys.argv[1])
np.testing.assert_array_equal(propense.load(sys.argv[1]).predict_hidden(X), model.predict_hidden(X))
print(any(name.startswith("skops.") for name in sys.modules))
"""


def test_the_default_needs_no_skops_and_is_small(tmp_path):
    ended = subprocess.run([sys.executable, "-c", ALONE, tmp_path / "m"], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
    assert (tmp_path / "m").stat().st_size < 40_000


def test_many_columns_are_written_and_read_in_little_time_and_space(tmp_path):
    model = Naive().fit(sp.csr_array(np.eye(20, 60_000)), [0, 1] * 10)
    save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 4_000_000
    np.testing.assert_array_equal(load(tmp_path / "m").coef_, model.coef_)


def test_a_loaded_model_shares_no_memory_with_another(tmp_path):
    save(PGLin().fit(X, S), tmp_path / "m")
    one, other = load(tmp_path / "m"), load(tmp_path / "m")
    one._posterior.coef[:] = 0
    assert (other._posterior.coef != 0).any()


def test_scikit_learn_of_another_version_warns_only_where_its_parts_are_in_the_file(tmp_path, archive, recwarn):
    for name, model in {"own": Naive(), "learned": SAREM(estimator=SK.GaussianNB(), max_iter=2)}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save(model.fit(X, S), tmp_path / name)
        changed = archive.of((tmp_path / name).read_bytes())
        changed.header["versions"]["scikit-learn"] = "9.0"
        (tmp_path / name).write_bytes(changed.packed())
    recwarn.clear()
    load(tmp_path / "own")
    assert not recwarn
    with pytest.warns(UserWarning, match=r"learned was written with scikit-learn 9\.0, and this is .*may differ"):
        load(tmp_path / "learned")


def test_inspect_shows_what_is_in_a_file(tmp_path, clinic):
    numbers = make_pipeline(SK.SimpleImputer(), SK.StandardScaler())
    rows = FRAME[["age", "dose"]]
    model = make_pipeline(numbers, SAREM(estimator=SK.LogisticRegression(), max_iter=2)).fit(rows, S)
    save(model, tmp_path / "m", about={"ward": "7b", "more": [None, 1.5, {"a": True}]})
    facts = inspect(tmp_path / "m")
    assert (facts["method"], facts["n_features"], facts["feature_names"]) == ("SAREM", 2, ["age", "dose"])
    assert facts["steps"][0] == "pipeline: Pipeline"
    assert facts["parameters"]["estimator"] == "LogisticRegression()"
    assert (facts["format"], facts["size"]) == (2, (tmp_path / "m").stat().st_size)
    assert facts["about"] == {"ward": "7b", "more": [None, 1.5, {"a": True}]}
    assert (facts["versions"]["propense"], facts["versions"]["scikit-learn"]) == (
        propense.__version__,
        sklearn.__version__,
    )
    found = fit_table(clinic, "reported", id="patient", method="naive", scar_test=False)
    save(found.model, tmp_path / "t")
    facts = inspect(tmp_path / "t")
    assert (facts["label"], facts["id"], facts["about"]) == ("reported = yes", "patient", None)
    assert facts["kinds"] == {column.name: column.kind for column in found.schema.columns}
