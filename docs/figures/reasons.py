"""What each column adds to the log-odds of one row: of being positive, and of having a label if it is."""

from functools import cache

import numpy as np

from propense import PUClassifier, reasons


@cache
def contributions():
    """For the unlabelled row that is most likely positive: its values, and what they add to both log-odds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    positive = rng.random(3000) < 1 / (1 + np.exp(1 - 2 * X[:, 0] - X[:, 1] * (X[:, 1] > 0)))
    labelled = positive & (rng.random(3000) < 1 / (1 + np.exp(-X[:, 3])))
    model = PUClassifier(propensity_features=[3], random_state=0).fit(X, labelled)
    row = int(np.argmax(np.where(labelled, -1, model.oof_hidden_)))
    found = reasons(model, X, rows=[row])
    return X[row], found.posterior[0], found.propensity[0]


def draw():
    """The figure."""
    from matplotlib import pyplot

    values, posterior, propensity = contributions()
    figure, axes = pyplot.subplots(1, 2, sharey=True, sharex=True, figsize=(7.2, 2.8))
    places = np.arange(len(values))
    titles = "To the log-odds of being positive", "To the log-odds of a label"
    for ax, title, added in zip(axes, titles, (posterior, propensity), strict=True):
        ax.barh(places, added, color=["C0" if each >= 0 else "C1" for each in added])
        for place, each in zip(places, added, strict=True):
            ax.annotate(
                f"{each:+.1f}".replace("-", "−") if abs(each) >= 0.05 else "0",
                (each, place),
                xytext=(4 if each >= 0 else -4, 0),
                textcoords="offset points",
                ha="left" if each >= 0 else "right",
                va="center",
            )
        ax.axvline(0, color="C7", linewidth=1)
        ax.set(title=title, yticks=places, xlabel="added")
        ax.margins(x=0.28)
        ax.grid(visible=False, axis="y")
    axes[0].set_yticklabels(
        [f"column {place} = {value:.1f}".replace("-", "−") for place, value in zip(places, values, strict=True)]
    )
    axes[0].invert_yaxis()
    return figure
