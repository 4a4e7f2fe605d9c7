"""Fits of tables: the columns become features, the file format does not matter, and notes are complete."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import compute, csv, parquet
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clinic import make_clinic
from conftest import TABLE_METHODS
from propense import JERM, Naive, PUClassifier
from propense.datasets import make_double_logistic
from propense.errors import InvalidInput, InvalidLabels, InvalidOption, InvalidTable, NoLabelledInstances
from propense.model_files import load, save
from propense.tables import FitOptions, TableFile, describe_assumptions, fit_table, summarise_estimator

pytestmark = pytest.mark.usefixtures("few_simulations")


LINEAR = {"id": "patient", "learners": "linear"}


@pytest.fixture(scope="module")
def found(clinic):
    return fit_table(clinic, "reported", **LINEAR)


@pytest.fixture(scope="module")
def jerm(clinic):
    return fit_table(clinic, "reported", id="patient", method="jerm")


@pytest.mark.slow
def test_the_default_method_is_pu_classifier(clinic):
    estimator = fit_table(clinic, "reported", id="patient").estimator
    assert (type(estimator), estimator.decision, estimator.random_state) == (PUClassifier, "balanced", 0)


def test_options_may_be_passed_whole(clinic, found):
    options = FitOptions("reported", id="patient", method="tm")
    again = fit_table(clinic, options, method="pu", learners="linear")
    np.testing.assert_array_equal(again.scores.hidden, found.scores.hidden)
    with pytest.raises(TypeError, match="colour"):
        fit_table(clinic, options, colour="red")


def test_columns_become_features(found, jerm):
    assert {column.name: column.kind for column in found.schema.columns} == {
        "age": "number",
        "sex": "category",
        "bmi": "number",
        "smoker": "truth",
        "region": "category",
    }
    names = ["age", "bmi", "smoker", "bmi missing", "sex=m", "region=south", "region=east", "region=(missing)"]
    assert jerm.model.feature_names == names
    assert jerm.estimator.n_features_in_ == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "dates", "moments"])
def test_dates_are_fitted_as_days_and_shown_as_dates(clinic, form, tmp_path):
    days = np.round(np.array(clinic.column("age")) * 200).astype("datetime64[D]")
    cells = {
        "text": pa.array(days.astype(str)),
        "dates": pa.array(days),
        "moments": pa.array(days.astype("datetime64[us]")).cast(pa.timestamp("us", "Asia/Tokyo")),
    }[form]
    place = clinic.column_names.index("age")
    dated, counted = (clinic.set_column(place, "age", [each]) for each in (cells, days.astype(int)))
    found, same = (fit_table(table, "reported", id="patient", method="pglin") for table in (dated, counted))
    assert found.schema.columns[0].kind == "date"
    np.testing.assert_array_equal(found.scores.posterior, same.scores.posterior)
    groups = next(grouping.groups for grouping in found.groups if grouping.column == "age")
    assert re.fullmatch(r"≤ 19\d\d-\d\d-\d\d", groups[0].name)
    save(found.model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense").score(dated)
    np.testing.assert_array_equal(again.posterior, found.scores.posterior)


def test_a_level_called_missing_is_a_level(clinic):
    place = clinic.column_names.index("region")
    words = ["missing" if word == "south" else word for word in clinic.column("region").to_pylist()]
    found = fit_table(clinic.set_column(place, "region", [words]), "reported", id="patient", method="pglin")
    names = ["age", "bmi", "smoker", "bmi missing", "sex=m", "region=missing", "region=east", "region=(missing)"]
    assert found.model.feature_names == names


def test_the_estimator_equals_one_fitted_to_features_made_by_hand(clinic, jerm):
    """Median for the missing, mean 0 and standard deviation 1, a column for each level but the most frequent."""
    bmi = clinic.column("bmi").to_numpy()
    filled = np.where(np.isnan(bmi), np.nanmedian(bmi), bmi)
    numbers = np.column_stack([clinic.column("age"), filled, clinic.column("smoker"), np.isnan(bmi)]).astype(float)
    region = np.array(clinic.column("region").to_pylist(), dtype=object)
    levels = np.column_stack(
        [np.array(clinic.column("sex")) == "m", *(region == each for each in ("south", "east", None))]
    )
    X = np.column_stack([(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), levels.astype(float)])
    np.testing.assert_allclose(jerm.model.features(clinic), X, atol=1e-12)
    by_hand = JERM(decision="balanced").fit(X, np.array(clinic.column("reported")) == "yes")
    assert (str(jerm.model.label), jerm.model.label.negative) == ("reported = yes", None)
    np.testing.assert_allclose(jerm.estimator.coef_, by_hand.coef_, atol=1e-6)
    np.testing.assert_allclose(jerm.scores.hidden, by_hand.predict_hidden(X), atol=1e-6)


def test_under_labelled_groups_are_found(jerm):
    """Women are labelled three times as often, the largest difference of all columns."""
    first = jerm.groups[0]
    assert first.column == "sex"
    share = {group.name: group.frequency for group in first.groups}
    assert share["f"] > 2 * share["m"]
    for grouping in jerm.groups:
        assert sum(group.rows for group in grouping.groups) == len(jerm.labelled)
        assert sum(group.labelled for group in grouping.groups) == jerm.labelled.sum()
        assert sum(group.positives for group in grouping.groups) == pytest.approx(jerm.expected.sum())


def test_the_format_of_the_file_does_not_matter(tmp_path, clinic, found):
    csv.write_csv(clinic, tmp_path / "t.csv")
    parquet.write_table(clinic, tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        again = fit_table(TableFile(tmp_path / name).read(), "reported", **LINEAR)
        assert again.schema == found.schema
        np.testing.assert_array_equal(again.scores.hidden, found.scores.hidden)


LABELS = [
    (["yes", ""], "strings"),
    ([1, 0], "numbers"),
    ([1.0, None], "a number or nothing"),
    ([True, False], "truths"),
    (["TRUE", "FALSE"], "words for truths"),
    (["1", "0"], "digits"),
    (["1", "NA"], "a digit or a word for missing"),
    (["Y", "n"], "letters"),
    (["Ja", "Nein"], "German"),
    (["reported", "not reported"], "a word and its denial"),
    (["Positive", "unlabelled"], "positive and unlabelled"),
    (["case", "control"], "case and control"),
    (["fraud", "unknown"], "a word and unknown"),
    (["flagged", "unflagged"], "a word and its denial in one"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "_"), LABELS, ids=[case[1] for case in LABELS])
def test_labels_may_be_written_in_many_ways(clinic, found, words, _):
    labels = [words[0] if label else words[1] for label in found.labelled.tolist()]
    table = clinic.set_column(clinic.column_names.index("reported"), "reported", pa.array(labels))
    again = fit_table(table, "reported", **LINEAR, scar_test=False)
    np.testing.assert_array_equal(again.labelled, found.labelled)
    np.testing.assert_array_equal(again.scores.posterior, found.scores.posterior)


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLE_METHODS)
def test_every_method_fits_a_table(clinic, method):
    found = fit_table(clinic, "reported", id="patient", method=method)
    assert type(found.estimator).description.name == method
    for scores in (found.scores.posterior, found.scores.propensity, found.scores.hidden):
        assert ((scores >= 0) & (scores <= 1)).all()
    again = found.estimator.oof_hidden_ if method == "pu" else found.model.score(clinic).hidden
    np.testing.assert_array_equal(again, found.scores.hidden)
    assert found.out_of_fold == (method == "pu")


def test_propensity_features_are_columns_of_the_table(clinic):
    found = fit_table(clinic, "reported", id="patient", method="sar-em", propensity_features=["sex", "bmi"])
    used = [
        name for name, coef in zip(found.model.feature_names, found.estimator.propensity_coef_[0], strict=True) if coef
    ]
    assert used == ["bmi", "bmi missing", "sex=m"]
    with pytest.raises(InvalidOption, match=r"feature 'height' is not a feature. The features are: 'age'"):
        fit_table(clinic, "reported", id="patient", propensity_features=["height"])
    with pytest.raises(InvalidOption, match="The class feature 'height' is not a feature"):
        fit_table(clinic, "reported", id="patient", class_features=["height"])
    with pytest.raises(InvalidOption, match="naive does not fit a propensity"):
        fit_table(clinic, "reported", id="patient", method="naive", propensity_features=["sex"])


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in TABLE_METHODS if name not in ("naive", "oracle", "pglin", "pu")])
def test_every_method_with_both_factors_takes_both_kinds_of_columns(clinic, method, tmp_path):
    columns = {"class_features": ["age", "bmi"], "propensity_features": ["sex"]}
    found = fit_table(clinic, "reported", id="patient", method=method, scar_test=False, **columns)
    names = found.model.feature_names
    for coef, own in ((found.estimator.coef_, ("age", "bmi")), (found.estimator.propensity_coef_, ("sex",))):
        assert {name for name, each in zip(names, coef[0], strict=True) if not name.startswith(own) and each} == set()
        assert coef.any()
    save(found.model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").score(clinic).hidden, found.model.score(clinic).hidden)
    assumed = describe_assumptions(found)
    assert "The chance of a label was assumed to depend only on sex." in assumed
    assert "Being positive was assumed to depend only on age and bmi." in assumed


def test_rows_are_scored_alike_alone_and_together(clinic, found):
    """Also with a level that is not in the fit, and a missing cell in a column that had none."""
    one = clinic.slice(7, 1)
    # What models that have not seen a row say of it is kept with seven digits.
    np.testing.assert_allclose(found.model.score(one).hidden, found.scores.hidden[7:8], rtol=1e-6)
    odd = one.set_column(2, "sex", pa.array(["x"])).set_column(1, "age", pa.array([None], pa.float64()))
    assert np.isfinite(found.model.score(odd).posterior).all()
    plain = one.set_column(2, "sex", pa.array(["f"])).set_column(1, "age", pa.array([np.median(clinic.column("age"))]))
    np.testing.assert_allclose(found.model.score(odd).posterior, found.model.score(plain).posterior)


@pytest.mark.slow
def test_doubts_and_warnings_become_notes(clinic):
    few = clinic.set_column(6, "reported", pa.array([i < 10 for i in range(len(clinic))]))
    notes = fit_table(few, "reported", id="patient").notes
    assert sum(note.startswith("There are too few labelled rows: 10.") for note in notes) == 1
    empty = clinic.append_column("height", pa.array([None] * len(clinic), pa.float64()))
    assert "The column 'height' is empty and was left out." in fit_table(empty, "reported", **LINEAR).notes
    assert any(
        "stopped after 100 rounds" in note for note in fit_table(clinic, "reported", id="patient", method="tm").notes
    )


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["linear", "auto"])
def test_columns_of_the_class_are_the_only_ones_that_matter_for_it(clinic, learners):
    asked = {"scar_test": False, "learners": learners, "class_features": ["age", "bmi"]}
    # Rows of the fit that have not changed would get the scores of other models.
    model = replace(fit_table(clinic, "reported", id="patient", **asked).model, held_out=None)
    other = clinic.set_column(2, "sex", pa.array(["f"] * 600)).set_column(5, "region", pa.array(["east"] * 600))
    np.testing.assert_allclose(model.score(other).posterior, model.score(clinic).posterior, rtol=1e-12)
    older = clinic.set_column(1, "age", pa.array(np.array(clinic.column("age")) + 20))
    assert model.score(older).posterior.mean() > model.score(clinic).posterior.mean() + 0.1


@pytest.mark.parametrize("prior", [0.6, (0.55, 0.6)])
def test_the_estimate_meets_a_prior(clinic, prior):
    found = fit_table(clinic, "reported", **LINEAR, scar_test=False, prior=prior)
    low, high = found.prior_range
    assert np.min(prior) - 1e-6 <= low <= found.estimator.prior_ + 1e-9
    assert found.estimator.prior_ - 1e-9 <= high <= np.max(prior) + 1e-6
    assert found.expected.mean() == pytest.approx(found.estimator.prior_, abs=1e-6)


LACKING = [
    ({"method": "pglin", "prior": 0.5}, "pglin cannot use a share of positives that is known. Leave out prior="),
    ({"method": "pglin", "class_features": ["age"]}, "pglin does not fit a propensity of its own, so it has no col"),
    ({"learners": "auto"}, "The method tm has no learners to choose from"),
    ({"jobs": 2}, "The method tm does not run several fits at the same time"),
    ({"method": "pu", "learners": "trees"}, "learners='trees'"),
    ({"method": "pu", "learners": "auto", "parameters": {"learners": "linear"}}, "learners .* is given twice"),
    ({"method": "pu", "jobs": 0}, "jobs=0 is not a number of fits"),
    ({"method": "pu", "prior": 0.01}, "of the rows are labelled, so at least that share is positive"),
]


@pytest.mark.parametrize(("options", "words"), LACKING, ids=[str(case[0])[1:30] for case in LACKING])
def test_what_a_method_cannot_use_is_one_error(clinic, options, words):
    with pytest.raises(InvalidOption, match=words):
        fit_table(clinic, "reported", id="patient", **{"method": "tm", **options})


@pytest.mark.slow
def test_every_fit_inside_a_method_is_reported(clinic):
    fits = []
    fit_table(clinic, "reported", id="patient", scar_test=False, progress=lambda *each: fits.append(each))
    # Two learners, five folds.
    assert len(fits) >= 10
    assert fits == [("fit", done + 1, len(fits)) for done in range(len(fits))]


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulations")
@pytest.mark.parametrize(("scar_test", "named"), [(None, None), (True, ["sex"]), (True, []), (False, None)])
def test_progress_names_the_test_of_labels_if_it_runs(clinic, scar_test, named):
    told = []
    options = {"learners": "linear", "scar_test": scar_test, "propensity_features": named}
    found = fit_table(clinic, "reported", id="patient", **options, progress=lambda *each: told.append(each))
    assert (("test", 0, 1) in told) == (found.scar is not None)


WRONG = [
    ({"label": "told"}, InvalidTable, r"has no column 'told' \(label=\). Its columns: 'patient', 'age'"),
    ({"id": "name"}, InvalidTable, r"has no column 'name' \(id=\)"),
    ({"drop": ["name"]}, InvalidTable, r"has no column 'name' \(drop=\)"),
    ({"categorical": ["name"]}, InvalidTable, r"has no column 'name' \(categorical=\)"),
    ({"method": "magic"}, InvalidOption, "There is no method 'magic'. Choose one of pu, jerm, jerm-paper, joint-mle"),
    ({"decision": "fair"}, InvalidOption, "decision='fair'"),
    ({"label": "region"}, InvalidLabels, r"t\.csv, column 'region' has 3 values \('east', 'north', 'south'\)"),
    ({"label": "sex"}, InvalidLabels, r"holds 'f' and 'm'. Pass the value that means labelled: positive='f' or"),
    ({"positive": "maybe"}, InvalidLabels, r"does not contain positive='maybe'. Its values: 'yes'"),
    ({"id": "reported"}, InvalidTable, "cannot be both the label and the id"),
    ({"parameters": {"colour": 1}}, InvalidOption, "PUClassifier has no parameter 'colour'. It has: class_features"),
    ({"method": "jerm", "parameters": {"tol": -1}}, InvalidOption, r"JERM\(tol=-1\)"),
    ({"drop": ["age", "sex", "bmi", "smoker", "region"]}, InvalidTable, "no column left to learn from"),
]


@pytest.mark.parametrize(("options", "error", "words"), WRONG, ids=[str(case[0])[1:30] for case in WRONG])
def test_wrong_options_are_errors(clinic, options, error, words):
    given = {"label": "reported", "id": "patient", **options}
    with pytest.raises(error, match=words):
        fit_table(clinic, given.pop("label"), where="t.csv", **given)


def test_a_table_without_labels_is_an_error(clinic):
    nobody = clinic.set_column(6, "reported", pa.array([""] * len(clinic)))
    with pytest.raises(
        NoLabelledInstances, match=r"t\.csv, column 'reported' has no labelled row: every cell is empty"
    ):
        fit_table(nobody, "reported", where="t.csv", id="patient")
    unnamed = clinic.rename_columns(["", *clinic.column_names[1:]])
    with pytest.raises(InvalidTable, match=r"column 1 has no name.*drop=\[''\]"):
        fit_table(unnamed, "reported")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "path", "parquet", "pandas", "polars", "batch"])
def test_a_table_may_be_a_file_or_a_data_frame(tmp_path, clinic, found, kind):
    csv.write_csv(clinic, tmp_path / "t.csv")
    parquet.write_table(clinic, tmp_path / "t.parquet")
    table = {
        "csv": str(tmp_path / "t.csv"),
        "path": tmp_path / "t.csv",
        "parquet": tmp_path / "t.parquet",
        "pandas": clinic.to_pandas().set_index(np.arange(600) + 7),
        "polars": pl.from_arrow(clinic),
        "batch": clinic.combine_chunks().to_batches()[0],
    }[kind]
    again = fit_table(table, "reported", **LINEAR)
    assert again.schema == found.schema
    np.testing.assert_array_equal(again.scores.hidden, found.scores.hidden)


def test_what_is_no_table_is_one_error(tmp_path, clinic):
    csv.write_csv(clinic, tmp_path / "t.csv")
    # The file names the place of an error.
    with pytest.raises(InvalidTable, match=r"t\.csv has no column 'told'"):
        fit_table(tmp_path / "t.csv", "told")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    mixed = pd.DataFrame({"a": [1, "x", b"y"], "reported": [1, 0, 1]})
    for table, words in (
        (tmp_path / "none.csv", r"none\.csv"),
        (tmp_path, "is a folder. Pass a file, or .* fit_folder"),
        (pl.from_arrow(clinic).lazy(), r"the table is a LazyFrame of polars.* Call .collect\(\)"),
        (twice, "the table cannot be read as columns of one kind each: Duplicate column names"),
        (mixed, "the table cannot be read as columns of one kind each"),
        ({"a": [1]}, "the table is a dict. Pass an Arrow table, a data frame"),
        (np.zeros((2, 2)), "the table is a ndarray"),
    ):
        with pytest.raises(InvalidTable, match=words):
            fit_table(table, "reported")


def test_a_table_with_most_rows_labelled_names_its_own_values(clinic, found):
    labels = pa.array(["case" if each else "control" for each in (~found.labelled).tolist()])
    table = clinic.set_column(clinic.column_names.index("reported"), "reported", labels)
    notes = " ".join(fit_table(table, "reported", **LINEAR, scar_test=False).notes)
    assert "have the value 'case', which was read as the label, and the others 'control'" in notes
    assert "pass positive='control'" in notes
    swapped = fit_table(table, "reported", positive="control", **LINEAR, scar_test=False)
    assert "Most rows are labelled" not in " ".join(swapped.notes)
    # Labels and empty cells cannot be the other way round.
    gaps = pa.array(["case" if each else None for each in (~found.labelled).tolist()])
    table = clinic.set_column(clinic.column_names.index("reported"), "reported", gaps)
    assert "Most rows are labelled" not in " ".join(fit_table(table, "reported", **LINEAR, scar_test=False).notes)


def test_the_value_of_labelled_rows_is_an_option_of_the_table(clinic):
    with pytest.raises(InvalidOption, match="Pass positive= in its place"):
        fit_table(clinic, "reported", id="patient", parameters={"positive_label": "yes"})


def test_columns_that_are_probably_not_features_are_noted(clinic, found):
    odd = (
        clinic.append_column("one", pa.array([1.0] * 600))
        .append_column("number", pa.array(range(600)))
        .append_column("known", pa.array(found.labelled))
    )
    notes = " ".join(fit_table(odd, "reported", id="patient", method="pglin", keep=["known"]).notes)
    assert "The column 'one' has the same value in every row" in notes
    assert "The column 'number' counts the rows one by one and was left out. Pass id='number' if it" in notes
    assert "The column 'known' shows exactly which rows are labelled: every estimate rests on it." in notes
    wide = pa.table({f"x{j}": np.random.default_rng(j).normal(size=20) for j in range(30)} | {"s": [True, False] * 10})
    assert any("30 features but only 20 rows" in note for note in fit_table(wide, "s", method="pglin").notes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["words", "dates of labels", "amounts"])
def test_a_copy_of_the_label_is_refused_unless_it_is_kept(clinic, found, kind):
    """It explains every label, so that the estimate would be that all positives are labelled."""
    marked, rng = found.labelled, np.random.default_rng(0)
    cells = {
        "words": np.where(marked, rng.choice(["theft", "fire"], 600), "open").tolist(),
        "dates of labels": ["2020-01-05" if each else None for each in marked],
        "amounts": np.where(marked, rng.integers(1, 900, 600), 0).tolist(),
    }
    table = clinic.append_column("outcome", pa.array(cells[kind]))
    with pytest.raises(InvalidTable, match=r"column 'outcome' shows exactly which .* Pass drop=\['outcome'\] if it"):
        fit_table(table, "reported", **LINEAR)
    assert fit_table(table, "reported", drop=["outcome"], **LINEAR).counts == found.counts
    kept = fit_table(table, "reported", keep=["outcome"], **LINEAR)
    assert any("'outcome' shows exactly which rows are labelled" in note for note in kept.notes)
    # One mistake is enough: then other columns count, too.
    honest = marked.copy()
    honest[np.flatnonzero(~marked)[0]] = True
    fit_table(clinic.append_column("outcome", pa.array(honest)), "reported", **LINEAR)


def test_all_that_is_wrong_with_the_columns_is_in_one_error(clinic):
    odd = clinic.append_column("weight", pa.array(["72,5", "80,1", "64,0"] * 200))
    odd = odd.append_column("hidden", pa.array(range(600))).append_column("dose", pa.array(["1 mg", "2 g"] * 300))
    with pytest.raises(InvalidTable) as caught:
        fit_table(odd, "reportd", where="t.csv", id="Patient", drop=["colour"], categorical=["regio"])
    words = str(caught.value)
    assert words.startswith("t.csv has 7 problems: (1) has no column 'reportd' (label=). Did you mean 'reported'? (2) ")
    for part in (
        "has no column 'Patient' (id=). Did you mean 'patient'?",
        "has no column 'colour' (drop=).",
        "has no column 'regio' (categorical=). Did you mean 'region'?",
        "has a column 'hidden', a name that scoring adds",
        "column 'weight': most cells look like numbers, but '72,5' in row 1 is not one",
        "column 'dose' holds numbers in different units (300 g, 300 mg)",
    ):
        assert part in words
    # A label that cannot be read is one of them.
    with pytest.raises(
        InvalidTable, match=r"has 2 problems: \(1\) column 'sex' holds 'f' and 'm'.*\(2\) column 'dose'"
    ):
        fit_table(odd.drop_columns(["hidden", "weight"]), "sex", id="patient")


def test_words_read_as_missing_are_noted_and_kept_in_the_model(clinic, tmp_path):
    symptoms = np.random.default_rng(0).choice(["none", "mild", "severe"], 600)
    table = clinic.append_column("symptom", pa.array(symptoms))
    found = fit_table(table, "reported", id="patient", method="pglin")
    count = int((symptoms == "none").sum())
    note = (
        f"Cells that say 'none' were read as missing: {count} in the column 'symptom'. If it is a value, pass missing_"
    )
    assert any(each.startswith(note) for each in found.notes)
    plain = {"id": "patient", "method": "pglin", "missing_words": False, "missing": ["severe", "lost"]}
    found = fit_table(table, "reported", **plain)
    assert set(found.schema.columns[-1].levels) == {"none", "mild", "(missing)"}
    assert "The word 'lost' of missing= is in no column." in found.notes
    save(found.model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    assert again.schema == found.schema
    np.testing.assert_array_equal(again.score(table).posterior, found.model.score(table).posterior)


def test_columns_with_units_dates_and_durations_are_read_alike_by_a_saved_model(clinic, tmp_path):
    rng = np.random.default_rng(0)
    days = rng.integers(0, 700, 600)
    table = (
        clinic.append_column("weight", pa.array([f"{each} kg" for each in rng.integers(40, 120, 600)]))
        .append_column(
            "visit",
            pa.array([str(np.datetime64("2021-01-01") + each)[5:].replace("-", "/") + "/2021" for each in days]),
        )
        .append_column("stay", pa.array([f"{each} days" for each in rng.integers(1, 30, 600)]))
        .append_column("crp", pa.array([f"<{each}" if each < 5 else str(each) for each in rng.integers(1, 50, 600)]))
    )
    found = fit_table(table, "reported", id="patient", method="pglin")
    forms = {column.name: (column.kind, column.form) for column in found.schema.columns[-4:]}
    assert forms == {
        "weight": ("number", "unit:kg"),
        "visit": ("date", "m/d/y"),
        "stay": ("duration", ""),
        "crp": ("number", "limits unit:"),
    }
    save(found.model, tmp_path / "m.propense")
    again = load(tmp_path / "m.propense")
    np.testing.assert_array_equal(again.score(table).posterior, found.model.score(table).posterior)


@pytest.mark.slow
def test_four_hundred_columns_are_fitted_and_notes_on_them_are_few(rng):
    table = {f"x{j}": rng.normal(size=60) for j in range(250)}
    table |= {f"empty{j}": pa.nulls(60) for j in range(50)} | {f"one{j}": [1.0] * 60 for j in range(50)}
    table |= {f"text{j}": [f"{j} words {i}" for i in range(60)] for j in range(50)}
    found = fit_table(pa.table(table | {"s": [True, False] * 30}), "s", method="naive", scar_test=False)
    assert len(found.schema.columns) == 300
    assert len(found.notes) < 10
    assert (
        "The column 'empty0' is empty and was left out. The same holds for 49 other columns: 'empty1',"
        in found.notes[0]
    )


def test_names_that_scoring_writes_and_row_numbers_of_pandas_are_refused(clinic):
    for name, words in (
        ("hidden", "a name that scoring adds"),
        ("__index_level_0__", "row numbers of pandas"),
    ):
        with pytest.raises(InvalidTable, match=words):
            fit_table(clinic.append_column(name, pa.array(range(600))), "reported", id="patient")


def test_ids_are_kept_as_text(clinic):
    ids = pa.array([f"{i:05d}" for i in range(600)])
    found = fit_table(clinic.set_column(0, "patient", ids), "reported", **LINEAR)
    assert found.ids[7] == "00007"
    large = pa.array([100000000000000273 + i for i in range(600)])
    assert fit_table(clinic.set_column(0, "patient", large), "reported", **LINEAR).ids[0] == "100000000000000273"


def test_a_pipeline_is_summarised():
    data = make_double_logistic(500, 4, random_state=0)
    pipeline = make_pipeline(StandardScaler(), JERM()).fit(data.X, data.labelled)
    found = summarise_estimator(pipeline, data.X, data.labelled)
    np.testing.assert_array_equal(found.scores.hidden, pipeline[-1].predict_hidden(pipeline[0].transform(data.X)))
    with pytest.raises(InvalidInput, match="ids has 3 names for 500 rows"):
        summarise_estimator(pipeline, data.X, data.labelled, ids=[1, 2, 3])
    with pytest.raises(NotFittedError):
        summarise_estimator(JERM(), data.X, data.labelled)
    words = np.where(data.labelled, "churn", "stay")
    named = GridSearchCV(
        make_pipeline(StandardScaler(), JERM(positive_label="churn")), {"jerm__ridge": [JERM().ridge]}, cv=2
    )
    again = summarise_estimator(named.fit(data.X, words), data.X, words)
    np.testing.assert_array_equal(again.labelled, data.labelled)
    np.testing.assert_allclose(again.scores.hidden, found.scores.hidden)


def test_an_estimator_is_summarised():
    data = make_double_logistic(500, 4, random_state=0)
    model = Naive().fit(data.X, data.labelled)
    found = summarise_estimator(model, data.X, data.labelled)
    np.testing.assert_array_equal(found.scores.hidden, model.predict_hidden(data.X))
    assert [grouping.column for grouping in found.groups] != []
    assert found.expected.sum() == pytest.approx(model.prior_ * 500)


def test_the_clinic_has_hidden_positives():
    """Mostly men. Without them the tests above would prove nothing."""
    table, positive = make_clinic()
    hidden = positive & (np.array(table.column("reported")) == "")
    assert hidden.sum() > 150
    assert compute.sum(compute.equal(table.column("sex"), "m").filter(pa.array(hidden))).as_py() > hidden.sum() / 2
