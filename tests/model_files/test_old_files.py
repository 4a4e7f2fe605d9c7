"""Files written by earlier versions still load and give the same numbers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.fixes import parse_version

from propense import load
from propense.model_files import inspect

# Written with scikit-learn 1.9.1 when a file described the parts of a pipeline one by one.
OLD = Path(__file__).parent / "fixtures" / "old"
PIPELINES = sorted(path.stem for path in OLD.glob("[!t]*.propense"))
TABLES = sorted(path.stem for path in OLD.glob("table*.propense"))


def expected(name):
    return json.loads((OLD / f"{name}.json").read_text())


def rows_of(facts):
    return np.array(facts["rows"]) if facts["dtypes"] is None else pd.DataFrame(facts["rows"]).astype(facts["dtypes"])


def assert_scores(found, facts):
    for name, values in found.items():
        # The features are the same to the bit; another processor may add their products in another order.
        np.testing.assert_allclose(values, facts[name], rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="pipelines of scikit-learn 1.9")
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("name", PIPELINES)
def test_an_old_pipeline_loads_and_gives_the_same_numbers(name):
    facts = expected(name)
    rows = rows_of(facts)
    model = last = load(OLD / f"{name}.propense")
    features = rows
    while isinstance(last, Pipeline):
        features, last = last[:-1].transform(features), last[-1]
    dense = features.toarray() if sp.issparse(features) else np.asarray(features, dtype=np.float64)
    np.testing.assert_array_equal(dense, facts["features"])
    found = {"propensity": last.predict_propensity(features), "hidden": last.predict_hidden(features)}
    assert_scores({"posterior": model.predict_proba(rows)[:, 1], **found}, facts)
    assert inspect(OLD / f"{name}.propense")["method"] == type(last).__name__
    labels = (np.arange(len(rows)) % 3 == 0).astype(int)
    assert clone(model).fit(rows, labels).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", TABLES)
def test_an_old_model_of_a_table_loads_and_gives_the_same_numbers(name):
    facts = expected(name)
    model = load(OLD / f"{name}.propense")
    rows = pa.Table.from_pylist(facts["rows"])
    assert model.feature_names == facts["feature_names"]
    np.testing.assert_array_equal(model.features(rows), facts["features"])
    scores = model.score(rows)
    assert_scores({name: getattr(scores, name) for name in ("posterior", "propensity", "hidden")}, facts)
