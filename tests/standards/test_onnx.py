"""ONNX: the graph of a model gives its label, y, e and h; other models are refused by name."""

import numpy as np
import pytest

pytest.importorskip("skl2onnx", reason="needs skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from scipy.sparse import csr_array  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import propense  # noqa: E402
from propense.audit import Audit, correct, draw, read  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402
from propense.errors import InvalidOption  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
DATA = make_double_logistic(400, 4, random_state=0)
LINEAR = {
    name: getattr(propense, name)()
    for name in ("JERM", "JointMLE", "LBE", "Naive", "Oracle", "PGLin", "SAREM", "SparseJoint", "TM", "SeveralSources")
}
LINEAR["first choice"] = propense.PUClassifier(learners="linear")
LINEAR["balanced"] = propense.JERM(decision="balanced")
LINEAR["known prior"] = propense.PUClassifier(learners="linear", prior=0.45)


def run(graph, X):
    return onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": X})


def check(model, graph, X, atol=1e-6):
    label, chances, propensity, hidden = run(graph, X)
    np.testing.assert_allclose(chances, model.predict_proba(X), rtol=0, atol=atol)
    np.testing.assert_allclose(propensity, propense.propensity(model, X), rtol=0, atol=atol)
    np.testing.assert_allclose(hidden, propense.hidden(model, X), rtol=0, atol=atol)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize("name", LINEAR)
def test_a_graph_gives_what_the_model_does(name):
    model = LINEAR[name].fit(DATA.X, DATA.labelled)
    # Far rows as well: y and e close to 0 and 1.
    X = np.vstack([DATA.X, 20 * DATA.X])
    check(model, propense.to_onnx(model), X, atol=1e-9)
    check(model, propense.to_onnx(model, DATA.X.astype(np.float32)), DATA.X.astype(np.float32), atol=5e-6)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1]),
        np.array(["no", "yes"]),
        np.array([-1.0, 1.0]),
        np.array([0, 1], np.uint8),
        np.array([0, 1], object),
        np.array([False, True], object),
        np.array(["no", "yes"], object),
    ],
)
def test_labels_are_the_classes_of_fit(classes):
    model = propense.JERM(random_state=0).fit(DATA.X, classes[DATA.labelled.astype(int)])
    check(model, propense.to_onnx(model), DATA.X)


def test_operators_that_are_too_old_are_refused():
    model = propense.Naive().fit(DATA.X, DATA.labelled)
    check(model, propense.to_onnx(model, target_opset=13), DATA.X)
    with pytest.raises(InvalidOption, match="target_opset must be at least 13, but is 12"):
        propense.to_onnx(model, target_opset=12)


def test_an_input_has_the_columns_of_fit():
    model = propense.Naive().fit(DATA.X, DATA.labelled)
    check(model, propense.to_onnx(model, csr_array(DATA.X)), DATA.X)
    for wrong in (DATA.X[:, 1:], DATA.X[0], DATA.X[None]):
        with pytest.raises(InvalidOption, match="X must have 4 columns"):
            propense.to_onnx(model, wrong)


def test_a_pipeline_is_exported_whole():
    model = make_pipeline(StandardScaler(), propense.SAREM()).fit(DATA.X, DATA.labelled)
    check(model, propense.to_onnx(model), DATA.X)


def test_missing_numbers_are_filled_as_in_fit():
    X = DATA.X.copy()
    X[::7, 1] = np.nan
    for fitted_to in (X, DATA.X):
        model = propense.PUClassifier(learners="linear").fit(fitted_to, DATA.labelled)
        check(model, propense.to_onnx(model), X)


def test_an_audit_is_exported():
    model = propense.JERM(random_state=0).fit(DATA.X, DATA.labelled)
    hidden = model.predict_hidden(DATA.X)
    drawn = draw(hidden, 150, labelled=DATA.labelled, random_state=0)
    found = read(Audit(drawn, DATA.positive[drawn.rows].astype(float)), hidden, labelled=DATA.labelled)
    corrected = correct(model, found)
    assert np.abs(corrected.predict_hidden(DATA.X) - hidden).max() > 1e-3
    check(corrected, propense.to_onnx(corrected), DATA.X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_trees_are_exported(dtype):
    X = DATA.X.astype(dtype)
    X[::7, 1] = np.nan
    many = propense.datasets.make_double_logistic(11_000, 4, random_state=1)
    # Of more rows the trees have more leaves.
    for fitted_to, labelled in ((X, DATA.labelled), (many.X, many.labelled)):
        model = propense.PUClassifier(random_state=0).fit(fitted_to, labelled)
        _, chances, propensity, hidden = run(propense.to_onnx(model, X), X)
        np.testing.assert_allclose(chances, model.predict_proba(X), rtol=0, atol=2e-5)
        np.testing.assert_allclose(propensity, propense.propensity(model, X), rtol=0, atol=2e-5)
        np.testing.assert_allclose(hidden, propense.hidden(model, X), rtol=0, atol=2e-5)


def test_other_classifiers_are_refused_by_name():
    model = propense.SAREM(estimator=GaussianNB()).fit(DATA.X, DATA.labelled)
    with pytest.raises(InvalidOption, match=r"cannot export SAREM\(estimator=GaussianNB.*boosted trees of numbers"):
        propense.to_onnx(model)
