"""The table of the guide as bars: labelled rows, probable positives without a label, and the rest, with ranges."""

import random
from functools import cache

import pandas as pd

from propense import PUClassifier


@cache
def fits():
    """The table, its labels, how many rows are positive in truth, and a fit with nothing and with sex named."""
    random.seed(0)
    rows, positives = [], 0
    for _ in range(2000):
        sex, region = random.choice("fm"), random.choice(["north", "south", "south", "east"])
        age, stress = random.randint(18, 80), random.random() < 0.4
        sleep = None if random.random() < 0.1 else round(random.gauss(7, 1), 1)
        score = 2.5 * stress - 1.5 * ((sleep or 7) - 7) - 0.06 * (age - 45) - 1.5
        migraine = random.random() < 1 / (1 + 2.718281828**-score)
        reported = migraine and random.random() < (0.6 if sex == "f" else 0.2)
        positives += migraine
        rows.append((age, sex, sleep, region, stress, reported))
    table = pd.DataFrame(rows, columns=["age", "sex", "sleep", "region", "stress", "reported"])
    labelled = table.pop("reported").to_numpy()
    named = [PUClassifier(propensity_features=columns, random_state=0) for columns in (None, ["sex"])]
    return table, labelled, positives, [model.fit(table, labelled) for model in named]


def draw():
    """The figure."""
    from matplotlib import pyplot

    table, labelled, positives, models = fits()
    shares = [
        ("labels alone", models[0].prior_, (models[0].diagnosis_.low, models[0].diagnosis_.high)),
        ("reporting depends on sex", models[1].prior_, (models[1].diagnosis_.low, models[1].diagnosis_.high)),
        ("in truth", positives / len(table), None),
    ]
    figure, ax = pyplot.subplots(figsize=(7.2, 2.6))
    count = int(labelled.sum())
    for place, (_, share, ends) in enumerate(shares):
        total = share * len(table)
        ax.barh(place, count, color="C0", label="labelled" if place == 0 else None)
        ax.barh(place, total - count, left=count, color="C1", label="positive, no label" if place == 0 else None)
        ax.barh(place, len(table) - total, left=total, color="C6", alpha=0.3, label="negative" if place == 0 else None)
        if ends is not None:
            ax.plot([end * len(table) for end in ends], [place, place], color="C7", marker="|", markersize=12)
    ax.set(yticks=range(3), xlabel="rows", xlim=(0, len(table)))
    ax.set_yticklabels([words for words, *_ in shares])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
