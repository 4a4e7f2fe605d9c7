"""Whatever is in a file: an answer or one clear error; no crash, no hang, nothing left over, no memory without bounds.

`make fuzz` tries many more.
"""

import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("skops")
pytest.importorskip("typer")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from fuzz.kinds import KINDS
from fuzz.planted import FAULTS, SEED, make_planted, number_of
from fuzz.supervisor import complaint, fuzz

pytestmark = pytest.mark.slow

# Always the same cases: a test must not fail by chance.
COUNT = 50
# Seconds after which a case hangs, also on a busy machine.
BUSY = 600.0
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


def test_damaged_input_gives_an_answer_or_one_clear_error(tmp_path):
    tally = fuzz(KINDS["any"], seed=0, numbers=range(COUNT), folder=tmp_path, limit=BUSY)
    assert tally.tried == COUNT
    assert not tally.failed, "\n".join(complaint(tally, number, "any", 0, tmp_path) for number in tally.failed)


def test_planted_faults_are_reported_with_their_files_and_the_others_are_tried(tmp_path):
    # The peak of one case is known on Linux only.
    faults = {each: number_of(each) for each in FAULTS if each != "memory" or sys.platform == "linux"}
    hang = faults.pop("hang")
    numbers = [number for fault in faults.values() for number in (fault, fault + 1)]
    tally = fuzz(make_planted, seed=SEED, numbers=numbers, folder=tmp_path, limit=BUSY)
    assert (tally.tried, [*tally.failed]) == (len(numbers), [*faults.values()])
    # Alone, since any case may take seconds to be reached.
    slow = fuzz(make_planted, seed=SEED, numbers=[hang], folder=tmp_path, limit=2.0)
    assert (slow.tried, [*slow.failed]) == (1, [hang])
    tally.failed |= slow.failed
    for fault, number in {**faults, "hang": hang}.items():
        words = complaint(tally, number, "planted", SEED, tmp_path)
        assert REPORTS[fault] in words
        assert f"make fuzz KIND=planted SEED={SEED} NUMBER={number}" in words
        assert str(tmp_path / str(number)) in words
        assert (tmp_path / str(number) / "input").read_bytes() == b"abc"
    assert {each.name for each in tmp_path.iterdir()} == {str(number) for number in tally.failed}


@pytest.mark.parametrize("kind", ["tables", "workbooks", "lines", "plans", "ledgers"])
def test_the_same_seed_and_number_make_the_same_case(kind):
    one, other = (KINDS[kind](np.random.default_rng([5, 3])) for _ in range(2))
    assert one.files == other.files
