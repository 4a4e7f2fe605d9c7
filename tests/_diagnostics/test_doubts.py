"""When not to trust a fit: every doubt speaks where it should and is silent where it should not."""

import ast
import inspect
import math
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import propense._diagnostics.doubts as module
import propense._diagnostics.source_doubts as of_sources
from conftest import DESIGN_KINDS, METHODS, coarse, fit, slow_where
from doubts import CASES, good, noise, strays
from propense import JERM, SAREM, KnownPropensity, Naive, Oracle, PGLin, SparseJoint, load, save
from propense._designs import as_design
from propense._diagnostics.doubts import GENERAL, KINDS, ask, starts_disagree
from propense._diagnostics.fit_statistics import FitStatistics, compute_fit_statistics, effective_rows
from propense._inputs.sample import Sample
from propense.datasets import make_double_logistic
from propense.errors import DoubtfulFit
from propense.estimators._base import BasePUClassifier

ROOT = Path(__file__).parents[2]

# A fit without doubts; each case replaces what it needs.
SOUND = FitStatistics(
    method="JERM",
    labels=500.0,
    rows=2000.0,
    features=10,
    propensity_features=10,
    prior=0.5,
    frequency=0.5,
    gain=600.0,
    low=10.0,
    low_expected=12.0,
    stray=-0.5,
    spread=3.0,
    propensity_spread=1.5,
    correlation=-0.1,
    never=0.0,
    surely=0.0,
)
# Either side of each threshold, from its definition, and the value as the message gives it.
EDGES = {
    "few_labels": ({"labels": 29.0}, {"labels": 30.0}, ": 29. "),
    "labels_per_feature": (
        {"labels": 99.0, "features": 100},
        {"labels": 100.0, "features": 100},
        ": 99 for 100 features. ",
    ),
    "unexplained": (
        {"gain": float(scipy.stats.chi2.isf(0.0011, 20))},
        {"gain": float(scipy.stats.chi2.isf(0.0009, 20))},
        "(p = 0.0011; likelihood ratio 45.0 with 20 coefficients). ",
    ),
    "stray_labels": ({"stray": 2.01}, {"stray": 1.99}, ": 10 where it expects 12.0 (score test: z = 2.0). "),
    "swapped": ({"propensity_spread": 2.41}, {"propensity_spread": 2.39}, "3.00 for positive, 2.41 for labelled). "),
    "collinear": ({"correlation": -0.951}, {"correlation": 0.949}, "log-odds: -0.95). "),
    "at_boundary": ({"surely": 0.51}, {"never": 0.49, "surely": 0.49}, ": 51% of "),
    "all_labelled": ({"frequency": 0.951}, {"frequency": 0.949}, "95.1% of "),
    "all_positive": ({"prior": 0.951}, {"prior": 0.949}, ": 95.1% (prior_)"),
    "weak_columns": (
        {"named_features": 2, "named_gain": float(scipy.stats.chi2.isf(0.051, 2))},
        {"named_features": 2, "named_gain": float(scipy.stats.chi2.isf(0.049, 2))},
        "(p = 0.051; likelihood ratio 6.0 with 2 coefficients). ",
    ),
    "memorised": ({"flexible": True, "frequency": 0.991}, {"flexible": True, "frequency": 0.989}, "99.1% of "),
}
OWN = {"all_likely", "starts_disagree", "few_rows", "unlike_worlds"}
OWN |= {"one_source", "no_overlap", "few_overlaps", "mostly_labelled"}


def kinds_of(model):
    return [doubt.kind for doubt in model.doubts_]


def test_every_doubt_has_bad_data_and_good_data():
    assert set(CASES) == set(KINDS)
    assert set(EDGES) == set(KINDS) - OWN
    # And every function of the modules that may say something is one of them.
    body = [node for each in (module, of_sources) for node in ast.parse(inspect.getsource(each)).body]
    said = {node.name for node in body if isinstance(node, ast.FunctionDef) and "None" in ast.unparse(node.returns)}
    assert said == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_a_doubt_speaks_where_it_should(kind):
    case = CASES[kind]
    model = clone(case.method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*case.bad(0))
    found = [str(warning.message) for warning in caught if warning.category is DoubtfulFit]
    assert found == [doubt.message for doubt in model.doubts_]
    assert kind in kinds_of(model)
    # Not the library's own lines: those of the user.
    assert {warning.filename for warning in caught if warning.category is DoubtfulFit} == {__file__}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_a_doubt_is_silent_on_good_data(kind):
    case = CASES[kind]
    model = clone(case.method if case.fine is None else case.fine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*case.sound(0))
    assert kind not in kinds_of(model)


