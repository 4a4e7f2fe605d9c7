"""Models of tables in files: the same scores, whatever later versions do, and no nonsense."""

from dataclasses import replace

import numpy as np
import pytest

import propense
from conftest import TABLE_METHODS
from propense.errors import ModelFileError
from propense.model_files import inspect
from propense.model_files.codec import build_model, describe_model
from propense.tables import Label, fit_table
from propense.tables.spelling import Spelling

pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLE_METHODS)
def test_a_model_of_a_table_comes_back_bit_for_bit(tmp_path, clinic, method):
    # test_label_scores.py has trees, from the command line.
    options = {"parameters": {"learners": "linear"}} if method == "pu" else {}
    found = fit_table(clinic, "reported", id="patient", method=method, scar_test=False, **options)
    propense.save(found.model, tmp_path / "m.propense")
    again = propense.load(tmp_path / "m.propense")
    assert (again.label, again.id, again.schema) == (Label("reported", "yes"), "patient", found.schema)
    assert again.feature_names == found.model.feature_names
    scores, expected = again.score(clinic), found.model.score(clinic)
    for name in ("posterior", "propensity", "hidden"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(expected, name))


def test_inspect_shows_the_columns_of_the_table(clinic, tmp_path):
    found = fit_table(clinic.drop_columns(["patient"]), "reported", parameters={"learners": "linear"})
    propense.save(found.model, tmp_path / "m.propense", about={"table": "clinic"})
    facts = inspect(tmp_path / "m.propense")
    assert (facts["method"], facts["label"], facts["id"]) == ("PUClassifier", "reported = yes", None)
    assert facts["kinds"] == {c.name: c.kind for c in found.schema.columns}
    assert facts["about"] == {"table": "clinic"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "spelling", [Spelling(), Spelling(","), Spelling(".", "cp1252", "Patients"), Spelling(encoding="utf-16-le")]
)
def test_how_the_table_was_written_comes_back(clinic, tmp_path, spelling):
    model = replace(fit_table(clinic, "reported", id="patient", method="naive").model, spelling=spelling)
    propense.save(model, tmp_path / "m.propense")
    assert propense.load(tmp_path / "m.propense").spelling == spelling
    shown = {name: value for name, value in vars(spelling).items() if value is not None}
    assert inspect(tmp_path / "m.propense")["spelling"] == shown


@pytest.fixture(scope="module")
def description(clinic):
    return describe_model(fit_table(clinic, "reported", id="patient", method="naive").model)


def spoilt(description, key, value):
    return {**description, key: value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("label", 3),
        ("label", None),
        ("label", ("reported", "yes")),
        ("label", ("reported", 1, None)),
        ("id", ["patient"]),
        ("columns", []),
        ("columns", [("age", "number", [])]),
        ("columns", [("age", "colour", [])] * 5),
        ("columns", [("age", "number", ["x"])] * 5),
        ("columns", [("age", "category", [1])] * 5),
        ("columns", [["age", "number", []]] * 5),
        ("columns", "age"),
        ("estimator", None),
        ("estimator", {"class": "Naive"}),
        ("preparation", None),
        ("preparation", {}),
        ("pipeline", {"class": "Naive"}),
        ("more", 1),
        ("fitted_rows", 1),
        ("fitted_rows", np.array([0.5])),
        ("fitted_rows", np.array([2, 1])),
        ("fitted_rows", np.array([1, 1])),
        ("fitted_rows", np.array([[1]])),
        ("held_out", 1),
        ("held_out", {"rows": np.array([1, 2])}),
        ("held_out", {"rows": None, "log_odds": np.zeros((2, 2), np.float32)}),
        ("held_out", {"rows": np.array([2, 1]), "log_odds": np.zeros((2, 2), np.float32)}),
        ("held_out", {"rows": np.array([1, 2]), "log_odds": np.zeros((3, 2), np.float32)}),
        ("held_out", {"rows": np.array([1, 2]), "log_odds": np.zeros((2, 3), np.float32)}),
        ("held_out", {"rows": np.array([1, 2]), "log_odds": np.zeros((2, 2))}),
        ("held_out", {"rows": np.array([1, 2]), "log_odds": np.full((2, 2), np.nan, np.float32)}),
        ("held_out", {"rows": np.array([1, 2]), "log_odds": np.full((2, 4), np.inf, np.float32)}),
        ("spelling", ","),
        ("spelling", {"decimal": ","}),
        ("spelling", {"decimal": "x", "encoding": None, "sheet": None}),
        ("spelling", {"decimal": [","], "encoding": None, "sheet": None}),
        ("spelling", {"decimal": None, "encoding": "zlib_codec", "sheet": None}),
        ("spelling", {"decimal": None, "encoding": "../os", "sheet": None}),
        ("spelling", {"decimal": None, "encoding": 3, "sheet": None}),
        ("spelling", {"decimal": None, "encoding": None, "sheet": "\udc80"}),
    ],
)
def test_nonsense_is_no_model_of_a_table(description, key, value):
    assert build_model(description).label == Label("reported", "yes")
    with pytest.raises(ModelFileError):
        build_model(spoilt(description, key, value))


def test_text_that_no_table_holds_is_refused(description):
    """Half of a surrogate pair: the scoring of a table ended in a traceback."""
    columns = [
        (name, kind, [*levels[:-1], "\udc80"] if levels else levels) for name, kind, levels in description["columns"]
    ]
    for key, value in (("label", ("reported", "yes", "\udc80")), ("columns", columns), ("id", "\udc80")):
        with pytest.raises(ModelFileError, match="model of a table"):
            build_model(spoilt(description, key, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("medians", None),
        ("medians", [1.0, 2.0]),
        ("medians", np.zeros(1)),
        ("means", np.zeros(1)),
        ("scales", np.array(["1"] * 4)),
        ("scales", np.full(4, np.nan)),
        ("scales", np.array([1.0, 0.0, 1.0, 1.0])),
        ("scales", np.array([1.0, -1.0, 1.0, 1.0])),
        ("marked", np.array([7])),
        ("marked", np.array([-1])),
        ("marked", np.array([0.5])),
        ("marked", np.empty(0, dtype=int)),
        ("code", "import os"),
    ],
)
def test_a_preparation_of_other_columns_is_refused(description, name, value):
    preparation = spoilt(description["preparation"], name, value)
    with pytest.raises(
        ModelFileError, match=r"model of a table (whose preparation does not match|without a preparation of)"
    ):
        build_model(spoilt(description, "preparation", preparation))
