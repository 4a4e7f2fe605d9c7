"""The methods that ``peers.py`` compares, and how each is called.

A package is imported when its method is created, so a missing or broken one costs only its own rows. Where a
method's documentation leaves a choice, the classifier inside is ``LogisticRegression(max_iter=1000)``.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from propense.datasets import DoubleLogistic

__all__ = ["LOGISTIC", "METHODS", "PACKAGES", "Known", "Method", "fit", "method", "predict"]

sys.path.append(str(Path(__file__).parents[1] / "studies"))

# The module of each package. The last is not one: it holds methods of others, written from their papers.
PACKAGES = {
    "scikit-learn": "sklearn",
    "propense": "propense",
    "pulearn": "pulearn",
    "pu-toolbox": "pu_toolbox",
    "cleanlab": "cleanlab",
    "studies/rivals": "rivals",
}


@dataclass(frozen=True)
class Known:
    """What some methods need to know about the sample, and a user rarely knows."""

    n_labelled: int
    n_unlabelled: int
    positive_unlabelled: float
    unlabelled_positive: float

    @classmethod
    def of(cls, data: DoubleLogistic) -> "Known":
        """The counts, P(Y=1 | S=0) and P(S=0 | Y=1) of the sample."""
        labelled, positive = data.labelled, data.positive
        return cls(
            int(labelled.sum()),
            int((~labelled).sum()),
            float(positive[~labelled].mean()),
            float(1 - labelled[positive].mean()),
        )


@dataclass(frozen=True)
class Method:
    """A way of fitting: its name in the tables, how it is created, and notes."""

    package: str
    name: str
    make: Callable[[Known], Any]
    note: str = ""
    known: str = ""
    # Keywords of `fit`.
    keywords: Callable[[Known], dict[str, Any]] = lambda known: {}
    # Rows are scored in batches as large as the fitted data.
    in_batches: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it has propense's `decision`."""
        return self.package == "propense"


def fit(method: Method, data: DoubleLogistic) -> Any:
    """A new model of the method, fitted to the labels of the sample: 1 labelled, 0 unlabelled."""
    known = Known.of(data)
    shown = data.positive if method.name == "Oracle()" else data.labelled
    model = method.make(known)
    model.fit(data.X, shown.astype(np.int64), **method.keywords(known))
    return model


def predict(method: Method, model: Any, X: NDArray[np.float64], n_fitted: int) -> NDArray[np.bool_]:
    """Whether each row is called positive; some methods return 1 and 0, some 1 and −1."""
    batches = [X[start : start + n_fitted] for start in range(0, len(X), n_fitted)] if method.in_batches else [X]
    return np.concatenate([np.asarray(model.predict(batch)) > 0 for batch in batches])


def method(name: str) -> Method:
    """The method that the tables call `name`."""
    return next(each for each in METHODS if each.name == name)


def _of(package: str, name: str, **options: Any) -> Any:
    return getattr(import_module(package), name)(**options)


def _logistic() -> Any:
    return LogisticRegression(max_iter=1000)


def _ours(name: str, note: str = "", **options: Any) -> Method:
    shown = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return Method("propense", f"{name}({shown})", lambda known: _of("propense", name, **options), note)


def _rival(name: str, note: str = "", **options: Any) -> Method:
    return Method("studies/rivals", name, lambda known: _of("rivals", name, **options), note)


LOGISTIC = Method(
    "scikit-learn",
    "LogisticRegression",
    lambda known: _logistic(),
    "Treats the unlabelled as negatives; the unit of time.",
)

