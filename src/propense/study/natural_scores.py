"""How good an answer to natural labels is, against the natural truth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propense.study.natural_data import NaturalSplit
from propense.study.scores import area_under_curve, classification_scores, log_loss

__all__ = ["LISTS", "NATURAL_SCORES", "Answer", "score_answers"]

# The lengths of the lists of rows to review.
LISTS = (50, 200, 1000)
# The resamples of rows behind an interval, the share of them that it holds, and the fewest positives of a group whose
# share of labelled ones is compared.
_RESAMPLES, _HELD, _FEWEST = 200, 0.95, 30

# The measures that every answer has; those of lists, shares and e only where the method gives them.
NATURAL_SCORES = (
    "hidden_auc",
    *(f"precision_{length}" for length in LISTS),
    *(f"promised_{length}" for length in LISTS),
    *(f"promise_error_{length}" for length in LISTS),
    "prior",
    "true_prior",
    "group_error",
)

Rows = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Answer:
    """What a method says of the test rows, and of the rows of fit, out of fold.

    Attributes
    ----------
    posterior, called : ndarray of shape (n_test,)
        The chance that a test row is positive, and whether it is called positive.
    order : ndarray of shape (n,)
        What the list of rows to review is ordered by, the largest first.
    hidden, propensity : ndarray of shape (n,) or None
        h(x) and e(x), if the method has them.
    prior : float or None
        The share of positives among the rows of fit, if the method estimates it.
    """

    posterior: Rows
    called: Mask
    order: Rows
    hidden: Rows | None
    propensity: Rows | None
    prior: float | None


def score_answers(answers: Sequence[Answer], data: NaturalSplit, rng: np.random.Generator) -> dict[str, float]:
    """The measures, averaged over answers (one for each audit; otherwise there is one), with intervals over rows."""
    found = [_score(each, data) for each in answers]
    out = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
    count = -(-_RESAMPLES // len(answers))
    drawn = [_resampled(answer, data, rng) for answer in answers for _ in range(count)]
    for name in drawn[0]:
        ends = np.quantile([each[name] for each in drawn], (0.5 - _HELD / 2, 0.5 + _HELD / 2))
        out |= {f"{name}_low": float(ends[0]), f"{name}_high": float(ends[1])}
    return out


def _score(answer: Answer, data: NaturalSplit) -> dict[str, float]:
    """The measures of one answer."""
    truth, rest = data.positive_test, ~data.labelled_test
    balanced, accuracy, f1 = classification_scores(truth, answer.called)
    out = {
        "balanced_accuracy": balanced,
        "accuracy": accuracy,
        "f1": f1,
        "auc": area_under_curve(truth, answer.posterior),
        "log_loss": log_loss(truth, answer.posterior),
        "hidden_auc": area_under_curve(truth[rest], answer.posterior[rest]),
        "true_prior": float(data.positive.mean()),
    }
    for length in LISTS:
        rows = _list(answer.order, data.labelled, length)
        out[f"precision_{length}"] = float(data.positive[rows].mean())
        if answer.hidden is not None:
            out[f"promised_{length}"] = float(answer.hidden[rows].mean())
            out[f"promise_error_{length}"] = abs(out[f"promised_{length}"] - out[f"precision_{length}"])
    if answer.prior is not None:
        out |= {"prior": answer.prior, "prior_error": abs(answer.prior - out["true_prior"])}
    return out | _by_group(answer, data)


def _by_group(answer: Answer, data: NaturalSplit) -> dict[str, float]:
    """e(x), averaged over the positives of each group, with the share of them that is labelled; and how far off."""
    if answer.propensity is None:
        return {}
    out = {}
    for name, members in data.groups.items():
        rows = members & data.positive
        if rows.sum() >= _FEWEST:
            out[f"propensity_{name}"] = float(answer.propensity[rows].mean())
            out[f"true_propensity_{name}"] = float(data.labelled[rows].mean())
    names = [name.removeprefix("true_") for name in out if name.startswith("true_")]
    return out | {"group_error": float(np.mean([abs(out[name] - out[f"true_{name}"]) for name in names]))}


def _list(order: Rows, labelled: Mask, length: int) -> NDArray[np.intp]:
    """The first rows of the list, which has the unlabelled rows."""
    rest = np.flatnonzero(~labelled)
    return rest[np.argsort(-order[rest], kind="stable")[:length]]


def _resampled(answer: Answer, data: NaturalSplit, rng: np.random.Generator) -> dict[str, float]:
    """Measures of rows drawn with replacement: test rows, and the rows of each list."""
    rows = rng.integers(len(data.positive_test), size=len(data.positive_test))
    truth, rest = data.positive_test[rows], ~data.labelled_test[rows]
    chance = answer.posterior[rows]
    out = {
        "balanced_accuracy": classification_scores(truth, answer.called[rows])[0],
        "auc": area_under_curve(truth, chance),
        "hidden_auc": area_under_curve(truth[rest], chance[rest]),
    }
    for length in LISTS:
        found = data.positive[_list(answer.order, data.labelled, length)]
        out[f"precision_{length}"] = float(found[rng.integers(len(found), size=len(found))].mean())
    return out
