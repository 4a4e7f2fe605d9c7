"""Dask: arrays and data frames give the answers of NumPy."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="needs dask")
dd = pytest.importorskip("dask.dataframe", reason="needs dask")
pd = pytest.importorskip("pandas", reason="needs pandas")

from propense import JERM  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402

DATA = make_double_logistic(300, 4, random_state=0)
FRAME = pd.DataFrame(DATA.X, columns=list("abcd"))


@pytest.mark.slow
@pytest.mark.parametrize("X", [da.from_array(DATA.X, chunks=(100, 4)), dd.from_pandas(FRAME, npartitions=3)])
def test_a_fit_is_that_of_numpy(X):
    model = JERM(random_state=0).fit(DATA.X, DATA.labelled)
    other = JERM(random_state=0).fit(X, da.from_array(DATA.labelled, chunks=100))
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-8)
    np.testing.assert_allclose(np.asarray(other.predict_hidden(X)), model.predict_hidden(DATA.X), atol=1e-8)
