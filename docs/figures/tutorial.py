"""The tumours of the tutorial in eight groups, from the least to the most suspect: labels, truth and estimates."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from propense import PUClassifier
from propense.labelling import simulate

GROUPS = 8


@cache
def shares():
    """By group: the share that is malignant, labelled, estimated by PUClassifier, and by regression of the label."""
    data = load_breast_cancer()
    X, _, malignant, _ = train_test_split(data.data[:, :10], data.target == 0, random_state=1)
    X = StandardScaler().fit_transform(X)
    labelled = simulate(X, malignant, "S2", 0.5, rng=0).labelled
    estimated = PUClassifier(random_state=0).fit(X, labelled).oof_posterior_
    plain = cross_val_predict(LogisticRegression(), X, labelled, method="predict_proba")[:, 1]
    groups = np.array_split(np.argsort(estimated, kind="stable"), GROUPS)
    columns = np.column_stack([malignant, labelled, estimated, plain])
    return np.array([columns[rows].mean(axis=0) for rows in groups]).T


def draw():
    """The figure."""
    from matplotlib import pyplot

    malignant, labelled, estimated, plain = 100 * shares()
    places = np.arange(1, GROUPS + 1)
    figure, ax = pyplot.subplots()
    ax.bar(places, malignant, color="C6", alpha=0.35, label="malignant, in truth")
    ax.bar(places, labelled, color="C6", alpha=0.75, width=0.5, label="labelled")
    ax.plot(places, plain, "s--", color="C1", label="estimate of plain regression")
    ax.plot(places, estimated, "o-", color="C0", label="estimate of PUClassifier")
    ax.set(xlabel="tumours in eight groups, from the least to the most suspect", ylabel="% of the group", xticks=places)
    ax.grid(visible=False, axis="x")
    ax.legend(loc="upper left")
    return figure
