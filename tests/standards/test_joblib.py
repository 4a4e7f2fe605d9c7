"""joblib: a model from a file, or in other processes, predicts the same."""

import joblib
import numpy as np
import pytest

from propense import JERM, PUClassifier
from propense.datasets import make_double_logistic

DATA = make_double_logistic(300, 4, random_state=0)


@pytest.mark.slow
def test_a_model_from_a_file_predicts_the_same(tmp_path):
    model = PUClassifier(cv=2, random_state=0).fit(DATA.X, DATA.labelled)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = joblib.load(tmp_path / "model.joblib")
    for method in ("predict", "predict_proba", "predict_propensity", "predict_hidden", "predict_hidden_range"):
        np.testing.assert_array_equal(getattr(loaded, method)(DATA.X), getattr(model, method)(DATA.X))


def test_processes_predict_what_one_does():
    model = JERM(random_state=0).fit(DATA.X, DATA.labelled)
    parts = np.array_split(DATA.X, 3)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict_hidden)(part) for part in parts)
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate([model.predict_hidden(part) for part in parts]))
