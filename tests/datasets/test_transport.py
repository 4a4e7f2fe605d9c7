"""Reading SAS transport files, against pandas and exact arithmetic."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propense.datasets.transport import from_ibm, read_transport
from propense.errors import DatasetMismatch
from survey import to_ibm, transport

NAN = np.nan
# Not 0.0: pandas reads it as 16^-65.
TABLE = {
    "SEQN": [1.0, 2.0, 3.0, 4.0, 5.0],
    "WORD": [b"one ", b"two ", b"    ", b"four", b"\x00\x00\x00\x00"],
    "VALUE": [NAN, -1.5, 34030.994822, 0.1, 1e-60],
    "SHORT": [1.0, 2.0, -3.0, NAN, 255.0],
}
LENGTHS = {"SHORT": 3}


@pytest.fixture
def save(tmp_path):
    def write(content):
        (tmp_path / "T.xpt").write_bytes(content)
        return tmp_path / "T.xpt"

    return write


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5])
def test_numbers_are_those_that_pandas_reads(save, rows):
    pandas = pytest.importorskip("pandas")
    content = transport("T", {name: values[:rows] for name, values in TABLE.items()}, LENGTHS | {"WORD": 4})
    found = read_transport(save(content))
    if rows == 0:
        # Without a row, the writer takes the text for numbers.
        assert all(len(values) == 0 for values in found.values())
        return
    assert list(found) == ["SEQN", "VALUE", "SHORT"]
    frame = pandas.read_sas(io.BytesIO(content), format="xport", encoding="latin-1")
    for name, values in found.items():
        np.testing.assert_array_equal(values, frame[name])
        np.testing.assert_array_equal(values, TABLE[name][:rows])


def test_a_zero_is_a_zero(save):
    found = read_transport(save(transport("T", {"A": [0.0, 1.0, NAN]})))
    np.testing.assert_array_equal(found["A"], [0.0, 1.0, NAN])


def test_names_are_in_capitals(save):
    assert list(read_transport(save(transport("T", {"seqn": [1.0], "Mcq300c": [2.0]})))) == ["SEQN", "MCQ300C"]


@given(st.floats(min_value=1e-70, max_value=1e70) | st.floats(min_value=-1e70, max_value=-1e-70))
def test_every_number_comes_back_exactly(value):
    assert from_ibm(np.frombuffer(to_ibm(value), dtype=np.uint8)[None])[0] == value


@given(st.integers(2, 8), st.integers(-(2**8) + 1, 2**8 - 1))
def test_short_numbers_come_back_exactly(length, value):
    assert from_ibm(np.frombuffer(to_ibm(float(value), length), dtype=np.uint8)[None])[0] == value


@pytest.mark.parametrize("first", [*b"._", *b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"])
def test_every_kind_of_missing_value_is_missing(first):
    assert np.isnan(from_ibm(np.array([[first, 0, 0, 0, 0, 0, 0, 0]], dtype=np.uint8))[0])
    # The same byte begins a number, if more follows.
    assert from_ibm(np.array([[first, 16, 0, 0, 0, 0, 0, 0]], dtype=np.uint8))[0] == 16.0 ** (first - 65)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda content: b"<!DOCTYPE html><html>not found</html>", r"begins with b'<!DOCTYPE html>"),
        (lambda content: b"", "begins with b''"),
        (lambda content: content[:-7], "bytes are not whole records of 80; it was cut short"),
        (lambda content: content[: len(content) // 80 // 2 * 80], "last row is not complete; it was cut short"),
        (lambda content: content[: 8 * 80 + 160], "rows do not follow the variables; it was cut short"),
        (lambda content: content[:400], "headers of its table are not where they belong"),
        (lambda content: content + content[240:], "more than one table"),
        (lambda content: content.replace(b"LIBRARY ", b"LIBV8   "), "begins with"),
        (lambda content: content[:644] + b"\x00\x63" + content[646:], "no valid length"),
    ],
)
def test_what_is_not_a_whole_transport_file_is_refused_with_its_name(save, rng, spoil, words):
    variables = {f"V{i}": list(rng.normal(size=70)) for i in range(11)}
    content = transport("T", variables)
    assert len(read_transport(save(content))["V10"]) == 70
    with pytest.raises(DatasetMismatch, match=rf"T\.xpt cannot be read as a SAS transport file: .*{words}.*Delete it"):
        read_transport(save(spoil(content)))


def test_a_row_that_ends_in_blanks_must_be_whole(save):
    content = transport("T", {"WORDS": [b"a".ljust(160), b" " * 160], "VALUE": [1.0, 2.0]})
    np.testing.assert_array_equal(read_transport(save(content))["VALUE"], [1.0, 2.0])
    # The second number is gone, and with it the end of the row; what is left of the row is blank.
    with pytest.raises(DatasetMismatch, match="last row is not complete; it was cut short"):
        read_transport(save(content[:-80]))
