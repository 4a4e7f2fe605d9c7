"""What a shell offers when Tab is pressed."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from clinic import make_clinic
from command import call
from propense.tables import TableWriter


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, table = tmp_path_factory.mktemp("complete"), make_clinic(50)[0]
    csv.write_csv(table, folder / "t.csv")
    text = (folder / "t.csv").read_text().replace(",", ";")
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    parquet.write_table(table, folder / "t.parquet")
    feather.write_feather(table, folder / "t.feather")
    for name in ("t.xlsx", "t.jsonl"):
        with TableWriter(folder / name) as out:
            out.write(table)
    (folder / "parts").mkdir()
    parquet.write_table(table, folder / "parts" / "1.parquet")
    (folder / "broken.parquet").write_bytes(b"nothing")
    csv.write_csv(pa.table({"re\x1bd": [1]}), folder / "hostile.csv")
    return folder


def complete(words, folder):
    given = {"_PROPENSE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    ended = call(cwd=folder, **given)
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.feather", "parts", "t.xlsx", "t.jsonl"])
def test_columns_of_the_table_are_offered(folder, name):
    assert complete(f"propense fit {name} --label re", folder) == ["region", "reported"]
    assert complete(f"propense compare {name} --id pat", folder) == ["patient"]
    assert complete(f"propense fit {name} --label reported --drop bmi,s", folder) == ["bmi,sex", "bmi,smoker"]


def test_nothing_is_offered_where_nothing_can_be_read(folder):
    for name in ("broken.parquet", "none.csv", "hostile.csv"):
        assert complete(f"propense fit {name} --label re", folder) == []


def test_methods_and_commands_are_offered(folder):
    assert complete("propense fit t.csv --method je", folder) == ["jerm", "jerm-paper"]
    assert "pglin" in complete("propense compare t.csv --methods pu,pg", folder)[0]
    assert complete("propense insp", folder) == ["inspect"]


def test_a_script_for_the_shell_is_shown(monkeypatch):
    # What runs the tests, such as make, may be another shell.
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    ended = call("--show-completion", "bash")
    assert ended.returncode == 0
    assert "complete -o default -F _propense_completion" in ended.stdout
