"""The metrics as scikit-learn scorers, which are called with a fitted estimator."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from propense._inputs.labels import read_labels_as
from propense._maths.arrays import to_host
from propense.errors import InvalidOption, InvalidPropensity
from propense.metrics._joint import joint_brier, joint_risk
from propense.metrics._shares import lee_liu_score, sar_balanced_accuracy, sar_precision, sar_recall

__all__ = ["Scorer", "get_scorer", "get_scorer_names"]


@dataclass(frozen=True)
class _Kind:
    """A metric, the method of the estimator that it needs, and the sign that makes larger values better."""

    metric: Callable[..., float]
    method: str
    sign: float = 1.0
    takes_prior: bool = False


_KINDS = {
    "lee_liu": _Kind(lee_liu_score, "predict"),
    "neg_joint_brier": _Kind(joint_brier, "predict_proba", -1.0),
    "neg_joint_risk": _Kind(joint_risk, "predict_proba", -1.0),
    "sar_balanced_accuracy": _Kind(sar_balanced_accuracy, "predict", takes_prior=True),
    "sar_precision": _Kind(sar_precision, "predict", takes_prior=True),
    "sar_recall": _Kind(sar_recall, "predict"),
}


def get_scorer_names() -> list[str]:
    """The names that `get_scorer` knows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from propense.metrics import get_scorer_names
    >>> get_scorer_names()
    ['lee_liu', 'neg_joint_brier', 'neg_joint_risk', 'sar_balanced_accuracy', 'sar_precision', 'sar_recall']
    """
    return sorted(_KINDS)


def get_scorer(name: str, *, prior: Any = None) -> Any:
    """A scorer to pass as ``scoring`` to ``GridSearchCV``, ``cross_val_score`` and similar functions.

    It is called as ``scorer(estimator, X, y, sample_weight=None, propensity=None)`` with a fitted estimator and labels
    y. e(x) is the `propensity` if it is passed. Otherwise it comes from the estimator's ``predict_propensity``, or from
    that of the last step of a pipeline or of the best estimator of a search. Larger scores are better.

    Parameters
    ----------
    name : str
        One of ``get_scorer_names()``: a metric of ``propense.metrics``, with ``neg_`` in front if smaller is better.
    prior : float, default=None
        P(Y=1) for "sar_precision" and "sar_balanced_accuracy". None estimates it from the labels and e(x).

    Returns
    -------
    callable
        A new scorer. It supports scikit-learn's metadata routing: after
        ``set_score_request(propensity=True, sample_weight=True)`` a search passes it what was passed to its ``fit``.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from propense import SAREM
    >>> from propense.datasets import make_double_logistic
    >>> from propense.metrics import get_scorer
    >>> data = make_double_logistic(500, random_state=0)
    >>> search = GridSearchCV(SAREM(), {"ridge": [0.1, 1000.0]}, scoring=get_scorer("neg_joint_risk"))
    >>> search.fit(data.X, data.labelled).best_params_
    {'ridge': 0.1}
    """
    if name not in _KINDS:
        raise InvalidOption(f"There is no scorer {name!r}. The scorers are {', '.join(sorted(_KINDS))}.")
    if prior is not None and not _KINDS[name].takes_prior:
        raise InvalidOption(f"get_scorer({name!r}, prior={prior!r}): this scorer takes no prior.")
    if prior is not None and not (isinstance(prior, numbers.Real) and 0.0 < float(prior) <= 1.0):
        raise InvalidOption(f"get_scorer({name!r}, prior={prior!r}): P(Y=1) must be above 0 and at most 1.")
    return Scorer(name, None if prior is None else float(prior))


class Scorer:
    """One of the metrics, computed from a fitted estimator's predictions."""

    def __init__(self, name: str, prior: float | None = None) -> None:
        self._name, self._prior = name, prior
        # As in scikit-learn: None raises if such metadata are passed without a request.
        self._requests: dict[str, bool | str | None] = {"sample_weight": None, "propensity": None}

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, propensity: Any = None) -> float:
        kind = _KINDS[self._name]
        predicted = to_host(getattr(estimator, kind.method)(X))
        return kind.sign * kind.metric(
            read_labels_as(y, estimator.classes_),
            predicted if kind.method == "predict_proba" else predicted == estimator.classes_[1],
            propensity=_propensity_of(estimator, X) if propensity is None else propensity,
            sample_weight=sample_weight,
            **({"prior": self._prior} if kind.takes_prior else {}),
        )

    def __repr__(self) -> str:
        return f"get_scorer({self._name!r}{'' if self._prior is None else f', prior={self._prior!r}'})"

    def set_score_request(self, *, sample_weight: Any = UNCHANGED, propensity: Any = UNCHANGED) -> Self:
        """Set which metadata the scorer requests: True, False, None or the name under which they are passed."""
        if not get_config()["enable_metadata_routing"]:
            # RuntimeError, as from scikit-learn's own scorers.
            raise RuntimeError(
                "Metadata routing is not enabled. Call sklearn.set_config(enable_metadata_routing=True) first."
            )
        given = {"sample_weight": sample_weight, "propensity": propensity}
        self._requests |= {name: alias for name, alias in given.items() if alias != UNCHANGED}
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that the scorer requests."""
        request = MetadataRequest(owner=repr(self))
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn's searches with several scorers if metadata routing is off."""
        return True


def _propensity_of(estimator: Any, X: Any) -> Any:
    """e(x) from the estimator, which may be the last step of a pipeline or inside a search."""
    if hasattr(estimator, "predict_propensity"):
        return to_host(estimator.predict_propensity(X))
    if isinstance(estimator, Pipeline):
        return _propensity_of(estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X)
    if hasattr(estimator, "best_estimator_"):
        return _propensity_of(estimator.best_estimator_, X)
    raise InvalidPropensity(
        f"{type(estimator).__name__} has no predict_propensity. Pass propensity= to the scorer; in a search, call "
        "set_score_request(propensity=True) and pass it to fit."
    )
