"""What `all_likely` sees: the share of rows treated as positive, against the error of the estimated prior."""

from functools import cache

import numpy as np

from propense import JERM
from propense.datasets import make_double_logistic

SLOPES, DRAWS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0), 5
MODELS = {"JERM()": JERM(), "JERM(spy_quantile=0.1)": JERM(spy_quantile=0.1)}


@cache
def fits():
    """For each model, over classes that overlap more or less: share treated as positive, error of prior_, doubted."""
    found = {name: [] for name in MODELS}
    for slope in SLOPES:
        for seed in range(DRAWS):
            data = make_double_logistic(2000, coef=[0] + 5 * [slope] + 5 * [0], random_state=seed)
            for name, model in MODELS.items():
                model.fit(data.X, data.labelled)
                doubted = any(doubt.kind == "all_likely" for doubt in model.doubts_)
                found[name].append((model.positives_path_[-1], model.prior_ - data.positive.mean(), doubted))
    return {name: np.array(rows) for name, rows in found.items()}


def draw():
    """A point for each fit, coloured by whether there is a doubt."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7.2, 3.8))
    for marker, (name, rows) in zip("os", fits().items(), strict=True):
        share, error, doubted = rows.T
        for raised, colour in ((1, "C1"), (0, "C0")):
            those = doubted == raised
            label = f"{name}, {'doubted' if raised else 'no doubt'}"
            if those.any():
                ax.plot(100 * share[those], 100 * error[those], marker, color=colour, label=label)
    ax.axhline(0, color="C7", linewidth=1)
    ax.axvline(90, color="C6", linestyle="--", linewidth=1)
    ax.set(xlabel="rows treated as positive, positives_path_ (%)", ylabel="error of prior_\n(percentage points)")
    ax.legend(loc="upper left")
    return figure
