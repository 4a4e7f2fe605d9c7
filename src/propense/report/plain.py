"""Warnings of a fit in words for those who act on it; the messages in full name what to change in the analysis."""

import re

from propense.tables import TableFit, describe_learning

__all__ = ["plain_learning", "plain_notes", "without_options"]

# What each doubt means for the reader. No numbers that the page has elsewhere, and no names of parameters.
PLAIN = {
    "few_labels": "Very few rows are labelled, so that even their share is uncertain. More labels would help most.",
    "weak_columns": "The columns named for labelling hardly move the labels. Naming them is nearly the same as saying "
    "that every positive is equally likely to be labelled.",
    "labels_per_feature": "There are fewer labelled rows than columns, so that much of what was learned may be chance. "
    "Use fewer columns, or label more rows.",
    "unexplained": "The columns do not predict which rows are labelled clearly better than chance. Nothing can be "
    "concluded from them; other columns may say more.",
    "stray_labels": "Some labelled rows look very unlike the others. Their labels may be wrong, or something that "
    "describes them is missing from the table. Check them.",
    "collinear": "The rows most likely to be positive are also the ones whose label is easiest or hardest to get, so "
    "that the two can hardly be separated. The number of positives is uncertain.",
    "swapped": "Being positive and being labelled may be swapped: the labels alone do not show which is which. Ask "
    "somebody who knows the subject whether the rows at the top of the list make sense.",
    "at_boundary": "Much of the estimate rests on rows that are labelled almost never or almost always. It is "
    "extrapolated, and less reliable than its numbers look.",
    "all_labelled": "Almost no hidden positives were found, which is what one would see if there were none, and also "
    "if the method failed. Compare with another method.",
    "all_positive": "Almost every row came out as positive: the data do not determine how many are.",
    "memorised": "The model has probably memorised the labels instead of learning from them.",
    "all_likely": "The share of positives is probably too high: positives and negatives overlap too much here.",
    "starts_disagree": "The data do not determine the answer: other answers explain the labels just as well.",
    "mostly_labelled": "Most rows are labelled. Check that the label was not read the wrong way round; if it was not, "
    "the estimates rest on few unlabelled rows.",
    "few_rows": "There are few rows, so that little can be learned from them. More rows would help most.",
    "unlike_worlds": "These labels look unlike those of every simulated world, so that the range says little. Check "
    "the label column, and have some unlabelled rows checked that are drawn at random.",
    "one_source": "There is only one source of labels, so that the number of positives rests on the shape of curves "
    "alone.",
    "no_overlap": "No row is labelled by two sources, so that the number of positives is not determined. Link the "
    "sources to the same rows.",
    "few_overlaps": "Few rows are labelled by two sources, and the number of positives rests on them. It is uncertain.",
}
_STOPPED = "The computation stopped before its numbers had settled; they may still move."
# Sentences that say which option of the analysis to change, and where a sentence ends.
_OPTION = re.compile(r"(?<![\w'\"])\w+=(?=['\"\[\w]|\W|$)")
_ENDS = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_SEPARATES = "What separates being positive from being labelled:"
_UNTESTED = "Whether labels are given at random was not tested"


def plain_notes(found: TableFit) -> list[str]:
    """The notes of a fit, doubts in plain words."""
    doubts = found.estimator.doubts_
    count = len(found.notes) - len(doubts)
    # The doubts are the last notes; a note that somebody removed or added leaves them as they are.
    notes = found.notes if count < 0 else found.notes[:count]
    words = [_plain(note, found) for note in notes]
    if count >= 0:
        words += [PLAIN.get(doubt.kind, note) for doubt, note in zip(doubts, found.notes[count:], strict=True)]
    return list(dict.fromkeys(words))


def _plain(note: str, found: TableFit) -> str:
    if not found.estimator.converged_ and " stopped after " in note:
        return _STOPPED
    if note.startswith(_UNTESTED):
        return f"{note.partition('. ')[0].rstrip('.')}."
    return note


def without_options(note: str) -> str:
    """A note without its sentences on options such as ``drop=['x']``; all of it if nothing else is left."""
    return " ".join(each for each in _ENDS.split(note) if not _OPTION.search(each)) or note


def plain_learning(found: TableFit) -> list[str]:
    """What was learned, without what separates y from e: the assumptions say that in words."""
    return [line for line in describe_learning(found) if not line.startswith(_SEPARATES)]
