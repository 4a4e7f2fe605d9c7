"""The one reader of y."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from propense import JERM, Naive
from propense._inputs.labels import read_classes, read_labels
from propense.errors import InvalidLabels, NoLabelledInstances, NoUnlabelledInstances

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
    "words that end alike": (["bb", "b", "b", "bb", "b"], "b", "bb"),
    "None": ([True, None, None, True, None], False, True),
    "None beside a number": ([5, None, None, 5, None], 0, 5),
    "None beside a string": (["case", None, None, "case", None], "", "case"),
    "empty strings": (["case", "", "", "case", ""], "", "case"),
    "NaN beside a string": (["case", np.nan, np.nan, "case", np.nan], "", "case"),
    "pandas Int64 with NA": (pd.Series([1, None, None, 1, None], dtype="Int64"), 0, 1),
    "pandas boolean with NA": (pd.Series([True, None, None, True, None], dtype="boolean"), False, True),
    "pandas string with NA": (pd.Series(["x", None, None, "x", None], dtype="string"), "", "x"),
    "pandas category with NaN": (pd.Series(["x", None, None, "x", None], dtype="category"), "", "x"),
    "pandas category": (pd.Series(["b", "a", "a", "b", "a"], dtype="category"), "a", "b"),
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


# What the larger of two words would make the label by mistake, and values that are no labels.
REFUSED = {
    "unlabelled after labelled": (["labelled", "unlabelled"], InvalidLabels, "Pass y == 'labelled'"),
    "not flagged": (["flagged", "not flagged"], InvalidLabels, "Pass y == 'flagged'"),
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
    positive, classes = read_classes(["healthy", "unhealthy"])
    assert (positive.tolist(), classes.tolist()) == ([False, True], ["healthy", "unhealthy"])


@pytest.mark.parametrize("written", WRITTEN)
def test_score_reads_labels_as_fit_does(written, rng):
    y, *_ = WRITTEN[written]
    X = np.where(S, 4.0, -4.0)[:, None] + rng.normal(size=(5, 1))
    assert Naive().fit(X, y).score(X, y) == 1.0
    assert Naive().fit(X, y).score(-X, y) == 0.0


def test_long_values_are_cut_short_in_errors():
    with pytest.raises(InvalidLabels, match=r"3 labels \(a{40}…, b c, d\)"):
        Naive().fit([[0.0], [1.0], [2.0], [3.0]], ["a" * 900, "b\nc", "d", None])
