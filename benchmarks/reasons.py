"""What reasons of rows take, and how far those of the final model are from those by which a list is made.

`python benchmarks/reasons.py`. A list of rows of the fit is ordered by the model of the one fold that has not seen the
row; `reasons` explains the mean of the models of all folds. Tables of 14 columns, with curves and an interaction.
"""

import time
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from propense import PUClassifier, reasons
from propense.worlds.predictors import CurvePredictor
from unseen import Mask, Rows

COLUMNS = ("rows", "CPU s for 50 rows", "for 1 000 rows", "correlation", "same first column", "same of three")


def draw(n: int, seed: int) -> tuple[Rows, Mask]:
    """A table, and which rows are labelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 14))
    t = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 2 * (X[:, 3] > 0.5) - X[:, 4] ** 2
    return X, (rng.random(n) < 1 / (1 + np.exp(-t))) & (rng.random(n) < 0.4)


def of_fold(model: PUClassifier, fold: int) -> PUClassifier:
    """The estimator with the models of one fold only."""
    y, e, one = model._posterior, model._propensity, copy(model)
    assert isinstance(y, CurvePredictor)
    assert isinstance(e, CurvePredictor)
    members = tuple(replace(each, predictors=(each.predictors[fold],)) for each in y.score.members)
    score = replace(y.score, members=members)
    one._posterior, one._propensity = replace(y, score=score), replace(e, score=score)
    return one


def measure(n: int, seed: int = 1) -> list[float]:
    """A row of the table."""
    warnings.simplefilter("ignore")
    X, labelled = draw(n, seed)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, labelled))
    model = PUClassifier(random_state=0, cv=folds).fit(X, labelled)
    seconds = []
    for count in (50, 1000):
        start = time.process_time()
        reasons(model, X, rows=np.arange(count))
        seconds.append(time.process_time() - start)
    rest = np.flatnonzero(~labelled)
    listed = rest[np.argsort(-model.oof_posterior_[rest], kind="stable")[:100]]
    final, own = reasons(model, X, rows=listed).posterior, np.zeros((100, 14))
    for fold, (_, held) in enumerate(folds):
        here = np.isin(listed, held)
        own[here] = reasons(of_fold(model, fold), X, rows=listed[here]).posterior
    alike = np.mean([np.corrcoef(*pair)[0, 1] for pair in zip(final, own, strict=True)])
    first = np.mean(final.argmax(axis=1) == own.argmax(axis=1))
    three = [np.argsort(-each, axis=1)[:, :3] for each in (final, own)]
    common = np.mean([len(set(one) & set(other)) / 3 for one, other in zip(*three, strict=True)])
    return [n, *seconds, float(alike), float(first), float(common)]


def main() -> None:
    """Print a Markdown table."""
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|{' ---: |' * len(COLUMNS)}")
    for n in (1000, 4000, 12_000):
        rows, *found = measure(n)
        print(f"| {rows:,} | {' | '.join(f'{each:.2f}' for each in found)} |")


if __name__ == "__main__":
    main()
