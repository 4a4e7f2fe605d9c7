"""The slopes of each word, of abuse and of flags: before and after the topics' words are named as those of flags."""

import re
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from propense import JERM, SAREM

PAGE = Path(__file__).resolve().parents[1] / "guides" / "text.md"


@cache
def slopes():
    """For each model the slopes of y and of e, and the kind of each word."""
    page = {}
    # The word lists and the posts are those of the page, from its first block.
    exec(re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1], page)
    posts, _, _, flagged = page["write_posts"](3000, np.random.default_rng(0))
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(posts)
    kinds = {"insults": page["INSULTS"], "politics": page["TOPICS"]["politics"]}
    kinds["other topics"] = [*page["TOPICS"]["football"], *page["TOPICS"]["gardening"]]
    columns = {kind: [vectorizer.vocabulary_[word] for word in words] for kind, words in kinds.items()}
    known = {column for each in columns.values() for column in each}
    columns["common words"] = [column for column in range(X.shape[1]) if column not in known]
    topics = [vectorizer.vocabulary_[word] for words in page["TOPICS"].values() for word in words]
    models = {
        "JERM(), all words in both": JERM(),
        "SAREM, topics named for flags": SAREM(propensity_features=topics, ridge=0.1, propensity_ridge=0.1),
    }
    for model in models.values():
        model.fit(X, flagged)
    return {name: (model.coef_[0], model.propensity_coef_[0]) for name, model in models.items()}, columns


def draw():
    """A panel for each model, with a point for each word."""
    from matplotlib import pyplot

    found, columns = slopes()
    figure, axes = pyplot.subplots(1, 2, figsize=(7.2, 3.8))
    for ax, (name, (of_y, of_e)) in zip(axes, found.items(), strict=True):
        for colour, marker, (kind, those) in zip(("C1", "C0", "C2", "C6"), "osD.", columns.items(), strict=True):
            ax.plot(of_y[those], of_e[those], marker, color=colour, markersize=6, alpha=0.8, label=kind)
        ax.axhline(0, color="C6", linewidth=0.8)
        ax.axvline(0, color="C6", linewidth=0.8)
        ax.set(title=name, xlabel="slope of y: points to abuse")
    axes[0].set(ylabel="slope of e: points to a flag")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
