"""A method that takes columns of every kind."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from propense._steps.predictors import ClassifierPredictor
from propense.estimators import BasePUClassifier, Description, Model


class Trees(BasePUClassifier):
    """Trees of the label."""

    description = Description(takes=("mixed columns",))

    def __init__(self, *, decision="posterior", propensity_features=None):
        self.decision = decision
        self.propensity_features = propensity_features

    def _fit(self, sample):
        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
        labels, columns = sample.labelled.astype(int), sample.propensity_columns
        posterior = ClassifierPredictor(tree.fit(sample.design.features, labels))
        part = sample.design.features if columns is None else sample.design.features[:, columns]
        propensity = DecisionTreeClassifier(max_depth=1, random_state=0).fit(part, labels)
        return Model(posterior, ClassifierPredictor(propensity, columns), 1, True, [])

    def _doubts(self, sample, model, a, b):
        return ()

    def _rows_log_odds(self, sample):
        return tuple(np.clip(each, -5, 5) for each in super()._rows_log_odds(sample))
