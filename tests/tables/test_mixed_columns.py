"""A method that takes columns of every kind is fitted to the columns of a table, not to features made of them."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from propense import load, save, scar_test
from propense.errors import InvalidOption
from propense.tables import FitOptions, TableFile, fit_table, score_file, summarise_estimator
from propense.tables.labels import read_label
from propense.tables.prepare import prepare_table
from propense.tables.scar import run_scar_test
from trees import Trees

OPTIONS = FitOptions("reported", id="patient", method="trees.Trees", decision="posterior", scar_test=False)


@pytest.fixture(scope="module")
def dated(clinic):
    days = np.round(np.array(clinic.column("age")) * 200).astype("datetime64[D]")
    return clinic.append_column("born", pa.array(days))


@pytest.fixture(scope="module")
def found(dated):
    return fit_table(dated, OPTIONS)


@pytest.fixture
def frame(dated):
    return dated.drop(["patient", "reported"]).to_pandas()


def test_it_is_the_fit_to_the_data_frame(dated, found, frame):
    labelled = np.array(dated.column("reported")) == "yes"
    model = Trees().fit(frame, labelled)
    assert found.model.preparation is None
    assert found.model.feature_names == found.estimator.feature_names_in_.tolist() == list(frame.columns)
    assert found.estimator._columns == model._columns == found.schema.columns
    for name, method in (("posterior", "predict_proba"), ("propensity", "predict_propensity")):
        expected = getattr(model, method)(frame)
        np.testing.assert_array_equal(getattr(found.scores, name), expected[:, 1] if expected.ndim == 2 else expected)


def test_text_is_as_good_as_types(dated, found, tmp_path):
    csv.write_csv(dated, tmp_path / "t.csv")
    again = fit_table(TableFile(tmp_path / "t.csv").read(), OPTIONS)
    assert again.schema == found.schema
    np.testing.assert_array_equal(again.scores.posterior, found.scores.posterior)


def test_a_saved_model_scores_other_rows_to_the_bit(dated, found, tmp_path):
    save(found.model, tmp_path / "m.propense")
    model = load(tmp_path / "m.propense")
    assert model.preparation is None
    regions = pa.array(["new" if word == "south" else word for word in dated.column("region").to_pylist()])
    other = dated.set_column(dated.column_names.index("region"), "region", regions)
    csv.write_csv(other, tmp_path / "t.csv")
    done = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "out.csv")
    assert done.new_levels == {"region": dated.column("region").to_pylist().count("south")}
    written = np.array(csv.read_csv(tmp_path / "out.csv").column("posterior"))
    np.testing.assert_array_equal(written, found.model.score(other).posterior)


@pytest.mark.slow
def test_the_propensity_gets_columns_and_the_test_their_features(dated, frame):
    found = fit_table(dated, OPTIONS, propensity_features=["sex", "bmi"])
    assert found.estimator.propensity_features == ["sex", "bmi"]
    label = read_label(dated.column("reported"), "reported", "t", None)
    columns = list(frame.columns)
    _, prepared, _ = prepare_table(dated, columns, label, OPTIONS, "t")
    assert list(prepared.origins) == [*("age", "bmi", "smoker", "born", "bmi", "sex"), *["region"] * 3]
    asked = FitOptions("reported", scar_test=True)
    ours, _ = run_scar_test(asked, found.estimator, prepared.features, prepared.labelled, prepared.origins)
    expected = scar_test(prepared.features, prepared.labelled, propensity_features=[1, 4, 5], random_state=0)
    assert ours.statistic == expected.statistic
    with pytest.raises(InvalidOption, match="The propensity feature 'colour' is not a feature"):
        fit_table(dated, OPTIONS, propensity_features=["colour"])


def test_features_are_made_for_fits_to_arrays(dated, frame):
    label = read_label(dated.column("reported"), "reported", "t", None)
    model, prepared, _ = prepare_table(dated, list(frame.columns), label, OPTIONS, "t", arrays=True)
    assert model.preparation is not None
    np.testing.assert_array_equal(prepared.inputs, prepared.features)
    assert model.features(dated).shape == (dated.num_rows, 9)


def test_a_table_of_numbers_is_taken(dated, tmp_path):
    found = fit_table(dated.select(["age", "bmi", "reported"]), OPTIONS, id=None)
    assert found.estimator._columns is None
    save(found.model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense").score(dated)
    np.testing.assert_array_equal(again.posterior, found.scores.posterior)


def test_an_estimator_fitted_to_a_frame_is_summarised(dated, found, frame):
    labelled = np.array(dated.column("reported")) == "yes"
    summary = summarise_estimator(Trees().fit(frame, labelled), frame, labelled)
    assert summary.groups == found.groups
    np.testing.assert_array_equal(summary.naive_positive, found.naive_positive)


@pytest.mark.slow
@pytest.mark.parametrize("categorical", [[], ["when"]])
def test_dates_are_a_category_if_they_are_said_to_be(rng, categorical):
    days = rng.choice(["2020-01-01", "2020-02-01", "2020-03-01"], 300)
    x = rng.normal(size=300)
    labels = np.where((x > 0) & (rng.random(300) < 0.5), "yes", "")
    table = pa.table({"x": x, "when": days, "found": labels})
    model = fit_table(table, "found", categorical=categorical, scar_test=False).model
    kind = "category" if categorical else "date"
    assert [each.kind for each in model.estimator._columns] == ["number", kind]
    assert model.score(table).posterior.shape == (300,)
