"""How far each reading of the label scores is off: `python benchmarks/readings.py`.

The error of P(Y=1), and of what a list of rows to review promises, if y is read with e constant, by the climb, by the
bells, or as PUClassifier does, by the mean of the last two; and if P(Y=1) is known. Data, labelling and lists as in
`benchmarks/review_lists.py --paper`.
"""

import argparse
from typing import cast
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from propense._maths.double_logistic import hidden_positive, shift_class
from propense._steps import score_pair
from propense._steps.known_prior import shift_to
from propense._steps.readings import ScorePredictor, fit_split
from propense.estimators import PUClassifier
from review_lists import draw, top, worlds
from unseen import Mask, Rows, print_means

READINGS = ("constant", "climb", "bells", "mean")
COLUMNS = (
    *(f"P(Y=1), {each}" for each in READINGS),
    *(f"promise, {each}" for each in READINGS),
    "promise, P(Y=1) known",
)


def hidden_chances(X: Rows, positive: Mask, labelled: Mask, seed: int) -> tuple[Rows, dict[str, Rows]]:
    """The log-odds of y of the rows of fit, out of fold, and h by each reading, and with P(Y=1) known."""
    with patch.object(score_pair, "fit_split", wraps=fit_split) as fitted:
        model = PUClassifier(random_state=seed).fit(X, labelled)
    sample, t = fitted.call_args.args[:2]
    split = cast(ScorePredictor, model._posterior).split
    a, b = split.posterior(t), split.propensity(t)
    pairs = {name: (each.posterior(t), each.propensity(t)) for name, each in split.readings.items()}
    pairs["mean"] = a, b
    pairs["known"] = shift_class(a, b, shift_to(float(positive.mean()), sample, a, b))
    return a, {name: hidden_positive(*each) for name, each in pairs.items()}


def errors(hidden: dict[str, Rows], listed: NDArray[np.intp], positive: Mask, labelled: Mask) -> list[float]:
    """How far each reading is off: the share of positives, then the yield of the list."""
    share, found = positive.mean(), positive[listed].mean()
    priors = [np.where(labelled, 1.0, hidden[name]).mean() - share for name in READINGS]
    promises = [hidden[name][listed].mean() - found for name in (*READINGS, "known")]
    return [abs(float(each)) for each in (*priors, *promises)]


def measure(name: str, X: Rows, positive: Mask, mechanism: str, seed: int) -> list[float]:
    """The errors of `COLUMNS` in one world."""
    labelled = draw(name, X, positive, mechanism, seed)
    a, hidden = hidden_chances(X, positive, labelled, seed)
    return errors(hidden, top(a, positive, labelled), positive, labelled)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unseen", action="store_true", help="the data sets of benchmarks/unseen.py instead")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    made = worlds(not asked.unseen, asked.seeds)
    found = np.array(Parallel(n_jobs=asked.jobs)(delayed(measure)(*each) for each in made))
    print_means(COLUMNS, [each[3] for each in made], found)


if __name__ == "__main__":
    main()
