"""Laws of intervals in a survey: whole clusters vary, within their strata."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm, t
from sklearn.base import clone

from propense import JointMLE, Naive, Oracle, PUClassifier, intervals
from propense.errors import InvalidInput
from propense.inference._survey import mean_variance
from survey_coverage import draw as draw_survey

QUANTITIES = ("prior", "label_frequency", "posterior", "propensity", "hidden")
NAMED = JointMLE(propensity_features=[2, 3], n_starts=1, random_state=0)


@pytest.fixture(scope="module")
def data():
    return draw_survey(np.random.default_rng(5), 5, 20)


@pytest.fixture(scope="module")
def model(data):
    return clone(NAMED).fit(data["X"], data["labelled"], data["weights"])


def errors(found, degrees=None):
    """Half the length of every interval, in log-odds, over the quantile that it was made with."""
    tail = (1 + found.confidence) / 2
    far = norm.ppf(tail) if degrees is None else t.ppf(tail, degrees)
    lengths = [logit(getattr(found, name).high) - logit(getattr(found, name).low) for name in QUANTITIES]
    return np.concatenate([np.atleast_1d(each) for each in lengths]) / (2 * far)


def test_rows_that_are_their_own_clusters_are_a_simple_sample(data):
    X, s, n = data["X"], data["labelled"], len(data["X"])
    model = clone(NAMED).fit(X, s)
    asked = {"how": "sandwich", "at": X[:3]}
    simple = intervals(model, X, s, **asked)
    survey = intervals(model, X, s, clusters=np.arange(n), **asked)
    np.testing.assert_allclose(errors(survey, n - 1), errors(simple) * np.sqrt(n / (n - 1)), rtol=1e-9)
    assert (survey.clusters, survey.strata, simple.clusters, simple.strata) == (n, 0, 0, 0)


@pytest.mark.slow
def test_the_sandwich_is_what_moving_each_cluster_does(data):
    """By brute force: a refit for every cluster, a little heavier and a little lighter."""
    X, s, w, strata, clusters = (data[name] for name in ("X", "labelled", "weights", "strata", "clusters"))
    model = JointMLE(propensity_features=[2, 3], ridge=0.0, n_starts=1, tol=1e-12).fit(X, s, w)
    at, step = X[:2], 1e-3
    moves = np.zeros((20, 8))
    for cluster in range(20):
        for sign in (-1, 1):
            other = clone(model)
            other._begin = model._posterior, model._propensity
            other.fit(X, s, w * (1.0 + sign * step * (clusters == cluster)))
            rows = other.predict_proba(at)[:, 1], other.predict_propensity(at), other.predict_hidden(at)
            moves[cluster] += sign * logit(np.concatenate([[other.prior_, other.label_frequency_], *rows])) / (2 * step)
    expected = np.zeros(8)
    for stratum in range(4):
        own = moves[np.unique(clusters[strata == stratum])]
        expected += 5 / 4 * ((own - own.mean(axis=0)) ** 2).sum(axis=0)
    found = intervals(model, X, s, sample_weight=w, strata=strata, clusters=clusters, how="sandwich", at=at)
    np.testing.assert_allclose(errors(found, 16), np.sqrt(expected), rtol=1e-4)
    assert (found.clusters, found.strata) == (20, 4)


@pytest.mark.slow
def test_the_bootstrap_of_a_share_is_that_of_the_linear_formula(data):
    """The oracle's prior is a weighted mean."""
    rng = np.random.default_rng(0)
    X, w, design = data["X"], data["weights"], {"strata": data["strata"], "clusters": data["clusters"]}
    positive = rng.random(len(X)) < data["posterior"]
    model = Oracle().fit(X, positive, w)
    found = intervals(model, X, positive, sample_weight=w, n_resamples=300, random_state=0, **design)
    mean, variance, degrees = mean_variance(positive, w, **design)
    # On the scale of log-odds, on which the mean is not linear; quantiles of 300 draws add some 6 %.
    assert found.prior.estimate == pytest.approx(mean)
    expected = np.sqrt(variance) / (mean * (1 - mean))
    length = logit(found.prior.high) - logit(found.prior.low)
    assert length / (2 * t.ppf(0.975, degrees)) == pytest.approx(expected, rel=0.2)
    alone = intervals(model, X, positive, sample_weight=w, n_resamples=60, random_state=0).prior
    assert logit(alone.high) - logit(alone.low) < 0.7 * length


