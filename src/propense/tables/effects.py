"""Which columns a model of a table goes by: coefficients where it is linear, importances where it is not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._representation import Sheet
from propense._steps.corrected import CorrectedPredictor
from propense._steps.known_prior import ShiftedPredictor
from propense._steps.label_scores import LabelScore, Member
from propense._steps.predictors import ClassifierPredictor, ForestPredictor, LogisticPredictor
from propense.tables.model import TableModel
from propense.worlds.predictors import CurvePredictor, LinePredictor

__all__ = ["column_effects", "column_importances"]

Vector = NDArray[np.float64]


def column_effects(model: TableModel, top: int = 10) -> Sheet | None:
    """The largest coefficients of y and e, or the columns that matter most for the labels; None if neither is known.

    Parameters
    ----------
    model : TableModel
    top : int, default=10
        How many to show, the largest first.

    Returns
    -------
    Sheet or None
        A title that says what the numbers are, the names of the columns, and the lines.
    """
    y, e = (_inside(getattr(model.estimator, name), name[1:]) for name in ("_posterior", "_propensity"))
    coefs = {"of being positive": getattr(y, "coef", None), "of being labelled, if positive": getattr(e, "coef", None)}
    names = model.feature_names if model.preparation is not None else _prepared_names(model)
    kept = {what: coef[1:] for what, coef in coefs.items() if coef is not None and len(coef) == len(names) + 1}
    if "of being positive" in kept:
        size = np.max([np.abs(coef) for coef in kept.values()], axis=0)
        order = np.argsort(-size, kind="stable")[:top]
        lines = [[names[j], *(f"{coef[j]:+.2f}" for coef in kept.values())] for j in order]
        title = "Largest coefficients: change in the log-odds for one standard deviation, or for a category"
        return Sheet(title, ["feature", *kept], lines)
    found = column_importances(model)
    if found is None:
        return None
    order = np.argsort(-found, kind="stable")[:top]
    shares = [(model.schema.names[j], f"{found[j]:.0%}") for j in order if found[j] > 0.0]
    lines = [[name, "< 1%" if share == "0%" else share] for name, share in shares]
    title, unused = "Columns that matter most for which rows are labelled", _without(model)
    if unused:
        title = f"{title}, apart from those named for labelling ({', '.join(unused)})"
    return Sheet(title, ["column", "importance"], lines)


def _without(model: TableModel) -> list[str]:
    """The columns named for e that the label scores in use were learned without: curved learners mix y and e."""
    named = getattr(model.estimator, "propensity_features", None)
    y = _inside(model.estimator._posterior, "posterior")
    if y.score.columns is None or named is None:
        return []
    names = model.schema.names
    said = {each if isinstance(each, str) else names[each] for each in named}
    return [name for j, name in enumerate(names) if name in said and j not in y.score.columns]


def column_importances(model: TableModel) -> Vector | None:
    """For each column, the share of what the learners of the labels use it for; None if the method has none.

    Of boosted trees: how far splits on the column move rows apart. Of other trees: their importances. Of logistic
    regression: the squared coefficients of the features that come from the column. All learners count the same.
    They are about y(x)·e(x), which is what the labels show, and not about y(x) alone.
    """
    y = _inside(model.estimator._posterior, "posterior")
    if not isinstance(y, CurvePredictor | LinePredictor):
        return None
    count = len(model.schema.columns)
    parts = [_of_member(member, y.score, count) for member in y.score.members]
    known = [part for part in parts if part is not None]
    return np.mean(known, axis=0) if known else None


def _inside(predictor: Any, which: str) -> Any:
    """The predictor before an audit, or a known share of positives, moved it."""
    while isinstance(predictor, CorrectedPredictor | ShiftedPredictor):
        predictor = getattr(predictor, which)
    return predictor


def _prepared_names(model: TableModel) -> list[str]:
    """The names of the features of an estimator that prepares the columns itself."""
    own = model.estimator._preparation
    return model.schema.names if own is None else own.names(model.schema.columns)


def _of_member(member: Member, score: LabelScore, count: int) -> Vector | None:
    """The importances of one learner, which add up to 1; None if it does not show any."""
    places = np.arange(count) if score.columns is None else np.asarray(score.columns)
    if not member.plain and score.preparation is not None:
        places = places[score.preparation.sources]
    total, found = np.zeros(count), _of_predictor(member.predictor, len(places))
    if found is None:
        return None
    np.add.at(total, places, found)
    return total / total.sum() if total.sum() > 0.0 else None


def _of_predictor(predictor: Any, width: int) -> Vector | None:
    """What each of its features counts."""
    if isinstance(predictor, LogisticPredictor):
        return np.asarray(predictor.coef[1:] ** 2)
    out, found = np.zeros(width), None
    if isinstance(predictor, ForestPredictor):
        found = predictor.forest.importances(width if predictor.columns is None else len(predictor.columns))
    elif isinstance(predictor, ClassifierPredictor):
        found = getattr(predictor.classifier, "feature_importances_", None)
    else:
        return None
    if found is None or len(found) != (width if predictor.columns is None else len(predictor.columns)):
        return None
    out[slice(None) if predictor.columns is None else predictor.columns] = found
    return out
