"""What a `PUClassifier` found out about the labelling, in words and in numbers."""

import math
from dataclasses import dataclass, field
from typing import Any

from propense._representation import Readable, Sheet

__all__ = ["READINGS", "SCORE_READINGS", "STRONG", "WIDER", "Diagnosis"]

# Readings: assumptions about e under which the same labels are read. Of a linear fit: e is constant; e as fitted; e has
# half of the steepness, as in PGLIN; the one in use.
READINGS = ("constant", "free", "proportional", "shared")
# Of a fit to label scores: e is constant; e rises with the score as far as the height of the label curve says; the
# scores of positives and negatives form a bell each; the one in use.
SCORE_READINGS = ("constant", "climb", "bells", "shared")
# What is added to the log-odds of h on both sides of the readings, for the ranges of rows, groups, lists and P(Y=1)
# alike. Chosen on 96 worlds that the 16 tables were labelled in: with it, the range of P(Y=1) held the truth in 95 % of
# them and that of a list in 93 %; with 1.0 in 88 % and 91 %, with 0.5 in 76 % and 86 %.
WIDER = 1.25

# Twice a log-likelihood: odds of 150 to 1, "very strong" by the scale of Kass and Raftery (1995).
STRONG = 10.0
# Above this height, e is given more than half of the steepness.
_HIGH = 0.5**0.25
# A correlation below this counts as falling.
_FALLING = -0.3
# The most characters of a sentence in a model file.
_LONGEST = 300

_FOUND = {
    "own features": "Labelling seems to depend on the features, in a different way from the class.",
    "falling": "The clearer a positive, the less often it seems to be labelled.",
    "class score": "The clearest positives are nearly all labelled; labels are probably rarer among less clear ones.",
    "constant": "The labels do not clearly show which positives are labelled more often; even clear ones can be "
    "unlabelled.",
    "named": "The chance of a label was assumed to depend only on the columns that were named for it.",
    "complete": "The class of every row is known.",
}


