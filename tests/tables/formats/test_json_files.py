"""JSON lines: types are kept, missing keys are missing cells, and errors name the line and the column."""

import gzip
import json
import tracemalloc

import pyarrow as pa
import pytest

from propense.errors import InvalidTable
from propense.tables import TableFile, TableWriter
from propense.tables.formats import json_files


def read(folder, text, name="t.jsonl"):
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return TableFile(folder / name).read()


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz"])
def test_types_are_kept_and_missing_keys_are_missing_cells(tmp_path, name):
    lines = [
        '{"id": "007", "age": 41, "bmi": 25.5, "smoker": true, "seen": "2020-12-31"}',
        "",
        '{"smoker": null, "age": 7, "ward": "a\\u2028b", "bmi": 3}',
        '{"bmi": NaN, "id": "x"}',
    ]
    found = read(tmp_path, "\r\n".join(lines), name)
    assert found.schema == pa.schema(
        {"id": pa.string(), "age": pa.int64(), "bmi": pa.float64(), "smoker": pa.bool_(), "seen": pa.string()}
        | {"ward": pa.string()}
    )
    assert found.to_pylist() == [
        {"id": "007", "age": 41, "bmi": 25.5, "smoker": True, "seen": "2020-12-31", "ward": None},
        {"id": None, "age": 7, "bmi": 3.0, "smoker": None, "seen": None, "ward": "a\u2028b"},
        {"id": "x", "age": None, "bmi": None, "smoker": None, "seen": None, "ward": None},
    ]


def test_a_column_of_mixed_cells_is_text_in_every_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "ROWS", 2)
    values = [1, 2, 2.5, 3.0, "n/a", True, None, 1.234, 10**30]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"x": value}) for value in values))
    source = TableFile(tmp_path / "t.jsonl")
    assert {batch.schema.field("x").type for batch in source.batches()} == {pa.string()}
    # 1.234 cannot be taken for 1234.
    cells = ["1", "2", "2.5", "3", "n/a", "true", None, "1.2340", str(10**30)]
    assert source.read().column("x").to_pylist() == cells


WRONG = [
    ('{"a": 1}\n{"a": {"b": 2}}\n', r"t\.jsonl, line 2, column 'a' holds an object, not a number"),
    ('{"a": [1, 2]}\n', r"line 1, column 'a' holds a list"),
    ('{"a": 1}\n{"a": 1\n', r"line 2 is not JSON"),
    ('{"a": 1}\n3\n', r"line 2 is not an object, such as"),
    ('[{"a": 1},\n{"a": 2}]\n', r"t\.jsonl holds one list, and JSON lines hold one object per line\. .*jq -c"),
    ('[{"a": 1}, {"a": 2}]\n', r"t\.jsonl holds one list"),
    ('{"a": 1, "a": 2}\n', r"line 1 has the key 'a' twice"),
    ('{"a": "\\ud800"}\n', r"line 1, column 'a' has half of a character"),
    ("[" * 100_000, r"t\.jsonl holds one list"),
    ('{"a":' * 100_000, r"line 1 is not JSON"),
    ('{"a": ' + "9" * 5000 + "}", r"line 1 is not JSON: Exceeds the limit"),
    ("", r"t\.jsonl has no rows"),
    ("{}\n", r"t\.jsonl has no rows"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_not_a_table_is_an_error_on_one_line(tmp_path, text, words):
    with pytest.raises(InvalidTable, match=words) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_json_file_says_how_it_becomes_lines(tmp_path):
    (tmp_path / "t.json").write_text("[]")
    with pytest.raises(InvalidTable, match=r"t\.json: \.json files are not read\. Save it as JSON lines"):
        TableFile(tmp_path / "t.json")


@pytest.mark.slow
def test_keys_that_would_fill_the_memory_are_refused(tmp_path):
    many = "{" + ", ".join(f'"k{i}": 1' for i in range(20_000)) + "}\n"
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress((many + '{"k0": 1}\n' * 20_000).encode()))
    tracemalloc.start()
    with pytest.raises(InvalidTable, match=r"20,000 different keys in [\d,]+ rows, most of which are missing"):
        TableFile(tmp_path / "t.jsonl.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20


def test_other_types_are_written_as_json_has_them(tmp_path):
    table = pa.table(
        {
            "d": pa.array([18_000, None], pa.date32()),
            "x": [float("nan"), float("inf")],
            "c": pa.array(["é", None]).dictionary_encode(),
            "s": pa.array([{"a": 1}, None]),
        }
    )
    with TableWriter(tmp_path / "o.jsonl") as writer:
        writer.write(table)
    lines = (tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '{"d": "2019-04-14", "x": null, "c": "é", "s": {"a": 1}}'
    assert lines[1] == '{"d": null, "x": "inf", "c": null, "s": null}'
