"""Files that a version has written load in every later one, and score as they did then.

The files in `files` are never made again once that version is released: they are what users have. A later format adds
files of its own, by `write_files`.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from clinic import make_clinic
from propense import JERM, PUClassifier, load, save
from propense.tables import TableModel, fit_table

FILES = Path(__file__).with_name("files")
NAMES = ("posterior", "propensity", "hidden")


def scores_of(model, rows):
    """y, e and h of rows, which are columns by name."""
    if isinstance(model, TableModel):
        return {name: getattr(model.score(pa.table(rows)), name) for name in NAMES}
    frame = pd.DataFrame(rows)
    rows = frame if hasattr(model, "feature_names_in_") else frame.to_numpy()
    return {
        "posterior": model.predict_proba(rows)[:, 1],
        "propensity": model.predict_propensity(rows),
        "hidden": model.predict_hidden(rows),
    }


def write_files(folder):
    """Fit a model of each kind, and write it with a few rows and their scores, as once before the release of 0.3.0."""
    table, _ = make_clinic(400, 3)
    frame = table.drop_columns(["patient", "reported"]).to_pandas()
    labels = np.array(table["reported"].to_pylist()) == "yes"
    numbers = frame[["age"]].assign(weight=frame["bmi"].fillna(27.0))
    few = {"cv": 2, "random_state": 0}
    named = PUClassifier(propensity_features=["sex", "age"], prior=0.4, **few)
    other = make_clinic(12, 4)[0].to_pylist()
    rows = {name: [{"age": -1.0, "sex": None}.get(name, "west"), *(row[name] for row in other)] for name in other[0]}
    rows |= {"bmi": [None, *rows["bmi"][1:]], "smoker": [None, *rows["smoker"][1:]]}
    models = {
        "table": (fit_table(table, "reported", id="patient", scar_test=False, parameters=few).model, rows),
        "jerm": (JERM(random_state=0).fit(numbers.to_numpy(), labels), {"age": rows["age"], "weight": [20.0] * 13}),
        "named": (named.fit(frame, labels), {name: rows[name] for name in frame}),
    }
    for name, (model, given) in models.items():
        save(model, folder / f"0.3.0-{name}.propense")
        scores = {kind: values.tolist() for kind, values in scores_of(model, given).items()}
        (folder / f"0.3.0-{name}.json").write_text(json.dumps({"rows": given, "scores": scores}))


@pytest.mark.parametrize("path", sorted(FILES.glob("*.propense")), ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_loads_and_scores_as_it_did(path):
    known = json.loads(path.with_suffix(".json").read_text())
    for name, scores in scores_of(load(path), known["rows"]).items():
        np.testing.assert_allclose(scores, known["scores"][name], rtol=0, atol=1e-12)


def test_there_is_a_file_of_each_kind():
    assert {path.stem for path in FILES.glob("*.propense")} >= {"0.3.0-table", "0.3.0-jerm", "0.3.0-named"}