@pytest.mark.parametrize("kind", EDGES)
def test_a_threshold_is_where_it_is_said_to_be(kind):
    above, below, value = EDGES[kind]
    (doubt,) = ask(replace(SOUND, **above), [kind])
    assert doubt.kind == kind
    assert value in doubt.message
    assert ask(replace(SOUND, **below), [kind]) == () == ask(SOUND, KINDS)


def test_propensities_near_0_are_as_doubtful_as_those_near_1():
    (doubt,) = ask(replace(SOUND, never=0.6), KINDS)
    assert doubt.kind == "at_boundary"
    assert doubt.message.startswith("Most of the estimated positives are rows that are almost never labelled: 60%")


def test_what_is_said_once_is_not_said_twice():
    """If the labels were memorised, it is no news that all positives are labelled, nor that e is near 1."""
    learnt = replace(SOUND, flexible=True, frequency=0.995, surely=0.9)
    assert [doubt.kind for doubt in ask(learnt, KINDS)] == ["memorised"]
    # Factors with columns of their own, or different models, cannot be swapped.
    assert ask(replace(SOUND, propensity_spread=9.0, distinguishable=True), KINDS) == ()
    # If e is almost constant, its direction does not matter.
    assert ask(replace(SOUND, correlation=1.0, propensity_spread=0.24), KINDS) == ()
    # More coefficients than labels: the likelihood ratio means nothing, and another doubt says so.
    wide = replace(SOUND, features=600, gain=1.0)
    assert [doubt.kind for doubt in ask(wide, KINDS)] == ["labels_per_feature"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TM", "SAREM", "LBE", "JointMLE", "PGLin", "Naive", "Oracle", "KnownPropensity"])
def test_good_data_raise_no_doubt(name):
    data = make_double_logistic(2000, 10, random_state=1)
    labels = data.positive if name == "Oracle" else data.labelled
    rows = {"propensity": data.propensity} if name == "KnownPropensity" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulFit)
        model = fit(
            clone(METHODS[name]).set_params(**({"max_iter": 1000} if name == "TM" else {})), data.X, labels, **rows
        )
    assert model.doubts_ == ()


@pytest.mark.parametrize("made", [*BasePUClassifier.__subclasses__(), Naive, Oracle, KnownPropensity, PGLin])
def test_only_doubts_that_there_are_are_asked(made):
    assert set(made._doubted) <= set(KINDS)


def test_doubts_of_the_propensity_need_one_that_is_estimated():
    X, s = noise(0)
    assert kinds_of(Naive().fit(X, s)) == ["unexplained"]
    assert kinds_of(Oracle().fit(X, s)) == ["unexplained"]
    assert "which rows are positive clearly better" in Oracle().fit(X, s).doubts_[0].message
    assert "collinear" not in kinds_of(PGLin().fit(X, s))
    assert "all_labelled" not in kinds_of(Naive().fit(*strays(0)))
    known = KnownPropensity().fit(X, s, propensity=0.9)
    assert set(kinds_of(known)) <= {"unexplained", "stray_labels"}


def test_columns_of_its_own_tell_the_propensity_apart():
    X, s = CASES["swapped"].bad(0)
    assert "swapped" in kinds_of(SAREM().fit(X, s))
    assert "swapped" not in kinds_of(SAREM(propensity_features=[5, 6, 7, 8, 9]).fit(X, s))
    assert "swapped" not in kinds_of(SAREM(propensity_estimator=LogisticRegression(), max_iter=3, tol=1.0).fit(X, s))


