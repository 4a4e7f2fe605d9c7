"""What calibration by labels does to the chances of being positive."""

from functools import cache

import numpy as np
from sklearn.calibration import CalibratedClassifierCV

from propense import SAREM
from propense.datasets import make_double_logistic

PARTS = 12


@cache
def chances():
    """True and estimated chances of being positive, averaged over equal parts of the rows ordered by the true one."""
    data = make_double_logistic(2000, random_state=0)
    models = [model.fit(data.X, data.labelled) for model in (SAREM(), CalibratedClassifierCV(SAREM()))]
    found = [data.posterior, *(model.predict_proba(data.X)[:, 1] for model in models)]
    order = np.argsort(data.posterior)
    return [np.array([each[rows].mean() for rows in np.array_split(order, PARTS)]) for each in found]


def draw():
    """Two curves and the diagonal."""
    from matplotlib import pyplot

    true, fitted, calibrated = chances()
    figure, ax = pyplot.subplots(figsize=(5.2, 4.0))
    ax.plot([0, 1], [0, 1], "--", color="C6", label="right")
    ax.plot(true, fitted, "o-", color="C0", label="SAREM")
    ax.plot(true, calibrated, "s-", color="C1", label="SAREM, calibrated by the labels")
    ax.set(xlabel="true chance of being positive", ylabel="estimated chance", xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left")
    return figure
