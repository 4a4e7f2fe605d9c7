"""The demo: breast cancer data with simulated labels, fitted by four methods."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from propense._diagnostics.diagnosis import Diagnosis
from propense.audit import Audit, draw, read
from propense.cli._console import Console
from propense.errors import DoubtfulFit
from propense.estimators import JERM, BasePUClassifier, Naive, Oracle, PUClassifier
from propense.labelling import simulate
from propense.tables import advise_audit, list_rows, summarise_estimator
from propense.tables.model import prior_range

__all__ = ["Demo", "Finding", "Score", "run_demo", "show_demo"]

FREQUENCY = 0.3
TOP = 10
CHECKED = 100


@dataclass(frozen=True)
class Score:
    """One line of the table: held-out rows that a method calls positive, and the share that it estimates."""

    method: str
    hits: int
    alarms: int
    balanced_accuracy: float
    prior: str


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
    held_out: tuple[int, int]
    scores: list[Score]
    reason: str
    findings: list[Finding]
    promise: str
    checked: str
    notes: list[str]


def run_demo(seed: int) -> Demo:
    """Split the data, label 30% of the malignant training rows (mechanism S2), fit, and score on the held-out rows."""
    data = load_breast_cancer()
    malignant = data.target == 0
    rows, rows_test = train_test_split(np.arange(len(malignant)), random_state=seed)
    scaler = StandardScaler().fit(data.data[rows])
    X, X_test = scaler.transform(data.data[rows]), scaler.transform(data.data[rows_test])
    y, y_test = malignant[rows], malignant[rows_test]
    labelled = simulate(X, y, "S2", FREQUENCY, rng=seed).labelled
    with warnings.catch_warnings():
        # The doubts of PUClassifier are printed as notes.
        warnings.simplefilter("ignore", DoubtfulFit)
        # The same kind of threshold for all: the share of positives that the method itself estimates.
        naive = Naive(decision="balanced").fit(X, labelled)
        jerm = JERM(decision="balanced").fit(X, labelled)
        first = PUClassifier(random_state=0).fit(X, labelled)
        oracle = Oracle(decision="balanced").fit(X, y)

    def score(name: str, model: BasePUClassifier) -> Score:
        called = model.predict(X_test).astype(bool)
        accuracy = balanced_accuracy_score(y_test, called)
        ends = prior_range(model)
        share = f"{model.prior_:.3f}" if ends is None else f"{model.prior_:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"
        return Score(name, int((called & y_test).sum()), int((called & ~y_test).sum()), accuracy, share)

    summary = summarise_estimator(first, X, labelled)
    review = list_rows(summary, TOP)
    # None if too little was learned.
    hidden = np.full(len(review.rows), np.nan) if review.hidden is None else review.hidden
    return Demo(
        rows=len(y),
        positives=int(y.sum()),
        labelled=int(labelled.sum()),
        prior=float(y.mean()),
        held_out=(int(y_test.sum()), int((~y_test).sum())),
        scores=[
            score("Naive", naive),
            score("JERM", jerm),
            score("PUClassifier", first),
            score("Oracle", oracle),
        ],
        reason=explain(naive.prior_, first.diagnosis_, float(y.mean())),
        findings=[
            Finding(int(rows[i]), float(chance), bool(y[i])) for i, chance in zip(review.rows, hidden, strict=True)
        ],
        promise=str(review.promise),
        checked=f"{advise_audit(summary) or ''} {check(first, y, labelled, seed)}".strip(),
        notes=[doubt.message for doubt in first.doubts_],
    )


def explain(naive: float, found: Diagnosis, truth: float) -> str:
    """Why the estimated shares of positives differ."""
    held = "within" if found.low <= truth <= found.high else "not within"
    return (
        "Why the shares differ: Naive counts every unlabelled row as benign, so its share is that of the labelled "
        f"rows, {naive:.1%}. The labels do not show how many more there are. So PUClassifier gives a range. "
        f"{' '.join(str(found).split())} The truth is {held} that range."
    )


def check(model: PUClassifier, y: NDArray[np.bool_], labelled: NDArray[np.bool_], seed: int) -> str:
    """What some of the unlabelled rows say, if people check them."""
    hidden = model.oof_hidden_
    drawn = draw(hidden, CHECKED, labelled=labelled, random_state=seed)
    share = read(Audit(drawn, y[drawn.rows].astype(float)), hidden, labelled=labelled).positives
    return (
        f"With {CHECKED} of them checked (propense audit draw), the estimated share of positives is "
        f"{share.estimate:.1%} (95% interval {share.low:.1%} to {share.high:.1%}), whatever the method assumes."
    )


def show_demo(demo: Demo) -> None:
    """Print the demo."""
    console = Console()
    console.print(
        f"Breast cancer data: {demo.rows} training rows, {demo.positives} of them malignant. Only {demo.labelled} of "
        "these are labelled, clear cases more often than others."
    )
    positives, negatives = demo.held_out
    table = Table(title="Held-out rows, predicted malignant if the probability exceeds the estimated share")
    table.add_column("method")
    for column in (f"found, of {positives}", f"false alarms, of {negatives}", "balanced accuracy"):
        table.add_column(column, justify="right")
    table.add_column(f"share of positives (true: {demo.prior:.3f})", justify="right")
    for line in demo.scores:
        shares = f"{line.balanced_accuracy:.3f}", line.prior
        table.add_row(line.method, str(line.hits), str(line.alarms), *shares)
    console.print(table)
    console.print(
        "Naive treats unlabelled rows as benign. Oracle is fitted to the true classes, so no method can do much better."
    )
    console.print(demo.reason)
    found = Table(title="Unlabelled rows to review first")
    found.add_column("row", justify="right")
    found.add_column("probability", justify="right")
    found.add_column("malignant?")
    for finding in demo.findings:
        found.add_row(str(finding.row), f"{finding.hidden:.2f}", "yes" if finding.positive else "no")
    console.print(found)
    hits = sum(finding.positive for finding in demo.findings)
    console.print(f"{demo.promise} {hits} of them are malignant.")
    console.print(demo.checked)
    for note in demo.notes:
        console.print(f"Note: {note}")
