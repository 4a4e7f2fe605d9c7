"""Ill patients found against the number of patients tested, by the method that ordered the list."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from propense import JERM, SAREM, Naive, PUClassifier

LONGEST = 500


@cache
def found():
    """Ill patients among the first tested, by method; and how many are ill without a diagnosis."""
    rng = np.random.default_rng(0)
    n = 3000
    patients = pd.DataFrame(
        {
            "age": rng.normal(55, 12, n).round(),
            "bmi": rng.normal(27, 4.5, n).round(1),
            "glucose": rng.normal(5.6, 0.9, n).round(1),
            "visits": rng.poisson(3, n),
        }
    )
    z = (patients - patients.mean()) / patients.std()
    ill = rng.random(n) < 1 / (1 + np.exp(2 - 2.5 * z["glucose"] - 1.2 * z["bmi"] - 0.8 * z["age"]))
    diagnosed = ill & (rng.random(n) < 1 / (1 + np.exp(2.8 - 0.8 * patients["visits"])))
    waiting = ~diagnosed
    scaler = StandardScaler().set_output(transform="pandas")
    scaled = scaler.fit_transform(patients)
    first = PUClassifier(class_features=["age", "bmi", "glucose"], propensity_features=["visits"], random_state=0)
    scores = {
        "SAREM": SAREM(propensity_features=["visits"]).fit(scaled, diagnosed).predict_hidden(scaled[waiting]),
        "JERM": JERM(propensity_features=["visits"], spy_quantile=0.3)
        .fit(scaled, diagnosed)
        .predict_hidden(scaled[waiting]),
        "PUClassifier": first.fit(patients, diagnosed).oof_hidden_[waiting],
        "Naive": Naive().fit(scaled, diagnosed).predict_proba(scaled[waiting])[:, 1],
    }
    truth = ill[waiting].to_numpy()
    return {
        name: np.cumsum(truth[np.argsort(-score, kind="stable")])[:LONGEST] for name, score in scores.items()
    }, truth.sum()


def draw():
    """The figure."""
    from matplotlib import pyplot

    curves, hidden = found()
    tested = np.arange(1, LONGEST + 1)
    figure, ax = pyplot.subplots()
    ax.plot(tested, np.minimum(tested, hidden), color="C6", linewidth=1, label="every test finds a case")
    styles = {"SAREM": "C0-", "JERM": "C2--", "PUClassifier": "C3-.", "Naive": "C1:"}
    for name, curve in curves.items():
        ax.plot(tested, curve, styles[name], linewidth=2, label=name)
    ax.set(xlabel="patients tested, most likely cases first", ylabel="undiagnosed cases found")
    ax.legend()
    return figure
