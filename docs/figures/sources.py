"""What a registry and a survey see of the ill, what both miss, and how that depends on the distance to town."""

from functools import cache

import numpy as np
import pandas as pd

from propense import SeveralSources

PARTS = 10


@cache
def results():
    """Of the ill who were asked: seen by both, one or neither source. And by distance: both propensities."""
    rng = np.random.default_rng(17)
    n = 5000
    patients = pd.DataFrame({"age": rng.normal(55, 12, n), "distance": rng.exponential(10, n)})
    old = (patients["age"] - 55) / 12
    ill = rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * old))
    chance = 1 / (1 + np.exp(-0.5 - old + 0.08 * patients["distance"]))
    registry = ill & (rng.random(n) < chance)
    survey = ill & (rng.random(n) < 0.6)
    asked = rng.random(n) < 0.5
    labels = pd.DataFrame({"registry": registry.astype(float), "survey": np.where(asked, survey, np.nan)})
    model = SeveralSources().fit(patients, labels)
    counts = [(asked & part).sum() for part in (registry & ~survey, registry & survey, survey & ~registry)]
    unseen = asked & ~registry & ~survey
    missed = (ill & unseen).sum(), model.predict_hidden(patients[unseen]).sum()
    estimated = model.predict_source_propensities(patients)
    # e is about positives, so the rows count by their chance of being ill.
    weights = model.predict_proba(patients)[:, 1]
    curves = []
    for rows in np.array_split(np.argsort(patients["distance"].to_numpy()), PARTS):
        ends = [np.average(estimated[rows, source], weights=weights[rows]) for source in (0, 1)]
        sick = rows[ill.to_numpy()[rows]]
        curves.append((patients["distance"].iloc[sick].mean(), chance.iloc[sick].mean(), 0.6, *ends))
    return counts, missed, np.array(curves).T


def draw():
    """The figure."""
    from matplotlib import pyplot

    (only_registry, both, only_survey), (missed, estimated), (distance, registry, survey, *fitted) = results()
    figure, (left, right) = pyplot.subplots(1, 2)
    parts = {"registry only": only_registry, "both": both, "survey only": only_survey, "neither": missed}
    left.bar(range(4), parts.values(), color=["C0", "C2", "C1", "C6"])
    left.plot([2.55, 3.45], [estimated] * 2, color="C7", linewidth=3, label="neither, estimated")
    left.set(
        xticks=range(4),
        ylabel="ill patients",
        title="The ill whom the survey asked",
        ylim=(0, 1.3 * max(parts.values())),
    )
    left.set_xticklabels(["registry\nonly", "both", "survey\nonly", "neither"])
    left.grid(visible=False, axis="x")
    left.legend(loc="upper right")
    for name, true, curve, colour in (("registry", registry, fitted[0], "C0"), ("survey", survey, fitted[1], "C1")):
        right.plot(distance, true, color=colour, linewidth=4, alpha=0.35)
        right.plot(distance, curve, "o-", color=colour, markersize=4, label=name)
    right.set(xlabel="distance to town", ylabel="chance of a label, if ill", ylim=(0, 1), title="Who is seen")
    right.legend(loc="upper right")
    return figure
