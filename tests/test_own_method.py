"""A method of one's own: defined in its own module, it is found everywhere, and nothing else is edited."""

import subprocess
import sys

import numpy as np
import pytest
from pyarrow import csv

import propense
from command import call
from propense.errors import InvalidOption
from propense.estimators import Description, find_method
from propense.report import gather_fit
from propense.study import Study
from propense.tables import fit_table

MODULE = '''"""Weighted Elkan-Noto."""

import numpy as np
from propense.estimators import BasePUClassifier, Description, Learner, LogisticPredictor, Model


class ElkanNoto(BasePUClassifier):
    """Labels given at random: each unlabelled row counts as positive in part.

    References
    ----------
    C. Elkan, K. Noto. Learning classifiers from only positive and unlabeled data. KDD 2008.
    """

    description = Description(
        assumes=("Every positive row has the same chance of a label.",),
        keeps={"constant_": float},
    )

    def __init__(self, *, decision="posterior", ridge=1.0):
        self.decision = decision
        self.ridge = ridge

    def _fit(self, sample):
        learner = Learner(ridge=self.ridge)
        label, _ = learner.fit(sample.design, sample.labelled, sample.weights)
        chance = 1 / (1 + np.exp(-sample.log_odds(label)))
        constant = sample.weight_of(chance * sample.labelled) / sample.weight_of(sample.labelled)
        part = np.clip((1 - constant) / constant * chance / (1 - chance), 0, 1)
        target = np.where(sample.labelled, 1.0, part)
        posterior, converged = learner.fit(sample.design, target, sample.weights)
        propensity = np.zeros(sample.design.shape[1])
        propensity[0] = np.log(constant / (1 - constant))
        return Model(posterior, LogisticPredictor(propensity), 1, converged, [], kept={"constant_": float(constant)})
'''
NAME = "elkan_noto.ElkanNoto"
# As the installed command does, which does not put the current folder on the path.
MAIN = "import sys; sys.path.remove(''); from propense.cli import main; main()"


@pytest.fixture
def folder(tmp_path, monkeypatch, clinic):
    """A folder with the module and a table."""
    (tmp_path / "elkan_noto.py").write_text(MODULE)
    csv.write_csv(clinic, tmp_path / "clinic.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    sys.modules.pop("elkan_noto", None)


def test_a_method_takes_sixty_lines_at_most():
    assert len(MODULE.splitlines()) <= 60


def test_it_is_listed(folder):
    status, out, _ = call("methods", NAME, cwd=folder)
    assert status == 0
    assert out.startswith(f"{NAME} (ElkanNoto): Labels given at random")
    assert "Every positive row has the same chance of a label." in " ".join(out.split())
    assert NAME in call("methods", cwd=folder, COLUMNS="200")[1]


@pytest.mark.slow
def test_a_table_is_fitted_reported_saved_and_scored_by_it(folder):
    files = "--model", "m.propense", "--report", "r.html"
    arguments = "fit", "clinic.csv", "--label", "reported", "--id", "patient", "--method", NAME, "--set", "ridge=2.0"
    assert call(*arguments, *files, cwd=folder)[0] == 0
    page = (folder / "r.html").read_text()
    assert "ElkanNoto" in page
    assert "Learning classifiers from only positive and unlabeled data" in page
    assert "Every positive row has the same chance of a label." in page
    assert call("score", "clinic.csv", "--model", "m.propense", "--out", "s.csv", "--method", NAME, cwd=folder)[0] == 0
    assert "elkan_noto.ElkanNoto" in call("inspect", "m.propense", cwd=folder)[1]


@pytest.mark.slow
def test_a_file_comes_back_bit_for_bit_where_the_module_is_imported(folder, clinic):
    found = fit_table(clinic, "reported", id="patient", method=NAME, scar_test=False)
    propense.save(found.estimator, "m.propense")
    again = propense.load("m.propense")
    assert again.constant_ == found.estimator.constant_
    X = found.model.features(clinic)
    np.testing.assert_array_equal(again.predict_hidden(X), found.estimator.predict_hidden(X))
    assert gather_fit(found, "x").citation.startswith("C. Elkan")


@pytest.mark.slow
def test_a_file_imports_nothing(folder, clinic):
    propense.save(fit_table(clinic, "reported", id="patient", method=NAME, scar_test=False).estimator, "m.propense")
    code = "import propense; propense.load('m.propense')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert "ModelFileError" in done.stderr
    assert "import its module first" in done.stderr


PLAN = f"""
datasets = ["wdbc"]
mechanisms = ["S1"]
frequencies = [0.5]
repeats = 1
methods = ["naive", "{NAME}"]
"""


def test_a_plan_names_it_as_the_command_line_does(folder):
    (folder / "plan.toml").write_text(PLAN)
    assert [method.path for method in Study.from_toml(folder / "plan.toml").methods] == ["propense.Naive", NAME]
    status, out, err = call("study", "run", "plan.toml", cwd=folder)
    assert status == 0, err
    assert "2 of 2 records, 0 failed" in out + err


def test_what_is_not_a_method_is_refused():
    for name, words in (
        ("no_such_module.Method", "cannot be imported: ModuleNotFoundError"),
        ("sklearn.linear_model.LogisticRegression", "not a subclass of propense.BasePUClassifier"),
        ("propense.BasePUClassifier", "not a subclass of propense.BasePUClassifier with a _fit"),
        ("magic", "There is no method 'magic'. Choose one of pu, jerm"),
    ):
        with pytest.raises(InvalidOption, match=words):
            find_method(name)


def test_a_description_is_checked_when_it_is_written():
    with pytest.raises(TypeError, match="'weight' is not one of weights, known negatives, dask, torch"):
        Description(takes=("weight",))
    with pytest.raises(TypeError, match="neither float, int, bool nor a class"):
        Description(keeps={"name_": str})


def test_a_constructor_without_decision_is_named(folder, clinic):
    without = MODULE.replace('decision="posterior", ', "").replace("        self.decision = decision\n", "")
    (folder / "undecided.py").write_text(without)
    method, _ = find_method("undecided.ElkanNoto")
    assert method().fit(np.arange(8.0)[:, None], [0, 0, 0, 1, 0, 1, 1, 1]).decision == "posterior"
    with pytest.raises(InvalidOption, match="must take decision"):
        fit_table(clinic, "reported", id="patient", method="undecided.ElkanNoto", scar_test=False)


@pytest.mark.slow
def test_modules_of_the_users_folder_do_not_hide_pythons(folder):
    (folder / "plistlib.py").write_text("raise RuntimeError")
    arguments = "fit", "clinic.csv", "--label", "reported", "--id", "patient", "--method", NAME, "--report", "r.html"
    done = subprocess.run([sys.executable, "-c", MAIN, *arguments], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_method_declares_what_it_keeps(folder):
    (folder / "careless.py").write_text(MODULE.replace('keeps={"constant_": float},', ""))
    method, _ = find_method("careless.ElkanNoto")
    with pytest.raises(TypeError, match=r"keeps \['constant_'\], and its description lists \[\]"):
        method().fit(np.arange(8.0)[:, None], [0, 0, 0, 1, 0, 1, 1, 1])
