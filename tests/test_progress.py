"""What a fit on Dask reports as it proceeds is what it does."""

import numpy as np
import pytest

pytest.importorskip("dask")

from blocks import as_dask
from propense import JERM, LBE, SAREM, TM, JointMLE, PUClassifier
from propense._progress import report_progress
from propense.datasets import make_double_logistic

pytestmark = pytest.mark.filterwarnings(
    "ignore::propense.errors.DoubtfulFit", "ignore::sklearn.exceptions.ConvergenceWarning"
)

STAGES = {
    JERM(max_iter=2): ["search for spies", "naive fit", "round 1", "round 2"],
    TM(max_iter=2): ["naive fit", "round 1", "round 2"],
    SAREM(max_iter=2): ["start", "round 1", "round 2"],
    SAREM(max_iter=2, variant="published"): ["start", "round 1", "round 2"],
    LBE(max_iter=2): ["start", "round 1", "round 2"],
    JointMLE(n_starts=2, random_state=0): ["starts", "start 1 of 2", "start 2 of 2"],
    # Its fits run in other threads.
    PUClassifier(learners="linear", n_jobs=2): [
        "learning the labels: logistic regression",
        "y and e along the label scores",
    ],
}


@pytest.mark.parametrize("method", STAGES, ids=str)
def test_every_stage_and_every_pass_over_the_rows_is_reported(method):
    data, read, told = make_double_logistic(300, n_features=4, random_state=1), [], []

    def counted(block):
        read.append(len(block))
        return block

    X = as_dask(data.X, counted)
    # Dask has tried it on a row of its own.
    read.clear()
    with report_progress(lambda *now: told.append(now)):
        method.fit(X, data.labelled)
    stages, passes, seconds = zip(*told, strict=True)
    assert list(dict.fromkeys(stages)) == ["", *STAGES[method]]
    assert passes[-1] * 300 == sum(read)
    # One pass at a time, and time goes on.
    assert set(np.diff(passes)) <= {0, 1}
    assert (np.diff(seconds) >= 0).all()
