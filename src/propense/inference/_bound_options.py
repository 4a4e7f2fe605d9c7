"""What `bounds` may be asked to assume: checked once, and put into words."""

import math
import numbers
from dataclasses import dataclass
from typing import Any

from propense._inputs.options import Number, Seed, Truth
from propense._maths.bivariate_normal import LARGEST_CORRELATION
from propense.errors import InvalidOption
from propense.inference._label_bands import Assumptions

__all__ = ["Asked", "read_assumptions"]


@dataclass(frozen=True)
class Asked:
    """The assumptions, in numbers and in words, and how sure the limits should be."""

    given: Assumptions
    correlation: tuple[float, float] | None
    words: tuple[str, ...]
    confidence: float
    random_state: Any


def read_assumptions(
    *,
    propensity: Any = None,
    odds_ratio: Any = None,
    departure: Any = None,
    rising: Any = False,
    clearest: Any = None,
    correlation: Any = None,
    confidence: Any = 0.95,
    random_state: Any = 0,
) -> Asked:
    """Check each argument of `bounds` that is about assumptions."""
    words = []
    ends = (0.0, 1.0)
    if propensity is not None:
        ends = _pair("propensity", propensity, 0.0, 1.0, "0.2, the least value, or (0.2, 0.9)", single_high=1.0)
        if ends[1] == 0.0:
            raise InvalidOption("propensity=(0, 0): then no positive could be labelled. The second number is above 0.")
        words.append(f"a positive is labelled with a chance of {_range(*ends)}")
    ratio = _factor("odds_ratio", odds_ratio)
    if ratio < math.inf:
        words.append(f"the odds of a label differ by at most a factor of {ratio:g} between any two positives")
    away = _factor("departure", departure)
    if away < math.inf:
        words.append(f"the odds of a label are at most {away:g} times above or below those of the fit")
    if not Truth().allows(rising):
        raise InvalidOption(f"rising={rising!r}: must be {Truth()}.")
    if rising:
        words.append("positives with a higher class score are labelled at least as often")
    if clearest is not None:
        if not Number(0.0, 1.0).allows(clearest) or clearest == 0:
            raise InvalidOption(f"clearest={clearest!r}: must be a share above 0 and at most 1, such as 0.95.")
        words.append(f"at least {clearest:.4g} of the rows with the highest class scores are positive")
    between = None
    if correlation is not None:
        if words:
            raise InvalidOption("correlation= is a model of its own. Pass it without the other assumptions.")
        most = LARGEST_CORRELATION
        if isinstance(correlation, tuple | list):
            between = _pair("correlation", correlation, -most, most, "0.5 or (0, 0.5)")
        else:
            high = _pair("correlation", (0.0, correlation), 0.0, most, "0.5 or (0, 0.5)", given=correlation)[1]
            between = (-high, high)
        words.append(
            f"what no column shows is correlated between being positive and being labelled by {between[0]:g} to "
            f"{between[1]:g}, and both follow a probit model"
        )
    real = isinstance(confidence, numbers.Real) and not isinstance(confidence, bool)
    if not real or not 0.0 < float(confidence) < 1.0:
        raise InvalidOption(f"confidence={confidence!r}: must be a number above 0 and below 1, such as 0.95.")
    if not Seed().allows(random_state):
        raise InvalidOption(f"random_state={random_state!r}: must be {Seed()}.")
    given = Assumptions(ends, ratio, away, bool(rising), 0.0 if clearest is None else float(clearest))
    return Asked(given, between, tuple(words), float(confidence), random_state)


def _pair(
    name: str, value: Any, low: float, high: float, such_as: str, *, single_high: float | None = None, given: Any = None
) -> tuple[float, float]:
    """Two numbers, the smaller one first; or one, if `single_high` is the other."""
    pair = value
    if single_high is not None and not isinstance(value, tuple | list):
        pair = (value, single_high)
    allowed = Number(low, high)
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(allowed.allows(each) for each in pair):
        shown = value if given is None else given
        raise InvalidOption(f"{name}={shown!r}: must be {allowed}, or two of them, such as {such_as}.")
    if pair[0] > pair[1]:
        raise InvalidOption(f"{name}={value!r}: the first number is above the second. Put the smaller one first.")
    return float(pair[0]), float(pair[1])


def _factor(name: str, value: Any) -> float:
    """A factor of at least 1; None is no limit."""
    if value is None:
        return math.inf
    if not Number(1.0).allows(value):
        raise InvalidOption(f"{name}={value!r}: must be a factor ≥ 1, such as 2; 1 allows no difference.")
    return float(value)


def _range(low: float, high: float) -> str:
    if low == high:
        return f"exactly {low:.4g}"
    if high == 1.0:
        return f"at least {low:.4g}"
    return f"at most {high:.4g}" if low == 0.0 else f"{low:.4g} to {high:.4g}"
