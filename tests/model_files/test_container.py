"""The frame of a file: what is read, what is refused, and in which order."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from propense.errors import ModelFileError
from propense.model_files.container import DTYPES, FORMAT, from_bytes, read_file, to_bytes, write_file


def signed(header, part=b"", *, length=None):
    """A file with this header, JSON or bytes, and a digest that is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = b"PROPENSE" + struct.pack("<Q", len(text) if length is None else length) + text + part
    return body + hashlib.sha256(body).digest()


def header(*entries, **more):
    return {"format": FORMAT, "arrays": list(entries), **more}


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(list(DTYPES)).flatmap(lambda name: arrays(name, array_shapes(min_side=0))), max_size=4),
    st.dictionaries(st.text().filter(lambda key: key not in ("arrays", "format")), st.text() | st.integers()),
)
def test_a_file_gives_back_what_was_put_in(values, facts):
    contents = from_bytes(to_bytes(facts, values), "m")
    assert contents.header == facts
    for one, other in zip(contents.arrays, values, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
        assert one.flags.writeable
        assert one.flags.owndata or one.base.flags.owndata


def test_the_layout_is_the_one_described():
    data = to_bytes({"a": "ä"}, [np.array([[1.0, 2.0]]), np.array([3], dtype=">i4"), np.array([True])])
    length = int.from_bytes(data[8:16], "little")
    assert data[:8] == b"PROPENSE"
    assert json.loads(data[16 : 16 + length]) == {
        "format": 1,
        "a": "ä",
        "arrays": [
            {"dtype": "float64", "shape": [1, 2], "offset": 0},
            {"dtype": "int32", "shape": [1], "offset": 16},
            {"dtype": "bool", "shape": [1], "offset": 20},
        ],
    }
    assert data[16 + length : -32] == struct.pack("<ddi?", 1.0, 2.0, 3, True)
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()


def test_columns_in_another_order_are_the_same_numbers():
    matrix = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(from_bytes(to_bytes({}, [matrix]), "m").arrays[0], matrix)


@pytest.mark.parametrize("bit", [0x01, 0x80, 0xFF])
def test_any_byte_that_is_changed_is_noticed(bit):
    data = to_bytes({"a": 1}, [np.arange(3.0)])
    for place in range(len(data)):
        with pytest.raises(ModelFileError):
            from_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :], "m")


def test_any_end_that_is_missing_is_noticed():
    data = to_bytes({"a": 1}, [np.arange(3.0)])
    for end in range(len(data)):
        with pytest.raises(ModelFileError, match=r"m is (not a propense model file|damaged)"):
            from_bytes(data[:end], "m")
    with pytest.raises(ModelFileError, match="damaged"):
        from_bytes(data + b"\0", "m")


def entry(**changes):
    return {"dtype": "float64", "shape": [2], "offset": 0, **changes}


