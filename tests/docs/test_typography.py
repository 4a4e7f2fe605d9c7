"""Numbers stand in columns and do not break; what a command prints wraps, and its tables do not."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
from docutils.core import publish_doctree
from docutils.nodes import entry
from pygments.token import Generic, Text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def typography():
    spec = importlib.util.spec_from_file_location("typography", ROOT / "docs" / "typography.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = """
====== ======== ======
method  rows    area
====== ======== ======
JERM   1 000 ×  .87
TM     20       0.9
====== ======== ======
"""


def test_columns_of_numbers_are_aligned_to_the_right_and_those_of_words_are_not(typography):
    page = publish_doctree(TABLE)
    typography.AlignNumbers(page).apply()
    right = [each.astext() for each in page.findall(entry) if "text-right" in each["classes"]]
    assert right == ["rows", "area", "1 000 ×", ".87", "20", "0.9"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at most 1 000 columns", "at most 1~000 columns"),
        ("4 000 000 × 20 numbers", "4~000~000 ×~20 numbers"),
        ("0.957 ± 0.001", "0.957 ±~0.001"),
        ("from 2005 2006 to 15 of 200", "from 2005 2006 to 15 of 200"),
    ],
)
def test_a_number_does_not_break(typography, text, kept):
    page = publish_doctree(f"{text} and ``{text}``")
    typography.KeepNumbers(page).apply()
    assert page.astext().replace("\N{NO-BREAK SPACE}", "~") == f"{kept} and {text}"


def test_tables_among_the_output_keep_their_lines_and_sentences_do_not(typography):
    code = "$ propense fit a.csv --cost-miss 3\nAt least 3 of 5 rows are positive.\n│ rows │ 3 │\nage  home\n      31\n"
    found = list(typography.Session().get_tokens(code))
    assert [part for kind, part in found if kind is Generic.Output.Table] == [
        "│ rows │ 3 │\n",
        "age  home\n",
        "      31\n",
    ]
    assert (Generic.Output, "At least 3 of 5 rows are positive.\n") in found
    assert (Text.Word, "--cost-miss") in found


@pytest.mark.parametrize("name", ["Session", "Examples", "Plain"])
def test_no_character_is_lost(typography, name):
    code = ">>> print(f(  3))\n3 rows\n\n  a  b\n$ propense fit --id x   # why\nread.\n"
    assert "".join(part for _, part in getattr(typography, name)().get_tokens(code)) == code
