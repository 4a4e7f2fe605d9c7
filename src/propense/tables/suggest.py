"""Columns to consider as those of labelling: by their names, if they move the labels. Never chosen, only suggested."""

import re
import shlex
from dataclasses import dataclass

import numpy as np

from propense._designs import as_design
from propense._diagnostics.fit_statistics import p_by_chance
from propense._diagnostics.named_columns import label_designs, label_gain
from propense._inputs.sample import Sample
from propense.tables.fit import TableFit

__all__ = ["LOOKED_AT", "Suggestion", "suggest_columns"]

# Words that speak of being looked at rather than of being positive, by what they speak of. The likelihood of the labels
# must not choose: on health surveys it preferred columns that made the answer worse (benchmarks/natural.py --columns).
LOOKED_AT = {
    "contact with those who look": (
        "visit visits visited appointment appointments consultation consultations encounter encounters contact "
        "contacts call calls referral referrals referred hospital hospitals hospitalised hospitalized admission "
        "admissions doctor gp physician screening screenings screened examined checkup checkups audited inspected "
        "inspections"
    ),
    "access": "access insured insurance insurer coverage distance travel",
    "place": (
        "centre center clinic site region district county province country postcode zip branch office ward department "
        "store"
    ),
    "time": "year month week weekday quarter season cycle wave period",
    "who looked, or where it was seen": (
        "source registry channel device queue desk shift team crew "
        "adjuster adjudicator agent analyst annotator appraiser assessor auditor caseworker checker clinician coder "
        "examiner expert grader handler inspector interviewer investigator judge labeler labeller moderator nurse "
        "observer officer operator rater reviewer screener surveyor technician underwriter verifier"
    ),
    "exposure": "views impressions followers reads traffic",
}
_WORDS = {word: about for about, words in LOOKED_AT.items() for word in words.split()}
# A year of birth is an age.
_OTHERWISE = {"birth", "born", "birthday", "death", "died"}
# A column must move the labels, given the others, at this level: several are tested, and few should be named in vain.
_LEVEL = 0.01
# Rows that are tested, columns that are named, and other columns that are written out.
_ROWS, _MOST, _WRITTEN = 20_000, 8, 20


@dataclass(frozen=True)
class Suggestion:
    """Columns that may say who gets labelled rather than who is positive; ``str()`` says so.

    Attributes
    ----------
    columns : list of str
    reasons : list of str
        What the name of each suggests.
    from_table : bool
        Whether the fit was of a table, for which the command line has an option.
    others : tuple of str
        The other columns, if they are few enough to be written out.
    """

    columns: list[str]
    reasons: list[str]
    from_table: bool = True
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = ", ".join(f"{name} ({reason})" for name, reason in zip(self.columns, self.reasons, strict=True))
        if len(self.columns) == 1:
            head, tested, these = "A column", "Its name suggests it, and it moves the labels", "it"
        else:
            head, tested, these = "Columns", "Their names suggest it, and they move the labels", "these"
        return (
            f"{head} that may say who gets labelled rather than who is positive: {named}. {tested}; whether it is so, "
            f"only you can know. If you agree: {self._option('propensity_features', self.columns)} (and "
            f"{self._rest()}, if being positive does not depend on {these}). {self._unread()}"
        )

    def _unread(self) -> str:
        first, second = (_flag(kind) if self.from_table else kind for kind in ("propensity_features", "class_features"))
        return (
            "Columns with other names were not considered: if one of them decides who gets labelled, put it in "
            f"{first}, not in {second}."
        )

    def _rest(self) -> str:
        kind = "class_features"
        if self.others:
            return self._option(kind, list(self.others))
        return f"the other columns as {_flag(kind) if self.from_table else kind}"

    def _option(self, kind: str, names: list[str]) -> str:
        if not self.from_table:
            return f"{kind}={names!r}"
        if any("," in name for name in names):
            return " ".join(f"{_flag(kind)} {shlex.quote(name)}" for name in names)
        return f"{_flag(kind)} {shlex.quote(','.join(names))}"


def _flag(kind: str) -> str:
    return f"--{kind.replace('_', '-')}"


def suggest_columns(found: TableFit) -> Suggestion | None:
    """Columns to consider as ``propensity_features``, with the reason; None if there are none, or columns were named.

    Parameters
    ----------
    found : TableFit

    Returns
    -------
    Suggestion or None
        Columns whose names suggest that they decide who is looked at, such as ``visits``, ``insured``, ``region`` or
        ``year``, and that are related to the labels, given the other columns (likelihood-ratio test at level .01, on at
        most 20 000 rows). The labels alone cannot choose such columns, so this is a question to you.
    """
    if found.estimator._takes_sources:
        # Several sources show by themselves what drives the labels.
        return None
    asked = found.estimator.get_params(deep=False)
    # A method without such columns cannot use them either.
    if any(asked.get(kind, ()) is not None for kind in ("class_features", "propensity_features")):
        return None
    about = {j: _spoken_of(name) for j, name in enumerate(found.schema.names)}
    places = [j for j, reason in about.items() if reason and _moves_labels(found, j)]
    if not places or len(places) == len(about):
        return None
    places = places[:_MOST]
    names = [found.schema.names[j] for j in places]
    others = tuple(name for name in found.schema.names if name not in names)
    few = others if len(others) <= _WRITTEN else ()
    return Suggestion(names, [about[j] for j in places], found.model is not None, few)


def _spoken_of(name: str) -> str:
    """What the first word that speaks of being looked at speaks of; empty if there is none."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    if _OTHERWISE.intersection(words):
        return ""
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def _moves_labels(found: TableFit, column: int) -> bool:
    """Whether a column moves the labels, given the others."""
    rows = np.arange(len(found.labelled))
    if len(rows) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))
    s = found.labelled[rows]
    if s.all() or not s.any():
        return False
    levels = found.schema.level_counts
    sample = Sample(as_design(found.matrix[rows]), s, None, None, None, np.array([column]), levels=levels)
    designs = label_designs(sample)
    # With more coefficients than labels the ratio means nothing.
    if not 0 < designs.complete.shape[1] <= s.sum():
        return False
    return designs.added > 0 and p_by_chance(label_gain(sample, designs), designs.added) < _LEVEL
