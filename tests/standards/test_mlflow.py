"""mlflow: a logged model predicts the same; without the list of types it is not logged."""

import numpy as np
import pytest

mlflow = pytest.importorskip("mlflow", reason="needs mlflow")
pytest.importorskip("mlflow.sklearn", reason="needs mlflow")
pytest.importorskip("skops", reason="needs skops")

import propense  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
DATA = make_double_logistic(300, 4, random_state=0)


@pytest.fixture(autouse=True)
def _tracking(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")


@pytest.mark.parametrize("learners", ["linear", "auto"])
def test_a_logged_model_predicts_the_same(learners):
    model = propense.PUClassifier(learners=learners, random_state=0).fit(DATA.X, DATA.labelled)
    options = {"serialization_format": "skops", "skops_trusted_types": propense.TRUSTED_TYPES}
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(model, name="pu", pyfunc_predict_fn="predict_proba", **options)
    hidden = model.predict_hidden(DATA.X)
    np.testing.assert_array_equal(mlflow.sklearn.load_model(logged.model_uri).predict_hidden(DATA.X), hidden)
    np.testing.assert_array_equal(
        mlflow.pyfunc.load_model(logged.model_uri).predict(DATA.X), model.predict_proba(DATA.X)
    )


def test_a_model_is_not_logged_without_the_list():
    model = propense.Naive().fit(DATA.X, DATA.labelled)
    with mlflow.start_run(), pytest.raises(mlflow.exceptions.MlflowException, match="trusted"):
        mlflow.sklearn.log_model(model, name="pu", serialization_format="skops")