@pytest.mark.slow
def test_the_bootstrap_of_a_regression_is_that_of_the_linear_formula():
    """Naive is logistic regression: the covariance of its coefficients by cluster is known, for many clusters."""
    data = draw_survey(np.random.default_rng(5), 40, 10)
    X, s, w, strata, clusters = (data[name] for name in ("X", "labelled", "weights", "strata", "clusters"))
    model = Naive(ridge=0.0).fit(X, s, w)
    design = np.column_stack([np.ones(len(X)), X])
    chance = expit(design @ np.append(model.intercept_, model.coef_))
    bread = np.linalg.inv(design.T @ (design * (w * chance * (1 - chance))[:, np.newaxis]))
    scores = design * (w * (s - chance))[:, np.newaxis]
    middle = np.zeros((5, 5))
    for stratum in range(4):
        sums = [scores[clusters == cluster].sum(axis=0) for cluster in np.unique(clusters[strata == stratum])]
        middle += 40 * np.cov(np.array(sums).T)
    expected = np.sqrt(np.einsum("ij,jk,ik->i", design[:6], bread @ middle @ bread, design[:6]))
    asked = {"sample_weight": w, "strata": strata, "clusters": clusters, "at": X[:6]}
    found = intervals(model, X, s, n_resamples=300, random_state=0, **asked).posterior
    lengths = logit(found.high) - logit(found.low)
    np.testing.assert_allclose(lengths / (2 * t.ppf(0.975, 156)), expected, rtol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sandwich", "bootstrap"])
def test_the_two_ways_agree_and_names_do_not_matter(how, data, model):
    X, s, w, strata, clusters = (data[name] for name in ("X", "labelled", "weights", "strata", "clusters"))
    asked = {"sample_weight": w, "strata": strata, "clusters": clusters, "how": how, "n_resamples": 80}
    found = intervals(model, X, s, random_state=0, **asked)
    # Names of clusters count within a stratum only.
    renamed = {**asked, "clusters": clusters % 5, "strata": [f"region {each}" for each in strata]}
    assert intervals(model, X, s, random_state=0, **renamed).prior == found.prior
    other = intervals(model, X, s, random_state=1, **{**asked, "how": "sandwich"})
    lengths = [logit(each.prior.high) - logit(each.prior.low) for each in (found, other)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.3)


@pytest.mark.slow
def test_rows_of_weight_0_leave_their_clusters_in_the_survey(data):
    """A part of the rows: a cluster that none of them is from was drawn too."""
    X, s, strata, clusters = (data[name] for name in ("X", "labelled", "strata", "clusters"))
    w = np.where((clusters % 5 == 0) & (strata == 1), 0.0, data["weights"])
    positive = np.random.default_rng(0).random(len(X)) < data["posterior"]
    model = clone(NAMED).fit(X, s, w)
    asked = {"how": "sandwich", "at": X[:2]}
    found = intervals(model, X, s, sample_weight=w, strata=strata, clusters=clusters, **asked)
    # As do rows of hardly any weight, which are in the sample.
    light = np.where(w > 0, w, 1e-9)
    model = clone(NAMED).fit(X, s, light)
    other = intervals(model, X, s, sample_weight=light, strata=strata, clusters=clusters, **asked)
    np.testing.assert_allclose(errors(found, 16), errors(other, 16), rtol=1e-5)
    # And in the bootstrap: here the interval of a mean, by the formula.
    model = Oracle().fit(X, positive, w)
    draws = intervals(model, X, positive, sample_weight=w, clusters=clusters, n_resamples=200, random_state=0).prior
    mean, variance, degrees = mean_variance(positive, w, clusters=clusters)
    expected = 2 * t.ppf(0.975, degrees) * np.sqrt(variance) / (mean * (1 - mean))
    assert logit(draws.high) - logit(draws.low) == pytest.approx(expected, rel=0.25)


def test_the_sentence_says_what_was_resampled(data, model):
    X, s, w, strata, clusters = (data[name] for name in ("X", "labelled", "weights", "strata", "clusters"))
    asked = {"sample_weight": w, "n_resamples": 4, "random_state": 0}
    both = intervals(model, X, s, strata=strata, clusters=clusters, **asked)
    assert str(both).endswith("From 4 refits to resampled clusters (20 clusters in 4 strata).")
    assert "resampled clusters (20 clusters)." in str(intervals(model, X, s, clusters=clusters, **asked))
    assert "resampled rows (4 strata)." in str(intervals(model, X, s, strata=strata, **asked))
    errors = intervals(model, X, s, sample_weight=w, strata=strata, clusters=clusters, how="sandwich")
    assert str(errors).endswith("From sandwich standard errors of 20 clusters in 4 strata.")


def test_a_survey_that_cannot_be_used_is_refused(data, model):
    X, s, w = data["X"], data["labelled"], data["weights"]
    with pytest.raises(InvalidInput, match=r"stratum 3 has only one cluster, .* Give it the name of a stratum"):
        intervals(model, X, s, sample_weight=w, strata=data["strata"], clusters=np.minimum(data["clusters"], 15))
    with pytest.raises(InvalidInput, match="clusters has 3 entries for 400 rows"):
        intervals(model, X, s, sample_weight=w, clusters=[1, 2, 3])


def test_the_first_choice_has_intervals_of_a_survey(data):
    X, s, w = (data[name][::4] for name in ("X", "labelled", "weights"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PUClassifier(learners="linear", random_state=0).fit(X, s, w)
    found = intervals(model, X, s, sample_weight=w, clusters=data["clusters"][::4], n_resamples=10, random_state=0)
    assert found.prior.low < found.prior.estimate < found.prior.high
