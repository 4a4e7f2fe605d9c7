"""optuna: the best trial is the best of the scores, computed again."""

import pytest

optuna = pytest.importorskip("optuna", reason="needs optuna")

from sklearn.model_selection import cross_val_score  # noqa: E402

from propense import JERM  # noqa: E402
from propense.datasets import make_double_logistic  # noqa: E402
from propense.metrics import get_scorer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
DATA = make_double_logistic(400, 4, random_state=0)


def score(ridge):
    model = JERM(ridge=ridge, random_state=0)
    return cross_val_score(model, DATA.X, DATA.labelled, cv=3, scoring=get_scorer("neg_joint_risk")).mean()


def test_the_best_trial_has_the_best_score():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: score(trial.suggest_float("ridge", 1e-3, 1e3, log=True)), n_trials=6)
    again = {trial.params["ridge"]: score(trial.params["ridge"]) for trial in study.trials}
    assert study.best_value == max(again.values()) > min(again.values())
    assert again[study.best_params["ridge"]] == study.best_value
