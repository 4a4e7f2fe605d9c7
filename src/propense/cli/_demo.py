"""The demo: breast cancer data with simulated labels, fitted by four methods."""

import warnings
from dataclasses import dataclass

import numpy as np
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from propense.cli._console import Console
from propense.errors import DoubtfulFit
from propense.estimators import JERM, Naive, Oracle, PUClassifier
from propense.labelling import simulate
from propense.tables import list_rows, summarise_estimator

__all__ = ["Demo", "Finding", "Score", "run_demo", "show_demo"]

FREQUENCY = 0.3
TOP = 10


@dataclass(frozen=True)
class Score:
    """One line of the table; `propensity_error` is None for the oracle, which has no propensity."""

    method: str
    balanced_accuracy: float
    prior: float
    propensity_error: float | None


@dataclass(frozen=True)
class Finding:
    """An unlabelled row, the probability that it is positive, and whether it is."""

    row: int
    hidden: float
    positive: bool


@dataclass(frozen=True)
class Demo:
    """What the demo prints."""

    rows: int
    positives: int
    labelled: int
    prior: float
    scores: list[Score]
    findings: list[Finding]
    promise: str
    notes: list[str]


def run_demo(seed: int) -> Demo:
    """Split the data, label 30% of the malignant training rows (mechanism S2), fit, and score on the held-out rows."""
    data = load_breast_cancer()
    malignant = data.target == 0
    rows, rows_test = train_test_split(np.arange(len(malignant)), random_state=seed)
    scaler = StandardScaler().fit(data.data[rows])
    X, X_test = scaler.transform(data.data[rows]), scaler.transform(data.data[rows_test])
    y, y_test = malignant[rows], malignant[rows_test]
    drawn = simulate(X, y, "S2", FREQUENCY, rng=seed)
    labelled, propensity = drawn.labelled, drawn.propensity
    with warnings.catch_warnings():
        # The doubts of PUClassifier are printed as notes.
        warnings.simplefilter("ignore", DoubtfulFit)
        oracle = Oracle().fit(X, y)
        naive, jerm = Naive().fit(X, labelled), JERM().fit(X, labelled)
        first = PUClassifier(random_state=0).fit(X, labelled)

    def score(name: str, model: Oracle | Naive | JERM | PUClassifier) -> Score:
        # Of rows of the fit: by models that have not seen them, where there are such.
        estimated = getattr(model, "oof_propensity_", None)
        estimated = model.predict_propensity(X) if estimated is None else estimated
        error = float(np.abs(estimated - propensity)[y].mean())
        accuracy = balanced_accuracy_score(y_test, model.predict(X_test))
        return Score(name, accuracy, model.prior_, None if model is oracle else error)

    review = list_rows(summarise_estimator(first, X, labelled), TOP)
    # None if too little was learned.
    hidden = np.full(len(review.rows), np.nan) if review.hidden is None else review.hidden
    return Demo(
        rows=len(y),
        positives=int(y.sum()),
        labelled=int(labelled.sum()),
        prior=float(y.mean()),
        # The decision does not affect the fit, so JERM is fitted only once.
        scores=[
            score("Naive", naive),
            score("JERM", jerm),
            score("JERM, balanced", jerm.set_params(decision="balanced")),
            score("PUClassifier", first),
            score("Oracle, true classes", oracle),
        ],
        findings=[
            Finding(int(rows[i]), float(chance), bool(y[i])) for i, chance in zip(review.rows, hidden, strict=True)
        ],
        promise=str(review.promise),
        notes=[doubt.message for doubt in first.doubts_],
    )


def show_demo(demo: Demo) -> None:
    """Print the demo."""
    console = Console()
    console.print(
        f"Breast cancer data: {demo.rows} training rows, {demo.positives} of them malignant. Only {demo.labelled} of "
        "these are labelled, clear cases more often than others."
    )
    table = Table(title="Results, with balanced accuracy on held-out rows")
    table.add_column("method")
    table.add_column("balanced accuracy", justify="right")
    table.add_column(f"share of positives (true: {demo.prior:.3f})", justify="right")
    table.add_column("propensity error", justify="right")
    for line in demo.scores:
        error = "–" if line.propensity_error is None else f"{line.propensity_error:.3f}"
        table.add_row(line.method, f"{line.balanced_accuracy:.3f}", f"{line.prior:.3f}", error)
    console.print(table)
    found = Table(title="Unlabelled rows to review first")
    found.add_column("row", justify="right")
    found.add_column("probability", justify="right")
    found.add_column("malignant?")
    for finding in demo.findings:
        found.add_row(str(finding.row), f"{finding.hidden:.2f}", "yes" if finding.positive else "no")
    console.print(found)
    hits = sum(finding.positive for finding in demo.findings)
    console.print(f"{demo.promise} {hits} of them are malignant.")
    for note in demo.notes:
        console.print(f"Note: {note}")
