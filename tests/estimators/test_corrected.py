"""Every method can be corrected by an audit: h changes as asked, what the labels show does not."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from audited import FACTS
from conftest import fit, tensor
from propense import JERM, Naive, PUClassifier, intervals, load, save
from propense._maths.double_logistic import hidden_positive
from propense._steps.corrected import Audited, correct_rows, correction_slopes
from propense.errors import InvalidOption, ModelFileError
from propense.estimators._corrected import with_audit, without_audit

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def corrected_h(h, along=None):
    """The correction, by NumPy's own interpolation."""
    with np.errstate(divide="ignore"):
        t = logit(h)
    return expit(t + np.interp(t if along is None else along, FACTS.knots, FACTS.values))


@pytest.fixture
def problem(rng):
    positive = rng.random(300) < 0.4
    X = rng.normal(size=(300, 3)) + np.outer(positive, [2.0, -1.0, 0.0])
    return X, (positive & (rng.random(300) < 1 / (1 + np.exp(-X[:, 2] - 0.3)))).astype(int)


@pytest.mark.slow
def test_the_audit_changes_h_and_not_the_chance_of_a_label(method, problem, tmp_path):
    X, s = problem
    model = fit(method, X, s)
    corrected = with_audit(model, FACTS, 0.6)
    y, e, h = model.predict_proba(X)[:, 1], model.predict_propensity(X), model.predict_hidden(X)
    new_y, new_e, new_h = corrected.predict_proba(X)[:, 1], corrected.predict_propensity(X), corrected.predict_hidden(X)
    np.testing.assert_allclose(new_y * new_e, y * e, rtol=1e-9)
    np.testing.assert_allclose(new_h, corrected_h(h), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(new_y, y * e + (1 - y * e) * new_h, rtol=1e-9)
    assert (corrected.prior_, corrected.label_frequency_, corrected.audit_) == (0.4, 0.6, FACTS)
    assert not hasattr(model, "audit_")
    np.testing.assert_array_equal(model.predict_hidden(X), h)
    # Nothing is lost in a file.
    save(corrected, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    for name in ("predict", "predict_proba", "predict_propensity", "predict_hidden", "predict_hidden_range"):
        assert getattr(again, name)(X).tobytes() == getattr(corrected, name)(X).tobytes()
    assert (again.audit_, again.prior_) == (FACTS, 0.4)
    # A second correction replaces the first, and a new fit forgets it.
    twice = with_audit(again, replace(FACTS, values=(0.0, 0.0, 0.0)), 0.6)
    np.testing.assert_allclose(twice.predict_hidden(X), h, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(without_audit(twice).predict_hidden(X), h)
    assert not hasattr(fit(twice, X, s), "audit_")
    assert not hasattr(clone(corrected), "audit_")


def test_the_correction_may_follow_the_log_odds_of_y(problem):
    X, s = problem
    model = PUClassifier(learners="linear", random_state=0).fit(X, s)
    corrected = with_audit(model, replace(FACTS, along="posterior"), 0.6)
    wanted = corrected_h(model.predict_hidden(X), logit(model.predict_proba(X)[:, 1]))
    np.testing.assert_allclose(corrected.predict_hidden(X), wanted, rtol=1e-6)


@pytest.mark.slow
def test_the_range_is_that_of_the_curve(rng, problem):
    """Against draws from its distribution."""
    X, s = problem
    model = JERM().fit(X, s)
    with pytest.raises(InvalidOption, match="gives no range"):
        model.predict_hidden_range(X)
    low, high = with_audit(model, FACTS, 0.6).predict_hidden_range(X).T
    t = logit(model.predict_hidden(X))
    drawn = rng.multivariate_normal(FACTS.values, FACTS.covariance, size=20_000)
    curves = np.array([t + np.interp(t, FACTS.knots, values) for values in drawn])
    ends = np.quantile(curves, [0.025, 0.975], axis=0)
    np.testing.assert_allclose([logit(low), logit(high)], ends, atol=0.05, rtol=0.05)


def test_what_it_says_of_the_rows_of_fit_is_corrected_too(problem):
    X, s = problem
    model = PUClassifier(learners=[LogisticRegression()], random_state=0).fit(X, s)
    corrected = with_audit(model, FACTS, 0.6)
    np.testing.assert_allclose(corrected.oof_hidden_, corrected_h(model.oof_hidden_), rtol=1e-6)
    inside = (corrected.oof_hidden_range_[:, 0] < corrected.oof_hidden_) & (
        corrected.oof_hidden_ < corrected.oof_hidden_range_[:, 1]
    )
    assert inside.all()
    assert corrected._fills_missing() == model._fills_missing()


def test_refits_give_no_interval_of_a_corrected_model(problem):
    with pytest.raises(InvalidOption, match="corrected by an audit"):
        intervals(with_audit(PUClassifier(learners="linear").fit(*problem), FACTS, 0.6), *problem)


def test_a_method_without_a_range_says_how_to_get_one(problem):
    X, s = problem
    with pytest.raises(InvalidOption, match=r"Naive\(\) gives no range of h\(x\)\. PUClassifier\(\) gives one"):
        Naive().fit(X, s).predict_hidden_range(X)


NONSENSE = {
    "verdicts": [99],
    "positives": [-1, 30.0],
    "prior": [1.5, "0.5"],
    "confidence": [float("nan")],
    "along": ["x"],
    "knots": [(-4.0, 3.0, 0.0), (), (-4.0, 0.0)],
    "values": [(0.0, 0.0), (0.0, 0.0, float("inf")), [0.0, 0.0, 0.0]],
    "covariance": [
        ((0.4,) * 3,) * 2,
        ((0.4, 0.1, 0.0), (0.1, -0.3, -0.1), (0.0, -0.1, 0.2)),
        ((0.4, 0.1, 0.0), (0.2, 0.3, -0.1), (0.0, -0.1, 0.2)),
        ((0.4, 9.0, 0.0), (9.0, 0.3, -0.1), (0.0, -0.1, 0.2)),
    ],
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_no_audit(problem, name, tmp_path):
    assert Audited.is_valid(asdict(FACTS))
    model = with_audit(Naive().fit(*problem), FACTS, 0.6)
    save(model, tmp_path / "m.propense")
    for value in NONSENSE[name]:
        model.audit_ = replace(FACTS, **{name: value})
        with pytest.raises(ModelFileError, match="Audited"):
            save(model, tmp_path / "m.propense")


def test_the_facts_are_said_in_words():
    assert str(FACTS) == (
        "100 rows were checked: 30 positive, 68 negative, 2 without an answer. The share of positives is 40.0% (30.0% "
        "to 50.0%); without the audit the model said 50.0%."
    )


@pytest.mark.slow
@pytest.mark.parametrize("along", ["hidden", "posterior"])
@pytest.mark.parametrize("storage", ["dask", "torch"])
def test_rows_elsewhere_are_corrected_as_here(problem, along, storage):
    X, s = problem
    elsewhere = tensor(X) if storage == "torch" else pytest.importorskip("dask.array").from_array(X, chunks=(100, 3))
    corrected = with_audit(PUClassifier(learners="linear", random_state=0).fit(X, s), replace(FACTS, along=along), 0.6)
    for name in ("predict_hidden", "predict_propensity", "predict_hidden_range"):
        found = np.asarray(getattr(corrected, name)(elsewhere))
        np.testing.assert_allclose(found, getattr(corrected, name)(X), rtol=1e-9)


@pytest.mark.parametrize("along", ["hidden", "posterior"])
def test_slopes_are_derivatives_of_h(rng, along):
    a, b = rng.normal(scale=3.0, size=(2, 50))
    facts = replace(FACTS, along=along)

    def h(values):
        return hidden_positive(*correct_rows(a, b, replace(facts, values=tuple(values)))[:2])

    step = 1e-5 * np.eye(3)
    numeric = [(h(np.array(FACTS.values) + each) - h(np.array(FACTS.values) - each)) / 2e-5 for each in step]
    np.testing.assert_allclose(correction_slopes(a, b, facts), np.transpose(numeric), atol=1e-8)
