"""Tables with the label columns of several sources: fit, score, list, report and model file."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from command import call
from propense import SeveralSources, load, save, sources_test
from propense.errors import InvalidLabels, InvalidOption, InvalidTable, ModelFileError
from propense.report import report_fit
from propense.tables import (
    FitOptions,
    Label,
    LabelColumns,
    TableFile,
    describe_learning,
    fit_table,
    list_rows,
    score_file,
)

N = 1500


@pytest.fixture(scope="module")
def world():
    """A table, which rows are positive, and the labels of two sources, the second of which looked at some rows."""
    rng = np.random.default_rng(5)
    age, ward = rng.normal(50, 10, N), rng.choice(["north", "south"], N)
    a = (age - 50) / 6 - 0.5 + (ward == "south")
    positive = rng.random(N) < 1 / (1 + np.exp(-a))
    registry = positive & (rng.random(N) < 1 / (1 + np.exp(-0.4 * a)))
    survey = np.where(rng.random(N) < 0.3, None, np.where(positive & (rng.random(N) < 0.5), "yes", "no"))
    table = pa.table(
        {
            "id": [f"r{i}" for i in range(N)],
            "age": age,
            "ward": ward,
            "registry": registry.astype(int),
            "survey": pa.array(survey.tolist()),
        }
    )
    return table, positive, registry, survey


@pytest.fixture(scope="module")
def found(world):
    return fit_table(world[0], ["registry", "survey"], id="id", scar_test=False)


def sources_of(registry, survey):
    looked = np.array([each is not None for each in survey])
    return np.column_stack([registry, np.where(looked, survey == "yes", np.nan)]).astype(float)


def test_a_table_is_fitted_as_its_columns_are(world, found):
    _, positive, registry, survey = world
    estimator = found.estimator
    assert isinstance(estimator, SeveralSources)
    assert estimator.source_names_.tolist() == ["registry", "survey"]
    plain = SeveralSources(decision="balanced").fit(found.model.features(world[0]), sources_of(registry, survey))
    assert estimator.prior_ == pytest.approx(plain.prior_, rel=1e-9)
    np.testing.assert_array_equal(found.labelled, registry | (survey == "yes"))
    assert estimator.prior_ == pytest.approx(positive.mean(), abs=0.05)
    assert found.schema.names == ["age", "ward"]


def test_the_rows_of_fit_add_up_to_the_estimate(found):
    # Each row counts by the sources that looked at it.
    assert found.expected.mean() == pytest.approx(found.estimator.prior_, rel=1e-9)
    review = list_rows(found, 20)
    assert not found.labelled[review.rows].any()


def test_what_was_learned_names_every_source(found):
    words = " ".join(describe_learning(found))
    for name, share in zip(["registry", "survey"], found.estimator.source_frequency_, strict=True):
        assert f"{name} labels {share:.0%} of the positives" in words
    assert str(found.sources) in words
    assert "cannot be tested" in words


def test_a_model_file_keeps_the_label_columns(world, found, tmp_path):
    save(found.model, tmp_path / "m.propense")
    model = load(tmp_path / "m.propense")
    assert model.label == found.model.label
    assert str(model.label) == "registry = 1 or survey = yes"
    csv.write_csv(world[0], tmp_path / "t.csv")
    done = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "out.csv")
    assert done.labelled == found.labelled.sum()
    out = TableFile(tmp_path / "out.csv").read()
    np.testing.assert_allclose(np.array(out["hidden"].to_pylist(), dtype=float), found.scores.hidden, atol=1e-9)
    # A column that is not there has labelled no row.
    csv.write_csv(world[0].drop_columns(["survey"]), tmp_path / "t.csv")
    less = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "out.csv")
    assert less.labelled == world[2].sum()


def test_a_model_whose_label_columns_are_not_its_sources_is_refused(found, tmp_path):
    first, second = found.model.label.labels
    third = Label("clinic", "1", "0")
    for labels in ((first, second, first), (first, second, third)):
        with pytest.raises(ModelFileError, match="TableModel that is not valid"):
            save(replace(found.model, label=LabelColumns(labels)), tmp_path / "m.propense")
    assert not (tmp_path / "m.propense").exists()


def test_bad_label_columns_are_refused(world):
    table = world[0]
    with pytest.raises(InvalidOption, match="The method jerm takes one label column, and there are 2"):
        fit_table(table, ["registry", "survey"], id="id", method="jerm")
    with pytest.raises(InvalidTable, match="no column 'nobody'"):
        fit_table(table, ["registry", "nobody"])
    with pytest.raises(InvalidTable, match="Name each once"):
        fit_table(table, ["registry", "registry"])
    with pytest.raises(InvalidTable, match="both the label and the id"):
        fit_table(table, ["registry", "survey"], id="survey")
    gaps = table.append_column("third", pa.array(["yes", None] * (N // 2)))
    with pytest.raises(InvalidLabels, match="'third' has only 'yes' and empty cells"):
        fit_table(gaps, ["registry", "third"])


def test_one_label_column_in_a_list_is_that_column(world):
    options = FitOptions(["registry"])
    assert options.method_name == "pu"
    assert FitOptions(["registry", "survey"]).method_name == "sources"
    one = fit_table(world[0].drop_columns(["survey"]), ["registry"], id="id", method="naive", scar_test=False)
    assert one.model.label.column == "registry"


def test_an_estimator_of_several_sources_has_a_report(world):
    table, _, registry, survey = world
    X = np.column_stack([table["age"].to_numpy(), np.array(table["ward"].to_pylist()) == "south"])
    Y = sources_of(registry, survey)
    model = SeveralSources(propensity_features=[[0], None]).fit(X, Y)
    page = report_fit(model, X, Y, title="Two sources")
    assert "source 2 labels" in page.html
    assert "labelled by source 2, if positive" in page.html


def test_the_command_line_takes_several_label_columns(world, tmp_path):
    csv.write_csv(world[0], tmp_path / "t.csv")
    out = call(
        "fit", tmp_path / "t.csv", "--label", "registry,survey", "--id", "id", "--no-scar-test",
        "--model", tmp_path / "m.propense", "--list", tmp_path / "l.csv", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert out.returncode == 0, out.stdout
    assert "SeveralSources" in out.stdout
    assert "registry labels" in out.stdout
    assert "registry = 1 or survey = yes" in out.stdout
    assert "survey labels" in (tmp_path / "r.html").read_text()
    assert TableFile(tmp_path / "l.csv").read().num_rows == 50
    csv.write_csv(world[0].drop_columns(["survey"]), tmp_path / "new.csv")
    out = call("score", tmp_path / "new.csv", "--model", tmp_path / "m.propense", "--out", tmp_path / "s.csv")
    assert out.returncode == 0, out.stdout
    assert "no column 'survey', so every row is treated as unlabelled by it" in out.stdout
    out = call("fit", tmp_path / "t.csv", "--label", "registry,survey", "--id", "id", "--method", "pu")
    assert out.returncode != 0
    assert "takes one label column" in out.stderr


def test_an_audit_corrects_a_model_of_several_sources(world, found, tmp_path):
    table, positive, *_ = world
    csv.write_csv(table, tmp_path / "t.csv")
    save(found.model, tmp_path / "m.propense")
    fitted, check, corrected = (tmp_path / name for name in ("m.propense", "check.csv", "c.propense"))
    out = call("audit", "draw", tmp_path / "t.csv", "--model", fitted, "--size", 150, "--seed", 1, "--out", check)
    assert out.returncode == 0, out.stderr
    truth = dict(zip(table["id"].to_pylist(), positive, strict=True))
    rows = TableFile(check).read()
    # No column of labels is shown to those who check.
    assert not {"registry", "survey"} & set(rows.column_names)
    verdicts = pa.array(["yes" if truth[each] else "no" for each in rows["id"].to_pylist()])
    csv.write_csv(rows.set_column(rows.column_names.index("verdict"), "verdict", verdicts), check)
    out = call("audit", "read", check, "--table", tmp_path / "t.csv", "--model", fitted, "--save", corrected)
    assert out.returncode == 0, out.stderr
    model = load(corrected)
    X = model.features(table)
    y, e = model.estimator.predict_proba(X)[:, 1], model.estimator.predict_source_propensities(X)
    before = found.estimator
    shown = before.predict_proba(X)[:, 1, None] * before.predict_source_propensities(X)
    free = e < 1.0
    np.testing.assert_allclose((y[:, None] * e)[free], shown[free], rtol=1e-9)
    done = score_file(model, TableFile(tmp_path / "t.csv"), tmp_path / "out.csv")
    assert done.positives / N == pytest.approx(positive.mean(), abs=0.05)
    with pytest.raises(InvalidOption, match="corrected by an audit"):
        sources_test(model.estimator, X, sources_of(*world[2:]))
