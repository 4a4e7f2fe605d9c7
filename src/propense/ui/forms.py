"""What was chosen on the page of the columns: from a form to options, and back into the form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from propense.errors import InvalidOption
from propense.ui.words import CHOICES, FIELDS

__all__ = ["ROLES", "Choice", "read_choice", "read_number"]

# What a column may be used for, and what the page calls it.
ROLES = {
    "feature": "Learn from it",
    "category": "Learn from it, as a category",
    "drop": "Leave out",
    "keep": FIELDS["keep"],
    "label": "Label of another source",
}
_FURTHER = ("prior_groups", "learners", "decimal", "scar_test", "dates", "missing", "missing_words", "duplicates")
_MOST = 1_000_000


@dataclass
class Choice:
    """The form of the columns: its values, and what is wrong with it, by field.

    Columns are known by their places: names may hold anything.
    """

    label: str = ""
    positive: str = ""
    id: str = ""
    roles: list[str] = field(default_factory=list)
    labelling: set[int] = field(default_factory=set)
    being: set[int] = field(default_factory=set)
    prior: str = ""
    prior_groups: str = ""
    learners: str = ""
    decimal: str = ""
    dates: str = ""
    missing: str = ""
    missing_words: str = ""
    duplicates: str = ""
    scar_test: str = ""
    top: str = "50"
    defuse: bool = True
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def more(self) -> bool:
        """Whether one of the further settings is not as usual, or an error speaks of one."""
        said = " ".join(self.errors.values())
        asked = any(getattr(self, name) or f"“{FIELDS[name]}”" in said for name in _FURTHER)
        return asked or self.top != "50" or not self.defuse

    def options(self, columns: Sequence[str]) -> dict[str, Any]:
        """The options of the fit, as JSON; an error if no label was chosen."""
        if not self.label:
            raise InvalidOption(f"{FIELDS['label']}: choose the column that shows which rows are labelled.")
        roles = dict(zip(columns, self.roles, strict=True))
        first = columns[int(self.label)]
        id = columns[int(self.id)] if self.id else None
        sources = [first, *(name for name, role in roles.items() if role == "label" and name != first)]
        used = [name for name in columns if name not in sources and name != id]
        return {
            "label": sources if len(sources) > 1 else first,
            "positive": self.positive or None,
            "id": id,
            "drop": [name for name in used if roles[name] == "drop"],
            "categorical": [name for name in used if roles[name] == "category"],
            "propensity_features": [columns[place] for place in sorted(self.labelling)] or None,
            "class_features": [columns[place] for place in sorted(self.being)] or None,
            "prior": self.prior or None,
            "prior_groups": columns[int(self.prior_groups)] if self.prior_groups else None,
            "learners": self.learners or None,
            "decimal": self.decimal or None,
            "keep": [name for name in used if roles[name] == "keep"],
            "dates": self.dates or None,
            "missing": [word.strip() for word in self.missing.split(",") if word.strip()],
            "missing_words": self.missing_words != "no",
            "duplicates": self.duplicates or None,
            "scar_test": {"yes": True, "no": False}.get(self.scar_test),
            "top": read_number("How many rows to list", self.top),
            "defuse": self.defuse,
        }

    @classmethod
    def of(cls, options: Mapping[str, Any], columns: Sequence[str]) -> "Choice":
        """The form as it was when these options were chosen; the empty one if there are none."""
        places = {name: str(place) for place, name in enumerate(columns)}
        given = options.get("label")
        labels = [given] if isinstance(given, str) else list(given or [])
        named = {name: options.get(name) or () for name in ("drop", "keep")}
        named |= {"category": options.get("categorical") or (), "label": labels[1:]}
        roles = [next((role for role, names in named.items() if name in names), "feature") for name in columns]
        return cls(
            label=places.get(labels[0], "") if labels else "",
            positive=options.get("positive") or "",
            id=places.get(options.get("id") or "", "") if options.get("id") is not None else "",
            roles=roles,
            labelling={int(places[name]) for name in options.get("propensity_features") or () if name in places},
            being={int(places[name]) for name in options.get("class_features") or () if name in places},
            prior=options.get("prior") or "",
            prior_groups=places.get(options.get("prior_groups"), "") if options.get("prior_groups") else "",  # type: ignore[arg-type]
            learners=options.get("learners") or "",
            decimal=options.get("decimal") or "",
            dates=options.get("dates") or "",
            missing=", ".join(options.get("missing") or ()),
            missing_words="" if options.get("missing_words", True) else "no",
            duplicates=options.get("duplicates") or "",
            scar_test={True: "yes", False: "no"}.get(options.get("scar_test"), ""),  # type: ignore[arg-type]
            top=str(options.get("top") or 50),
            defuse=bool(options.get("defuse", True)),
        )


def read_choice(form: Any, count: int) -> Choice:
    """The form as it was sent. A browser sends only what the page offers; anything else counts as not chosen."""

    def text(name: str, longest: int = 1000) -> str:
        value = form.get(name, "")
        return value.strip()[:longest] if isinstance(value, str) else ""

    def place(name: str) -> str:
        value = text(name)
        return value if value.isascii() and value.isdigit() and len(value) < 7 and int(value) < count else ""

    def one_of(name: str, allowed: Sequence[str]) -> str:
        return value if (value := text(name)) in allowed else allowed[0]

    return Choice(
        label=place("label"),
        positive=text("positive"),
        id=place("id"),
        roles=[one_of(f"role-{j}", list(ROLES)) for j in range(count)],
        labelling={j for j in range(count) if text(f"labelling-{j}")},
        being={j for j in range(count) if text(f"being-{j}")},
        prior=text("prior"),
        prior_groups=place("prior_groups"),
        learners=one_of("learners", ["", "auto", "linear"]),
        decimal=one_of("decimal", ["", ".", ","]),
        dates=one_of("dates", ["", *CHOICES["dates"]]),
        missing=text("missing"),
        missing_words=one_of("missing_words", ["", "no"]),
        duplicates=one_of("duplicates", ["", *CHOICES["duplicates"]]),
        scar_test=one_of("scar_test", ["", "yes", "no"]),
        top=text("top", 20) or "50",
        defuse=bool(text("defuse")),
    )


def read_number(name: str, text: str, most: int = _MOST) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text.replace(",", "")) if text.isascii() else 0
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise InvalidOption(f"{name}: {text!r} is not a whole number from 1 to {most:,}.")
    return number
