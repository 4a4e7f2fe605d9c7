"""What a list promises after an audit, beside what it holds: `python benchmarks/audit_promises.py`.

PUClassifier is fitted, 200 of the unlabelled rows are drawn and checked, and its chances are corrected. How far the
promised yield of a list is then off, and the share of positives; before and after. Lists are half as long as there are
hidden positives, in the worlds of `benchmarks/review_lists.py` (`--paper` for the 16 tables) that have at least 400
unlabelled rows. With `--natural`, lists of 200 in the two tasks of `benchmarks/natural.py`.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import special

from natural import read as read_task
from propense import PUClassifier
from propense._maths.logistic import sigmoid
from propense.audit import Audit, draw, fit_curve, read
from propense.datasets.nhanes_table import TASKS, nhanes_path
from review_lists import World, worlds
from review_lists import draw as draw_labels
from unseen import Mask, Rows, print_means

COLUMNS = ("yield off", "corrected", "P(Y=1) off", "corrected", "held: yield", "P(Y=1)", "verdicts in list")
# Log-odds of chances closer to 0 or 1 say no more.
_CLOSE = 1e-6


def log_odds(chances: Rows) -> Rows:
    """Log-odds of chances, kept finite."""
    return np.asarray(special.logit(np.clip(chances, _CLOSE, 1.0 - _CLOSE)))


def errors(
    model: PUClassifier, positive: Mask, labelled: Mask, length: int, size: int, draws: int
) -> NDArray[np.float64]:
    """The means of `COLUMNS` over several draws."""
    hidden, order = model.oof_hidden_, model.oof_posterior_
    rest = np.flatnonzero(~labelled)
    listed = rest[np.argsort(-order[rest], kind="stable")[:length]]
    z, t, found = log_odds(hidden), log_odds(order), positive[listed].mean()
    out = []
    for seed in range(draws):
        drawn = draw(hidden, size, labelled=labelled, order=order, random_state=seed)
        audit = read(Audit(drawn, positive[drawn.rows].astype(float)), hidden, labelled=labelled, order=order)
        after = sigmoid(z + fit_curve(audit, z, t).of(t))
        first = audit.at([length])[0]
        shares = [np.where(labelled, 1.0, each).mean() for each in (hidden, after)]
        off = [abs(each[listed].mean() - found) for each in (hidden, after)]
        off += [abs(each - positive.mean()) for each in shares]
        pairs = ((first.precision, found), (audit.positives, positive.mean()))
        out.append([*off, *(float(each.low <= truth <= each.high) for each, truth in pairs), first.verdicts])
    return np.asarray(np.mean(out, axis=0))


def measure(world: World, size: int) -> NDArray[np.float64] | None:
    """The means of one world; None if it has too few rows."""
    _, X, positive, _, seed = world
    labelled = draw_labels(*world)
    hidden = int((positive & ~labelled).sum())
    if (~labelled).sum() < 2 * size or hidden < 10:
        return None
    model = PUClassifier(random_state=seed).fit(X, labelled)
    return errors(model, positive, labelled, max(hidden // 2, 5), size, 5)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--natural", action="store_true")
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    if not asked.natural:
        made = worlds(asked.paper, 1)
        found = Parallel(n_jobs=asked.jobs)(delayed(measure)(each, asked.size) for each in made)
        kept = [(world[3], each) for world, each in zip(made, found, strict=True) if each is not None]
        print_means(COLUMNS, [mechanism for mechanism, _ in kept], np.array([each for _, each in kept]))
        return
    warnings.simplefilter("ignore")
    if not nhanes_path().is_file():
        print(f"{nhanes_path()} is not there. Bring it with `propense datasets fetch nhanes`.")
        return
    print(f"| | rows | {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * (1 + len(COLUMNS))}")
    for name in TASKS:
        task = read_task(name)
        for part in (1.0, 0.4):
            rows = np.random.default_rng(0).random(len(task.X)) < part
            model = PUClassifier(random_state=0).fit(task.X[rows], task.labelled[rows])
            means = errors(model, task.positive[rows], task.labelled[rows], 200, asked.size, 200)
            print(f"| {name} | {rows.sum()} | {' | '.join(f'{value:.3f}' for value in means)} |", flush=True)


if __name__ == "__main__":
    main()
