"""95% intervals of repeated samples: of a model that holds, and of one that does not."""

from functools import cache

import numpy as np

from propense import JointMLE, intervals

SAMPLES, ROWS = 40, 2000


def sample(rng, squared):
    """Columns, labels and chances of being positive: two of the truths of benchmarks/interval_coverage.py."""
    X = rng.normal(size=(ROWS, 4))
    score = 2.4 * (X[:, 0] - X[:, 1])
    if squared:
        score += 1.5 * (X[:, 0] ** 2 - 1)
    posterior = 1 / (1 + np.exp(-score))
    positive = rng.random(ROWS) < posterior
    return X, positive & (rng.random(ROWS) < 1 / (1 + np.exp(1.06 * (X[:, 3] - X[:, 2])))), posterior


@cache
def found():
    """For each truth: the true prevalence, and the estimate and the interval's ends in each sample."""
    rng = np.random.default_rng(0)
    worlds = {}
    for squared in (False, True):
        rows, truth = [], []
        for _ in range(SAMPLES):
            X, labelled, posterior = sample(rng, squared)
            model = JointMLE(propensity_features=[2, 3], random_state=0).fit(X, labelled)
            prevalence = intervals(model, X, labelled, how="sandwich").prior
            rows.append((model.prior_, prevalence.low, prevalence.high))
            truth.append(posterior.mean())
        worlds[squared] = np.mean(truth), np.array(rows)
    return worlds


def draw():
    """A panel for each truth, with a line for each interval."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.8), sharex=True, sharey=True)
    for ax, (squared, (truth, rows)) in zip(axes, found().items(), strict=True):
        estimates, low, high = 100 * rows.T
        holds = (low <= 100 * truth) & (100 * truth <= high)
        for inside, colour, name in ((True, "C0", "contains the truth"), (False, "C1", "does not")):
            places = np.flatnonzero(holds == inside)
            ax.hlines(places, low[places], high[places], color=colour, linewidth=1.5, label=name)
            ax.plot(estimates[places], places, ".", color=colour, markersize=5)
        ax.axvline(100 * truth, color="C7", linewidth=1.2)
        title = "y quadratic in a column" if squared else "the model holds"
        ax.set(title=f"{title}: {holds.sum()} of {SAMPLES}", xlabel="positive rows (%)", yticks=[])
        ax.grid(axis="y", visible=False)
    axes[0].set(ylabel=f"{SAMPLES} samples")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
