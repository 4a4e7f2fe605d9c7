"""The chance of a label by visits to the doctor: true, estimated with nothing named, and with the columns named."""

from functools import cache

import numpy as np
import pandas as pd

from propense import SAREM


@cache
def curves():
    """By number of visits, among all patients: the mean of e and of y, true and by two fits."""
    rng, n = np.random.default_rng(0), 4000
    age, bmi, glucose = rng.normal(55, 15, n), rng.normal(27, 5, n), rng.normal(95, 15, n)
    visits, insured, pets = rng.poisson(np.clip(age / 15, 0.5, None)), rng.random(n) < 0.75, rng.poisson(1, n)
    y = 1 / (1 + np.exp(1 - 0.05 * (age - 55) - 0.1 * (bmi - 27) - 0.03 * (glucose - 95)))
    ill = rng.random(n) < y
    e = 1 / (1 + np.exp(4 - 0.8 * visits - 1.5 * insured))
    told = ill & (rng.random(n) < e)
    columns = {"age": age, "bmi": bmi, "glucose": glucose, "visits": visits, "insured": insured, "pets": pets}
    patients = pd.DataFrame(columns, dtype=float)
    X = (patients - patients.mean()) / patients.std()
    named = {"propensity_features": ["visits", "insured"], "class_features": ["age", "bmi", "glucose", "pets"]}
    columns = [e, y]
    for options in ({}, named):
        model = SAREM(**options).fit(X, told)
        columns += [model.predict_propensity(X), model.predict_proba(X)[:, 1]]
    places = np.arange(9)
    return places, np.array([[column[visits == place].mean() for place in places] for column in columns])


def draw():
    """The figure."""
    from matplotlib import pyplot

    visits, (e, y, e_nothing, y_nothing, e_named, y_named) = curves()
    figure, axes = pyplot.subplots(1, 2, sharey=True)
    titles = "e: an ill patient is told", "y: a patient is ill"
    for ax, title, lines in zip(axes, titles, ((e, e_nothing, e_named), (y, y_nothing, y_named)), strict=True):
        ax.plot(visits, lines[0], color="C7", linewidth=4, alpha=0.4, label="true")
        ax.plot(visits, lines[1], "s--", color="C1", markersize=4, label="nothing named")
        ax.plot(visits, lines[2], "o-", color="C0", markersize=4, label="both lists named")
        ax.set(xlabel="visits to the doctor", title=title, ylim=(0, 1.02))
    axes[0].set_ylabel("chance, on average")
    axes[1].legend(loc="upper left")
    return figure
