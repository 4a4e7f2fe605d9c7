"""What a `PUClassifier` answers, and how sure that is, in words and in numbers."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from propense._representation import Readable, Sheet
from propense.errors import InvalidOption

__all__ = ["LEVELS", "Diagnosis"]

# The levels of the quantiles that are kept.
LEVELS = tuple(percent / 100.0 for percent in range(1, 100))
# What was known of the labelling.
_KINDS = {
    "learned": "worlds whose labels look like these",
    "named": "worlds whose labels look like these, with columns named for them, rightly or wrongly",
    "random": "worlds whose labels look like these and were given at random among the positives",
    "complete": "",
}
# The most characters of a sentence in a model file.
_LONGEST = 300


@dataclass(frozen=True, repr=False)
class Diagnosis(Readable):
    """What a `PUClassifier` answers, and how sure its answer is.

    Labels alone do not show how many rows are positive. So the table is compared with thousands of simulated worlds
    whose truth is known, and what was true in those whose labels look alike is the answer. Print it for a summary in
    words; ``details()`` has ranges of other levels.

    Attributes
    ----------
    labelling : {"learned", "named", "random", "complete"}
        What was known of the labelling: nothing; the columns that it may depend on; that it is random among the
        positives; or the class of every row.
    shares : tuple of 99 floats
        The share of positives in those worlds: its quantiles, from 1 % to 99 %.
    middle : float
        Its mean over those worlds, which is ``prior_``.
    labelled : float
        The share of rows that are labelled; at least so many are positive.
    worlds : float
        How many worlds speak, each counted by how alike it is.
    strange : bool
        Whether these labels look unlike those of every world. Half of the answer is then every share that the labels
        allow.
    learners : dict of str to float
        For each learner of the labels, the chance that it scores a labelled row above an unlabelled one, measured on
        rows it has not seen.
    missing : str
        Why trees are not among the learners, and the way out, if that is because of where X lives. Empty otherwise.
    moved : dict of str to (float, float)
        If a prior is known: the share of positives that the labels alone give, and the one in use, in each group of
        ``prior``, or in "all rows". Empty otherwise.
    """

    labelling: str
    shares: tuple[float, ...]
    middle: float
    labelled: float
    worlds: float
    strange: bool
    learners: dict[str, float] = field(default_factory=dict)
    missing: str = ""
    moved: dict[str, tuple[float, float]] = field(default_factory=dict)

    @staticmethod
    def is_valid(facts: Any) -> bool:
        """Whether these are the facts of a diagnosis, as a model file holds them."""
        if not isinstance(facts, dict) or facts.keys() != Diagnosis.__dataclass_fields__.keys():
            return False
        shares, learners, missing = facts["shares"], facts["learners"], facts["missing"]
        if not isinstance(missing, str) or len(missing) > _LONGEST or not missing.isprintable():
            return False
        if facts["labelling"] not in _KINDS or type(facts["strange"]) is not bool:
            return False
        if not isinstance(shares, tuple) or len(shares) != len(LEVELS) or not isinstance(learners, dict):
            return False
        numbers = (*shares, facts["middle"], facts["labelled"], facts["worlds"], *learners.values())
        return _are_moves(facts["moved"]) and all(type(each) is float and math.isfinite(each) for each in numbers)

    @property
    def low(self) -> float:
        """The low end of the 90 % range of the share of positives; NaN if the class of every row is known."""
        return self.range()[0]

    @property
    def high(self) -> float:
        """The high end of it."""
        return self.range()[1]

    def range(self, level: float = 0.9) -> tuple[float, float]:
        """The range of the share of positives that holds in this part of the worlds, 0.98 at most."""
        if not 0.0 <= level <= 0.98:
            raise InvalidOption(f"range(level={level!r}) is not between 0 and 0.98. Pass a share such as 0.9.")
        if self.labelling == "complete":
            return math.nan, math.nan
        low, high = np.interp([0.5 - 0.5 * level, 0.5 + 0.5 * level], LEVELS, self.shares)
        return float(low), float(high)

    @property
    def is_given(self) -> bool:
        """Whether the share of positives was given, as one number."""
        return self.labelling != "complete" and self.shares[0] == self.shares[-1]

    @property
    def only_logistic(self) -> str:
        """What was not learned, why, and the way out, as a sentence; empty if nothing is missing."""
        return f"Only logistic regression learned the labels, and no curves: {self.missing}." if self.missing else ""

    @property
    def where(self) -> str:
        """The worlds that the answer is from."""
        given = ", and whose share of positives is within what was given" if self.moved else ""
        return _KINDS[self.labelling] + given

    def details(self) -> str:
        """The summary, ranges of other levels, and what learned the labels."""
        lines = [str(self)]
        if self.labelling != "complete" and not self.is_given:
            lines += ["range of the share of positive rows:"]
            lines += [f"  in {level:.0%} of them: {low:.1%} to {high:.1%}" for level, (low, high) in self._ranges()]
            lines.append(f"  from {self.worlds:.0f} worlds, counted by how alike they are")
        if self.learners:
            lines.append("learners: chance that a labelled row has a higher score than an unlabelled one; 0.5 is none.")
            lines += [f"  {name}: {chance:.2f}." for name, chance in self.learners.items()]
        return "\n".join(lines)

    def _ranges(self) -> list[tuple[float, tuple[float, float]]]:
        return [(level, self.range(level)) for level in (0.5, 0.8, 0.9, 0.98)]

    def _headline(self) -> str:
        if self.labelling == "complete" or self.is_given:
            return f"{self.middle:.1%} of rows are positive"
        low, high = self.range()
        return f"in 9 of 10 {self.where}, {low:.0%} to {high:.0%} of rows are positive (middle {self.middle:.0%})"

    def _sheets(self) -> list[Sheet]:
        ranges = [[f"{level:.0%}", f"{low:.1%}", f"{high:.1%}"] for level, (low, high) in self._ranges()]
        learned = [[name, f"{chance:.2f}"] for name, chance in self.learners.items()]
        return [
            Sheet("Share of positive rows", ["in these of the worlds", "from", "to"], ranges),
            Sheet("Chance that a labelled row scores above an unlabelled one", ["learner", "chance"], learned),
        ]

    def __str__(self) -> str:
        if self.labelling == "complete":
            lines = [f"The class of every row is known: {self.middle:.1%} are positive."]
        elif self.is_given:
            lines = [f"Share of positive rows, as it was given: {self.middle:.1%}."]
        else:
            low, high = self.range()
            lines = [
                f"At least {self.labelled:.1%} of the rows are positive: those that are labelled.",
                f"In 9 of 10 {self.where}, {low:.0%} to {high:.0%} are. The middle is {self.middle:.0%}.",
            ]
        if len(self.moved) > 1 or (self.moved and "all rows" not in self.moved):
            shares = ", ".join(f"{name} {after:.1%} ({before:.1%})" for name, (before, after) in self.moved.items())
            lines.append(f"By group, as known (and as the labels alone would have it): {shares}.")
        return "\n".join([*lines, *([self.only_logistic] if self.missing else [])])


def _are_moves(moved: Any) -> bool:
    """Whether these are names of groups, each with two shares."""
    return isinstance(moved, dict) and all(
        isinstance(name, str)
        and isinstance(pair, tuple)
        and len(pair) == 2
        and all(type(each) is float and math.isfinite(each) for each in pair)
        for name, pair in moved.items()
    )
