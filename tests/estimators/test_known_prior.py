"""A share of positives that is known: every method with a y and an e of its own meets it, and leaves y·e alone."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from conftest import METHODS
from propense import JERM, SAREM, JointMLE, intervals, load, save
from propense.errors import InvalidOption
from propense.estimators import BasePUClassifier, Learner, Model, certain

pytestmark = [
    pytest.mark.filterwarnings("ignore::propense.errors.DoubtfulFit"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
TAKING = [name for name, method in METHODS.items() if hasattr(method, "prior_groups")]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 3))
    positive = rng.random(500) < expit(1.5 * X[:, 0] - X[:, 1] + group - 0.5)
    return np.column_stack([X, group]), positive & (rng.random(500) < expit(X[:, 2] + 0.3))


def test_every_method_with_two_factors_takes_it():
    taking = {type(METHODS[name]).__name__ for name in TAKING}
    assert taking == {"PUClassifier", "JERM", "TM", "SAREM", "LBE", "JointMLE", "SparseJoint"}


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKING)
def test_a_share_is_met_in_all_rows_or_in_each_group(name, problem, tmp_path):
    X, s = problem
    free = clone(METHODS[name]).fit(X, s)
    labels = free.predict_proba(X)[:, 1] * free.predict_propensity(X)
    for asked in ({"prior": 0.65}, {"prior": {1: (0.7, 0.8)}, "prior_groups": 3}):
        model = clone(METHODS[name]).set_params(**asked).fit(X, s)
        hidden = getattr(model, "oof_hidden_", None)
        hidden = model.predict_hidden(X) if hidden is None else hidden
        expected = np.where(s, 1.0, hidden)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1] * model.predict_propensity(X), labels, rtol=1e-6)
        assert model.prior_ == pytest.approx(expected.mean())
        assert model.label_frequency_ == pytest.approx(s.mean() / expected.mean())
        if "prior_groups" not in asked:
            assert model.prior_ == pytest.approx(0.65, abs=1e-6)
        else:
            assert 0.7 - 1e-6 <= expected[X[:, 3] == 1].mean() <= 0.8 + 1e-6
            rest = X[:, 3] == 0
            # test_prior_groups.py has it for PUClassifier.
            if name != "PUClassifier":
                np.testing.assert_allclose(model.predict_hidden(X[rest]), free.predict_hidden(X[rest]), atol=1e-9)
        save(model, tmp_path / "m.propense")
        again = load(tmp_path / "m.propense")
        np.testing.assert_array_equal(again.predict_hidden(X), model.predict_hidden(X))
        assert again.prior == model.prior
    with pytest.raises(InvalidOption, match=rf"{type(free).__name__}\(prior=0\.01\): .* of the rows are labelled"):
        clone(METHODS[name]).set_params(prior=0.01).fit(X, s)


def test_refits_meet_it_too(problem):
    X, s = problem
    model = JointMLE(propensity_features=[2], n_starts=1, prior=0.6, random_state=0).fit(X, s)
    found = intervals(model, X, s, n_resamples=8, at=X[:2], random_state=0)
    assert (found.prior.low, found.prior.high) == (pytest.approx(0.6, abs=1e-6), pytest.approx(0.6, abs=1e-6))
    assert (found.posterior.low < found.posterior.high).all()
    with pytest.raises(InvalidOption, match=r"this JointMLE does not minimise the joint risk .* without a prior"):
        intervals(model, X, s, how="sandwich")


def test_refits_begin_where_the_search_ended(problem, monkeypatch):
    """The moved y and e are not where it ended: those before are."""
    X, s = problem
    asked = {"propensity_features": [2], "n_starts": 1, "random_state": 0}
    free, given = (JointMLE(**asked, prior=prior).fit(X, s) for prior in (None, 0.7))
    begun = []
    own = JointMLE._fit
    monkeypatch.setattr(JointMLE, "_fit", lambda self, sample: begun.append(self._begin) or own(self, sample))
    intervals(given, X, s, n_resamples=2, random_state=0)
    assert len(begun) == 2
    for y, e in begun:
        np.testing.assert_array_equal(y.coef[1:], free.coef_[0])
        np.testing.assert_array_equal(e.coef[1:], free.propensity_coef_[0])


def test_a_classifier_inside_is_still_there(problem):
    X, s = problem
    model = SAREM(estimator=DecisionTreeClassifier(max_depth=2, random_state=0), prior=0.6, max_iter=5).fit(X, s)
    assert isinstance(model.estimator_, DecisionTreeClassifier)
    assert model.prior_ == pytest.approx(0.6, abs=1e-6)
    with pytest.raises(AttributeError, match="no coefficients"):
        JERM(prior=0.6).fit(X, s).coef_  # noqa: B018


class Own(BasePUClassifier):
    """A method of one's own whose prior is something else."""

    def __init__(self, *, decision="posterior", prior="flat"):
        self.decision = decision
        self.prior = prior

    def _fit(self, sample):
        posterior, converged = Learner().fit(sample.design, sample.labelled, sample.weights)
        return Model(posterior, certain(sample.design.shape[1]), n_iter=1, converged=converged, risk_path=[])


@pytest.mark.parametrize("prior", ["flat", {"mean": 0.0}, None, 0.01])
def test_a_prior_of_a_method_of_ones_own_is_its_own(problem, prior):
    X, s = problem
    assert Own(prior=prior).fit(X, s).prior_ == pytest.approx(s.mean())