_SHARE = "P(Y=1 \\| S=0)"
METHODS: list[Method] = [
    LOGISTIC,
    _ours("Oracle", "Gets the true classes: a yardstick, not a competitor."),
    _ours("PUClassifier", random_state=0),
    _ours("PUClassifier", learners="linear", random_state=0),
    _ours("Naive", "Treats the unlabelled as negatives."),
    _ours("PGLin"),
    _ours("JERM"),
    _ours("TM"),
    _ours("SAREM"),
    _ours("LBE"),
    _ours("JointMLE", random_state=0),
    Method(
        "pulearn",
        "ElkanotoPuClassifier",
        lambda known: _of("pulearn", "ElkanotoPuClassifier", estimator=_logistic(), random_state=0),
    ),
    Method(
        "pulearn",
        "WeightedElkanotoPuClassifier",
        lambda known: _of(
            "pulearn",
            "WeightedElkanotoPuClassifier",
            estimator=_logistic(),
            labeled=known.n_labelled,
            unlabeled=known.n_unlabelled,
            random_state=0,
        ),
        "The score of a row depends on the rows scored with it; batches as large as the fitted data are scored.",
        in_batches=True,
    ),
    Method(
        "pulearn",
        "BaggingPuClassifier",
        lambda known: _of("pulearn", "BaggingPuClassifier", estimator=_logistic(), random_state=0),
        "Its defaults: ten bags, each with every labelled row and as many unlabelled rows as there are.",
    ),
    Method(
        "pulearn",
        "BaggingPuClassifier, even bags",
        lambda known: _of(
            "pulearn", "BaggingPuClassifier", estimator=_logistic(), max_samples=known.n_labelled, random_state=0
        ),
        "`max_samples` the number of labelled rows, as in the method's paper.",
    ),
    Method(
        "pulearn",
        "NNPUClassifier",
        lambda known: _of("pulearn", "NNPUClassifier", prior=known.positive_unlabelled, random_state=0),
        known=_SHARE,
    ),
    Method(
        "pu-toolbox",
        "ElkanNotoClassifier",
        lambda known: _of("pu_toolbox", "ElkanNotoClassifier", base_estimator=_logistic(), random_state=0),
    ),
    Method(
        "pu-toolbox",
        "PUSBClassifier",
        lambda known: _of("pu_toolbox", "PUSBClassifier"),
        "A logistic regression of the labels, threshold ½; its documentation claims only the order of the rows.",
    ),
    Method(
        "pu-toolbox",
        "LBEClassifier",
        lambda known: _of("pu_toolbox", "LBEClassifier"),
        "Its class and its propensity may come out swapped, on its package's own `make_scar_dataset` too; see below.",
    ),
    Method(
        "pu-toolbox",
        "UPUClassifier",
        lambda known: _of("pu_toolbox", "UPUClassifier", class_prior=known.positive_unlabelled),
        "The squared loss, its default.",
        known=_SHARE,
    ),
    Method(
        "pu-toolbox",
        "UPUClassifier, logistic",
        lambda known: _of("pu_toolbox", "UPUClassifier", class_prior=known.positive_unlabelled, loss="logistic"),
        known=_SHARE,
    ),
    Method(
        "pu-toolbox",
        "LLSVMClassifier",
        lambda known: _of("pu_toolbox", "LLSVMClassifier", random_state=0),
        known=_SHARE,
        keywords=lambda known: {"class_prior": known.positive_unlabelled},
    ),
    Method(
        "pu-toolbox",
        "LDCEClassifier",
        lambda known: _of("pu_toolbox", "LDCEClassifier", flip_probability=known.unlabelled_positive, random_state=0),
        "Has no intercept; the scenarios need none.",
        known="P(S=0 \\| Y=1)",
    ),
    Method(
        "pu-toolbox",
        "PUSBKernelClassifier",
        lambda known: _of("pu_toolbox", "PUSBKernelClassifier"),
        "Chooses among 72 settings by cross-validation.",
        known=_SHARE,
        keywords=lambda known: {"class_prior": known.positive_unlabelled},
    ),
    Method(
        "cleanlab",
        "CleanLearning",
        lambda known: _of("cleanlab.classification", "CleanLearning", clf=_logistic(), seed=0),
        "For labels with errors in general: does not know that the labelled rows are right.",
    ),
    Method(
        "cleanlab",
        "CleanLearning(pulearning=1)",
        lambda known: _of("cleanlab.classification", "CleanLearning", clf=_logistic(), seed=0, pulearning=1),
        "Given that the labelled rows are right.",
    ),
    _rival("NTCtMI", "The naive order of the rows, cut by mutual information."),
    _rival("ElkanNoto", "Elkan and Noto's weighted rows.", random_state=0),
    _rival("PUSB", "Its score is linear, not a kernel; the share of positives by DEDPUL.", random_state=0),
    _rival("NNPU", "A linear model; the share of positives by DEDPUL.", random_state=0),
    _rival("DEDPUL", random_state=0),
    _rival("DETM", "Two exponential tilts.", random_state=0),
    _rival("PULSNAR", "Kinds of positives by clustering.", random_state=0),
]