DEEP = b'{"format": 1, "arrays": [], "a": %s}'
WRONG = {
    "no magic": (
        b"\x80\x04K\x01.",
        r"not a propense model file: it starts with b'\\x80\\x04K\\x01.'. Fit the model again, or ask",
    ),
    "a header of 2**60 bytes": (signed(header(), length=2**60), "announces a header of 1152921504606846976 bytes"),
    "a header of 2**64 - 1 bytes": (signed(header(), length=2**64 - 1), "announces a header of"),
    "a header into the digest": (signed(header(), length=len(json.dumps(header())) + 1), "announces a header of"),
    "no JSON": (signed(b"{"), "a header that is not JSON"),
    "no UTF-8": (signed(b'{"a": "\xff"}'), "a header that is not JSON"),
    "NaN": (signed(b'{"format": NaN}'), "NaN is not JSON"),
    "a long number": (signed(b'{"format": ' + b"9" * 5000 + b"}"), "a header that is not JSON"),
    "a list": (signed(b"[]"), "not a JSON object"),
    "a deep list": (signed(DEEP % (b"[" * 100_000 + b"]" * 100_000)), "a header that is not JSON"),
    "deep objects": (signed(DEEP % (b'{"a":' * 100_000 + b"1" + b"}" * 100_000)), "a header that is not JSON"),
    "no version": (signed({"arrays": []}), "the format None, which is not a version"),
    "version True": (signed({"format": True, "arrays": []}), "the format True, which is not a version"),
    "version 0": (signed({"format": 0, "arrays": []}), "the format 0, which is not a version"),
    "version 2": (
        signed({"format": 2, "shelves": []}),
        "the format 2, but this version of propense reads formats up to 1.*Upgrade",
    ),
    "no arrays": (signed({"format": 1}), "no list of arrays"),
    "arrays of nothing": (signed(header(None)), "not described by its dtype, shape and offset"),
    "objects": (signed(header(entry(dtype="object"))), "'object', which is not one of float64"),
    "a dtype that is not a word": (signed(header(entry(dtype=["f8"]))), "which is not one of"),
    "a negative size": (signed(header(entry(shape=[-1]))), r"shape \[-1\]"),
    "a size that is not a whole number": (signed(header(entry(shape=[1.5]))), r"shape \[1.5\]"),
    "a truth for a size": (signed(header(entry(shape=[True]))), r"shape \[True\]"),
    "too many dimensions": (signed(header(entry(shape=[1] * 9))), "shape"),
    "a negative offset": (signed(header(entry(offset=-8)), bytes(64)), "offset -8"),
    "too large an offset": (signed(header(entry(offset=56)), bytes(64)), "is outside the 64 bytes"),
    "too large an array": (signed(header(entry(shape=[2**60])), bytes(64)), "is outside the 64 bytes"),
    "an array of 2**80 bytes": (signed(header(entry(shape=[2**40, 2**40])), bytes(64)), "is outside"),
    "nothing, 2**62 times": (signed(header(entry(shape=[0, 2**62, 2**62]))), "cannot be read"),
    "the same bytes twice": (signed(header(*[entry(shape=[8])] * 2), bytes(64)), "is outside the 64 bytes"),
    "truths that are none": (signed(header(entry(dtype="bool")), b"\2\0"), "booleans holds other values"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    data, words = WRONG[name]
    with pytest.raises(ModelFileError, match=f"^m.propense .*{words}"):
        from_bytes(data, "m.propense")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"There is no file .*missing\.propense"):
        read_file(tmp_path / "missing.propense")
    with pytest.raises(ModelFileError, match="is a folder, but a model file is expected"):
        read_file(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_file(tmp_path / "a\0b")
    (tmp_path / "empty").touch()
    with pytest.raises(ModelFileError, match="empty is not a propense model file: it is empty"):
        read_file(tmp_path / "empty")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="has no read-only folder")
def test_a_place_that_is_not_for_files_is_named():
    with pytest.raises(ModelFileError, match="/dev/zero is not a regular file"):
        read_file(Path("/dev/zero"))
    with pytest.raises(ModelFileError, match=r"/proc/m was not written: .*Check its folder"):
        write_file(Path("/proc/m"), b"")


def test_a_header_that_is_too_long_is_refused_before_the_file_is_read(tmp_path):
    """A file of 64 GiB, of which the disk holds one block."""
    path = tmp_path / "m.propense"
    with path.open("wb") as file:
        file.write(b"PROPENSE" + struct.pack("<Q", 2**60))
        file.truncate(2**36)
    with pytest.raises(
        ModelFileError, match="announces a header of 1152921504606846976 bytes in a file of 68719476736"
    ):
        read_file(path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.propense"
    write_file(path, b"before")

    def no_room(self, data):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_bytes", no_room)
    with pytest.raises(ModelFileError, match=r"m\.propense was not written: .*No space left"):
        write_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "no such folder" / "m", tmp_path / "file" / "m"):
        with pytest.raises(ModelFileError, match=f"there is no folder {path.parent}. Create it first"):
            write_file(path, b"")
    with pytest.raises(ModelFileError, match=r"/proc/m was not written: .*Check its folder"):
        write_file(type(tmp_path)("/proc/m"), b"")
    with pytest.raises(ModelFileError, match="was not written"):
        write_file(tmp_path, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
