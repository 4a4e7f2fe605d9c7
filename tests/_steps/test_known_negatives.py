"""Known negatives: nobody, some, and all of them."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import CLASSES, coarse, fit, tensor
from propense import JERM, LBE, SAREM, TM, JointMLE, KnownPropensity, Naive, Oracle, PGLin, PUClassifier
from propense._inputs.sample import Sample
from propense._steps.known_negatives import best_log_unknown, initial_log_unknown, observed_loss
from propense.datasets import make_double_logistic
from propense.errors import InvalidLabels, InvalidOption
from propense.metrics import get_scorer

dask_array = pytest.importorskip("dask.array")

TAKING = {
    "PUClassifier": PUClassifier(learners="linear", decision="posterior", random_state=0),
    "Naive": Naive(),
    "SAREM": SAREM(),
    "LBE": LBE(),
    "JointMLE": JointMLE(n_starts=2, random_state=0),
    "JERM": JERM(ridge=1.0),
    "JERM, paper": JERM(variant="paper", ridge=1.0),
    "TM": TM(max_iter=1000, tol=1e-4),
    "KnownPropensity": KnownPropensity(),
}


@pytest.fixture(params=TAKING)
def taking(request):
    return clone(TAKING[request.param])


def a_world(n, seed):
    """e along the log-odds of y: labels alone leave it open how much of their chance is whose. 30 % known negatives."""
    beta = make_double_logistic(1, random_state=0).coef
    data = make_double_logistic(n, propensity_coef=np.append(-2.25, beta[1:]), random_state=seed)
    negative = ~data.positive & (np.random.default_rng(seed).random(n) < 0.3)
    return data, negative


DATA, NEGATIVE = a_world(600, 0)


def said(model):
    return np.concatenate([model.predict_proba(DATA.X)[:, 1], model.predict_propensity(DATA.X), [model.prior_]])


@pytest.mark.slow
def test_nobody_known_changes_no_bit(taking):
    nobody = fit(clone(taking), DATA.X, DATA.labelled, known_negative=np.zeros(600))
    np.testing.assert_array_equal(said(nobody), said(fit(taking, DATA.X, DATA.labelled)))


def test_every_class_known_is_logistic_regression(taking):
    model = fit(taking, DATA.X, DATA.positive, known_negative=~DATA.positive)
    # test_pu.py has it of a label score.
    if not isinstance(taking, PUClassifier):
        theirs = LogisticRegression(tol=1e-10, max_iter=10_000).fit(DATA.X, DATA.positive)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)
    assert model.prior_ == pytest.approx(DATA.positive.mean())
    assert model.label_frequency_ == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "least"),
    [
        (SAREM(), 0.05),
        (LBE(), 0.05),
        (JointMLE(n_starts=2, random_state=0), 0.05),
        (JERM(variant="paper"), 0.05),
        (JERM(), -0.005),
        (TM(max_iter=1000, tol=1e-4), -0.005),
    ],
    ids=str,
)
def test_they_tell_y_from_e_where_labels_cannot(model, least):
    (data, negative), (fresh, _) = a_world(2000, 1), a_world(5000, 2)
    accuracy = {
        known is None: balanced_accuracy_score(
            fresh.positive, model.fit(data.X, data.labelled, known_negative=known).predict(fresh.X)
        )
        for known in (None, negative)
    }
    assert accuracy[False] > accuracy[True] + least
    if least > 0:
        best = balanced_accuracy_score(fresh.positive, Oracle().fit(data.X, data.positive).predict(fresh.X))
        assert accuracy[False] > best - 0.02
        # As many are known as were: 30 % of the negatives.
        assert negative.mean() / (1 - model.prior_) == pytest.approx(0.3, abs=0.04)


@pytest.mark.slow
def test_the_risk_never_rises_and_is_the_same_minimum_for_all():
    models = [SAREM(), LBE(), JointMLE(n_starts=2, random_state=0)]
    for model in models:
        model.fit(DATA.X, DATA.labelled, known_negative=NEGATIVE)
        assert (np.diff(model.risk_path_) <= 1e-12).all()
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-4)
        assert model.risk_path_[-1] == pytest.approx(models[0].risk_path_[-1], rel=1e-9)


def test_the_share_of_the_known_is_the_most_likely(rng):
    from propense._designs import as_design

    sample = Sample(as_design(DATA.X), DATA.labelled, rng.random(600) + 0.5, None, negative=NEGATIVE)
    a, b = rng.normal(size=(2, 600))
    found = best_log_unknown(sample, a, b)
    assert initial_log_unknown(sample) > found
    best = observed_loss(sample, a, b, found)
    assert all(best < observed_loss(sample, a, b, found + move) for move in (-0.01, 0.01))
    y, e, d = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b)), 1 - np.exp(found)
    rest = y * (1 - e) + (1 - y) * (1 - d)
    chance = np.where(DATA.labelled, y * e, np.where(NEGATIVE, (1 - y) * d, rest))
    assert best == pytest.approx(np.average(-np.log(chance), weights=sample.weights))


@pytest.mark.slow
def test_weight_two_is_the_row_twice_and_zero_none(taking):
    if isinstance(taking, PUClassifier):
        pytest.skip("test_pu_scores.py says how far it is from that")
    X, copies = coarse(DATA.X), np.arange(600) % 3
    weighed = fit(clone(taking), X, DATA.labelled, known_negative=NEGATIVE, sample_weight=copies)
    repeated = fit(
        taking,
        *(np.repeat(each, copies, axis=0) for each in (X, DATA.labelled)),
        known_negative=np.repeat(NEGATIVE, copies),
    )
    np.testing.assert_allclose(said(weighed), said(repeated), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "torch", "dask"])
@pytest.mark.parametrize("model", [SAREM(max_iter=2), JERM(max_iter=1), KnownPropensity()], ids=str)
@pytest.mark.filterwarnings("ignore:(SAREM|JERM) stopped")
def test_wherever_the_features_live_the_answer_is_the_same(kind, model):
    X = coarse(DATA.X)
    dense = fit(clone(model), X, DATA.labelled, known_negative=NEGATIVE)
    send = {"sparse": sp.csr_array, "torch": tensor, "dask": lambda X: dask_array.from_array(X, chunks=(250, -1))}
    beside = {"torch": tensor, "dask": lambda rows: dask_array.from_array(rows, chunks=250)}.get(kind, np.asarray)
    there = fit(model, send[kind](X), beside(DATA.labelled), known_negative=beside(NEGATIVE))
    np.testing.assert_allclose(there.coef_, dense.coef_, atol=1e-6)
    assert there.prior_ == pytest.approx(dense.prior_, abs=1e-8)


def test_known_negatives_are_nobodys_spies():
    model = JERM().fit(DATA.X, DATA.labelled, known_negative=NEGATIVE)
    assert not NEGATIVE[model.spies_].any()
    assert (model.positives_path_ <= 1 - NEGATIVE.mean()).all()


@pytest.mark.slow
def test_every_method_takes_known_negatives_or_refuses_as_it_says(method):
    # The published computations of these two had none.
    published = isinstance(method, SAREM | LBE) and method.variant == "published"
    if "known negatives" not in method.description.takes or published:
        with pytest.raises(InvalidOption, match=r"cannot use known negatives\. PUClassifier"):
            fit(method, DATA.X, DATA.labelled, known_negative=NEGATIVE)
    else:
        without = fit(clone(method), DATA.X, DATA.labelled)
        found = fit(method, DATA.X, DATA.labelled, known_negative=NEGATIVE)
        # To the baseline every unlabelled row is negative anyway.
        assert (found.prior_ == without.prior_) == isinstance(method, Naive)


def test_every_method_that_takes_them_is_tested_here():
    takes = {method for method in CLASSES.values() if "known negatives" in method.description.takes} - {Naive}
    assert takes <= {type(model) for model in TAKING.values()}


def test_a_complete_sample_needs_no_classifier_of_the_labels():
    model = SAREM(propensity_estimator=DecisionTreeClassifier(max_depth=2))
    model.fit(DATA.X, DATA.labelled, known_negative=~DATA.labelled)
    assert model.label_frequency_ == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (DATA.labelled, "is both labelled and a known_negative"),
        (np.full(600, 2), "known_negative is 2 at row 0"),
        (NEGATIVE[:10], "inconsistent numbers of samples"),
        (np.where(NEGATIVE, 1.0, np.nan), "NaN"),
    ],
)
def test_what_is_wrong_is_named(known, words):
    with pytest.raises(InvalidLabels, match=words):
        SAREM().fit(DATA.X, DATA.labelled, known_negative=known)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("positive", "negative", "nothing"),
    [(1.0, 0.0, np.nan), ("yes", "no", ""), ("ill", "healthy", None), (True, False, None)],
)
def test_a_third_value_says_who_is_negative(positive, negative, nothing):
    kind = float if isinstance(positive, float) else object
    y = np.full(600, nothing, dtype=kind)
    y[NEGATIVE], y[DATA.labelled] = negative, positive
    model = SAREM().fit(DATA.X, y)
    assert model.classes_.tolist() == [negative, positive]
    same = SAREM().fit(DATA.X, DATA.labelled, known_negative=NEGATIVE)
    np.testing.assert_array_equal(said(model), said(same))
    with pytest.raises(InvalidOption, match="cannot use known negatives"):
        PGLin().fit(DATA.X, y)


def test_gaps_among_unlabelled_rows_are_not_taken_for_those():
    y = DATA.labelled.astype(float)
    y[:5] = np.nan
    with pytest.raises(InvalidLabels, match=r"y is 0\.0 in \d+ rows and missing in 5\..*known_negative="):
        SAREM().fit(DATA.X, y)


def test_three_numbers_are_refused_and_told_where_they_belong():
    with pytest.raises(InvalidLabels, match="known_negative="):
        SAREM().fit(DATA.X, np.where(NEGATIVE, -1, DATA.labelled))


@pytest.mark.slow
def test_searches_and_pipelines_hand_them_on():
    with sklearn.config_context(enable_metadata_routing=True):
        asking = SAREM().set_fit_request(known_negative=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), asking),
            {"sarem__ridge": [1.0]},
            scoring=get_scorer("neg_joint_risk"),
            cv=2,
        ).fit(DATA.X, DATA.labelled, known_negative=NEGATIVE)
    scaled = StandardScaler().fit_transform(DATA.X)
    model = SAREM().fit(scaled, DATA.labelled, known_negative=NEGATIVE)
    np.testing.assert_allclose(search.best_estimator_[-1].coef_, model.coef_)


@pytest.mark.filterwarnings("ignore:SAREM stopped")
def test_any_classifier_learns_from_them():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    model = SAREM(estimator=tree, propensity_estimator=LogisticRegression(), max_iter=10)
    model.fit(DATA.X, DATA.labelled, known_negative=NEGATIVE)
    unlabelled = ~DATA.labelled & ~NEGATIVE
    assert model.predict_proba(DATA.X[NEGATIVE])[:, 1].mean() < model.predict_proba(DATA.X[unlabelled])[:, 1].mean()