@dataclass(frozen=True, repr=False)
class Diagnosis(Readable):
    """What a `PUClassifier` found out about the labelling, and how sure its answer is.

    Print it for a summary in words; ``details()`` explains the numbers.

    Attributes
    ----------
    height : float
        Where the probability of a label levels off for the clearest positives, if e is constant. Near 1 they are nearly
        all labelled, so labelling follows the class score. Well below 1, some of them are unlabelled too. 0 if it was
        not estimated, because the columns of e were named; 1 if the class of every row is known.
    share : float
        The part of the rise in the chance of a label, from clear negatives to clear positives, that is attributed to e
        instead of y.
    evidence : float
        How strongly the labels favour a propensity that varies with the features in its own way over a constant one:
        twice the decrease of the summed loss of the labels, minus 2 for each slope. Positive values favour it, values
        above 10 strongly. It tends to be too low, because e is shrunk towards a constant.
    alignment : float
        The correlation, over the rows, of that propensity's log-odds with the class score. It is negative if clear
        positives are labelled less often.
    priors : dict of str to float
        The share of positives under four assumptions about the labelling. Three with learners: "constant" (e is
        constant), "climb" and "bells", the first and the second reading of `PUClassifier`. Three with
        ``learners="linear"``: "constant", "free" (e as fitted) and "proportional" (e gets half of the rise, as in
        `PGLin`). In both, "shared" is the one in use.
    stability : float
        The share of the rows for which models fitted to two random halves predict the same class, each with its own
        share of positives as the threshold. NaN if that was not computed.
    low, high : float
        The range of the share of positives, NaN if none is given. It covers assumptions about the labelling: it goes
        from the least to the most positives that a reading gives if the log-odds of h(x) are 1.25 lower, or higher, in
        all rows. What chance adds, since other rows would show other labels, is not computed. So it is not a 95 %
        interval; the guide to the first choice says how often it held the truth. If ``prior`` was given, the range
        stays within it.
    learners : dict of str to float
        What the label scores come from: for each learner, the chance that it scores a labelled row above an unlabelled
        one, measured on rows it has not seen. Empty for a linear fit.
    missing : str
        Why trees are not among the learners, and the way out, if that is because of where X lives. Empty otherwise.
    moved : dict of str to (float, float)
        If a prior is known: the share of positives that the labels alone give, and the one in use, in each group of
        ``prior``, or in "all rows". Empty otherwise.
    """

    height: float
    share: float
    evidence: float
    alignment: float
    priors: dict[str, float]
    stability: float
    low: float = math.nan
    high: float = math.nan
    learners: dict[str, float] = field(default_factory=dict)
    missing: str = ""
    moved: dict[str, tuple[float, float]] = field(default_factory=dict)

    @staticmethod
    def is_valid(facts: Any) -> bool:
        """Whether these are the numbers of a diagnosis, as a model file holds them; the stability may be unknown."""
        if not isinstance(facts, dict) or facts.keys() != Diagnosis.__dataclass_fields__.keys():
            return False
        priors, learners, missing = facts["priors"], facts["learners"], facts["missing"]
        if not isinstance(missing, str) or len(missing) > _LONGEST or not missing.isprintable():
            return False
        if not isinstance(priors, dict) or not isinstance(learners, dict):
            return False
        if priors.keys() != set(SCORE_READINGS if learners else READINGS):
            return False
        if not _are_moves(facts["moved"]):
            return False
        known = [facts[name] for name in ("height", "share", "evidence", "alignment")]
        unknown = [facts[name] for name in ("stability", "low", "high")]
        real = all(type(each) is float and math.isfinite(each) for each in (*known, *priors.values()))
        return real and all(type(each) is float and not math.isinf(each) for each in (*unknown, *learners.values()))

    @property
    def spread(self) -> float:
        """The difference between the largest and the smallest share of positives in ``priors``."""
        return max(self.priors.values()) - min(self.priors.values())

    @property
    def labelling(self) -> str:
        """The pattern: "own features", "falling", "class score", "constant", "named" or "complete"."""
        if self.height in (0.0, 1.0):
            return "complete" if self.height else "named"
        if self.evidence > STRONG:
            return "falling" if self.alignment < _FALLING else "own features"
        return "class score" if self.height > _HIGH else "constant"

    @property
    def pattern(self) -> str:
        """The pattern of the labels as a sentence."""
        return _FOUND[self.labelling]

    @property
    def only_logistic(self) -> str:
        """What was not learned, why, and the way out, as a sentence; empty if nothing is missing."""
        return f"Only logistic regression learned the labels, and no curves: {self.missing}." if self.missing else ""

    def details(self) -> str:
        """Every number, with what it means."""
        if self.learners and self.labelling in ("named", "complete"):
            return "\n".join([str(self), *self._learned()])
        lines = [
            f"""\
evidence: {self.evidence:.1f}. How strongly the labels favour a propensity that varies with the features over a
  constant one. Above 0 favours it, above {STRONG:.0f} strongly.
alignment: {self.alignment:.2f}. Correlation of that propensity with the class score. Below 0, clear positives are
  labelled less often.
height: {self.height:.2f}. Share of the clearest positives that are labelled, if the propensity is constant.
share: {self.share:.2f}. Part of the rise in the probability of a label, from clear negatives to clear positives, that
  is attributed to the propensity instead of the class.
priors: share of positive rows under each assumption."""
        ]
        lines += [f"  {name}: {prior:.1%}. {_MEANING[name]}" for name, prior in self.priors.items()]
        if self.learners:
            given = self.low == self.high
            lines.append(
                f"  The share of positives was given: {self.low:.1%}."
                if given
                else f"  All of them are uncertain: {self.low:.1%} to {self.high:.1%} is the range to quote."
            )
            lines += self._learned()
        else:
            agree = "not computed" if math.isnan(self.stability) else f"{self.stability:.1%}"
            lines.append(
                f"stability: {agree}. Share of rows for which models fitted to two halves of the data give the same "
                "prediction."
            )
        return "\n".join(lines)

    def _learned(self) -> list[str]:
        head = "learners: chance that a labelled row has a higher score than an unlabelled one; 0.5 is none."
        return [head, *(f"  {name}: {chance:.2f}." for name, chance in self.learners.items())]

    def _headline(self) -> str:
        ends = "" if math.isnan(self.low) or self.low == self.high else f" ({self.low:.0%} to {self.high:.0%})"
        return f"{self.priors['shared']:.1%} of rows are positive{ends}; labelling: {self.labelling}"

    def _sheets(self) -> list[Sheet]:
        priors = [[name, f"{prior:.1%}", _MEANING[name]] for name, prior in self.priors.items()]
        learned = [[name, "" if math.isnan(chance) else f"{chance:.2f}"] for name, chance in self.learners.items()]
        return [
            Sheet("Share of positive rows, by assumption", ["assumption", "share", "meaning"], priors),
            Sheet("Chance that a labelled row scores above an unlabelled one", ["learner", "chance"], learned),
        ]

    def __str__(self) -> str:
        lines = [self.pattern]
        used = f"{self.priors['shared']:.1%}"
        if self.low == self.high:
            lines.append(f"Share of positive rows, as it was given: {used}.")
        elif not math.isnan(self.low):
            lines.append(
                f"Estimated share of positive rows: {self.low:.0%} to {self.high:.0%}, middle estimate {used}."
            )
        else:
            lines.append(f"Estimated share of positive rows: {used}.")
        if len(self.moved) > 1 or (self.moved and "all rows" not in self.moved):
            shares = ", ".join(f"{name} {after:.1%} ({before:.1%})" for name, (before, after) in self.moved.items())
            lines.append(f"By group, as known (and as the labels alone would have it): {shares}.")
        if self.labelling != "complete" and math.isnan(self.low):
            others = [prior for name, prior in self.priors.items() if name != "shared"]
            lines.append(f"Other assumptions about the labelling would give {min(others):.1%} to {max(others):.1%}.")
        if self.learners:
            best = max(self.learners, key=lambda name: self.learners[name])
            rest = [name for name in self.learners if name != best]
            beside = f"; combined with it: {', '.join(rest)}" if rest else ""
            article = "a " if best == "linear pair" else ""
            lines.append(f"The labels were learned best by {article}{best}{beside}.")
        if self.missing:
            lines.append(self.only_logistic)
        if not math.isnan(self.stability):
            same = f"{self.stability:.1%} of the rows"
            lines.append(f"Models fitted to two halves of the rows give the same prediction for {same}.")
        return "\n".join(lines)


def _are_moves(moved: Any) -> bool:
    """Whether these are names of groups, each with two shares."""
    return isinstance(moved, dict) and all(
        isinstance(name, str)
        and isinstance(pair, tuple)
        and len(pair) == 2
        and all(type(each) is float and math.isfinite(each) for each in pair)
        for name, pair in moved.items()
    )


_MEANING = {
    "constant": "All positives are equally likely to be labelled.",
    "free": "The propensity varies with the features as fitted.",
    "proportional": "The propensity gets half of the rise (share = 0.5).",
    "climb": "The propensity gets the share above.",
    "bells": "The scores of positives and of negatives are spread like a bell each.",
    "shared": "The model in use.",
}
