"""The likelihood of held-out labels against the true balanced accuracy: where it can choose, and where it cannot."""

from functools import cache

from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score

from propense import JERM, SAREM, Naive, PGLin
from propense.datasets import make_double_logistic
from propense.metrics import get_scorer

CAN = {f"{quantile}": JERM(spy_quantile=quantile) for quantile in (0.0, 0.1, 0.3, 0.5)}
CANNOT = {
    "Naive": Naive(),
    "PGLin": PGLin(),
    "SAREM,\nright columns": SAREM(propensity_features=range(5, 10)),
    "SAREM,\nwrong columns": SAREM(propensity_features=range(5)),
}


@cache
def scores():
    """Likelihood and balanced accuracy of the models, on the page's data."""
    data = make_double_logistic(2000, random_state=0)
    likelihood = get_scorer("neg_joint_risk")

    def score(model):
        found = cross_val_score(model, data.X, data.labelled, scoring=likelihood, cv=5).mean()
        predicted = model.fit(data.X, data.labelled).predict(data.X)
        return found, 100 * balanced_accuracy_score(data.positive, predicted)

    return [{name: score(model) for name, model in models.items()} for models in (CAN, CANNOT)]


def draw():
    """A panel for each, with a point for each model."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.8), sharex=True, sharey=True)
    titles = ("It can choose JERM's spy_quantile", "It cannot choose between pairs")
    for ax, found, title in zip(axes, scores(), titles, strict=True):
        points = list(found.values())
        pairs = [points] if ax is axes[0] else [points[:2], points[2:]]
        for colour, pair in zip(("C0", "C1") if len(pairs) == 1 else ("C1", "C2"), pairs, strict=False):
            ax.plot(*zip(*pair, strict=True), "o:", color=colour, markersize=8, linewidth=1)
        for name, (likelihood, accuracy) in found.items():
            # Names stay inside the panel: to the left of the points on its right, which are the better ones.
            left = likelihood > -0.42
            style = {"ha": "right" if left else "left", "va": "center", "fontsize": "small"}
            above = 8 if name == "0.3" else 0
            ax.annotate(name, (likelihood, accuracy), (-9 if left else 9, above), textcoords="offset points", **style)
        ax.set(title=title, xlabel="log-likelihood of held-out labels", xticks=[-0.43, -0.42, -0.41])
    axes[0].set(ylabel="true balanced accuracy (%)", xlim=(-0.434, -0.404), ylim=(48, 90))
    return figure
