"""The README's code runs and prints what it says."""

import doctest
from pathlib import Path

import propense.estimators._jerm
import propense.estimators._naive
import propense.estimators._oracle

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_prints_what_it_shows():
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0


def test_the_docstrings_print_what_they_show():
    for module in (propense.estimators._jerm, propense.estimators._naive, propense.estimators._oracle):
        results = doctest.testmod(module)
        assert results.attempted > 0
        assert results.failed == 0
