"""Which columns a model goes by."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

import propense
from propense.tables import fit_table
from propense.tables.effects import column_effects, column_importances


@pytest.fixture(scope="module")
def stepped():
    """Labels that a category and a step of one number decide; linear learners alone would not do."""
    rng = np.random.default_rng(0)
    n = 1500
    noise = {f"noise{j}": rng.normal(size=n) for j in range(4)}
    kind, x = rng.choice(["a", "b", "c"], n), rng.normal(size=n)
    positive = (np.abs(x) < 0.7) & (kind != "c")
    labelled = positive & (rng.random(n) < 0.6)
    return pa.table({**noise, "x": x, "kind": kind, "label": labelled.astype(int)})


@pytest.mark.slow
def test_the_columns_that_decide_the_labels_matter_most(stepped, tmp_path):
    learners = [HistGradientBoostingClassifier(max_iter=20), ExtraTreesClassifier(20, min_samples_leaf=5)]
    model = fit_table(stepped, "label", parameters={"learners": learners, "cv": 2}, scar_test=False).model
    found = column_importances(model)
    names = np.array(model.schema.names)
    assert found.sum() == pytest.approx(1.0)
    assert set(names[np.argsort(-found)[:2]]) == {"x", "kind"}
    assert found[names == "x"] + found[names == "kind"] > 0.7
    propense.save(model, tmp_path / "m.propense")
    np.testing.assert_array_equal(column_importances(propense.load(tmp_path / "m.propense")), found)


@pytest.mark.slow
def test_columns_that_the_list_leaves_out_are_named(rng):
    """Label scores may be learned without the columns named for labelling, which may move the labels most."""
    n = 2000
    amount, age, team = rng.normal(size=n), rng.normal(size=n), rng.choice(["a", "b", "c"], n)
    chance = 1 / (1 + np.exp(1 - 2 * amount - age)) * np.where(team == "a", 0.9, 0.1)
    table = pa.table({"amount": amount, "age": age, "team": team, "label": rng.random(n) < chance})
    quick = {"scar_test": False, "parameters": {"cv": 2}}
    asked = {"propensity_features": ["team"], **quick}
    both = fit_table(table, "label", **asked, class_features=["amount", "age"])
    alone = fit_table(table, "label", **asked)
    plain = fit_table(table, "label", **quick)
    apart = "Columns that matter most for which rows are labelled, apart from those named for labelling (team)"
    assert column_effects(both.model).title == apart
    assert column_effects(plain.model).title == "Columns that matter most for which rows are labelled"
    for found in (both, alone, plain):
        sheet = column_effects(found.model)
        assert (sheet.title == apart) == ("team" not in [line[0] for line in sheet.lines])


def test_coefficients_are_those_of_the_estimator_the_largest_first(clinic):
    model = fit_table(clinic, "reported", id="patient", method="sar-em", scar_test=False).model
    sheet = column_effects(model, 3)
    assert sheet.head == ["feature", "of being positive", "of being labelled, if positive"]
    size = np.maximum(np.abs(model.estimator.coef_[0]), np.abs(model.estimator.propensity_coef_[0]))
    names = model.feature_names
    assert [line[0] for line in sheet.lines] == [names[j] for j in np.argsort(-size)[:3]]
    place = names.index(sheet.lines[0][0])
    assert sheet.lines[0][1] == f"{model.estimator.coef_[0, place]:+.2f}"


def test_a_known_share_and_a_naive_fit_show_coefficients_too(clinic):
    known = fit_table(clinic, "reported", id="patient", method="joint-mle", prior=0.5, scar_test=False).model
    assert "of being positive" in column_effects(known).head
    naive = fit_table(clinic, "reported", id="patient", method="naive", scar_test=False).model
    assert column_importances(naive) is None
    assert len(column_effects(naive, 2).lines) == 2
