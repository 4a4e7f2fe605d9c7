"""Whatever is in a file: an answer or one clear error; no crash, no hang, nothing left over, no memory without bounds.

`make fuzz` tries many more.
"""

import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skops")
pytest.importorskip("typer")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fuzz.kinds import KINDS
from fuzz.planted import FAULTS, SEED, make_planted
from fuzz.supervisor import complaint, fuzz

pytestmark = pytest.mark.slow

# Always the same cases: a test must not fail by chance.
COUNTS = {"tables": 60, "workbooks": 40, "lines": 40, "models": 200, "audits": 40, "plans": 20, "ledgers": 20}
COUNTS["uploads"] = 20
# On a busy machine, a case may take seconds to be reached.
BUSY = 60.0
# What the report of each planted fault says.
REPORTS = {
    "crash": "ended the process",
    "hang": "took longer than 2 s",
    "leftover": "left over: .partial-x",
    "memory": "MB of memory; 3 bytes of input may take 300 MB",
    "traceback": "ZeroDivisionError",
    "foreign_words": "exit status Segmentation fault",
    "escape": "control characters",
}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_input_gives_an_answer_or_one_clear_error(kind, tmp_path):
    tally = fuzz(KINDS[kind], seed=0, numbers=range(COUNTS[kind]), folder=tmp_path, limit=BUSY)
    assert tally.tried == COUNTS[kind]
    assert not tally.failed, "\n".join(complaint(tally, number, kind, 0, tmp_path) for number in tally.failed)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_reported_with_its_files_and_the_others_are_tried(fault, tmp_path):
    if fault == "memory" and sys.platform != "linux":
        pytest.skip("the peak of one case is known on Linux only")
    limit = 2.0 if fault == "hang" else BUSY
    tally = fuzz(partial(make_planted, fault), seed=SEED, numbers=range(4), folder=tmp_path, limit=limit)
    assert (tally.tried, list(tally.failed)) == (4, [2])
    words = complaint(tally, 2, "planted", SEED, tmp_path)
    assert REPORTS[fault] in words
    assert f"make fuzz KIND=planted SEED={SEED} NUMBER=2" in words
    assert str(tmp_path / "2") in words
    assert [each.name for each in tmp_path.iterdir()] == ["2"]
    assert (tmp_path / "2" / "input").read_bytes() == b"abc"


@pytest.mark.parametrize("kind", ["tables", "workbooks", "lines", "plans", "ledgers"])
def test_the_same_seed_and_number_make_the_same_case(kind):
    one, other = (KINDS[kind](np.random.default_rng([5, 3])) for _ in range(2))
    assert one.files == other.files
