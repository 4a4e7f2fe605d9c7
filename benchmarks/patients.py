"""The example on the first page: patients of whom some were told. `python benchmarks/patients.py [--figure FILE]`.

The US health survey NHANES asks whether a doctor has told people that they have diabetes, and measures everybody.
`propense datasets fetch nhanes` brings it. Told or not is the label; the class is told, or measured. Answers, from the
people of 2005 to 2012: regression and boosted trees of the label, these also without the columns of access to care;
PUClassifier, from the labels alone; the same, with the columns of access named; and the same after 200 people were
checked. Each is judged by the share of the ill, by whom it calls ill in 2013 and 2014 (above its own share: the
same kind of cut for all), and by the 200 people without a diagnosis that it would test first. A second table has the
share of the ill who were told, by visits to a doctor. `--draws 200` repeats the check, from other draws.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from natural import Task, read
from patients_plot import draw_figure
from propense import PUClassifier
from propense.audit import Audit, Findings, correct, draw
from propense.audit import read as read_audit
from propense.datasets.nhanes import ACCESS
from propense.datasets.nhanes_table import nhanes_path
from propense.tables.promise import Promise, add_up
from unseen import Mask, Rows

# How often people saw a doctor in the last year: the survey's classes, the last two as one.
VISITS = {"none": (0, 0), "1": (1, 1), "2 or 3": (2, 2), "4 to 9": (3, 3), "10 or more": (4, 5)}


# A number and both ends of its range; NaN where there is none.
Span = tuple[float, float, float]
_NONE = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Answer:
    """What one way says: the share that is ill, the classes of later people, and a list of people to test."""

    name: str
    share: Span
    hits: int
    ill: int
    alarms: int
    well: int
    listed: int
    promised: Span
    found: int

    def row(self) -> list[str]:
        """A cell for each column of the table."""
        share, low, high = self.share
        said = f"{share:.1%}" + ("" if np.isnan(low) else f" ({low:.1%} to {high:.1%})")
        expected, least, most = self.promised
        promise = "none" if np.isnan(expected) else f"{expected:.0f} ({least:.0f} to {most:.0f})"
        found, false = self.hits / self.ill, self.alarms / self.well
        return [
            self.name,
            said,
            f"{self.hits} of {self.ill} ({found:.0%})",
            f"{self.alarms} of {self.well} ({false:.0%})",
            f"{(found + 1.0 - false) / 2.0:.3f}",
            promise,
            f"{self.found} of {self.listed}",
        ]


def judge(name: str, task: Task, share: Span, called: Mask, listed: NDArray[np.intp], promised: Span) -> Answer:
    """What was said, beside the truth: the classes of later people, and those on the list."""
    ill, well = task.truth, ~task.truth
    counts = {"hits": called & ill, "ill": ill, "alarms": called & well, "well": well, "found": task.positive[listed]}
    sums = {words: int(rows.sum()) for words, rows in counts.items()}
    return Answer(name=name, share=share, listed=len(listed), promised=promised, **sums)


def first(score: Rows, labelled: Mask, length: int) -> NDArray[np.intp]:
    """The unlabelled rows with the highest scores."""
    rest = np.flatnonzero(~labelled)
    return rest[np.argsort(-score[rest], kind="stable")[:length]]


def plain(name: str, learner: Any, task: Task, length: int, columns: Sequence[int] | slice = slice(None)) -> Answer:
    """A classifier of the label, called positive above the share of labels; its list is made out of fold."""
    share, X = float(task.labelled.mean()), task.X[:, columns]
    called = learner.fit(X, task.labelled).predict_proba(task.fresh[:, columns])[:, 1] > share
    score = cross_val_predict(learner, X, task.labelled, cv=5, method="predict_proba")[:, 1]
    listed = first(score, task.labelled, length)
    return judge(name, task, (share, np.nan, np.nan), called, listed, _NONE)


def ours(name: str, model: PUClassifier, task: Task, length: int, found: Findings | None = None) -> Answer:
    """A fitted PUClassifier: what it says by itself, or what an audit of its list has found."""
    called = model.predict(task.fresh) == 1
    if found is None:
        listed = first(list_order(model), task.labelled, length)
        promise = Promise.of(add_up(model.oof_hidden_[listed], model.oof_hidden_range_[listed]))
        share = (model.prior_, model.diagnosis_.low, model.diagnosis_.high)
        return judge(name, task, share, called, listed, (promise.expected, promise.low, promise.high))
    # The correction leaves the order of the list as it was.
    listed, all_rows, top = first(found.order, task.labelled, length), found.positives, found.at([length])[0].precision
    share = (all_rows.estimate, all_rows.low, all_rows.high)
    ends = (length * top.estimate, length * top.low, length * top.high)
    return judge(name, task, share, called, listed, ends)


def list_order(model: PUClassifier) -> Rows:
    """What a list goes by, as `propense fit` has it: y, or h where columns of e are named."""
    return np.asarray(model.oof_posterior_ if model.propensity_features is None else model.oof_hidden_)


def check(model: PUClassifier, task: Task, size: int, length: int, seed: int) -> Findings:
    """Draw people without a diagnosis, and let the truth be the verdict on each."""
    hidden, order = model.oof_hidden_, list_order(model)
    drawn = draw(hidden, size, labelled=task.labelled, order=order, top=length, random_state=seed)
    verdicts = task.positive[drawn.rows].astype(float)
    return read_audit(Audit(drawn, verdicts), hidden, labelled=task.labelled, order=order)


def fit_both(task: Task) -> tuple[PUClassifier, PUClassifier]:
    """From the labels alone, and with the columns that speak of access to care named."""
    access = [task.names.index(name) for name in ACCESS]
    named = PUClassifier(class_features=_others(task), propensity_features=access, random_state=0)
    return PUClassifier(random_state=0).fit(task.X, task.labelled), named.fit(task.X, task.labelled)


def answers(task: Task, alone: PUClassifier, named: PUClassifier, size: int, length: int) -> list[Answer]:
    """What each way says."""
    regression = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(max_iter=1000))
    trees = HistGradientBoostingClassifier(random_state=0)
    found = check(named, task, size, length, 0)
    return [
        plain("logistic regression of the label", regression, task, length),
        plain("boosted trees of the label", trees, task, length),
        plain("boosted trees, without the columns of access", trees, task, length, _others(task)),
        ours("`PUClassifier`, labels alone", alone, task, length),
        ours("`PUClassifier`, columns of access named", named, task, length),
        ours(f"the same, {size} people checked", correct(named, found), task, length, found),
    ]


def told_by_visits(task: Task, models: Sequence[PUClassifier]) -> dict[str, list[float]]:
    """For each class of visits: the share of the ill who were told, in truth and by each model."""
    visits, shares = task.X[:, task.names.index("visits")], {}
    for words, (low, high) in VISITS.items():
        rows = (visits >= low) & (visits <= high)
        ill = [task.positive[rows].sum(), *(model.oof_posterior_[rows].sum() for model in models)]
        shares[words] = [float(task.labelled[rows].sum() / each) for each in ill]
    return shares


def repeat(model: PUClassifier, task: Task, size: int, length: int, draws: int) -> str:
    """How often the intervals of a check hold the truth, and how far its share is off."""
    truth = task.positive.mean(), task.positive[first(list_order(model), task.labelled, length)].mean()
    held, off = np.zeros(2), []
    for seed in range(draws):
        found = check(model, task, size, length, seed)
        pair = found.positives, found.at([length])[0].precision
        held += [each.low <= true <= each.high for each, true in zip(pair, truth, strict=True)]
        off.append(abs(found.positives.estimate - truth[0]))
    share, listed = held / draws
    return (
        f"{draws} draws of {size}: the interval holds the share of the ill in {share:.0%}, the ill on the list in "
        f"{listed:.0%}. The share is off by {np.mean(off):.3f} on average."
    )


def _others(task: Task) -> list[int]:
    return [j for j, name in enumerate(task.names) if name not in ACCESS]


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="people to check")
    parser.add_argument("--top", type=int, default=200, help="people on a list")
    parser.add_argument("--draws", type=int, default=0, help="repeat the check")
    parser.add_argument("--figure", type=Path, help="draw the answers into this file")
    asked = parser.parse_args()
    if not nhanes_path().is_file():
        print(f"{nhanes_path()} is not there. Bring it with `propense datasets fetch nhanes`.")
        return
    warnings.simplefilter("ignore")
    task = read("diabetes")
    told, ill = task.labelled, task.positive
    print(f"{len(ill)} people: {told.sum()} were told ({told.mean():.1%}), {ill.sum()} are ill ({ill.mean():.1%}).\n")
    alone, named = fit_both(task)
    found = answers(task, alone, named, asked.size, asked.top)
    columns = ("share that is ill", "ill found in 2013 and 2014", "false alarms", "balanced accuracy")
    print(f"| | {' | '.join(columns)} | expected of the first {asked.top} | ill |\n| --- |{' ---: |' * 6}")
    for each in found:
        print(f"| {' | '.join(each.row())} |")
    shares = told_by_visits(task, (alone, named))
    print("\n| visits last year | told, of the ill | labels alone | columns of access named |\n| --- |" + " ---: |" * 3)
    for words, values in shares.items():
        print(f"| {words} | {' | '.join(f'{each:.2f}' for each in values)} |")
    if asked.draws:
        print(f"\n{repeat(named, task, asked.size, asked.top, asked.draws)}")
    if asked.figure is not None:
        draw_figure(asked.figure, found, shares, float(ill.mean()))


if __name__ == "__main__":
    main()
