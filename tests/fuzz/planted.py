"""Cases with a known fault, to see that the fuzzers report it."""

import os
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np

from fuzz.case import Case, command

SEED = 7
FAULTS = {}


def _fault(use):
    FAULTS[use.__name__] = use
    return use


def number_of(fault):
    """The number of the case that has the fault: 1, 3, 5 …; the cases before and after have none."""
    return 2 * list(FAULTS).index(fault) + 1


def make_planted(rng):
    wanted = {np.random.default_rng([SEED, number_of(each)]).integers(2**60): FAULTS[each] for each in FAULTS}
    return Case({"input": b"abc"}, wanted.get(rng.integers(2**60), int))


@_fault
def crash():
    os.abort()


@_fault
def hang():
    threading.Event().wait()


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
