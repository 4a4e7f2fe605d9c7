"""What a reader who never saw the papers must know of each method."""

import inspect

__all__ = ["ALWAYS", "ASSUMES", "reference"]

# True of every method here.
ALWAYS = (
    "Nobody is labelled by mistake: a labelled row is positive.",
    "The labels show only how often rows are positive and labelled. How much of that is being positive and how much is "
    "being labelled is told apart by the method's assumptions, and no data can prove those.",
    "The rows are like those the estimate is used for.",
)

_LINEAR = "Being positive depends on the columns through a weighted sum (a logistic model)"
ASSUMES = {
    "JERM": (
        f"{_LINEAR}, and so does being labelled.",
        "Labelled rows have unlabelled positives near them: they set the threshold above which a row counts "
        "as positive.",
    ),
    "JointMLE": (
        f"{_LINEAR}, being labelled through another; both models are right.",
        "The two weighted sums are not the same: otherwise the data cannot tell them apart.",
    ),
    "KnownPropensity": (f"{_LINEAR}.", "The chances of a label that were given are right."),
    "LBE": (
        f"{_LINEAR}, being labelled through another; both models are right.",
        "The two weighted sums are not the same: otherwise the data cannot tell them apart.",
    ),
    "Naive": ("Every unlabelled row is negative. That is seldom so.",),
    "Oracle": ("The column given holds the true classes, not labels.",),
    "PGLin": (
        f"{_LINEAR}.",
        "The surer a row is positive the likelier its label, in proportion, and the surest row is surely positive.",
    ),
    "PUClassifier": (
        f"{_LINEAR}; being labelled depends on the same sum, on a flatter one of its own, or on nothing.",
        "Which of these, and how many positives there are, is judged by the shape of the labels' curve: where it "
        "climbs until nearly every such row is labelled, labelling is taken to follow the class.",
    ),
    "SAREM": (
        "Being positive and being labelled each follow their own model; both models are right.",
        "The two models are not the same: otherwise the data cannot tell them apart.",
    ),
    "SparseJoint": (
        f"{_LINEAR} of a few columns, being labelled through another; both models are right.",
        "The two weighted sums are not the same: otherwise the data cannot tell them apart.",
    ),
    "TM": (
        "Being positive and being labelled each follow their own model.",
        "Rows that score as high as the labelled ones do are positive.",
    ),
}


def reference(method: type) -> str:
    """The papers that the docstring of a method names, on one line."""
    doc = inspect.getdoc(method) or ""
    _, _, after = doc.partition("References\n----------\n")
    return " ".join(after.partition("\n\n")[0].split())
