"""Cases with a known fault, to see that the fuzzers report it."""

import os
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np

from fuzz.case import Case, command

SEED = 7
FAULTS = {}


def _fault(use):
    FAULTS[use.__name__] = use
    return use


def make_planted(name, rng):
    """The case of number 2 has the fault, the others have none."""
    wanted = np.random.default_rng([SEED, 2]).integers(2**60)
    return Case({"input": b"abc"}, FAULTS[name] if rng.integers(2**60) == wanted else int)


@_fault
def crash():
    os.abort()


@_fault
def hang():
    time.sleep(60)


@_fault
def leftover():
    Path(".partial-x").mkdir()


@_fault
def memory():
    bytearray(400 * 10**6).find(b"x")


@_fault
def traceback():
    raise ZeroDivisionError


@_fault
def foreign_words():
    with mock.patch("propense.model_files.inspect", side_effect=lambda path: sys.exit("Segmentation fault")):
        command("inspect", "input")


@_fault
def escape():
    with mock.patch("propense.model_files.inspect", side_effect=lambda path: print("\x1b[31m") or sys.exit(0)):
        command("inspect", "input")
