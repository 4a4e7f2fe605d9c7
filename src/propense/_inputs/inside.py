"""The method inside a pipeline, a search or another wrapper of scikit-learn, and the features as it sees them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from propense.errors import InvalidOption

__all__ = ["Inside", "method_inside"]

# Wrappers that keep the fitted method as it is, and where; what they add concerns `predict` alone.
_AROUND = {
    "FixedThresholdClassifier": "estimator_",
    "FrozenEstimator": "estimator",
    "TunedThresholdClassifierCV": "estimator_",
}
# Wrappers that learn from the labels what to make of the answers of a method. Labels are not the class, so they undo
# what the method does.
_UNDOING = {"AdaBoostClassifier", "CalibratedClassifierCV", "StackingClassifier"}
# Wrappers that hold several fitted models, none of which is the answer.
_SEVERAL = {"BaggingClassifier", "OneVsOneClassifier", "OneVsRestClassifier", "VotingClassifier"}


@dataclass(frozen=True)
class Inside:
    """A method, what turns the features that were passed into those that it sees, and the last part of that, if any."""

    method: Any
    transform: Callable[[Any], Any]
    before: Any = None

    @property
    def names(self) -> list[str] | None:
        """What the step before the method calls the features that it gives; None if it does not say."""
        try:
            return None if self.before is None else list(self.before.get_feature_names_out())
        except (AttributeError, ValueError):
            return None


def method_inside(model: Any) -> Inside:
    """The method at the end of pipelines, searches and wrappers that leave it as it is, however nested.

    A method is whatever has `predict_propensity`. A wrapper that learns from the labels is an error.
    """
    transforms: list[Callable[[Any], Any]] = []
    before: Any = None
    while True:
        name = type(model).__name__
        if isinstance(model, Pipeline):
            if not model.steps:
                raise InvalidOption("The pipeline has no steps.")
            if len(model.steps) > 1:
                before = model[:-1]
                transforms.append(before.transform)
            model = model.steps[-1][1]
        elif _is_search(model):
            model = _best_of(model)
        elif name in _AROUND and _is_of_sklearn(model):
            if not hasattr(model, _AROUND[name]):
                raise NotFittedError(f"This {name} is not fitted yet. Call its fit first.")
            model = getattr(model, _AROUND[name])
        elif name in _UNDOING and _is_of_sklearn(model):
            raise InvalidOption(
                f"{name} learns from the labels what to make of its estimators, and the labels are not the class: it "
                "undoes what the estimators have learned of the labelling. Fit the estimator itself and pass that. To "
                "correct its chances, audit some rows: propense.audit."
            )
        elif name in _SEVERAL and _is_of_sklearn(model):
            raise InvalidOption(
                f"{name} holds several fitted models, and their answers have no common e(x) and h(x). Pass each of its "
                "estimators_ in turn."
            )
        elif hasattr(model, "predict_propensity"):
            return Inside(model, _in_turn(transforms), before)
        else:
            raise InvalidOption(
                f"{name} is neither a fitted estimator of propense nor a pipeline or a search that ends in one."
            )


def _is_search(model: Any) -> bool:
    """Whether a model is a search over parameters, of scikit-learn or in its style."""
    return hasattr(model, "best_estimator_") or type(model).__name__.endswith("SearchCV")


def _best_of(search: Any) -> Any:
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    name = type(search).__name__
    if not search.refit:
        raise InvalidOption(f"This {name} keeps no fitted estimator, since refit={search.refit!r}. Pass refit=True.")
    raise NotFittedError(f"This {name} is not fitted yet. Call its fit first.")


def _is_of_sklearn(model: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "sklearn" for kind in type(model).__mro__[:-1])


def _in_turn(transforms: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Each of them, the outermost first."""

    def transform(X: Any) -> Any:
        for each in transforms:
            X = each(X)
        return X

    return transform
