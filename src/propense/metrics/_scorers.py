"""The metrics as scikit-learn scorers, which are called with a fitted estimator."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from sklearn import get_config
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from propense._inputs.inside import method_inside
from propense._inputs.labels import read_labels_as
from propense._inputs.options import ValueOption
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


def get_scorer(name: str, *, prior: Any = None, positive_label: Any = None) -> Any:
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
    positive_label : int, float, bool or str, default=None
        The value of y that marks labelled rows. Only ``TunedThresholdClassifierCV`` needs it, if the words of y do not
        make it clear; in all other places the fitted estimator says so.

    Returns
    -------
    callable
        A new scorer. It supports scikit-learn's metadata routing: after
        ``set_score_request(propensity=True, sample_weight=True)`` a search passes it what was passed to its ``fit``.
        ``TunedThresholdClassifierCV`` takes the scorers of predicted classes. It lets a scorer see labels and classes
        only, so the propensity must be routed; without one, "lee_liu" takes it to be constant, and the others raise.

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
    if not ValueOption().allows(positive_label):
        raise InvalidOption(f"get_scorer(positive_label={positive_label!r}): must be {ValueOption()}.")
    return Scorer(name, None if prior is None else float(prior), positive_label)


class Scorer:
    """One of the metrics, computed from a fitted estimator's predictions."""

    def __init__(self, name: str, prior: float | None = None, positive_label: Any = None) -> None:
        self._name, self._prior, self._positive_label = name, prior, positive_label
        # As in scikit-learn: None raises if such metadata are passed without a request.
        self._requests: dict[str, bool | str | None] = {"sample_weight": None, "propensity": None}

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, propensity: Any = None) -> float:
        kind, label = _KINDS[self._name], estimator.classes_[1]
        if self._positive_label is not None and label != self._positive_label:
            raise InvalidOption(
                f"{self!r}: the labelled rows of this {type(estimator).__name__} are those of {label!r}. Leave out "
                "positive_label."
            )
        predicted = to_host(getattr(estimator, kind.method)(X))
        return kind.sign * kind.metric(
            read_labels_as(y, estimator.classes_),
            predicted if kind.method == "predict_proba" else predicted == label,
            propensity=_propensity_of(estimator, X) if propensity is None else propensity,
            sample_weight=sample_weight,
            **({"prior": self._prior} if kind.takes_prior else {}),
        )

    def __repr__(self) -> str:
        given = {"prior": self._prior, "positive_label": self._positive_label}
        said = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
        return f"get_scorer({self._name!r}{said})"

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

    # What scikit-learn takes out of a scorer to score each of many thresholds.
    @property
    def _score_func(self) -> Callable[..., float]:
        if _KINDS[self._name].method != "predict":
            raise InvalidOption(
                f"{self!r} scores chances, which no threshold changes. Use get_scorer('lee_liu') or "
                "get_scorer('sar_balanced_accuracy'), for instance."
            )
        return partial(_of_classes, name=self._name)

    @property
    def _sign(self) -> float:
        return _KINDS[self._name].sign

    @property
    def _kwargs(self) -> dict[str, Any]:
        prior = {"prior": self._prior} if _KINDS[self._name].takes_prior else {}
        return {**prior, "positive_label": self._positive_label}

    def _get_metadata_request(self) -> MetadataRequest:
        """The same under the name that earlier versions of scikit-learn ask for."""
        return self.get_metadata_routing()

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn's searches with several scorers if metadata routing is off."""
        return True


def _propensity_of(estimator: Any, X: Any) -> Any:
    """e(x) from the estimator, which may be the last step of a pipeline or inside a search."""
    try:
        inside = method_inside(estimator)
    except InvalidOption as error:
        raise InvalidPropensity(
            f"{type(estimator).__name__} has no predict_propensity. {error} Or pass propensity= to the scorer; in a "
            "search, call set_score_request(propensity=True) and pass it to fit."
        ) from None
    return to_host(inside.method.predict_propensity(inside.transform(X)))


def _of_classes(labels: Any, predicted: Any, *, name: str, propensity: Any = None, **options: Any) -> float:
    """A metric of labels and predicted classes alone, as threshold tuners call it: they have no estimator to ask."""
    if propensity is not None:
        options["propensity"] = propensity
    elif name != "lee_liu":
        raise InvalidPropensity(
            f"get_scorer({name!r}) needs the propensity of each row, and a tuner of thresholds gives a scorer only "
            "labels and classes. Enable metadata routing, call set_score_request(propensity=True) on the scorer, and "
            "pass propensity= to fit; or use get_scorer('lee_liu'), which takes it to be constant then."
        )
    return _KINDS[name].metric(labels, predicted, **options)
