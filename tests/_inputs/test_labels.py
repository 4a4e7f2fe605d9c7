"""The one reader of y."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from propense import JERM, Naive
from propense._inputs.labels import read_classes, read_labels, separate_known_negatives
from propense.errors import InvalidLabels, InvalidOption, NoLabelledInstances, NoUnlabelledInstances

S = np.array([True, False, False, True, False])

# Each way to write S, with the class an unlabelled row is said to have.
WRITTEN = {
    "0 and 1": (S.astype(int), 0, 1),
    "-1 and 1": (np.where(S, 1, -1), -1, 1),
    "bool": (S, False, True),
    "list of bool": (S.tolist(), False, True),
    "floats": (S.astype(float), 0.0, 1.0),
    "2 and 7": (np.where(S, 7, 2), 2, 7),
    "strings": (np.where(S, "yes", "no"), "no", "yes"),
    "objects": (np.where(S, "yes", "no").astype(object), "no", "yes"),
    "NaN": (np.where(S, 1.0, np.nan), 0.0, 1.0),
    "NaN beside 3": (np.where(S, 3.0, np.nan), 0.0, 3.0),
    "pandas NA in a list": ([1, pd.NA, pd.NA, 1, pd.NA], 0, 1),
    "positive and unlabelled": (np.where(S, "positive", "unlabelled"), "unlabelled", "positive"),
    "number words": (np.where(S, "two", "one"), "one", "two"),
    "numbers in words out of order": (np.where(S, "ten", "two"), "two", "ten"),
    "unknown and missing": (["fraud", "unknown", None, "fraud", None], "unknown", "fraud"),
    "None": ([True, None, None, True, None], False, True),
    "None beside a number": ([5, None, None, 5, None], 0, 5),
    "None beside a string": (["case", None, None, "case", None], "", "case"),
    "empty strings": (["case", "", "", "case", ""], "", "case"),
    "NaN beside a string": (["case", np.nan, np.nan, "case", np.nan], "", "case"),
    "pandas Int64 with NA": (pd.Series([1, None, None, 1, None], dtype="Int64"), 0, 1),
    "pandas boolean with NA": (pd.Series([True, None, None, True, None], dtype="boolean"), False, True),
    "pandas string with NA": (pd.Series(["x", None, None, "x", None], dtype="string"), "", "x"),
    "pandas category with NaN": (pd.Series(["x", None, None, "x", None], dtype="category"), "", "x"),
    "pandas category": (pd.Series(["ja", "nein", "nein", "ja", "nein"], dtype="category"), "nein", "ja"),
    "polars": (pl.Series([1, 0, 0, 1, 0]), 0, 1),
    "polars with null": (pl.Series([1, None, None, 1, None]), 0, 1),
    "polars strings with null": (pl.Series(["x", None, None, "x", None]), "", "x"),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_any_way_to_write_labels_is_read(written):
    y, unlabelled, label = WRITTEN[written]
    labelled, classes = read_labels(y)
    np.testing.assert_array_equal(labelled, S)
    assert classes.tolist() == [unlabelled, label]


@pytest.mark.parametrize("written", WRITTEN)
def test_predictions_speak_the_language_of_y(written, rng):
    y, unlabelled, label = WRITTEN[written]
    X = np.where(S, 4.0, -4.0)[:, None] + rng.normal(size=(5, 1))
    model = Naive().fit(X, y)
    assert model.classes_.tolist() == [unlabelled, label]
    assert model.predict(X).tolist() == [label if positive else unlabelled for positive in S]


def test_how_labels_are_written_changes_no_fit(rng):
    X = rng.normal(size=(200, 3))
    labelled = (X[:, 0] + rng.normal(size=200) > 0.5) & (rng.random(200) < 0.6)
    fits = [JERM().fit(X, y) for y in (labelled, np.where(labelled, 1.0, np.nan), np.where(labelled, "yes", "no"))]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].coef_, fits[2].coef_)


# Words that may mean anything, and values that are no labels.
REFUSED = {
    "words of a trade": (["default", "paid"], InvalidLabels, "positive_label='default' or positive_label='paid'"),
    "words that say nothing": (["b", "bb"], InvalidLabels, "truth values: y == 'b' or y == 'bb'"),
    "no and unknown": (["no", "unknown"], InvalidLabels, "not certain"),
    "no and missing": (["no", None], InvalidLabels, "pass positive_label='no', or pass y == 'no'"),
    "unlabelled alone": (["unlabelled", "unlabelled"], NoLabelledInstances, "only the class unlabelled"),
    "a NaN turned into a word": (np.array(["case", np.nan]), InvalidLabels, "missing value among strings"),
    "dates": (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), InvalidLabels, "number, a Boolean or a string"),
    "dates and None": ([datetime.date(2020, 1, 1), None], InvalidLabels, "type date"),
    "bytes": (np.array([b"x", b"y"]), InvalidLabels, "type bytes"),
    "infinite objects": (np.array([1, np.inf], dtype=object), InvalidLabels, "infinity"),
    "nobody labelled": ([0, 0, 0], NoLabelledInstances, "only the class 0. .*invert it"),
    "all missing": ([np.nan, np.nan], NoLabelledInstances, "every value is missing"),
    "all None": ([None, None], NoLabelledInstances, "every value is missing"),
    "everybody labelled": ([1, 1, 1], NoUnlabelledInstances, "no unlabelled rows"),
    "everybody yes": (["yes", "yes"], NoUnlabelledInstances, "yes"),
    "three values": ([0, 1, 2], InvalidLabels, "3 values"),
    "three strings": (["a", "b", "c"], InvalidLabels, "a, b, c"),
    "two values and missing": ([0.0, 1.0, np.nan], InvalidLabels, "and 2 labels .* instead of one"),
    "0 and missing": ([0.0, 0.0, np.nan], InvalidLabels, "pass y == 0"),
    "False and missing": ([False, None], InvalidLabels, "pass y == False"),
    "infinity": ([1.0, np.inf, 0.0], InvalidLabels, "infinity"),
    "a mixture": ([1, "yes", 1], InvalidLabels, "int, str"),
    "continuous": ([0.1, 0.7, 2.3, 4.4], InvalidLabels, "continuous"),
    "two columns": (np.eye(3)[:, :2], InvalidLabels, "1d array"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_label_is_refused_by_name(case):
    y, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        read_labels(y)


def test_the_oracle_wants_the_class_of_every_row():
    with pytest.raises(InvalidLabels, match="missing in 1 rows, first in row 2"):
        read_classes([1.0, 0.0, np.nan])
    with pytest.raises(InvalidLabels, match="only one class"):
        read_classes([1, 1, 1])
    with pytest.raises(InvalidLabels, match="3 values"):
        read_classes([1, 2, 3])
    with pytest.raises(InvalidLabels, match="y contains 'unknown'\\. Oracle needs the true class"):
        read_classes(["fraud", "unknown"])
    with pytest.raises(InvalidLabels, match="'healthy' and 'unhealthy', and it is not certain"):
        read_classes(["healthy", "unhealthy"])
    for y, positive in ((["healthy", "unhealthy"], "unhealthy"), (["paid", "default"], "default"), ([1, 2], 1)):
        found, classes = read_classes(y, None, positive)
        assert (found.tolist(), classes[1]) == ([each == positive for each in y], positive)
    assert read_classes(["negative", "positive"])[1].tolist() == ["negative", "positive"]
    assert read_classes(["Nein", "Ja"])[1].tolist() == ["Nein", "Ja"]


@pytest.mark.parametrize("written", WRITTEN)
def test_score_reads_labels_as_fit_does(written, rng):
    y, *_ = WRITTEN[written]
    X = np.where(S, 4.0, -4.0)[:, None] + rng.normal(size=(5, 1))
    assert Naive().fit(X, y).score(X, y) == 1.0
    assert Naive().fit(X, y).score(-X, y) == 0.0


def test_long_values_are_cut_short_in_errors():
    with pytest.raises(InvalidLabels, match=r"3 labels \(a{40}…, b c, d\)"):
        Naive().fit([[0.0], [1.0], [2.0], [3.0]], ["a" * 900, "b\nc", "d", None])


# The value of y that marks labelled rows, and one that does not; each pair is read by its meaning.
MEANT = [
    ("positive", "unlabelled"),
    ("POSITIVE", "Unlabeled"),
    ("Positive", "negative"),
    ("fraud", "unknown"),
    ("fraud", "none"),
    ("fraud", "N/A"),
    ("case", "control"),
    ("P", "U"),
    ("pos", "neg"),
    ("ja", "nein"),
    ("oui", "non"),
    ("SI", "NO"),
    ("s\u00ed", "no"),
    ("si\u0301", "no"),
    ("да", "нет"),
    ("labelled", "unlabelled"),
    ("flagged", "not flagged"),
    ("reported", "not_reported"),
    ("reported", "unreported"),
    ("fraud", "non-fraud"),
    ("fraud", "nonfraud"),
    ("Betrug", "kein Betrug"),
    ("with anaemia", "without anaemia"),
    ("true", "false"),
    ("t", "f"),
    ("1", "0"),
    ("+", "-"),
]


@pytest.mark.parametrize(("label", "other"), MEANT)
def test_words_are_read_by_their_meaning(label, other):
    labelled, classes = read_labels(np.where(S, label, other))
    np.testing.assert_array_equal(labelled, S)
    assert classes.tolist() == [other, label]


@pytest.mark.parametrize(
    "pair",
    ["default paid", "churn stay", "a b", "paid unpaid", "healthy unhealthy", "1 2", "table notable", "none unknown"],
)
def test_words_of_uncertain_meaning_are_refused_until_one_is_named(pair):
    one, other = pair.split()
    y = np.where(S, one, other)
    with pytest.raises(InvalidLabels, match=f"'{one}'.*not certain"):
        read_labels(y)
    for label in (one, other):
        labelled, classes = read_labels(y, None, label)
        np.testing.assert_array_equal(labelled, y == label)
        assert set(classes.tolist()) == {one, other}
        assert classes[1] == label


# A value that is named, in ways to write S in which it is not, or need not be, the larger.
NAMED = {
    "the smaller number": (np.where(S, 1, 2), 1, [2, 1]),
    "the larger number": (np.where(S, 9, 0), 9, [0, 9]),
    "False": (~S, False, [True, False]),
    "0 for False": (~S, 0, [True, False]),
    "a number of NumPy": (np.where(S, 1, 2), np.int64(1), [2, 1]),
    "a word": (np.where(S, "default", "paid"), "default", ["paid", "default"]),
    "against its meaning": (np.where(S, "no", "yes"), "no", ["yes", "no"]),
    "one value and missing": (np.where(S, 0.0, np.nan), 0, [1.0, 0.0]),
    "one word and missing": (["no", None, None, "no", None], "no", ["", "no"]),
    "words that NumPy writes": (np.where(S, "case", "nan"), "case", ["nan", "case"]),
    "pandas NA": (pd.Series([2, None, None, 2, None], dtype="Int64"), 2, [0, 2]),
    "polars": (pl.Series(["b", "a", "a", "b", "a"]), "b", ["a", "b"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_named_value_is_the_label(case, rng):
    y, label, classes = NAMED[case]
    labelled, found = read_labels(y, None, label)
    np.testing.assert_array_equal(labelled, S)
    assert found.tolist() == classes
    X = np.where(S, 4.0, -4.0)[:, None] + rng.normal(size=(5, 1))
    model = clone(Naive(positive_label=label)).fit(X, y)
    assert model.predict(X).tolist() == [classes[int(each)] for each in S]
    assert ((model.predict_proba(X)[:, 1] > 0.5) == S).all()
    assert model.score(X, y) == 1.0


ABSENT = {
    "another word": (
        ["fraud", "paid"],
        "Fraud",
        "No row of y is positive_label='Fraud'. The values of y: 'fraud' and 'p",
    ),
    "a word for a number": ([0, 1], "1", "values of y: 0 and 1"),
    "a number for a word": (["0", "1"], 1, "values of y: '0' and '1'"),
    "numbered by scikit-learn": ([0, 1, 0], "fraud", "numbered in the order of the alphabet.*pass y == 'fraud'"),
    "one value": (["x", "x"], "y", "values of y: 'x'"),
    "one value and missing": ([1.0, np.nan], 2, "values of y: 1.0"),
}


@pytest.mark.parametrize("case", ABSENT)
def test_a_named_value_must_be_in_y(case):
    y, label, words = ABSENT[case]
    with pytest.raises(NoLabelledInstances, match=words):
        read_labels(y, None, label)


@pytest.mark.parametrize("label", [["a"], np.nan, np.inf, "", b"a", {"a": 1}])
def test_a_label_is_one_value(label):
    with pytest.raises(InvalidOption, match="positive_label must be None, or the value of y"):
        Naive(positive_label=label).fit([[0.0], [1.0]], [0, 1])


def test_the_other_of_two_values_next_to_missing_ones_is_a_known_negative():
    y = ["nein", "ja", None, "ja", None]
    filled, negative = separate_known_negatives(y)
    assert negative.tolist() == [True, False, False, False, False]
    assert read_labels(filled)[0].tolist() == [False, True, False, True, False]
    numbers = [2.0, 1.0, np.nan, 1.0, np.nan]
    assert separate_known_negatives(numbers, 1)[1].tolist() == [True, False, False, False, False]
    assert separate_known_negatives(["unknown", "fraud", None])[1] is None
    with pytest.raises(InvalidLabels, match="not certain"):
        separate_known_negatives(["stay", "churn", None, None])


def test_a_matter_of_words_decides_no_fit(rng):
    """Every way to write the labels gives the same fit, whichever word comes first in the alphabet."""
    X = rng.normal(size=(300, 3))
    labelled = (X[:, 0] + rng.normal(size=300) > 0.8) & (rng.random(300) < 0.6)
    fits = [JERM().fit(X, labelled), JERM().fit(X, np.where(labelled, "positive", "unlabelled"))]
    fits += [JERM(positive_label="churn").fit(X, np.where(labelled, "churn", "stay"))]
    fits += [JERM(positive_label=1).fit(X, np.where(labelled, 1, 2))]
    for each in fits[1:]:
        assert each.prior_ == fits[0].prior_
        np.testing.assert_array_equal(each.predict_proba(X), fits[0].predict_proba(X))
        np.testing.assert_array_equal(each.predict(X) == each.classes_[1], fits[0].predict(X))
