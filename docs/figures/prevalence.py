"""What a list of 200 patients promises, by the share of positives that is assumed; and shares by group."""

from functools import cache

import numpy as np
import pandas as pd

from propense import PUClassifier

PRIORS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@cache
def results():
    """By assumed share: promised, low, high and true cases of a list; by sex: the share before, after and in truth."""
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.normal(50, 15, n), "pain": rng.normal(size=n)})
    ill = rng.random(n) < 1 / (1 + np.exp(1 - 0.05 * (X["age"] - 50) - 1.5 * X["pain"]))
    reported = ill & (rng.random(n) < np.where(X["sex"] == "f", 0.6, 0.2))
    lists = []
    for prior in PRIORS:
        model = PUClassifier(prior=prior, random_state=0).fit(X, reported)
        top = np.argsort(-np.where(reported, -1, model.oof_hidden_), kind="stable")[:200]
        low, high = model.oof_hidden_range_[top].sum(axis=0)
        lists.append((model.oof_hidden_[top].sum(), low, high, ill.iloc[top].sum()))
    known = PUClassifier(learners="linear", prior={"f": 0.33, "m": (0.3, 0.35)}, prior_groups="sex", random_state=0)
    moved = known.fit(X, reported).diagnosis_.moved
    groups = {sex: (*moved[sex], ill[X["sex"] == sex].mean()) for sex in ("f", "m")}
    return np.array(lists).T, groups, ill.mean()


def draw():
    """The figure."""
    from matplotlib import pyplot

    (promised, low, high, found), groups, true = results()
    figure, (left, right) = pyplot.subplots(1, 2, width_ratios=[3, 2])
    shares = [100 * prior for prior in PRIORS]
    left.fill_between(shares, low, high, color="C0", alpha=0.25, label="range")
    left.plot(shares, promised, "o-", color="C0", label="promised")
    left.plot(shares, found, "s--", color="C1", label="ill, in truth")
    left.axvline(100 * true, color="C7", linewidth=1, linestyle=":")
    left.text(100 * true - 0.5, 4, "true share", color="C7", ha="right")
    left.set(xlabel="assumed share of positives, %", ylabel="patients", ylim=(0, 200), title="A list of 200 patients")
    left.legend(loc="lower right")
    places = np.arange(2)
    bars = zip(
        ("labels alone", "shares given", "in truth"),
        ("C6", "C0", "C1"),
        zip(*groups.values(), strict=True),
        strict=True,
    )
    for step, (words, colour, values) in enumerate(bars):
        right.bar(places + 0.27 * (step - 1), [100 * value for value in values], 0.25, color=colour, label=words)
    right.set(xticks=places, ylim=(0, 58), ylabel="% ill", title="Shares by sex")
    right.set_xticklabels(["women", "men"])
    right.grid(visible=False, axis="x")
    right.legend(loc="upper right", fontsize="small")
    return figure
