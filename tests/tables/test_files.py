"""Tables on disk: the cells are read as they are, and errors name the place."""

import bz2
import contextlib
import gzip
import io
import lzma
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from propense.errors import InvalidTable
from propense.tables import TableFile, TableFolder, TableWriter


def read(folder, name, data):
    (folder / name).write_bytes(data)
    return TableFile(folder / name).read().to_pydict()


def test_csv_cells_are_read_as_text(tmp_path):
    assert read(tmp_path, "a.csv", b"a,b\n1,2.50\n,NA\n") == {"a": ["1", ""], "b": ["2.50", "NA"]}
    assert read(tmp_path, "b.csv", '﻿a;"b c"\r\n1,5;"x\ny"\r\n'.encode()) == {"a": ["1,5"], "b c": ["x\ny"]}
    assert read(tmp_path, "c.tsv", b"a\tb\n1\t2\n") == {"a": ["1"], "b": ["2"]}
    assert read(tmp_path, "d.csv.gz", gzip.compress(b"a,b\n1,2\n")) == {"a": ["1"], "b": ["2"]}


def test_compressed_text_is_read_as_what_it_holds(tmp_path):
    text = "a,b\n1,é\n".encode()
    for suffix, data in {"bz2": bz2.compress(text), "xz": lzma.compress(text), "gz": gzip.compress(text)}.items():
        assert read(tmp_path, f"t.csv.{suffix}", data) == {"a": ["1"], "b": ["é"]}

    def zipped(**members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return out.getvalue()

    assert read(tmp_path, "t.csv.zip", zipped(t=text, **{"__MACOSX/t": b"x", "folder/": b""})) == {
        "a": ["1"],
        "b": ["é"],
    }
    with pytest.raises(
        InvalidTable, match=r"t\.csv\.zip must hold one file, but holds 2: 't', 'u'\. Take the table out"
    ):
        read(tmp_path, "t.csv.zip", zipped(t=text, u=text))
    with pytest.raises(InvalidTable, match=r"t\.csv\.zip: the name of a file to write must end with \.csv"):
        TableWriter(tmp_path / "t.csv.zip")


@pytest.mark.parametrize("suffix", ["bz2", "xz", "zip"])
def test_a_damaged_archive_is_one_error(tmp_path, suffix):
    with pytest.raises(InvalidTable, match=rf"t\.csv\.{suffix} cannot be read as csv: .") as caught:
        read(tmp_path, f"t.csv.{suffix}", b"\xfd7zXZ\0 not really")
    assert "\n" not in str(caught.value)


def test_first_lines_as_spreadsheets_write_them(tmp_path):
    assert read(tmp_path, "a.csv", b'"Betrag, EUR";"Gewicht, kg";lab\n1;2;3\n') == {
        "Betrag, EUR": ["1"],
        "Gewicht, kg": ["2"],
        "lab": ["3"],
    }
    assert read(tmp_path, "b.csv", b'"a\nb",c\r\n1,2\r\n') == {"a b": ["1"], "c": ["2"]}
    assert read(tmp_path, "c.csv", b"sep=;\r\na;b\r\n1;2\r\n") == {"a": ["1"], "b": ["2"]}
    assert read(tmp_path, "d.csv", b"\r\na,b\r\n1,2\r\n") == {"a": ["1"], "b": ["2"]}
    assert read(tmp_path, "e.csv", b"a,b\r1,2\r3,4\r") == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read(tmp_path, "f.csv", "\ufeffsep=;\na;b\n1;2\n".encode()) == {"a": ["1"], "b": ["2"]}


def test_a_quotation_mark_inside_a_name_hides_no_row(tmp_path):
    assert read(tmp_path, "a.csv", b'5",b\n1,2\n3,4\n') == {'5"': ["1", "3"], "b": ["2", "4"]}
    assert read(tmp_path, "b.csv", b'5",b\n1,2\n3,"4"\n5,6\n') == {'5"': ["1", "3", "5"], "b": ["2", "4", "6"]}


def test_the_time_to_read_the_names_grows_with_the_file_not_its_square(tmp_path):
    def seconds(data):
        (tmp_path / "t.csv").write_bytes(data)
        start = time.process_time()
        with contextlib.suppress(InvalidTable):
            TableFile(tmp_path / "t.csv")
        return time.process_time() - start

    # 60 000 rows took 68 seconds, 40 000 names 57 seconds.
    assert seconds(b'"a,b\n' + b"12345,67890\n" * 60_000) < 2
    assert seconds(b",".join(b"n%d" % i for i in range(40_000)) + b"\n") < 2


@pytest.mark.slow
def test_a_line_that_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    for start in (b"", b"a,b\n"):
        with gzip.open(path, "wb", 1) as file:
            file.write(start)
            for _ in range(100):
                file.write(bytes(1 << 20))
        tracemalloc.start()
        with pytest.raises(InvalidTable, match=r"bomb\.csv\.gz, line [12], is longer than"):
            TableFile(path).read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50 << 20


BOMBS = {
    "rows.csv.gz": lambda path: path.write_bytes(gzip.compress(b"a,b\n" + b"1,0\n" * 6_000_000)),
    "rows.parquet": lambda path: parquet.write_table(pa.table({"a": np.zeros(10**7)}), path),
    "rows.arrow": lambda path: feather.write_feather(pa.table({"a": np.zeros(10**7)}), path, compression="zstd"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_rows_that_would_fill_the_memory_are_refused(tmp_path, name):
    BOMBS[name](tmp_path / name)
    size = (tmp_path / name).stat().st_size
    assert size < 10**5
    message = rf"{name} unpacks to more than \d+ MB, 100 times its size.* save it as a \.csv file"
    before = pa.total_allocated_bytes()
    with pytest.raises(InvalidTable, match=message):
        TableFile(tmp_path / name).read()
    # What pyarrow has read ahead is freed when its thread has ended.
    give_up = time.monotonic() + 600
    while pa.total_allocated_bytes() > before and time.monotonic() < give_up:
        time.sleep(0.01)
    assert pa.total_allocated_bytes() <= before
    # In batches, as a table is scored, any number of rows takes little memory.
    assert sum(batch.num_rows for batch in TableFile(tmp_path / name).batches()) in (6_000_000, 10**7)


def test_a_table_with_few_values_is_read_whole(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,0\n" * 500_000))
    assert TableFile(tmp_path / "a.csv.gz").read().num_rows == 500_000
    # Categories are counted once, not with every batch.
    words = pa.array([f"a long name of a category, {i}" for i in range(50_000)])
    cells = pa.DictionaryArray.from_arrays(pa.array(np.arange(3_000_000, dtype=np.int32) % 7), words)
    feather.write_feather(pa.table({"a": cells}), tmp_path / "b.arrow", compression="zstd")
    assert TableFile(tmp_path / "b.arrow").read().num_rows == 3_000_000


@pytest.mark.slow
def test_every_batch_is_read_in_order(tmp_path):
    lines = [f"{i},{'x' * 90}" for i in range(200_000)]
    (tmp_path / "long.csv").write_text("i,text\n" + "\n".join(lines) + "\n")
    batches = list(TableFile(tmp_path / "long.csv").batches(["i"]))
    assert len(batches) > 2
    assert [cell for batch in batches for cell in batch.column("i").to_pylist()] == [str(i) for i in range(200_000)]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_typed_formats_keep_their_types(tmp_path, suffix):
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [True, False, None]})
    path = tmp_path / f"t.{suffix}"
    parquet.write_table(table, path) if suffix == "parquet" else feather.write_feather(table, path, "uncompressed")
    assert TableFile(path).read() == table
    assert TableFile(path).read(["c", "a"]).column_names == ["c", "a"]


WRONG = [
    ("ragged.csv", b"a,b\n1,2\n1,2,3\n", r"ragged.csv cannot be read as csv: .*line 3: 3 cells under 2 names"),
    ("empty.csv", b"", "empty.csv is empty"),
    ("blank.csv", b"\n\n", "blank.csv is empty"),
    ("head.csv", b"a,b\n", "head.csv has no rows"),
    ("twice.csv", b"a,b,a\n1,2,3\n", "twice.csv has two columns called 'a'"),
    ("plain.csv.gz", b"a,b\n1,2\n", "plain.csv.gz cannot be read as csv: Not a gzipped file"),
    ("torn.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-6], "torn.csv.gz cannot be read as csv"),
    ("flipped.csv.gz", gzip.compress(b"a,b\n1,2\n")[:10] + b"\xff" * 20, "flipped.csv.gz cannot be read as csv: Error"),
    ("long.csv", b"a,b\n1," + b"2" * (13 << 20), r"long.csv, line 2, is longer than 8,388,608 characters"),
    ("names.csv.gz", gzip.compress(b"a" * (13 << 20)), r"names.csv.gz, line 1, is longer than 8,388,608 characters"),
    ("open.csv", b'"a,b\n1,2\n3,4\n', r'open.csv: the first line, .* cannot be read: a quotation mark \("\) is not'),
    ("opens.csv", b'"a,b\n' + b"1,2\n" * 50_000, r"opens.csv: the first line, .* a quotation mark .* is not closed"),
    ("text.parquet", b"hello", "text.parquet cannot be read as parquet"),
    ("text.arrow", b"hello", "text.arrow cannot be read as arrow"),
    ("sheet.txt", b"hello", r"sheet.txt: the name must end with \.csv.* pass format='csv'"),
]


@pytest.mark.parametrize(("name", "data", "words"), WRONG, ids=[case[0] for case in WRONG])
def test_a_file_that_is_not_a_table_is_an_error_on_one_line(tmp_path, name, data, words):
    with pytest.raises(InvalidTable, match=words) as caught:
        read(tmp_path, name, data)
    assert "\n" not in str(caught.value)
    assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("suffix", ["arrow", "feather"])
@pytest.mark.parametrize("damaged", ["the end of a text", "the code of a category"])
def test_an_arrow_file_that_points_outside_its_memory_is_refused(tmp_path, suffix, damaged):
    texts = pa.array([f"t{i:03}" for i in range(50)])
    codes = pa.array(np.arange(50) % 2, pa.int32())
    path = tmp_path / f"t.{suffix}"
    table = pa.table({"a": texts, "b": pa.DictionaryArray.from_arrays(codes, ["x", "y"])})
    feather.write_feather(table, path, "uncompressed")
    column = texts.buffers()[1] if damaged == "the end of a text" else codes.buffers()[1]
    data, sound = path.read_bytes(), column.to_pybytes()[:200]
    assert data.count(sound) == 1
    path.write_bytes(data.replace(sound, sound[:80] + (2**30).to_bytes(4, "little") + sound[84:]))
    with pytest.raises(InvalidTable, match=rf"t\.{suffix} cannot be read as arrow: .*[Ii]nvalid"):
        TableFile(path).read()


def test_a_name_that_is_too_long_is_an_error(tmp_path):
    path = tmp_path / f"{'a' * 300}.parquet"
    for kind in (TableFile, TableFolder):
        with pytest.raises(InvalidTable, match=r"aaa\.parquet cannot be opened: File name too long"):
            kind(path)


def test_text_of_a_typed_file_must_be_utf8(tmp_path):
    wrong = pa.array([b"x", b"\xff"]).view(pa.string())
    parquet.write_table(pa.table({"a": wrong}), tmp_path / "t.parquet")
    feather.write_feather(pa.table({"a": wrong}), tmp_path / "t.arrow", "uncompressed")
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(InvalidTable, match=f"{name} cannot be read as .*UTF"):
            TableFile(tmp_path / name).read()
    with pytest.raises(InvalidTable, match=r"t\.parquet, row group 0, cannot be read: .*UTF"):
        TableFolder(tmp_path / "t.parquet").read()


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    with pytest.raises(InvalidTable, match=r"none\.csv: there is no such file"):
        TableFile(tmp_path / "none.csv")
    with pytest.raises(InvalidTable, match="nosuch: there is no such file"):
        TableFile(tmp_path / "nosuch")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidTable, match=r"folder\.csv is not a file"):
        TableFile(tmp_path / "folder.csv")


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.tsv", "t.csv.gz", "t.csv.bz2", "t.tsv.xz", "t.jsonl", "t.ndjson.gz", "t.xlsx", "t.parquet", "t.arrow"],
)
def test_what_is_written_is_read_again(tmp_path, name):
    table = pa.table({"a": ["x, y", 'he said "no"', "z\tz"], "b": [0.1, 1e-300, 3.0]})
    with TableWriter(tmp_path / name) as writer:
        writer.write(table)
        for batch in table.to_batches():
            writer.write(batch)
    back = TableFile(tmp_path / name).read().to_pydict()
    assert back["a"] == 2 * table.column("a").to_pylist()
    assert [float(cell) for cell in back["b"]] == 2 * table.column("b").to_pylist()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["=1", "_x0041_", " a ", "#N/A", "\r\n"]
)
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**14), 10**14).map(float)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(TEXTS, NUMBERS, st.none() | st.booleans()), min_size=1, max_size=5))
@example([("largest", sys.float_info.max, None), ("of seventeen digits", 0.1 + 0.2, None)])
@pytest.mark.parametrize("name", ["t.jsonl", "t.xlsx", "t.parquet"])
def test_every_cell_comes_back_from_formats_with_types(tmp_path, name, rows):
    texts, numbers, truths = map(list, zip(*rows, strict=True))
    # Empty texts are empty cells of a sheet; one cell keeps each column and its type.
    table = pa.table(
        {"text": ["x", *texts], "number": [0.5, *numbers], "truth": [True, *truths], "row": range(len(rows) + 1)}
    )
    with TableWriter(tmp_path / name) as writer:
        writer.write(table)
    back = TableFile(tmp_path / name).read()
    expected = table.to_pydict()
    if name == "t.xlsx":
        expected["text"] = [text or None for text in expected["text"]]
    assert back.to_pydict() == expected
    assert back.schema.types[:3] == table.schema.types[:3]
