"""`propense inspect`: what a person wants to know of a model file."""

import pyarrow as pa
import pytest
from pyarrow import csv

import propense
from clinic import make_clinic
from command import call
from propense.tables import TableFile, correct_model, draw_audit, read_audit

pytestmark = pytest.mark.usefixtures("few_simulations")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    csv.write_csv(make_clinic()[0], folder / "t.csv")
    asked = "t.csv", "--label", "reported", "--id", "patient", "--learners", "linear", "--no-scar-test"
    assert call("fit", *asked, "--model", "m.propense", cwd=folder).returncode == 0
    few = make_clinic()[0].set_column(6, "reported", pa.array([i < 10 for i in range(600)]))
    csv.write_csv(few, folder / "few.csv")
    assert call("fit", "few.csv", *asked[1:], "--model", "open.propense", cwd=folder).returncode == 0
    return folder


def test_estimates_have_their_ranges_and_columns_that_matter_are_shown(folder):
    shown = call("inspect", "m.propense", cwd=folder, COLUMNS="150").stdout
    model = propense.load(folder / "m.propense")
    low, high = model.estimator.diagnosis_.range()
    assert f"share of positives:  {model.estimator.prior_:.1%} ({low:.1%} to {high:.1%})" in shown
    assert "ranges:              In 9 of 10 worlds whose labels look like these" in shown
    assert f"positives labelled:  {model.estimator.label_frequency_:.1%} (" in shown
    assert "unlabelled:          empty" in shown
    assert "audit:               none; the model is as it was fitted" in shown
    assert "Columns that matter most for which rows are labelled" in shown
    assert '  label = "reported"' in shown


def test_a_share_that_the_fit_left_open_is_left_open(folder):
    shown = call("inspect", "open.propense", cwd=folder).stdout
    model = propense.load(folder / "open.propense")
    assert "share of positives:  left open: too little was learned" in shown
    assert f"{model.estimator.prior_:.1%}" not in shown
    assert f"{model.estimator.prior_:.1%}" not in f"{model} {model!r}"


def test_a_method_without_a_range_says_so(folder):
    asked = "t.csv", "--label", "reported", "--id", "patient", "--method", "pglin", "--no-scar-test"
    call("fit", *asked, "--model", "p.propense", cwd=folder)
    assert "(the method gives no range)" in call("inspect", "p.propense", cwd=folder).stdout


def test_a_model_that_an_audit_corrected_says_so(folder):
    model, table = propense.load(folder / "m.propense"), TableFile(folder / "t.csv").read()
    drawn = draw_audit(model, table, 100)
    truth = make_clinic()[1]
    told = ["yes" if truth[int(name[1:])] else "no" for name in drawn["patient"].to_pylist()]
    csv.write_csv(drawn.set_column(1, "verdict", [told]), folder / "d.csv")
    found = read_audit(model, table, [folder / "d.csv"])
    propense.save(correct_model(model, found), folder / "c.propense")
    shown = call("inspect", "c.propense", cwd=folder).stdout
    assert "audit:               100 rows were checked" in shown
    assert f"share of positives:  {found.findings.positives.estimate:.1%} (" in shown


def test_an_estimator_and_a_pipeline_are_shown_too(folder, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    for model in (propense.Naive().fit(X, y), make_pipeline(StandardScaler(), propense.Naive()).fit(X, y)):
        propense.save(model, tmp_path / "e.propense", about={"configuration": ["not text"]})
        ended = call("inspect", "e.propense", cwd=tmp_path)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "share of positives:  left open" in ended.stdout