def test_starts_disagree_by_the_likelihood_and_the_distance():
    # 2·1000·Δ = 3.84 at Δ = .00192.
    assert starts_disagree([0.5, 0.50191], [0.0, 0.06], 1000) is not None
    assert starts_disagree([0.5, 0.50193], [0.0, 0.06], 1000) is None
    assert starts_disagree([0.5, 0.50191], [0.0, 0.04], 1000) is None
    assert starts_disagree([0.5], [0.0], 1000) is None
    assert "1 of 3 starting points" in starts_disagree([0.5, 0.5, 0.6], [0.0, 0.3, 0.9], 1000)


def by_hand(a, b, s, w):
    """The sums of the statistics, each from its own definition."""
    y, e = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
    q, rate = y * e, np.average(s, weights=w)
    t = np.where(s, 1.0, y * (1 - e) / (1 - q))
    rows, labels = w.sum() ** 2 / (w**2).sum(), w[s].sum() ** 2 / (w[s] ** 2).sum()
    log_likelihood = np.average(np.where(s, np.log(q), np.log(1 - q)), weights=w)
    constant = rate * math.log(rate) + (1 - rate) * math.log(1 - rate)
    weight = w * np.maximum(rate - q, 0) / (np.maximum(q, rate / 20) * (1 - q))
    cov = np.cov(a, b, aweights=w, ddof=0)
    low = q < rate / 4
    return {
        "labels": labels,
        "rows": rows,
        "gain": 2 * rows * (log_likelihood - constant),
        "low": (w * s)[low].sum() * labels / w[s].sum(),
        "low_expected": (w * q)[low].sum() * labels / w[s].sum(),
        "stray": (weight * (s - q)).sum() / np.sqrt((weight**2 * q * (1 - q)).sum()),
        "spread": math.sqrt(cov[0, 0]),
        "propensity_spread": math.sqrt(cov[1, 1]),
        "correlation": cov[0, 1] / math.sqrt(cov[0, 0] * cov[1, 1]),
        "never": np.average(e < 0.01, weights=w * t),
        "surely": np.average(e > 0.99, weights=w * t),
    }


def test_the_penalty_that_a_doubt_advises_is_an_option_of_the_method(rng):
    X = rng.normal(size=(60, 40))
    s = rng.random(60) < 0.5
    for model, name in ((Naive(), "ridge"), (SparseJoint(alpha=0.1, refit=False), "alpha")):
        (doubt,) = [each for each in model.fit(X, s).doubts_ if each.kind == "labels_per_feature"]
        assert name in model.get_params()
        assert name in re.findall(r"\w+", doubt.message)


KNOWN = {"method": "JERM", "features": 4, "propensity_features": 4, "prior": 0.5, "frequency": 0.5}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", slow_where(lambda _: False, DESIGN_KINDS))
def test_statistics_are_what_their_definitions_say_wherever_the_rows_are(kind, weighted, rng, monkeypatch):
    n = 300
    for name in ("_ROWS", "_TENSOR_ROWS"):
        monkeypatch.setattr(f"propense._diagnostics.fit_statistics.{name}", 64)
    design = DESIGN_KINDS[kind](coarse(rng.normal(size=(n, 4))))
    a, b = 3 * rng.normal(size=n), 4 * rng.normal(size=n)
    s = rng.random(n) < 0.3
    w = rng.random(n) + 0.1 if weighted else np.ones(n)
    sample = Sample(design, design.send(s), design.send(w) if weighted else None, None)
    statistics = compute_fit_statistics(sample, design.send(a), design.send(b), **KNOWN)
    for name, value in by_hand(a, b, s, w).items():
        assert getattr(statistics, name) == pytest.approx(value, rel=1e-9), name
    assert effective_rows(sample) == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_a_certain_propensity_has_no_correlation(rng):
    design = as_design(rng.normal(size=(200, 2)))
    s = rng.random(200) < 0.5
    sample = Sample(design, s, None, None)
    statistics = compute_fit_statistics(sample, rng.normal(size=200), np.full(200, np.inf), **KNOWN)
    assert (statistics.propensity_spread, statistics.correlation, statistics.never) == (0.0, 0.0, 0.0)
    assert statistics.surely == pytest.approx(1.0)
    assert math.isfinite(statistics.gain)


