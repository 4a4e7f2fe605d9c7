"""The list of all benchmarks is complete, and its page says what was and was not measured."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import run_all
from run_all import COMMANDS, HERE, Record, on_record, page

# What is not a benchmark of its own, needs a device, the records of a study, or somebody else's code.
APART = {"authors_code", "gpu", "natural_page", "parts", "patients_plot", "rival_worlds", "run_all"}


def keep(folder: Path, name: str, status: int, output: str) -> None:
    record = Record(name, f"python benchmarks/{name}.py", status, 12.3, 0.1, "2026-01-02", "two cores")
    (folder / f"{name}.json").write_text(json.dumps(asdict(record)))
    (folder / f"{name}.txt").write_text(output)


def test_every_script_that_can_be_run_is_in_the_list():
    run = {command.split()[0].removesuffix(".py") for command in COMMANDS.values()}
    scripts = {file.stem for file in HERE.glob("*.py") if '__name__ == "__main__"' in file.read_text(encoding="utf-8")}
    assert run <= scripts
    assert {name for name in scripts - run if not name.startswith("peer_")} <= APART


def test_the_page_has_what_ran_and_names_what_did_not(tmp_path):
    keep(tmp_path, "speed", 0, "ratio 1.5\n")
    keep(tmp_path, "memory", 1, "Traceback")
    assert list(on_record(tmp_path)) == ["speed"]
    text = page(tmp_path)
    assert "| [`python benchmarks/speed.py`](#speed) | 12 | 0.1 | 2026-01-02 |" in text
    assert "$ python benchmarks/speed.py\nratio 1.5" in text
    missing = next(line for line in text.splitlines() if line.startswith("Not measured"))
    assert "memory" in missing
    assert "speed" not in missing
    assert "Traceback" not in text


def test_an_unknown_name_is_an_error_that_lists_the_names(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["run_all.py", "spead", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        run_all.main()
    assert ended.value.code == 2
    assert "no benchmark is called spead; there are speed, methods" in capsys.readouterr().err


def test_a_benchmark_that_fails_is_said_and_is_run_again(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["run_all.py", "speed", "--folder", str(tmp_path)])
    monkeypatch.setitem(COMMANDS, "speed", "no_such_script.py")
    assert run_all.main() == 1
    assert "Failed: speed." in capsys.readouterr().err
    assert on_record(tmp_path) == {}
