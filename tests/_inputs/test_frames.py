"""Data frames with columns of every kind: the same numbers from every library, or one clear error."""

import datetime as dt
import decimal
import fractions
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import parse_version

from conftest import MISTAKEN_CHECKS
from propense import JERM, intervals
from propense._designs import as_design
from propense._inputs.columns import MISSING, OTHER, Column, days
from propense._inputs.frames import encode_frame
from propense._inputs.labels import read_labels
from propense._inputs.preparation import Preparation
from propense._inputs.sample import read_sample
from propense.errors import InvalidFeatures, InvalidWeights
from propense.estimators import BasePUClassifier, Description, Learner, Model

N = 120
MANY = settings(max_examples=100)
EAST = dt.timezone(dt.timedelta(hours=2))


@dataclass(frozen=True)
class _Prepared:
    """A predictor of prepared features."""

    preparation: Preparation
    predictor: Any

    def log_odds(self, design):
        return self.predictor.log_odds(as_design(self.preparation.transform(design.features)))


class _Half:
    """A propensity of a half."""

    def log_odds(self, design):
        return np.zeros(design.shape[0])


class Mixed(BasePUClassifier):
    """A regression of the label on columns of every kind."""

    description: ClassVar[Description] = Description(takes=("weights", "mixed columns"))

    def __init__(self, *, decision="posterior", mixed=True):
        self.decision = decision
        self.mixed = mixed

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _takes_mixed_columns(self):
        return self.mixed

    def _fit(self, sample):
        features = sample.design.features
        levels = np.zeros(features.shape[1], dtype=np.int64) if sample.levels is None else sample.levels
        preparation = Preparation.fit(levels, features, sample.weights)
        design = as_design(preparation.transform(features))
        posterior, converged = Learner().fit(design, sample.labelled, sample.weights)
        return Model(_Prepared(preparation, posterior), _Half(), 1, converged, [])

    def _doubts(self, sample, model, a, b):
        return ()


@pytest.fixture
def cells(rng):
    """Columns of every kind as lists, None where missing."""

    def some(values):
        return [None if rng.random() < 0.2 else value for value in values]

    start = dt.datetime(2019, 12, 30, 22, 7, 1, 250, tzinfo=EAST)
    return {
        "whole": some(rng.integers(0, 5, N).tolist()),
        "real": some(rng.normal(size=N).tolist()),
        "truth": some((rng.random(N) < 0.4).tolist()),
        "word": some(rng.choice(["a", "b", "c"], N, p=[0.2, 0.5, 0.3]).tolist()),
        "date": some([start.date() + dt.timedelta(days=int(k)) for k in rng.integers(0, 90, N)]),
        "moment": some([start + dt.timedelta(hours=int(k)) for k in rng.integers(0, 900, N)]),
        "money": some([decimal.Decimal(int(k)) / 8 for k in rng.integers(0, 99, N)]),
        "nothing": [None] * N,
        "plain": rng.normal(size=N).tolist(),
    }


@pytest.fixture
def labels(cells):
    return np.array([word == "b" for word in cells["word"]]) | (np.arange(N) % 7 == 0)


def _arrow_with(column):
    def make(cells):
        table = pa.table(cells)
        return table.set_column(table.column_names.index("word"), "word", column(table["word"]))

    return make


def _in_chunks(cells):
    table = _arrow_with(lambda word: word.dictionary_encode())(cells)
    halves = [pa.table({name: values[part] for name, values in cells.items()}) for part in (slice(50), slice(50, N))]
    words = [half["word"].combine_chunks().dictionary_encode() for half in halves]
    return table.set_column(table.column_names.index("word"), "word", pa.chunked_array(words))


LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda cells: pd.DataFrame(cells, dtype=object),
    "pandas nullable": lambda cells: pd.DataFrame(cells).convert_dtypes(),
    "pandas Arrow": lambda cells: pa.table(cells).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas Categorical": lambda cells: pd.DataFrame(cells).assign(
        word=pd.Categorical(cells["word"], categories=["unused", "c", "b", "a"])
    ),
    "pandas nanoseconds": lambda cells: pd.DataFrame(cells).assign(
        date=pd.to_datetime(pd.Series(cells["date"])).astype("datetime64[ns]"),
        moment=pd.to_datetime(pd.Series(cells["moment"]))
        .dt.tz_convert("America/Lima")
        .astype("datetime64[ns, Asia/Tokyo]"),
    ),
    "polars": pl.DataFrame,
    "polars Categorical": lambda cells: pl.DataFrame(cells).with_columns(pl.col("word").cast(pl.Categorical)),
    "polars Enum": lambda cells: pl.DataFrame(cells).with_columns(pl.col("word").cast(pl.Enum(["unused", *"cba"]))),
    "polars zone": lambda cells: pl.DataFrame(cells).with_columns(
        pl.col("moment").dt.convert_time_zone("Asia/Tokyo").dt.cast_time_unit("ns")
    ),
    "pyarrow": pa.table,
    "pyarrow large text": _arrow_with(lambda word: word.cast(pa.large_string())),
    "pyarrow views": _arrow_with(lambda word: word.cast(pa.string_view())),
    "pyarrow dictionary": _arrow_with(lambda word: word.dictionary_encode()),
    "pyarrow dictionary with null": _arrow_with(lambda word: word.dictionary_encode(null_encoding="encode")),
    "pyarrow dictionaries": _in_chunks,
}


def read(X, y, weights=None):
    """The estimator that learned the columns, and the sample."""
    estimator = Mixed()
    return estimator, read_sample(estimator, X, y, weights, None, read_labels)[0]


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_same_numbers_to_the_bit(cells, labels, library):
    expected, sample = read(pd.DataFrame(cells), labels)
    other = LIBRARIES[library](cells)
    found, same = read(other, labels)
    assert [column.kind for column in found._columns] == [
        *("number", "number", "truth", "category", "date", "date", "number", "empty", "number")
    ]
    assert found._columns == expected._columns
    assert same.design.features.tobytes() == sample.design.features.tobytes()
    np.testing.assert_array_equal(same.levels, [0, 0, 0, 4, 0, 0, 0, 0, 0])
    assert found.feature_names_in_.tolist() == list(cells)
    model = Mixed().fit(pd.DataFrame(cells), labels)
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(pd.DataFrame(cells)))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_numbers_are_those_of_the_cells(cells, labels, library):
    matrix = read(LIBRARIES[library](cells), labels)[1].design.features
    counts = {word: cells["word"].count(word) for word in "abc"}
    order = sorted(counts, key=lambda word: -counts[word])
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    truths = {
        "word": lambda word: order.index(word),
        "date": lambda date: date.toordinal() - dt.date(1970, 1, 1).toordinal(),
        "moment": lambda moment: (moment - start) / dt.timedelta(days=1),
    }
    for j, (name, column) in enumerate(cells.items()):
        truth = truths.get(name, float)
        missing = {"word": 3.0, "nothing": 0.0}.get(name, np.nan)
        expected = [missing if value is None else truth(value) for value in column]
        np.testing.assert_allclose(matrix[:, j], expected, rtol=1e-15)


def test_the_order_of_the_rows_changes_nothing(cells, labels, rng):
    frame, order = pd.DataFrame(cells), rng.permutation(N)
    one, sample = read(frame, labels)
    other, shuffled = read(frame.iloc[order], labels[order])
    assert one._columns == other._columns
    np.testing.assert_array_equal(sample.design.features[order], shuffled.design.features)


def test_levels_are_the_frequent_words_and_ties_go_by_name(labels):
    words = ["b"] * 6 + ["z"] * 20 + ["a"] * 6 + ["rare"] * 4 + [None] * 2 + ["y"] * (N - 38)
    estimator, sample = read(pd.DataFrame({"word": words}), labels)
    assert estimator._columns[0].levels == ("y", "z", "a", "b", OTHER, MISSING)
    assert sample.levels.tolist() == [6]
    many = [f"{k % 40:02}" for k in range(400)] + ["05"] * 3
    estimator, _ = read(pl.DataFrame({"word": many}), np.arange(403) % 2 == 0)
    assert estimator._columns[0].levels == ("05", *(f"{k:02}" for k in range(30) if k != 5), OTHER)


