"""Messages of the library, in the words of the page."""

import pytest

from propense.ui.words import in_fields, place_of


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Pass id='x' if it names the rows.", "Set “Id column” to 'x' if it names the rows."),
        ("or leave it out with drop=['a b'].", "or leave it out with “Leave out” 'a b'."),
        ("or pass categorical=['zip'] if", "or set “Category” to 'zip' if"),
        ("does not contain positive='u'.", "does not contain “Value that means labelled” 'u'."),
        ("t has no column 'x' (id=). Its", "t has no column 'x' (“Id column”). Its"),
        (
            "the decimal sign (decimal=',' or decimal='.')",
            "the decimal sign (“Decimal sign” ',' or “Decimal sign” '.')",
        ),
        ("the column 'drop=1' of JERM(prior=1)", "the column 'drop=1' of JERM(prior=1)"),
        ("54%. Pass propensity_features, or", "54%. Pass “Being labelled depends on”, or"),
        ("one\ntwo\x1b[31m", "one two\\x1b[31m"),
    ],
)
def test_arguments_become_fields(message, words):
    assert in_fields(message) == words


def test_paths_become_the_names_that_users_know():
    assert in_fields("/w/1/table.csv is empty", {"/w/1/table.csv": "mine.csv"}) == "mine.csv is empty"


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("t, column 'x' is odd", "column-1"),
        ("t, column 'it\\'s' is odd", ""),
        ("t, column 'l' holds 3 values", "label"),
        ("t, column 'i' is empty", "id"),
        ("prior=7 is not a share", "prior"),
        ("t, column 'gone' is odd", ""),
        ("anything", ""),
    ],
)
def test_a_message_finds_its_field(message, place):
    assert place_of(message, ["i", "x", "l"], {"label": "l", "id": "i"}) == place
