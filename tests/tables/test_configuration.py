"""The options of a fit as TOML."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propense.errors import InvalidOption
from propense.tables import FitOptions, as_toml
from propense.tables.configuration import toml_value, write_toml


def test_defaults_are_left_out_and_names_are_those_of_the_flags():
    options = FitOptions("reported", propensity_features=["sex"], scar_test=False, parameters={"ridge": 10, "cv": None})
    assert tomllib.loads(as_toml(options, {"table": "a.csv", "model": None})) == {
        "fit": {
            "table": "a.csv",
            "label": "reported",
            "propensity-features": ["sex"],
            "scar-test": False,
            "set": ["ridge=10", "cv=None"],
        }
    }


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_comes_back(text):
    assert tomllib.loads(write_toml("fit", {"drop": [text], text: text}))["fit"]["drop"] == [text]
    assert tomllib.loads(f"x = {toml_value({text: text})}") == {"x": {text: text}}


@given(st.floats(allow_nan=False) | st.integers() | st.booleans())
def test_any_number_comes_back_to_the_bit(value):
    found = tomllib.loads(f"x = {toml_value(value)}")["x"]
    assert (type(found), found) == (type(value), value)


def test_half_a_character_is_an_error():
    with pytest.raises(InvalidOption, match="half of a character"):
        toml_value("\ud800")
