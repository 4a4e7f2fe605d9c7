"""Frames of polars and pyarrow, taken out of narwhals, keep their names and give the answers of NumPy."""

import numpy as np
import pytest

nw = pytest.importorskip("narwhals", reason="needs narwhals")

from propense import JERM  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402

DATA = make_double_logistic(300, 4, random_state=0)


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_a_native_frame_keeps_its_names_and_gives_the_answers_of_numpy(backend):
    pytest.importorskip(backend, reason=f"needs {backend}")
    columns = {name: DATA.X[:, j] for j, name in enumerate("abcd")}
    frame = nw.from_dict(columns, backend=backend).to_native()
    model = JERM(random_state=0).fit(frame, DATA.labelled)
    assert list(model.feature_names_in_) == list("abcd")
    plain = JERM(random_state=0).fit(DATA.X, DATA.labelled)
    np.testing.assert_allclose(model.predict_hidden(frame), plain.predict_hidden(DATA.X), atol=1e-12)
