"""Plain values through JSON and back."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from propense.errors import ModelFileError
from propense.model_files.values import pack, unpack

NUMBERS = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
]
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        [np.float64(0.1), np.float32(math.nan), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.str_("ä")]
    )
)
ARRAYS = st.sampled_from(NUMBERS).flatmap(lambda name: arrays(name, array_shapes(min_side=0))) | arrays(
    object, array_shapes(min_side=0), elements=PLAIN
)
VALUES = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["$float", "$"]), inner)
    ),
    max_leaves=8,
)


def through_json(value):
    kept = []
    text = json.dumps(pack(value, kept), allow_nan=False)
    return unpack(json.loads(text), [np.array(each) for each in kept])


def assert_equal(one, other):
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        one, other = one.ravel().tolist(), other.ravel().tolist()
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
    elif isinstance(one, float | np.floating):
        assert repr(one) == repr(other)
    else:
        assert one == other


@pytest.mark.slow
@given(VALUES)
def test_plain_values_come_back_with_their_types(value):
    assert_equal(through_json(value), value)


@pytest.mark.parametrize("value", [np.array(["ab", ""]), np.array([], dtype="<U7")], ids=str)
def test_words_come_back(value):
    assert_equal(through_json(value), value)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no such words")
def test_words_of_any_length_come_back_unless_some_are_missing():
    words = np.array(["no", "yes, at length"], dtype=np.dtypes.StringDType())
    assert_equal(through_json(words), words)
    with pytest.raises(ModelFileError, match="cannot be saved"):
        pack(words.astype(np.dtypes.StringDType(na_object=None)), [])


STRANGE = [
    1j,
    b"bytes",
    {1: 2},
    {1},
    Fraction(1, 2),
    print,
    np.datetime64("2024-01-01"),
    np.longdouble(1),
    np.array([1j]),
    np.array(["a"], dtype="S1"),
    np.array([[1], None], dtype=object),
    np.array([Fraction(1, 2)], dtype=object),
    np.ma.masked_array([1.0]),
    np.zeros(2, dtype=[("a", int)]),
    object,
    slice(1),
    np.dtype("float32"),
]


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_nothing_else_is_plain(value):
    for each in (value, [value], {"a": (value,)}):
        with pytest.raises(ModelFileError, match="cannot be saved"):
            pack(each, [])


NONSENSE = [
    {"$float": "1e5"},
    {"$float": 3},
    {"$float": "nan", "more": 1},
    {"$call": "os.system"},
    {"$type": "float"},
    {"$dtype": "float32"},
    {"$tuple": 3},
    {"$tuple": "abc"},
    {"$dict": "ab"},
    {"$dict": {"ab": 1}},
    {"$values": "ab", "dtype": "object", "shape": [2]},
    {"$dict": [["a"]]},
    {"$dict": [[1, 2]]},
    {"$slice": [1, 2, 3]},
    {"$array": 7},
    {"$array": -1},
    {"$array": True},
    [{"$array": 0}, {"$array": 0}],
    {"$number": "1", "dtype": "int64"},
    {"$number": 2**63, "dtype": "int64"},
    {"$number": 1, "dtype": "object"},
    {"$number": "a", "dtype": "<U999999999"},
    {"$values": [1, 2], "dtype": "int8", "shape": [3]},
    {"$values": [1, 2], "dtype": "int8", "shape": [-1]},
    {"$values": [1, 2], "dtype": "int8", "shape": "2"},
    {"$values": [1, 300], "dtype": "int8", "shape": [2]},
    {"$values": ["1"], "dtype": "int8", "shape": [1]},
    {"$values": [[1]], "dtype": "object", "shape": [1]},
    float("1e999"),
]


@pytest.mark.parametrize("packed", NONSENSE, ids=str)
def test_nonsense_is_refused(packed):
    with pytest.raises(ModelFileError, match="it holds"):
        unpack(packed, [np.zeros(2)])


WIDE = {
    "words": {"$values": ["a"], "dtype": "<U65536", "shape": [1]},
    "no words": {"$values": [], "dtype": "<U65536", "shape": [0]},
    "a word": {"$number": "a", "dtype": "<U65536"},
}


@pytest.mark.parametrize("kind", WIDE)
def test_strings_may_be_as_wide_together_as_a_file_of_its_size_may_make_them(kind):
    """Each alone is 256 KiB."""
    unpack([WIDE[kind]] * 4, [])
    with pytest.raises(ModelFileError, match="its arrays would take 1310720 bytes; in a file of 0 bytes"):
        unpack([WIDE[kind]] * 5, [])
    unpack({"a": [WIDE[kind]] * 5}, [], 2**14)
    with pytest.raises(ModelFileError, match="its arrays would take"):
        unpack({"a": {"$tuple": [WIDE[kind]] * 10}}, [], 2**14)
