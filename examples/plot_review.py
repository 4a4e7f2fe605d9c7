"""
How many positives a review should find
=======================================

Take the unlabelled rows in the order of h(x), the probability that an unlabelled row is positive. The sum of h(x) over
the first k rows is the number of positives to expect among them. :class:`~propense.plots.ReviewDisplay` draws it, with
its range, and here also the true number.

The labels alone leave much open: the range on the left is wide. On the right, the model is given the columns that the
class and the labelling depend on, and the list finds more positives. The range stays wide, since such names may be
wrong.
"""

import numpy as np
from matplotlib import pyplot

from propense import PUClassifier
from propense.datasets import make_double_logistic
from propense.plots import ReviewDisplay

data = make_double_logistic(1500, random_state=0)
unlabelled = ~data.labelled
models = {
    "labels alone": PUClassifier(random_state=0),
    "columns named": PUClassifier(class_features=range(5), propensity_features=range(5, 10), random_state=0),
}

figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(data.X, data.labelled)
    # Of rows of fit, the values out of fold: by models that have not seen the row.
    hidden = model.oof_hidden_[unlabelled]
    ReviewDisplay(hidden, hidden_range=model.oof_hidden_range_[unlabelled]).plot(ax=ax)
    first = np.argsort(-hidden, kind="stable")
    ax.plot(np.cumsum(data.positive[unlabelled][first]), color="black", linestyle="dotted", label="in truth")
    ax.legend(loc="lower right")
    ax.set_title(name, fontsize="medium")
pyplot.show()
