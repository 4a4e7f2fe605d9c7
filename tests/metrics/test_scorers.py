"""Scorers: in searches and pipelines, with and without metadata routing."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JERM, SAREM, KnownPropensity, Naive
from propense import metrics as ours
from propense.datasets import make_double_logistic
from propense.errors import InvalidLabels, InvalidOption, InvalidPropensity
from propense.metrics import get_scorer, get_scorer_names

DATA = make_double_logistic(400, random_state=0)
NEW = make_double_logistic(300, random_state=1)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def model():
    return SAREM().fit(DATA.X, DATA.labelled)


@pytest.mark.parametrize("name", get_scorer_names())
def test_a_scorer_is_its_metric_of_what_the_estimator_says(name, model):
    metric = getattr(ours, name.removeprefix("neg_") if name != "lee_liu" else "lee_liu_score")
    said = model.predict_proba(NEW.X) if "joint" in name else model.predict(NEW.X)
    weights = np.arange(300) % 3
    expected = metric(NEW.labelled, said, propensity=model.predict_propensity(NEW.X), sample_weight=weights)
    scorer = get_scorer(name)
    assert scorer(model, NEW.X, NEW.labelled, sample_weight=weights) == expected * (-1 if "neg" in name else 1)
    assert pickle.loads(pickle.dumps(scorer))(model, NEW.X, NEW.labelled) == scorer(model, NEW.X, NEW.labelled)
    known = metric(NEW.labelled, said, propensity=NEW.propensity)
    assert abs(scorer(model, NEW.X, NEW.labelled, propensity=NEW.propensity)) == known


@pytest.mark.slow
def test_a_scorer_sees_through_pipelines_and_searches(model):
    scaled = StandardScaler().fit(DATA.X)
    inner = SAREM().fit(scaled.transform(DATA.X), DATA.labelled)
    expected = get_scorer("neg_joint_risk")(inner, scaled.transform(NEW.X), NEW.labelled)
    pipeline = make_pipeline(StandardScaler(), SAREM()).fit(DATA.X, DATA.labelled)
    search = GridSearchCV(pipeline, {"sarem__ridge": [1.0]}, scoring=get_scorer("neg_joint_risk"), cv=2)
    for outer in (pipeline, search.fit(DATA.X, DATA.labelled)):
        assert get_scorer("neg_joint_risk")(outer, NEW.X, NEW.labelled) == pytest.approx(expected, rel=1e-12)
    lone = make_pipeline(SAREM()).fit(DATA.X, DATA.labelled)
    score = get_scorer("sar_recall")
    assert score(lone, NEW.X, NEW.labelled) == score(model, NEW.X, NEW.labelled)


def test_a_classifier_without_propensity_needs_one_passed():
    plain = LogisticRegression().fit(DATA.X, DATA.labelled)
    with pytest.raises(InvalidPropensity, match="LogisticRegression has no predict_propensity"):
        get_scorer("sar_recall")(plain, NEW.X, NEW.labelled)
    recall = ours.sar_recall(NEW.labelled, plain.predict(NEW.X), propensity=NEW.propensity)
    assert get_scorer("sar_recall")(plain, NEW.X, NEW.labelled, propensity=NEW.propensity) == recall


def test_labels_are_those_of_the_fit():
    words = np.where(DATA.labelled, "yes", None)
    scores = cross_val_score(Naive(), DATA.X, words, scoring=get_scorer("neg_joint_risk"), cv=3)
    numbers = cross_val_score(Naive(), DATA.X, DATA.labelled, scoring=get_scorer("neg_joint_risk"), cv=3)
    assert scores.mean() == pytest.approx(numbers.mean(), abs=0.05)
    with pytest.raises(InvalidLabels, match="y contains 7, but the classes are False and True"):
        get_scorer("sar_recall")(Naive().fit(DATA.X, DATA.labelled), DATA.X, 7 * DATA.labelled)


def test_several_scorers_at_once_with_weights():
    """Older versions of scikit-learn pass no weights to scorers unless they are routed."""
    weights, train, test = np.where(np.arange(400) % 4 == 0, 2.0, 1.0), np.arange(200), np.arange(200, 400)
    several = {name: get_scorer(name) for name in ("neg_joint_risk", "sar_recall")}
    search = GridSearchCV(Naive(), {"ridge": [1.0]}, scoring=several, refit="sar_recall", cv=[(train, test)])
    search.fit(DATA.X, DATA.labelled, sample_weight=weights)
    model = Naive().fit(DATA.X[train], DATA.labelled[train], sample_weight=weights[train])
    for name, scorer in several.items():
        (score,) = search.cv_results_[f"mean_test_{name}"]
        told = [{"sample_weight": weights[test]}, {}]
        assert score in [scorer(model, DATA.X[test], DATA.labelled[test], **each) for each in told]


@pytest.mark.usefixtures("routing")
def test_propensities_and_weights_are_routed_through_a_search_of_a_pipeline():
    """The scores are those of fits and scores done by hand on the same folds."""
    weights = np.where(np.arange(400) % 4 == 0, 2.0, 1.0)
    asking = KnownPropensity().set_fit_request(propensity=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    scorer = get_scorer("neg_joint_risk").set_score_request(propensity=True, sample_weight=True)
    fold = np.arange(400) % 2
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (0, 1)]
    search = GridSearchCV(
        make_pipeline(scaler, asking), {"knownpropensity__ridge": [1.0, 1e4]}, scoring=scorer, cv=folds
    )
    search.fit(DATA.X, DATA.labelled, propensity=DATA.propensity, sample_weight=weights)
    assert search.best_params_ == {"knownpropensity__ridge": 1.0}
    by_hand = []
    for train, test in folds:
        scaled = StandardScaler().fit(DATA.X[train])
        each = KnownPropensity().fit(
            scaled.transform(DATA.X[train]),
            DATA.labelled[train],
            propensity=DATA.propensity[train],
            sample_weight=weights[train],
        )
        chances = each.predict_proba(scaled.transform(DATA.X[test]))
        told = {"propensity": DATA.propensity[test], "sample_weight": weights[test]}
        by_hand.append(-ours.joint_risk(DATA.labelled[test], chances, **told))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand), rel=1e-9)
    assert search.score(NEW.X, NEW.labelled, propensity=NEW.propensity) < 0


@pytest.mark.usefixtures("routing")
def test_what_is_passed_must_be_asked_for():
    asking = KnownPropensity().set_fit_request(propensity=True)
    search = GridSearchCV(asking, {"ridge": [1.0]}, scoring=get_scorer("sar_recall"), cv=2)
    with pytest.raises(UnsetMetadataPassedError, match="propensity"):
        search.fit(DATA.X, DATA.labelled, propensity=DATA.propensity)
    renamed = get_scorer("sar_recall").set_score_request(propensity="rates")
    scores = cross_val_score(JERM(), DATA.X, DATA.labelled, scoring=renamed, cv=2, params={"rates": DATA.propensity})
    own = cross_val_score(JERM(), DATA.X, DATA.labelled, scoring=get_scorer("sar_recall"), cv=2)
    assert (scores != own).all()
    several = {"risk": get_scorer("neg_joint_risk"), "recall": clone(renamed, safe=False)}
    both = cross_validate(JERM(), DATA.X, DATA.labelled, scoring=several, cv=2, params={"rates": DATA.propensity})
    np.testing.assert_array_equal(both["test_recall"], scores)


def test_requests_need_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        get_scorer("sar_recall").set_score_request(propensity=True)


def test_a_known_prior_enters_where_it_can(model):
    scorer = get_scorer("sar_balanced_accuracy", prior=0.5)
    assert repr(scorer) == "get_scorer('sar_balanced_accuracy', prior=0.5)"
    assert scorer(model, NEW.X, NEW.labelled) == ours.sar_balanced_accuracy(
        NEW.labelled, model.predict(NEW.X), propensity=model.predict_propensity(NEW.X), prior=0.5
    )
    with pytest.raises(InvalidOption, match="takes no prior"):
        get_scorer("sar_recall", prior=0.5)
    with pytest.raises(InvalidOption, match=r"no scorer 'accuracy'\. The scorers are lee_liu, "):
        get_scorer("accuracy")


CLASSES = [name for name in get_scorer_names() if "joint" not in name]


def best_threshold(model, score, folds, thresholds):
    """The threshold with the best mean score over folds, by hand."""
    means = np.zeros(len(thresholds))
    for train, test in folds:
        chances = clone(model).fit(DATA.X[train], DATA.labelled[train]).predict_proba(DATA.X[test])[:, 1]
        means += [score(test, chances >= each) for each in thresholds]
    return thresholds[int(np.argmax(means))]


THRESHOLDS = np.linspace(0.02, 0.98, 25)
HALVES = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", CLASSES)
def test_a_threshold_is_tuned_by_labels_and_propensities(name):
    metric = getattr(ours, name if name != "lee_liu" else "lee_liu_score")
    scorer = get_scorer(name).set_score_request(propensity=True)
    tuned = TunedThresholdClassifierCV(SAREM(), scoring=scorer, cv=HALVES, thresholds=THRESHOLDS)
    tuned.fit(DATA.X, DATA.labelled, propensity=DATA.propensity)

    def score(rows, predicted):
        return metric(DATA.labelled[rows], predicted, propensity=DATA.propensity[rows])

    assert tuned.best_threshold_ == best_threshold(SAREM(), score, HALVES, THRESHOLDS)


@pytest.mark.slow
def test_a_threshold_is_tuned_without_routing_by_lee_and_liu():
    for labels in (DATA.labelled, np.where(DATA.labelled, "positive", "unlabelled")):
        tuned = TunedThresholdClassifierCV(
            SAREM(), scoring=get_scorer("lee_liu"), cv=HALVES, thresholds=THRESHOLDS
        ).fit(DATA.X, labels)
        expected = best_threshold(
            SAREM(), lambda rows, said: ours.lee_liu_score(DATA.labelled[rows], said), HALVES, THRESHOLDS
        )
        assert tuned.best_threshold_ == expected
        positive = tuned.predict(DATA.X) == tuned.classes_[1]
        np.testing.assert_array_equal(positive, tuned.estimator_.predict_proba(DATA.X)[:, 1] >= expected)
    words = np.where(DATA.labelled, "churn", "stay")
    model = SAREM(positive_label="churn")
    scorer = get_scorer("lee_liu", positive_label="churn")
    tuned = TunedThresholdClassifierCV(model, scoring=scorer, cv=HALVES, thresholds=THRESHOLDS).fit(DATA.X, words)
    assert tuned.best_threshold_ == expected
    assert repr(scorer) == "get_scorer('lee_liu', positive_label='churn')"


def test_a_threshold_that_cannot_be_tuned_says_why():
    with pytest.raises(InvalidPropensity, match=r"'sar_recall'\) needs the propensity.*set_score_request"):
        TunedThresholdClassifierCV(SAREM(), scoring=get_scorer("sar_recall"), cv=2).fit(DATA.X, DATA.labelled)
    with pytest.raises(InvalidOption, match="scores chances, which no threshold changes"):
        TunedThresholdClassifierCV(SAREM(), scoring=get_scorer("neg_joint_risk"), cv=2).fit(DATA.X, DATA.labelled)
    with pytest.raises(InvalidOption, match="the labelled rows of this SAREM are those of"):
        get_scorer("lee_liu", positive_label="a")(SAREM().fit(DATA.X, DATA.labelled), NEW.X, NEW.labelled)


@pytest.mark.usefixtures("routing")
def test_make_scorer_takes_the_metrics_themselves():
    told = {"propensity": DATA.propensity}
    by_name = get_scorer("sar_balanced_accuracy").set_score_request(propensity=True)
    made = make_scorer(ours.sar_balanced_accuracy).set_score_request(propensity=True)
    risk = make_scorer(ours.joint_risk, response_method="predict_proba", greater_is_better=False)
    pairs = [(by_name, made)]
    pairs += [
        (get_scorer("neg_joint_risk").set_score_request(propensity=True), risk.set_score_request(propensity=True))
    ]
    for one, other in pairs:
        scores = [cross_val_score(Naive(), DATA.X, DATA.labelled, scoring=each, params=told) for each in (one, other)]
        np.testing.assert_allclose(*scores, rtol=1e-12)
    words = np.where(DATA.labelled, "churn", "stay")
    scorer = make_scorer(ours.sar_recall, propensity=0.5, positive_label="churn")
    found = cross_val_score(Naive(positive_label="churn"), DATA.X, words, scoring=scorer)
    plain = cross_val_score(Naive(), DATA.X, DATA.labelled, scoring=make_scorer(ours.sar_recall, propensity=0.5))
    np.testing.assert_array_equal(found, plain)


def test_a_calibrated_model_is_not_scored_by_a_propensity_it_does_not_have():
    calibrated = CalibratedClassifierCV(Naive(), cv=2).fit(DATA.X, DATA.labelled)
    with pytest.raises(InvalidPropensity, match="CalibratedClassifierCV learns from the labels"):
        get_scorer("sar_recall")(calibrated, NEW.X, NEW.labelled)
