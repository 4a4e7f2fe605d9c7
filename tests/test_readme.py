"""The README's code runs and prints what it says, and so do the docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

import propense

ROOT = Path(__file__).parents[1]
MODULES = sorted({getattr(propense, name).__module__ for name in propense.__all__ if name != "__version__"})


def test_the_readme_prints_what_it_shows():
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0


@pytest.mark.parametrize("module", [*MODULES, "propense.datasets.synthetic", "propense.labelling"])
def test_the_docstrings_print_what_they_show(module):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
