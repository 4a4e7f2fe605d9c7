"""When not to trust a fit to the labels of several sources: too few rows have labels from two of them."""

__all__ = ["few_overlaps", "no_overlap", "one_source"]

# If two sources have labelled m rows together, and u and v rows alone, about u·v/m positives have no label. With m = 30
# that is known to ±1.96/√30 = ±36% at best, as the share of labels is with 30 labels.
_FEW = 30


def one_source(sources: int) -> str | None:
    """There is only one source of labels."""
    if sources > 1:
        return None
    return (
        "There is only one source of labels, so no row is labelled twice, and the number of positives rests on the "
        "shapes of two logistic curves alone. Pass a column of labels for each source, or use PUClassifier."
    )


def no_overlap(overlap: float, sources: int) -> str | None:
    """No row has labels from two sources."""
    if sources == 1 or overlap > 0:
        return None
    return (
        f"No row has labels from two of the {sources} sources. How many positives each source misses shows only in the "
        "rows that another one has labelled, so the number of positives is not determined. Link the sources to the "
        "same rows, add one that overlaps, or use PUClassifier with the rows that any source has labelled."
    )


def few_overlaps(overlap: float, sources: int) -> str | None:
    """So few rows have labels from two sources that the number of positives is uncertain."""
    if sources == 1 or not 0 < overlap < _FEW:
        return None
    return (
        f"Only {overlap:.0f} rows have labels from two of the {sources} sources. The number of positives without a "
        f"label rests on them, so it is uncertain by at least ±{1.96 / overlap**0.5:.0%} of its value. Add rows or a "
        f"source, until at least {_FEW} rows have labels from two."
    )
