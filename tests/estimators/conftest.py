"""What the tests of estimators share."""

import pytest

from propense._steps import label_scores
from propense._steps.label_learners import auto_learners
from propense.estimators import _pu


@pytest.fixture
def few_trees(monkeypatch):
    """The learners of "auto" with 10 trees each instead of 100, which takes the same way through the code."""

    def small(sample, seed):
        learners = auto_learners(sample, seed)
        for classifier in (each.classifier for each in learners if each.classifier is not None):
            options = {"max_iter", "n_estimators"} & classifier.get_params().keys()
            classifier.set_params(**dict.fromkeys(options, 10))
        return learners

    monkeypatch.setattr(_pu, "auto_learners", small)


@pytest.fixture
def one_fit(monkeypatch):
    """Rows are scored by the fit to all of them, as tensors are: folds depend on the order and the number of rows."""
    monkeypatch.setattr(label_scores, "split_rows", lambda *_: iter([None]))
