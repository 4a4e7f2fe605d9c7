"""What a `PUClassifier` found out about the labelling, in words and in numbers."""

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["READINGS", "STRONG", "Diagnosis"]

# Readings: assumptions about e under which the same labels are read. e is constant; e as fitted; e has half of the
# steepness, as in PGLIN; the one in use.
READINGS = ("constant", "free", "proportional", "shared")

# Twice a log-likelihood: odds of 150 to 1, "very strong" by the scale of Kass and Raftery (1995).
STRONG = 10.0
# Above this height, e is given more than half of the steepness.
_HIGH = 0.5**0.25
# A correlation below this counts as falling.
_FALLING = -0.3

_FOUND = {
    "own features": "Labelling seems to depend on the features, in a different way from the class.",
    "falling": "The clearer a positive, the less often it seems to be labelled.",
    "class score": "The clearest positives are nearly all labelled; labels are probably rarer among less clear ones.",
    "constant": "No labelling pattern is strong enough to rely on; even clear positives can be unlabelled.",
    "complete": "The class of every row is known.",
}


@dataclass(frozen=True)
class Diagnosis:
    """What a `PUClassifier` found out about the labelling, and how sure its answer is.

    Print it for a summary in words; ``details()`` explains the numbers.

    Attributes
    ----------
    height : float
        Where the probability of a label levels off for the clearest positives, if e is constant. Near 1 they are nearly
        all labelled, so labelling follows the class score. Well below 1, some of them are unlabelled too.
    share : float
        The part of the steepness along βᵀx that was given to e.
    evidence : float
        For a propensity that varies with the features in its own way: twice the decrease of the risk compared with a
        constant one, minus 2 for each slope. Positive values favour it, values above 10 strongly. It is conservative,
        because e is shrunk.
    alignment : float
        The correlation, over the rows, of that propensity's log-odds with the class score. It is negative if clear
        positives are labelled less often.
    priors : dict of str to float
        The share of positives under four assumptions about the labelling: "constant" (e is constant), "free" (e as
        fitted, nothing shared), "proportional" (e has half of the steepness, as in PGLIN) and "shared", the one in use.
    stability : float
        The share of the rows for which models fitted to two random halves predict the same class, cut at their priors.
    """

    height: float
    share: float
    evidence: float
    alignment: float
    priors: dict[str, float]
    stability: float

    @staticmethod
    def is_valid(facts: Any) -> bool:
        """Whether these are the numbers of a diagnosis, as a model file holds them; the stability may be unknown."""
        if not isinstance(facts, dict) or facts.keys() != Diagnosis.__dataclass_fields__.keys():
            return False
        if not isinstance(facts["priors"], dict) or facts["priors"].keys() != set(READINGS):
            return False
        numbers = [facts[name] for name in facts if name not in ("priors", "stability")]
        real = all(type(each) is float and math.isfinite(each) for each in (*numbers, *facts["priors"].values()))
        return real and type(facts["stability"]) is float and not math.isinf(facts["stability"])

    @property
    def spread(self) -> float:
        """The difference between the largest and the smallest share of positives in ``priors``."""
        return max(self.priors.values()) - min(self.priors.values())

    @property
    def labelling(self) -> str:
        """The pattern of the labels: "own features", "falling", "class score", "constant", or "complete"."""
        if self.height == 1.0:
            return "complete"
        if self.evidence > STRONG:
            return "falling" if self.alignment < _FALLING else "own features"
        return "class score" if self.height > _HIGH else "constant"

    def details(self) -> str:
        """Every number, with what it means."""
        agree = "not computed" if math.isnan(self.stability) else f"{self.stability:.1%}"
        return f"""\
evidence: {self.evidence:.1f}. How strongly the labels favour a propensity that varies with the features over a
  constant one. Above 0 favours it, above {STRONG:.0f} strongly.
alignment: {self.alignment:.2f}. Correlation of that propensity with the class score. Below 0, clear positives are
  labelled less often.
height: {self.height:.2f}. Share of the clearest positives that are labelled, if the propensity is constant.
share: {self.share:.2f}. Part of the rise in the probability of a label, from clear negatives to clear positives, that
  is attributed to the propensity instead of the class.
priors: share of positive rows under each assumption.
  constant: {self.priors["constant"]:.1%}. All positives are equally likely to be labelled.
  free: {self.priors["free"]:.1%}. The propensity varies with the features as fitted.
  proportional: {self.priors["proportional"]:.1%}. The propensity gets half of the rise (share = 0.5).
  shared: {self.priors["shared"]:.1%}. The model in use, with the share above.
stability: {agree}. Share of rows for which models fitted to two halves of the data give the same prediction."""

    def __str__(self) -> str:
        lines = [_FOUND[self.labelling], f"Estimated share of positive rows: {self.priors['shared']:.1%}."]
        if self.labelling != "complete":
            others = [prior for name, prior in self.priors.items() if name != "shared"]
            lines.append(f"Other assumptions about the labelling would give {min(others):.1%} to {max(others):.1%}.")
        if not math.isnan(self.stability):
            same = f"{self.stability:.1%} of the rows"
            lines.append(f"Models fitted to two halves of the rows give the same prediction for {same}.")
        return "\n".join(lines)
