"""Chances of rows that a model has not seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propense import JERM, Naive, SeveralSources, cross_val_hidden
from propense.datasets import make_double_logistic
from propense.errors import InvalidLabels

DATA = make_double_logistic(300, 4, random_state=0)
X, S = DATA.X, DATA.labelled
FOLDS = list(StratifiedKFold(5).split(X, S))


def by_hand(make, y, folds=FOLDS, **options):
    out = np.empty(len(X))
    for train, test in folds:
        told = {name: values[train] for name, values in options.items()}
        out[test] = make().fit(X[train], y[train], **told).predict_hidden(X[test])
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "positive"),
    [(S, None), (np.where(S, "positive", "unlabelled"), None), (np.where(S, "churn", "stay"), "churn")],
)
def test_rows_are_scored_by_fits_to_the_other_folds(written, positive):
    found = cross_val_hidden(JERM(positive_label=positive), X, written)
    np.testing.assert_allclose(found, by_hand(JERM, S), rtol=1e-9)


@pytest.mark.slow
def test_missing_labels_groups_weights_and_pipelines():
    gaps = np.where(S, 1.0, np.nan)
    np.testing.assert_allclose(cross_val_hidden(JERM(), X, gaps), by_hand(JERM, gaps), rtol=1e-9)
    weights = 1.0 + np.arange(300) % 2
    weighted = cross_val_hidden(JERM(), X, S, params={"sample_weight": weights})
    np.testing.assert_allclose(weighted, by_hand(JERM, S, sample_weight=weights), rtol=1e-9)
    groups = np.arange(300) // 10
    folds = list(GroupKFold(3).split(X, S, groups))
    found = cross_val_hidden(JERM(), X, S, cv=GroupKFold(3), groups=groups)
    np.testing.assert_allclose(found, by_hand(JERM, S, folds), rtol=1e-9)
    frame = pd.DataFrame(X).add_prefix("x")
    search = GridSearchCV(make_pipeline(StandardScaler(), JERM()), {"jerm__ridge": [1.0]}, cv=2)
    assert cross_val_hidden(search, frame, S.tolist(), cv=2).shape == (300,)


def test_several_sources_are_cross_validated(rng):
    Y = DATA.positive[:, None] & (rng.random((300, 2)) < 0.6)
    found = cross_val_hidden(SeveralSources(), X, Y, cv=2)
    assert ((found > 0) & (found < 1)).all()


def test_words_that_say_nothing_are_refused_before_any_fit():
    with pytest.raises(InvalidLabels, match="not certain"):
        cross_val_hidden(Naive(), X, np.where(S, "churn", "stay"))


def test_scikit_learn_itself_cannot():
    """The reason for this function: if scikit-learn takes the method one day, it is not needed."""
    with pytest.raises(ValueError, match="Got 'predict_hidden' instead"):
        cross_val_predict(JERM(), X, S, method="predict_hidden")
