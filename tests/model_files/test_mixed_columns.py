"""Fits to data frames with columns of several kinds come back from a file with their kinds and levels."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from propense import load, save
from propense.errors import ModelFileError
from propense.model_files.codec import build_model, describe_model
from trees import Trees

N = 100


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
            "ward": pd.Series(rng.choice(["n", "s", "\udc80", None], N), dtype=object),
            "smoker": rng.choice([True, False, None], N),
            "admitted": [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 90, N)],
            "nothing": [None] * N,
        }
    )


@pytest.fixture
def model(frame, rng):
    return Trees().fit(frame, (frame["ward"] == "s") & (rng.random(N) < 0.7))


def test_a_fit_to_mixed_columns_comes_back_bit_for_bit(model, frame, tmp_path):
    save(model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    assert again._columns == model._columns
    frame.loc[3, "ward"] = "new"
    for method in ("predict_proba", "predict_propensity", "predict_hidden"):
        assert getattr(again, method)(frame).tobytes() == getattr(model, method)(frame).tobytes()


def test_the_form_of_dates_and_durations_come_back(frame, rng, tmp_path):
    frame["admitted"] = [f"{day.month}/{day.day}/{day.year}" for day in frame["admitted"]]
    frame["stay"] = pd.to_timedelta(rng.integers(1, 90, N), unit="h")
    model = Trees().fit(frame, (frame["ward"] == "s") & (rng.random(N) < 0.7))
    save(model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    assert again._columns == model._columns
    assert [(each.kind, each.form) for each in again._columns[-3:]] == [
        ("date", "m/d/y"),
        ("empty", ""),
        ("duration", ""),
    ]
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


WRONG = [
    [],
    [("age", "number", [], "d.m.y")] * 5,
    [("age", "category", ["a"], "unit:kg")] * 5,
    [("age", "date", [], 3)] * 5,
    [("age", "number", [], "", "")] * 5,
    "age",
    [("age", "number", [])],
    [("age", "colour", [])] * 5,
    [("age", "number", ["x"])] * 5,
    [("age", "category", [])] * 5,
    [("age", "category", [1])] * 5,
    [(1, "number", [])] * 5,
    [["age", "number", []]] * 5,
]


@pytest.mark.slow
@pytest.mark.parametrize("columns", WRONG, ids=range(len(WRONG)))
def test_nonsense_is_refused(model, columns):
    description = describe_model(model)
    assert build_model(description)._columns == model._columns
    with pytest.raises(ModelFileError, match="columns of Trees is not valid"):
        build_model({**description, "fitted": {**description["fitted"], "columns": columns}})