def test_words_that_fit_did_not_see_have_no_level(labels):
    frame = pl.DataFrame({"word": ["a", "b"] * (N // 2)})
    model = Mixed().fit(frame, labels)
    later = pl.DataFrame({"word": ["new", None, "b", "a"]})
    assert encode_frame(model._columns, later)[:, 0].tolist() == [-1, -1, 1, 0]
    assert np.isfinite(model.predict_proba(later)).all()
    # With rare words in fit, a new word is one of them.
    rare = read(pl.DataFrame({"word": ["a"] * (N - 1) + ["b"]}), labels)[0]
    assert encode_frame(rare._columns, later)[:, 0].tolist() == [1, -1, 1, 0]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_row_of_weight_0_does_not_exist(cells, labels, library):
    # The last rows would make "a" the most frequent word, and add a word.
    longer = {name: column + column[:40] for name, column in cells.items()}
    longer["word"] = cells["word"] + ["a"] * 30 + ["new"] * 10
    weights = np.append(np.ones(N), np.zeros(40))
    make = LIBRARIES[library]
    one = Mixed().fit(make(cells), labels, np.ones(N))
    other = Mixed().fit(make(longer), np.append(labels, labels[:40]), weights)
    assert one._columns == other._columns
    np.testing.assert_array_equal(one.predict_proba(make(longer)), other.predict_proba(make(longer)))


@pytest.mark.parametrize("weights", [["a"] * N, [1.0], [np.nan] * N, [[1.0]] * N])
def test_weights_are_checked_as_ever(cells, labels, weights):
    with pytest.raises(InvalidWeights):
        Mixed().fit(pd.DataFrame(cells), labels, weights)


def test_levels_are_passed_on_to_parts_of_a_sample(cells, labels):
    _, sample = read(pd.DataFrame(cells), labels)
    few = np.arange(N) < 30
    for part in (sample.subset(few), sample.subset(~few), sample.reweighted(few * 1.0), sample.reweighted(few + 1.0)):
        assert part.levels is sample.levels


TEXTS = [f"id {k}" for k in range(N)]
REFUSED = {
    "texts that differ": ({"x": TEXTS}, "X, column 'x' holds 120 different texts, most of them once: not a category"),
    "text and numbers": ({"x": ["a", 3] * (N // 2)}, r"X, column 'x' mixes str \('a'\) and int \(3\)"),
    "truths and numbers": ({"x": [True, 3.5] * (N // 2)}, r"X, column 'x' mixes bool \(True\) and float \(3.5\)"),
    "lists": ({"x": [[1]] * N}, "X, column 'x' holds list: not numbers, text, dates, durations or true/false"),
    "bytes": ({"x": [b"a"] * N}, "X, column 'x' holds bytes"),
    "large whole numbers": (
        {"x": pd.Series([10**400] * N, dtype=object)},
        "X, column 'x' contains a number beyond float64",
    ),
}


@pytest.mark.parametrize(("columns", "message"), REFUSED.values(), ids=REFUSED)
def test_a_column_of_pandas_that_is_not_of_one_kind_is_refused_by_name(columns, message, labels):
    with pytest.raises(InvalidFeatures, match=message) as caught:
        Mixed().fit(pd.DataFrame({"other": np.arange(N), **columns}), labels)
    assert len(str(caught.value).splitlines()) == 1


ODD = [
    *(None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT"), decimal.Decimal("NaN"), decimal.Decimal("sNaN")),
    *("a", "", "(missing)", "(other)", np.str_("b"), "\udc80", b"a", 1, -2.5, True, np.bool_(False), np.float32(0.1)),
    *(
        np.int8(3),
        10**400,
        -np.inf,
        1e200,
        1j,
        decimal.Decimal("1e999"),
        decimal.Decimal("0.1"),
        fractions.Fraction(1, 3),
    ),
    *(
        dt.date.min,
        dt.date.max,
        dt.datetime.max,
        dt.datetime.min.replace(tzinfo=EAST),
        dt.datetime.max.replace(tzinfo=EAST),
    ),
    *(pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("2020-01-01", tz="Asia/Tokyo"), np.datetime64("2020")),
    *(
        np.datetime64("-200000000-01-01"),
        dt.time(1),
        dt.timedelta(1),
        pd.Timedelta(1),
        pd.Period("2020"),
        pd.Interval(0, 1),
    ),
    *((), [1], {}, {1}, object(), np.zeros(2), np.zeros(()), float, pd.DataFrame({"a": [1]})),
]


@pytest.mark.slow
@MANY
@given(st.data())
def test_any_objects_are_read_or_refused_in_one_line(data):
    some = st.lists(st.sampled_from(ODD), min_size=1, max_size=3)
    columns = data.draw(st.lists(some, min_size=1, max_size=3))
    rows = data.draw(st.integers(2, 12))
    cells = {f"c{j}": [values[k % len(values)] for k in range(rows)] for j, values in enumerate(columns)}
    frame = pd.DataFrame({name: _object_series(values) for name, values in cells.items()})
    labels = np.arange(rows) % 2
    refused = []
    try:
        estimator, sample = read(frame, labels)
    except InvalidFeatures as error:
        refused = str(error).splitlines()
    assert len(refused) <= 1
    if refused:
        return
    assert not np.isinf(sample.design.features).any()
    np.testing.assert_array_equal(encode_frame(estimator._columns, frame), sample.design.features)


def _object_series(values):
    out = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return pd.Series(out, dtype=object)


@pytest.mark.parametrize("values", [TEXTS, [[1]] * N, [b"a"] * N])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries_refuse_the_same_columns(library, values, labels):
    with pytest.raises(InvalidFeatures, match=r"X, column 'x' holds .*(not a category|not numbers).*"):
        Mixed().fit(LIBRARIES[library]({"x": values}), labels)


CHANGED = {
    "category": ([1.5, 2.0], "held text in fit and holds numbers now, such as 1.5"),
    "number": (["a", "b"], "held numbers in fit and holds text now, such as 'a'"),
    "date": ([True, None], "held dates in fit and holds true or false now, such as True"),
    "truth": ([1.0, 2.0], "held true or false in fit and holds 2.0 now"),
}
KINDS = {"category": ["a", "b"], "number": [1.5, 2.0], "date": [dt.date(2020, 1, 1), None], "truth": [True, None]}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", CHANGED)
def test_a_column_keeps_the_kind_it_had_in_fit(kind, library, labels):
    make, (values, message) = LIBRARIES[library], CHANGED[kind]
    text = ["u", "v"] * (N // 2)
    model = Mixed().fit(make({"word": text, "x": KINDS[kind] * (N // 2)}), labels)
    with pytest.raises(InvalidFeatures, match=f"X, column 'x' {message}"):
        model.predict(make({"word": text[:2], "x": values}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_missing_cells_and_truths_as_numbers_are_taken(library, labels):
    make = LIBRARIES[library]
    model = Mixed().fit(make({kind: values * (N // 2) for kind, values in KINDS.items()}), labels)
    empty = model.predict_proba(make({kind: [None, None] for kind in KINDS}))
    assert np.isfinite(empty).all()
    numbers = model.predict_proba(make({**KINDS, "truth": [1, None], "number": [1.5, 2.0]}))
    np.testing.assert_array_equal(numbers, model.predict_proba(make(KINDS)))


def test_a_frame_of_numbers_is_read_as_an_array(rng, labels):
    X = rng.normal(size=(N, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abc"))
    estimator, sample = read(frame, labels)
    assert estimator._columns is None
    assert sample.levels is None
    assert sample.design.features.dtype == np.float32
    np.testing.assert_array_equal(sample.design.features, X)
    of_array = Mixed().fit(X, labels)
    of_frame = Mixed().fit(frame, labels)
    np.testing.assert_array_equal(of_array.predict_proba(X), of_frame.predict_proba(frame))
    # Columns of other types of numbers, which only later rows have.
    np.testing.assert_array_equal(of_frame.predict_proba(frame.convert_dtypes()), of_frame.predict_proba(frame))


def test_infinity_is_refused_where_nan_is_taken(cells, labels):
    X = np.full((N, 2), np.nan)
    X[3, 1] = np.inf
    with pytest.raises(InvalidFeatures, match=r"X has 1 entries that are infinite, .* at row 3, column 1\."):
        Mixed().fit(X, labels)
    cells["plain"][4] = -np.inf
    with pytest.raises(InvalidFeatures, match=r"the first \(-inf\) at row 4, column 'plain'"):
        Mixed().fit(pd.DataFrame(cells), labels)
    cells["plain"][4] = 1e200
    with pytest.raises(InvalidFeatures, match=r"largest number that trees read, .* at row 4, column 'plain'"):
        Mixed().fit(pl.DataFrame(cells), labels)


def test_an_array_is_refused_after_a_fit_to_categories(cells, labels):
    model = Mixed().fit(pd.DataFrame(cells), labels)
    with pytest.raises(InvalidFeatures, match="fitted to a data frame in which 'word' is a category"):
        model.predict(np.zeros((3, len(cells))))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_an_array_is_taken_after_a_fit_to_numbers_and_truths(labels):
    frame = pd.DataFrame({"a": np.arange(N), "b": np.arange(N) % 3 == 0})
    model = Mixed().fit(frame, labels)
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(frame.to_numpy(float)))


def test_a_later_fit_forgets_the_columns(cells, labels, rng):
    X = rng.normal(size=(N, 3))
    model = Mixed().fit(pd.DataFrame(cells), labels).fit(X, labels)
    assert model._columns is None
    np.testing.assert_array_equal(model.predict_proba(X), Mixed().fit(X, labels).predict_proba(X))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_other_columns_are_refused_as_by_scikit_learn(cells, labels, library):
    make = LIBRARIES[library]
    model = Mixed().fit(make(cells), labels)
    turned = dict(reversed(cells.items()))
    with pytest.raises(InvalidFeatures, match="Feature names must be in the same order as they were in fit"):
        model.predict(make(turned))
    renamed = {**cells}
    renamed["other"] = renamed.pop("plain")
    with pytest.raises(InvalidFeatures, match="Feature names unseen at fit time:\n- other\n"):
        model.predict(make(renamed))


def test_too_few_rows_are_refused_as_by_scikit_learn(cells, labels):
    frame = pd.DataFrame(cells)
    with pytest.raises(InvalidFeatures, match="Found array with 1 sample"):
        Mixed().fit(frame[:1], labels[:1])
    with pytest.raises(InvalidFeatures, match="Found array with 0 sample"):
        Mixed().fit(frame, labels).predict(frame[:0])


def test_names_may_be_numbers(labels):
    frame = pd.DataFrame({0: ["a", "b"] * (N // 2), 1: np.arange(N)})
    assert Mixed().fit(frame, labels).predict(frame).shape == (N,)


def test_categories_of_pandas_need_not_be_text(labels):
    zips = pd.Series([50667, 10115] * (N // 2)).astype("category")
    intervals = pd.cut(pd.Series(np.arange(N) % 10), [0, 3, 10])
    columns = read(pd.DataFrame({"zip": zips, "part": intervals}), labels)[0]._columns
    assert columns[0].levels == ("10115", "50667")
    assert columns[1].levels == ("(3.0, 10.0]", "(0.0, 3.0]", MISSING) or columns[1].levels[0] == "(3, 10]"


def test_sparse_columns_of_pandas_are_numbers(labels):
    sparse = pd.arrays.SparseArray((np.arange(N) % 5 == 0) * 2.0)
    frame = pd.DataFrame({"s": sparse, "word": ["a", "b"] * (N // 2)})
    _, sample = read(frame, labels)
    np.testing.assert_array_equal(sample.design.features[:, 0], np.asarray(sparse))


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns", "15m"])
def test_days_do_not_depend_on_the_unit(unit):
    moments = np.array(["1969-07-20", "2024-02-29", "NaT"], dtype=f"datetime64[{unit}]")
    np.testing.assert_array_equal(days(moments), [-165.0, 19782.0, np.nan])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_cross_validation_takes_frames(cells, labels, library):
    if library == "pyarrow" and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn before 1.7 takes no rows of a pyarrow table")
    chances = cross_val_predict(Mixed(), LIBRARIES[library](cells), labels, cv=3, method="predict_proba")
    assert np.isfinite(chances).all()


def test_intervals_take_frames(cells, labels):
    frame = pd.DataFrame(cells)
    model = Mixed().fit(frame, labels)
    found = intervals(model, frame, labels, at=frame[:3], n_resamples=3, random_state=0)
    assert (found.posterior.low <= found.posterior.high).all()


def test_tags_follow_what_the_method_takes():
    taken, refused = get_tags(Mixed()).input_tags, get_tags(Mixed(mixed=False)).input_tags
    assert taken.allow_nan
    assert taken.categorical
    assert not refused.allow_nan
    assert not refused.categorical
    assert not get_tags(JERM()).input_tags.allow_nan


def test_other_methods_take_numbers_only(cells, labels):
    for method in (JERM(), Mixed(mixed=False)):
        name = type(method).__name__
        for library in ("pandas", "polars", "pyarrow"):
            frame = LIBRARIES[library]({name: cells[name] for name in ("plain", "word")})
            with pytest.raises(InvalidFeatures, match=f"X, column 'word' holds text, such as '\\w', but {name}"):
                method.fit(frame, labels)
        dated = pd.DataFrame({"a": np.arange(N), "b": pd.date_range("2020-01-01", periods=N)})
        with pytest.raises(InvalidFeatures, match=f"X, column 'b' holds dates, such as '2020-01-01', but {name} takes"):
            method.fit(dated, labels)
        with pytest.raises(InvalidFeatures, match="NaN"):
            method.fit(np.where(np.arange(N)[:, np.newaxis] == 3, np.nan, np.ones((N, 2))), labels)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks provoke warnings of many kinds on purpose.
@pytest.mark.parametrize("mixed", [True, False])
def test_scikit_learn_finds_nothing_wrong(mixed):
    method = Mixed(mixed=mixed)
    results = check_estimator(method, on_skip=None, on_fail=None, expected_failed_checks=MISTAKEN_CHECKS)
    assert len(results) > 40
    failed = [result for result in results if result["status"] not in ("passed", "xfail")]
    assert [f"{r['check_name']}: {r['status']}: {r['exception']}" for r in failed] == []


AS_TEXT = {
    "pandas objects": lambda words: pd.DataFrame({"when": pd.Series(words, dtype=object)}),
    "pandas text": lambda words: pd.DataFrame({"when": pd.Series(words, dtype="string")}),
    "polars": lambda words: pl.DataFrame({"when": words}),
    "pyarrow": lambda words: pa.table({"when": words}),
}


@pytest.mark.parametrize("clock", ["", " 10:30", "T10:30:00.25", "T10:30:00+02:00"])
@pytest.mark.parametrize("library", AS_TEXT)
def test_text_of_dates_is_read_as_dates(rng, library, clock):
    dates = [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 90, N)]
    words = [None if j % 7 == 3 else f"{date}{clock}" for j, date in enumerate(dates)]
    estimator, sample = read(AS_TEXT[library](words), np.arange(N) % 2 == 0)
    assert [column.kind for column in estimator._columns] == ["date"]
    moments = pd.to_datetime(pd.Series(words), format="ISO8601", utc=True)
    _, same = read(pd.DataFrame({"when": moments}), np.arange(N) % 2 == 0)
    np.testing.assert_allclose(sample.design.features, same.design.features, rtol=1e-15)
    # Either form may come later.
    for later in (AS_TEXT[library](words[:9]), pd.DataFrame({"when": moments[:9]})):
        np.testing.assert_allclose(encode_frame(estimator._columns, later), same.design.features[:9], rtol=1e-15)
    with pytest.raises(InvalidFeatures, match=r"'when' held dates in fit and holds 'soon' now\. Write dates as 2020"):
        encode_frame(estimator._columns, AS_TEXT[library]([None, "2020-01-01", "soon"]))


@pytest.mark.parametrize("words", [["31/12/2020"], ["31.12.2020 10:30"], ["2020-12-31", "2020-02-30"], ["2020/12/31"]])
def test_words_among_dates_are_refused_by_name(words):
    # Most cells decide: a few words among dates are a mistake, a few dates among words are not.
    frame = pd.DataFrame({"when": (words * N)[: N - 50] + ["unknown"] * 50})
    with pytest.raises(InvalidFeatures, match=r"X, column 'when' holds dates as text: most.*pandas\.to_datetime"):
        read(frame, np.arange(N) % 2 == 0)
    assert read(frame.astype("category"), np.arange(N) % 2 == 0)[0]._columns[0].kind == "category"
    few = pd.DataFrame({"when": (words * N)[:50] + ["unknown"] * (N - 50)})
    assert read(few, np.arange(N) % 2 == 0)[0]._columns[0].kind == "category"


@pytest.mark.parametrize(
    "words",
    [
        ["31.12.2020", "1.2.2021"],
        ["31/12/2020", "01/02/2021"],
        ["12/31/2020", "2/1/2021"],
        ["31 Dec 2020", "1 February 2021"],
        ["2020/12/31", "2021/2/1"],
    ],
)
@pytest.mark.parametrize("library", AS_TEXT)
def test_dates_of_every_usual_form_are_read_and_the_form_is_kept(library, words):
    estimator, sample = read(AS_TEXT[library](words * 10), np.arange(20) % 2 == 0)
    np.testing.assert_array_equal(sample.design.features[:2, 0], [18627, 18659])
    # The form is that of fit, even where later cells do not show it.
    np.testing.assert_array_equal(encode_frame(estimator._columns, AS_TEXT[library](words[1:]))[:, 0], [18659])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_of_day_are_days_since_midnight(library):
    cells = [dt.time(12), None, dt.time(6, 0, 0)] * 5
    _, sample = read(LIBRARIES[library]({"x": cells}), np.arange(15) % 2 == 0)
    np.testing.assert_array_equal(sample.design.features[:3, 0], [0.5, np.nan, 0.25])


def test_dates_that_may_have_their_day_or_their_month_first_are_refused():
    with pytest.raises(InvalidFeatures, match="'01/02/2020' may have its day or its month first"):
        read(pd.DataFrame({"when": ["01/02/2020", "03/04/2020"] * 10}), np.arange(20) % 2 == 0)


SPANS = {
    "pandas": lambda: pd.DataFrame({"x": pd.to_timedelta([36, None, 12] * 10, unit="h")}),
    "polars": lambda: pl.DataFrame({"x": [dt.timedelta(hours=36), None, dt.timedelta(hours=12)] * 10}),
    "pyarrow": lambda: pa.table({"x": pa.array([36 * 3600, None, 12 * 3600] * 10, pa.duration("s"))}),
    "objects": lambda: pd.DataFrame({"x": pd.Series([dt.timedelta(1.5), None, dt.time(12)] * 10, dtype=object)}),
    "texts": lambda: pd.DataFrame({"x": ["1 day 12 hours", None, "12:00:00"] * 10}),
    "ISO 8601": lambda: pd.DataFrame({"x": ["P1DT12H", None, "PT12H"] * 10}),
}


@pytest.mark.parametrize("make", SPANS.values(), ids=SPANS)
def test_durations_are_days(make):
    estimator, sample = read(make(), np.arange(30) % 2 == 0)
    assert estimator._columns == (Column("x", "duration"),)
    np.testing.assert_array_equal(sample.design.features[:3, 0], [1.5, np.nan, 0.5])
    for other in SPANS.values():
        np.testing.assert_array_equal(encode_frame(estimator._columns, other()), sample.design.features)
    with pytest.raises(InvalidFeatures, match="held durations in fit and holds numbers now"):
        encode_frame(estimator._columns, pd.DataFrame({"x": [1.5, 2.0]}))
    with pytest.raises(InvalidFeatures, match=r"held durations in fit and holds 'long' now\. Write durations as 3 d"):
        encode_frame(estimator._columns, pd.DataFrame({"x": ["2 days", "long"]}))


@pytest.mark.parametrize("library", ["pandas Categorical", "polars Categorical", "polars Enum", "pyarrow dictionary"])
def test_dates_that_are_declared_a_category_stay_one(cells, labels, library):
    dates = {"a": "2020-01-01", "b": "2020-02-01", "c": "2020-03-01", None: None}
    words = [dates[word] for word in cells["word"]]
    if library.startswith("pandas"):
        frame = pd.DataFrame({"when": pd.Categorical(words)})
    elif library.startswith("polars"):
        kind = pl.Categorical if "Cat" in library else pl.Enum(sorted(filter(None, dates.values())))
        frame = pl.DataFrame({"when": words}).with_columns(pl.col("when").cast(kind))
    else:
        frame = pa.table({"when": pa.array(words).dictionary_encode()})
    assert read(frame, labels)[0]._columns[0].levels[0] == "2020-02-01"