def test_the_test_of_stray_labels_is_normal_where_the_chances_are_true(rng):
    """Of the truth, not a fit: mean 0, variance 1."""
    data = make_double_logistic(2000, 4, random_state=0)
    a, b = (np.log(p / (1 - p)) for p in (data.posterior, data.propensity))
    design = as_design(data.X)
    found = []
    for _ in range(300):
        s = rng.random(2000) < data.posterior * data.propensity
        found.append(compute_fit_statistics(Sample(design, s, None, None), a, b, **KNOWN).stray)
    # The rate is that of the drawn labels, and 20/√300-sized errors of the moments are allowed.
    assert abs(np.mean(found)) < 0.25
    assert 0.8 < np.std(found) < 1.2


def test_weights_make_no_more_labels_than_there_are():
    X, s = good(1, 70, n_features=3)
    plain, heavy = SAREM().fit(X, s), SAREM().fit(X, s, sample_weight=np.full(len(s), 100.0))
    assert plain.doubts_[0].message.startswith(f"There are too few labelled rows: {s.sum()}. ")
    assert heavy.doubts_[0].message == plain.doubts_[0].message
    X, s = good(1, 400, n_features=3)
    uneven = np.where(s, 1e-3, 1.0)
    uneven[np.flatnonzero(s)[:10]] = 1.0
    (first, *_) = Naive().fit(X, s, sample_weight=uneven).doubts_
    assert first.message.startswith("There are too few labelled rows: 10 (effective number, given the weights).")


@pytest.mark.parametrize("made", [Naive, JERM, PGLin])
def test_a_file_keeps_the_doubts(made, tmp_path):
    model = made().fit(*noise(0))
    assert model.doubts_
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").doubts_ == model.doubts_


def test_a_second_fit_forgets_the_doubts_of_the_first():
    model = Naive().fit(*noise(0))
    assert model.doubts_
    assert model.fit(*good(1)).doubts_ == ()


@pytest.mark.parametrize(
    ("written", "label", "other"),
    [
        (lambda s: s, "True", "False"),
        (lambda s: s.astype(int), "1", "0"),
        (lambda s: np.where(s, 2, 1), "2", "1"),
        (lambda s: np.where(s, "case", "control"), "'case'", "'control'"),
    ],
)
def test_most_rows_labelled_names_the_value_to_pass(written, label, other):
    X, labelled = good(0, 400)
    y = written(~labelled)
    with pytest.warns(DoubtfulFit, match=f"have the value {label}, .* pass positive_label={other}"):
        model = Naive().fit(X, y)
    # The way out that the doubt names is one.
    found = Naive(positive_label=model.classes_.tolist()[0]).fit(X, y)
    assert found.doubts_ == ()
    np.testing.assert_allclose(found.coef_, Naive().fit(X, labelled).coef_, atol=1e-6)


def test_most_rows_labelled_is_no_doubt_where_the_values_cannot_be_swapped():
    X, labelled = good(0, 400)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulFit)
        # True classes; labels next to gaps; classes of which all, or some, are known to be negative; exactly one half.
        Oracle().fit(X, ~labelled)
        Naive().fit(X, np.where(labelled, np.nan, 1.0))
        SAREM().fit(X, ~labelled, known_negative=labelled)
        half = np.arange(400) < 200
        Naive().fit(np.where(half, 1.0, -1.0)[:, None] + X[:, :1], half)
    some = labelled & (np.cumsum(labelled) % 2 == 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SAREM().fit(X, ~labelled, known_negative=some)
    assert not [each for each in caught if "Most rows are labelled" in str(each.message)]


def test_weights_count_in_the_share_of_labelled_rows():
    X, labelled = good(0, 400)
    weights = np.where(labelled, 9.0, 1.0)
    with pytest.warns(DoubtfulFit, match="7[0-9]% of them have the value True"):
        Naive().fit(X, labelled, sample_weight=weights)


def test_the_guide_tells_of_every_doubt_and_of_no_other():
    page = (ROOT / "docs" / "guides" / "doubts.md").read_text()
    told = [line[3:].strip("` ") for line in page.splitlines() if line.startswith("## `")]
    assert sorted(told) == sorted(KINDS)
    table = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert set(KINDS) <= set(table)
    assert set(GENERAL) <= set(KINDS)
