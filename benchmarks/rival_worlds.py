"""What is measured of each method in studies/rivals, on draws of data that its paper or its authors' code describes."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from propense.datasets import load

# They are not part of the package.
sys.path.append(str(Path(__file__).parents[1] / "studies"))

from rivals import DEDPUL, DETM, NNPU, PULSNAR, ElkanNoto, NTCtMI
from rivals.pusb import fit_ratio

__all__ = ["dedpul", "detm", "elkan_noto", "nnpu", "ntc_tmi", "pulsnar", "pusb"]

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Of DEDPUL's simulations: how far the negatives are from the positives, and their shares of the unlabelled rows.
DISTANCES, NEGATIVES = (1, 2, 4), (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def ntc_tmi() -> list[float]:
    """Balanced accuracy on five splits of wdbc, half of the positives labelled."""
    data = load_breast_cancer()
    y, found = data.target == 0, []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        fitted, held = order[:400], order[400:]
        labelled = y[fitted] & (rng.random(400) < 0.5)
        model = NTCtMI().fit(data.data[fitted], labelled)
        found.append(float(balanced_accuracy_score(y[held], model.predict(data.data[held]))))
    return found


def _laplace(distance: float, negative: float, labelled: int, seed: int) -> tuple[Rows, Mask, float]:
    """One column, which labels, and the largest share of positives that 10 000 unlabelled rows allow."""
    rng = np.random.default_rng(seed)
    rest = round(10_000 * negative)
    column = np.concatenate([rng.laplace(0, 1, labelled + 10_000 - rest), rng.laplace(distance, 1, rest)])
    return column[:, None], np.arange(len(column)) < labelled, 1 - negative * (1 - np.exp(-distance))


def elkan_noto() -> list[float]:
    """The share of positives by the estimate of c, for each distance. As many rows are labelled as not."""
    found = []
    for distance in DISTANCES:
        shares = []
        for negative in NEGATIVES:
            for seed in range(3):
                X, labelled, _ = _laplace(distance, negative, 10_000, seed)
                shares.append(min(1 / ElkanNoto(random_state=seed).fit(X, labelled).c_ - 1, 1.0))
        found.append(float(np.mean(shares)))
    return found


def dedpul() -> list[float]:
    """The mean error of the share of positives, for each distance."""
    found = []
    for distance in DISTANCES:
        errors = []
        for negative in NEGATIVES:
            for seed in range(10):
                X, labelled, truth = _laplace(distance, negative, 1000, seed)
                errors.append(abs(DEDPUL(random_state=seed).fit(X, labelled).share_ - truth))
        found.append(float(np.mean(errors)))
    return found


def pusb(ridge: float) -> list[float]:
    """The error on spambase with 20, 40 and 60% positives, for each; the clearest positives are labelled."""
    data = load("spambase")
    X, y = data.X / data.X.max(axis=0), data.y == 1
    chance = LogisticRegression(C=0.01).fit(X, y).predict_proba(X)[:, 1] ** 20
    design = np.column_stack([X, np.ones(len(X))])
    found = []
    for share in (0.2, 0.4, 0.6):
        errors = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(X))
            train, test = order[:-3000], order[-3000:]
            positive, negative = train[y[train]], train[~y[train]]
            picked = np.empty(0, dtype=np.intp)
            while len(picked) < 400:
                picked = np.concatenate(
                    [picked, positive[chance[positive] / chance[positive].max() > rng.random(len(positive))]]
                )
            labelled = rng.permutation(picked)[:400]
            few = round(800 * share)
            unlabelled = np.concatenate([rng.permutation(positive)[:few], rng.permutation(negative)[: 800 - few]])
            few = round(1000 * share)
            held = [rng.permutation(test[y[test]])[:few], rng.permutation(test[~y[test]])[: 1000 - few]]
            # The unlabelled rows are a sample of their own here, not all rows; hence not the classifier itself.
            b = fit_ratio(design[unlabelled], design[labelled].mean(axis=0), share, ridge)
            scores = design[np.concatenate(held)] @ b
            called = scores > np.quantile(scores, 1 - share)
            errors.append((called != np.repeat([True, False], [few, 1000 - few])).mean())
        found.append(float(np.mean(errors)))
    return found


def nnpu() -> list[float]:
    """The error on held-out digits, even or odd, in five draws of 200 labelled even ones among 1200."""
    X, digit = load_digits(return_X_y=True)
    even, found = digit % 2 == 0, []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        fitted, held = order[:1200], order[1200:]
        labelled = np.isin(fitted, rng.permutation(fitted[even[fitted]])[:200])
        model = NNPU(prior=float(even[fitted].mean())).fit(X[fitted], labelled)
        found.append(float((model.predict(X[held]) != even[held]).mean()))
    return found


def detm(*truths: float) -> list[float]:
    """The share of positives among 1000 unlabelled rows with 15 columns, for each true one; means of five draws."""
    found = []
    for share in truths:
        shares = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            hidden = rng.binomial(1000, share)
            X = rng.normal(size=(2000, 15))
            X[1000 : 1000 + hidden, :7] += 1
            X[1000 + hidden :] += 1
            shares.append(2 * DETM(random_state=0).fit(X, np.arange(2000) < 1000).prior_ - 1)
        found.append(float(np.mean(shares)))
    return found


def pulsnar(kinds: int, draws: int, **options: Any) -> list[float]:
    """The share of positives among 6000 unlabelled rows, for each true one of the paper; means of several shuffles.

    With several kinds of positives, the 2000 labelled rows have as many of each, and the unlabelled ones have twice as
    many of each kind as of the one before.
    """
    shape = {
        "n_informative": 50,
        "n_redundant": 0,
        "n_clusters_per_class": 1,
        "flip_y": 0,
        "class_sep": 0.3,
    }
    X, y = make_classification(12_000 * (kinds + 1), 50, n_classes=kinds + 1, random_state=1001, **shape)
    rows = [np.flatnonzero(y == kind) for kind in range(kinds + 1)]
    each, found = 2000 // kinds, []
    for share in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        hidden = [round(6000 * share * 2**kind / (2**kinds - 1)) for kind in range(kinds)]
        parts = [some[each : each + n] for some, n in zip(rows[1:], hidden, strict=True)]
        chosen = np.concatenate([*(some[:each] for some in rows[1:]), *parts, rows[0][: 6000 - sum(hidden)]])
        shares = []
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(chosen))
            shares.append(PULSNAR(random_state=seed, **options).fit(X[chosen[order]], order < each * kinds).share_)
        found.append(float(np.mean(shares)))
    return found
