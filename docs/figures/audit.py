"""How the interval narrows with the number of rows checked: rows drawn along the list, and a simple random sample."""

from functools import cache

import numpy as np
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from propense import PUClassifier
from propense.audit import Audit, read
from propense.audit import draw as draw_rows
from propense.labelling import simulate

SIZES = (25, 50, 75, 100, 150, 200, 300)


@cache
def widths():
    """The widths of 95% intervals of the share of positives, for both draws: the mean of 20 draws of each size."""
    data = load_breast_cancer()
    malignant = data.target == 0
    X = StandardScaler().fit_transform(data.data)
    labelled = simulate(X, malignant, "S2", 0.3, rng=0).labelled
    X = X[:, [0, 1, 4, 5, 8]]
    hidden = PUClassifier(learners="linear", random_state=0).fit(X, labelled).predict_hidden(X)
    unlabelled = np.flatnonzero(~labelled)
    rng = np.random.default_rng(0)
    along, simple = [], []
    for size in SIZES:
        found = []
        for seed in range(20):
            drawn = draw_rows(hidden, size, labelled=labelled, random_state=seed)
            share = read(Audit(drawn, malignant[drawn.rows].astype(float)), hidden, labelled=labelled).positives
            hits = malignant[rng.choice(unlabelled, size, replace=False)].sum()
            interval = binomtest(int(hits), size).proportion_ci(method="wilson")
            # Of all rows, and narrower the fewer are left unchecked: both draws are without replacement.
            left = np.sqrt(1 - size / len(unlabelled)) * len(unlabelled) / len(labelled)
            found.append((share.high - share.low, (interval.high - interval.low) * left))
        for widths, width in zip((along, simple), np.mean(found, axis=0), strict=True):
            widths.append(100 * width)
    return along, simple


def draw():
    """The figure."""
    from matplotlib import pyplot

    along, simple = widths()
    figure, ax = pyplot.subplots()
    ax.plot(SIZES, simple, "s--", color="C6", label="simple random sample")
    ax.plot(SIZES, along, "o-", color="C0", label="propense audit draw")
    ax.set(xlabel="rows checked", ylabel="width of the 95% interval,\npercentage points", ylim=(0, None))
    ax.legend()
    return figure
