"""Tensors as they may be passed, and what is said of the rest."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from propense import JERM, TM, KnownPropensity, Naive, Oracle
from propense.errors import (
    InvalidFeatures,
    InvalidLabels,
    InvalidOption,
    InvalidPropensity,
    InvalidWeights,
    NoLabelledInstances,
    NoUnlabelledInstances,
)

torch = pytest.importorskip("torch")


@pytest.fixture
def problem(rng):
    positive = rng.random(150) < 0.4
    X = rng.normal(size=(150, 3)) + np.outer(positive, [2.5, -1.5, 0.0])
    return torch.tensor(X), torch.tensor((positive & (rng.random(150) < 0.5)).astype(int))


def bad(X, value, row=7, column=1):
    X = X.clone()
    X[row, column] = value
    return X


@pytest.mark.parametrize("block", [1 << 24, 9])
def test_a_wrong_entry_is_found_and_named(problem, monkeypatch, block):
    monkeypatch.setattr("propense._inputs.torch._BLOCK", block)
    X, s = problem
    with pytest.raises(InvalidFeatures, match=r"1 entries that are NaN or infinite, the first \(nan\) at row 7, col"):
        JERM().fit(bad(X, np.nan), s)
    with pytest.raises(InvalidFeatures, match=r"2 entries .* the first \(-inf\) at row 7, column 1"):
        JERM().fit(bad(bad(X, -np.inf), np.inf, 100, 0), s)
    with pytest.raises(InvalidFeatures, match=r"too large to compute with, the first \(1e\+200\) at row 7, column 1"):
        JERM().fit(bad(X, 1e200), s)
    with pytest.raises(InvalidFeatures, match="NaN"):
        JERM().fit(X, s).predict(bad(X, np.nan))


SHAPES = {
    "one dimension": (lambda X, s: (X[:, 0], s), r"Expected 2D array, got an array of shape \(150,\)"),
    "one row": (
        lambda X, s: (X[:1], s[:1]),
        r"1 sample\(s\) \(shape=\(1, 3\)\) while a minimum of 2 is required by JERM",
    ),
    "no row": (lambda X, s: (X[:0], s[:0]), r"0 sample\(s\)"),
    "no column": (lambda X, s: (X[:, :0], s), r"0 feature\(s\) \(shape=\(150, 0\)\) while a minimum of 1"),
    "sparse": (lambda X, s: (X.to_sparse_coo(), s), r"X\.to_dense\(\)"),
    "complex": (lambda X, s: (X + 1j, s), "Complex data not supported"),
    "nowhere": (lambda X, s: (X.to("meta"), s), "no float64"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_what_is_no_matrix_is_refused_in_words(problem, case):
    spoil, words = SHAPES[case]
    X, s = spoil(*problem)
    with pytest.raises(InvalidFeatures, match=words):
        JERM().fit(X, s)


def test_the_columns_of_fit_are_those_of_predict(problem):
    X, s = problem
    model = JERM().fit(X, s)
    assert model.n_features_in_ == 3
    for narrow in (X[:, :2], X[:, :2].numpy()):
        with pytest.raises(InvalidFeatures, match="X has 2 features, but JERM is expecting 3 features as input"):
            model.predict(narrow)
    assert model.predict(X[:1]).shape == (1,)
    with pytest.raises(InvalidFeatures, match=r"0 sample\(s\)"):
        model.predict(X[:0])


def test_names_are_forgotten_by_a_fit_without(problem):
    X, s = problem
    model = JERM().fit(pd.DataFrame(X.numpy(), columns=["age", "dose", "weight"]), s)
    assert model.feature_names_in_.tolist() == ["age", "dose", "weight"]
    assert not hasattr(model.fit(X, s), "feature_names_in_")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "int8", "uint8"])
def test_any_number_is_read_as_the_number_it_is(problem, dtype):
    X, s = problem
    X = ((X * 8).round().abs() + 1).to(getattr(torch, dtype))
    same = X.double().numpy()
    model, plain = Naive().fit(X, s), Naive().fit(same, s)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).numpy(), plain.predict_proba(same), atol=1e-12)


def test_truth_values_are_numbers(problem):
    X, s = problem
    np.testing.assert_allclose(Naive().fit(X > 0, s).coef_, Naive().fit((X > 0).double().numpy(), s).coef_, atol=1e-9)


def test_gradients_are_left_out(problem):
    X, s = problem
    asked = X.clone().requires_grad_()
    model = JERM().fit(asked, s)
    np.testing.assert_array_equal(model.coef_, JERM().fit(X, s).coef_)
    assert not model.predict_proba(asked).requires_grad


@pytest.mark.parametrize("layout", ["rows apart", "columns apart", "transposed"])
def test_strides_do_not_matter(problem, layout):
    X, s = problem
    strided = {
        "rows apart": lambda: torch.cat([X, X], dim=1)[:, :3],
        "columns apart": lambda: torch.repeat_interleave(X, 2, dim=1)[:, ::2],
        "transposed": lambda: X.T.contiguous().T,
    }[layout]()
    assert not strided.is_contiguous()
    model = JERM().fit(strided, s)
    np.testing.assert_allclose(model.coef_, JERM().fit(X, s).coef_, rtol=1e-9)


LABELS = {
    "0 and 1": (lambda s: s, [0, 1]),
    "truth values": (lambda s: s == 1, [False, True]),
    "-1 and 1": (lambda s: 2 * s - 1, [-1, 1]),
    "bytes": (lambda s: s.byte(), [0, 1]),
    "halves": (lambda s: s.half(), [0.0, 1.0]),
    "NaN": (lambda s: torch.where(s == 1, 3.0, torch.nan), [0.0, 3.0]),
}


@pytest.mark.parametrize("written", LABELS)
def test_any_way_to_write_labels_is_read(problem, written):
    X, s = problem
    write, classes = LABELS[written]
    model = Naive().fit(X, write(s))
    assert model.classes_.tolist() == classes
    np.testing.assert_array_equal(model.coef_, Naive().fit(X, s).coef_)
    predicted = model.predict(X)
    assert isinstance(predicted, torch.Tensor)
    assert set(predicted.tolist()) == set(classes)
    filled = write(s).nan_to_num(0.0) if written == "NaN" else write(s)
    assert model.score(X, write(s)) == float((predicted == filled).double().mean())


WRONG_LABELS = {
    "nobody": (lambda s: s * 0, NoLabelledInstances, "only the class 0"),
    "everybody": (lambda s: s * 0 + 1, NoUnlabelledInstances, "only the class 1"),
    "all missing": (lambda s: s * torch.nan, NoLabelledInstances, "every value is missing"),
    "three values": (lambda s: s + (torch.arange(150) == 3) * 5, InvalidLabels, "3 values"),
    "0, 1 and missing": (
        lambda s: torch.where(torch.arange(150) == 3, torch.nan, s.double()),
        InvalidLabels,
        "would mean a known negative",
    ),
    "infinity": (lambda s: s / 0.0, InvalidLabels, "infinity|every value"),
    "too short": (lambda s: s[:-1], InvalidLabels, r"inconsistent numbers of samples: \[150, 149\]"),
    "too short a list": (lambda s: s[:-1].tolist(), InvalidLabels, r"inconsistent numbers of samples: \[150, 149\]"),
    "two columns": (lambda s: torch.stack([s, s], dim=1), InvalidLabels, r"1d array, got an array of shape \(150, 2\)"),
    "complex": (lambda s: s + 1j, InvalidLabels, "(?i)complex"),
}


@pytest.mark.parametrize("case", WRONG_LABELS)
def test_what_is_no_label_is_refused(problem, case):
    X, s = problem
    spoil, error, words = WRONG_LABELS[case]
    with pytest.raises(error, match=words):
        JERM().fit(X, spoil(s))


def test_the_oracle_names_the_first_row_without_a_class(problem):
    X, s = problem
    y = s.double()
    y[[5, 9]] = torch.nan
    with pytest.raises(InvalidLabels, match="missing in 2 rows, first in row 5"):
        Oracle().fit(X, y)


WEIGHTS = {
    "negative": (lambda w: torch.where(torch.arange(150) == 4, -0.5, w), r"negative \(-0.5\) at row 4"),
    "NaN": (lambda w: torch.where(torch.arange(150) == 4, torch.nan, w), "sample_weight contains nan at row 4"),
    "too few": (lambda w: w[:-1], "inconsistent numbers"),
    "in a matrix": (
        lambda w: torch.stack([w, w], dim=1),
        r"must be 1D array or scalar, got an array of shape \(150, 2",
    ),
    "all zero": (lambda w: w * 0, "zero for every row"),
    "NumPy's, NaN": (lambda w: (w * torch.nan).numpy(), "NaN"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_that_will_not_do_are_named(problem, case):
    X, s = problem
    spoil, words = WEIGHTS[case]
    with pytest.raises(InvalidWeights, match=words):
        JERM().fit(X, s, sample_weight=spoil(torch.ones(150, dtype=torch.float64)))


def test_rows_of_no_weight_are_no_rows(problem):
    X, s = problem
    weights = (torch.arange(150) % 5 > 0).double()
    kept = weights > 0
    weighed, without = JERM().fit(X, s, sample_weight=weights), JERM().fit(X[kept], s[kept])
    np.testing.assert_allclose(weighed.coef_, without.coef_, atol=1e-9)
    np.testing.assert_array_equal(weighed.spies_, np.flatnonzero(kept.numpy())[without.spies_])
    with pytest.raises(NoLabelledInstances, match="sample_weight above 0"):
        JERM().fit(X, s, sample_weight=(s == 0).double())


@pytest.mark.parametrize("weight", [3.0, torch.tensor(3.0), np.array(3.0)])
def test_one_number_is_a_weight_for_all(problem, weight):
    X, s = problem
    weighed = Naive(ridge=0.0).fit(X, s, sample_weight=weight)
    np.testing.assert_allclose(weighed.coef_, Naive(ridge=0.0).fit(X, s).coef_, atol=1e-6)


def test_a_known_propensity_is_read(problem):
    X, s = problem
    chance = torch.sigmoid(X[:, 2])
    there = KnownPropensity().fit(X, s, propensity=chance)
    here = KnownPropensity().fit(X.numpy(), s.numpy(), propensity=chance.numpy())
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-9)
    with pytest.raises(InvalidPropensity, match="propensity is 2 at row 3"):
        KnownPropensity().fit(X, s, propensity=torch.where(torch.arange(150) == 3, 2.0, 0.5))


def test_a_classifier_inside_is_refused_with_a_way_out(problem):
    X, s = problem
    for options in ({"estimator": LogisticRegression()}, {"propensity_estimator": LogisticRegression()}):
        with pytest.raises(InvalidOption, match=r"reads NumPy arrays, but X is a torch tensor. Pass X.cpu\(\).numpy"):
            TM(**options).fit(X, s)
    model = JERM(propensity_estimator=LogisticRegression()).fit(X.numpy(), s)
    with pytest.raises(InvalidOption, match=r"JERM\(propensity_estimator=…\): the classifier reads NumPy"):
        model.predict(X)


def test_tensors_may_come_with_an_array(problem):
    X, s = problem
    weights = torch.arange(150) % 3 + 1.0
    there = JERM().fit(X.numpy(), s, sample_weight=weights)
    np.testing.assert_array_equal(there.coef_, JERM().fit(X.numpy(), s.numpy(), sample_weight=weights.numpy()).coef_)


def test_the_fit_leaves_what_it_was_given_alone(problem):
    X, s = problem
    weights = torch.ones(150, dtype=torch.float64)
    kept = X.clone(), s.clone(), weights.clone()
    JERM().fit(X, s, sample_weight=weights)
    for given, copy in zip((X, s, weights), kept, strict=True):
        assert torch.equal(given, copy)
