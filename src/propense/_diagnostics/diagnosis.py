"""What an answer rests on, in numbers and in words."""

import math
from dataclasses import dataclass

__all__ = ["READINGS", "STRONG", "Diagnosis"]

# Of the same labels: e constant; e as fitted; half of the steepness e's, as in PGLIN; the one in use.
READINGS = ("constant", "free", "proportional", "shared")

# Twice a log-likelihood: odds of 150 to 1, "very strong" by the scale of Kass and Raftery (1995).
STRONG = 10.0
# Above this height more than half of the climb would be shared.
_HIGH = 0.5**0.25
# A correlation beyond this is a direction.
_FALLING = -0.3


@dataclass(frozen=True)
class Diagnosis:
    """What a `PUClassifier` found out about the labelling, and how sure its answer is. Print it for the words.

    Attributes
    ----------
    height : float
        Where the chance of a label levels off, were e constant. Near 1 the labels reach all of the surest positives:
        labelling follows the class score. Well below 1, labels are withheld from those too.
    share : float
        What part of the steepness along βᵀx was given to e.
    evidence : float
        For a propensity that varies with the features in a way of its own: twice the fall of the risk against a
        constant one, less 2 for each slope. Positive speaks for it, above 10 strongly. Taken with a shrunken e it is on
        the safe side.
    alignment : float
        The correlation, over the rows, of that propensity's log-odds with the class score: negative where sure
        positives are labelled less often.
    priors : dict of str to float
        The share of positives under four readings of the same labels: "constant" (e is constant), "free" (e as fitted,
        nothing shared), "proportional" (half of the steepness is e's, as in PGLIN) and "shared", the one in use.
    stability : float
        The part of the rows that fits to two random halves call alike, cut at their priors.
    """

    height: float
    share: float
    evidence: float
    alignment: float
    priors: dict[str, float]
    stability: float

    @property
    def spread(self) -> float:
        """How far the readings are apart in the number of positives."""
        return max(self.priors.values()) - min(self.priors.values())

    @property
    def labelling(self) -> str:
        """What the labels look like: "own features", "falling", "class score", "constant", or "complete"."""
        if self.height == 1.0:
            return "complete"
        if self.evidence > STRONG:
            return "falling" if self.alignment < _FALLING else "own features"
        return "class score" if self.height > _HIGH else "constant"

    def __str__(self) -> str:
        found = {
            "own features": "Labelling depends on features in a way of its own",
            "falling": "The surer a positive, the less often it is labelled",
            "class score": "The labels reach the surest positives: labelling probably follows the class score",
            "constant": "Labels are withheld from sure positives too, in no visible pattern",
            "complete": "The class of every row is known",
        }[self.labelling]
        others = [prior for name, prior in self.priors.items() if name != "shared"]
        lines = [
            f"{found} (evidence {self.evidence:.1f}, height {self.height:.2f}).",
            f"Positives: {self.priors['shared']:.1%}; other readings of the same labels give {min(others):.1%} to "
            f"{max(others):.1%}.",
        ]
        if not math.isnan(self.stability):
            lines.append(f"Fits to two halves of the rows agree on {self.stability:.1%} of the rows.")
        return "\n".join(lines)
