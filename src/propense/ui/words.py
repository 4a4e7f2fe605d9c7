"""What the library says, in the words of the page: fields instead of arguments, names instead of paths."""

import re
from typing import Any

from propense._text import harmless

__all__ = ["CHOICES", "FIELDS", "in_fields", "place_of"]

# What the page calls the arguments of a fit.
FIELDS = {
    "label": "Label column",
    "positive": "Value that means labelled",
    "id": "Id column",
    "drop": "Leave out",
    "categorical": "Category",
    "prior": "Share of positives",
    "prior_groups": "Column of the groups",
    "decimal": "Decimal sign",
    "dates": "Dates such as 01/02/2020",
    "missing": "Words for a missing cell",
    "missing_words": "Usual words for a missing cell",
    "duplicates": "Equal rows",
    "keep": "Learn from it in any case",
    "sheet": "Sheet",
    "encoding": "Encoding",
    "learners": "Learners",
    "class_features": "Being positive depends on",
    "propensity_features": "Being labelled depends on",
    "scar_test": "Test of labels at random",
    "negative": "Negative",
}
# What the page calls the values of some of them.
CHOICES = {
    "dates": {"dmy": "Day first", "mdy": "Month first"},
    "duplicates": {"drop": "Use each once", "keep": "Use all of them"},
    "missing_words": {"False": "No"},
}
# drop=['x'], pass positive='yes', prior=0.2 outside quotation marks and calls.
_ARGUMENT = re.compile(
    r"(?<!\w)(?:'[^']*'|\"[^\"]*\")|\w\((?:[^()]|\([^()]*\))*\)"
    rf"|(?<![^\s(])(?P<verb>[Pp]ass )?(?P<name>{'|'.join(FIELDS)})="
    r"(?P<value>'?(?P<coded>dmy|mdy|drop|keep|False)(?!\w)'?|\[(?P<item>'[^']*'|\"[^\"]*\")\]|(?=['\"\w(\[-]))?"
    # Also without a value, where the name is no usual word.
    r"|(?<![^\s(])(?P<bare>propensity_features|class_features|prior_groups)(?![\w=])"
)
# Fields of their own, which a message may speak of that names no column.
_SETTINGS = ("dates", "missing_words", "missing", "duplicates")
_COLUMN = re.compile(r"column (?P<name>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")


def in_fields(message: str, paths: dict[str, str] | None = None) -> str:
    """The message on one line, with ``drop=['x']`` written “Leave out” 'x', and paths by the names that users know."""
    for path, name in (paths or {}).items():
        message = message.replace(path, name)
    message = message.replace("Pass the value that", "Choose the value that")
    return harmless(" ".join(_ARGUMENT.sub(_field, message).split()))


def _field(match: re.Match[str]) -> str:
    if match["bare"] is not None:
        return f"“{FIELDS[match['bare']]}”"
    if match["name"] is None:
        return match[0]
    field, verb = f"“{FIELDS[match['name']]}”", match["verb"]
    if match["coded"] is not None:
        named = CHOICES.get(match["name"], {}).get(match["coded"])
        set_to = {None: "", "P": "Set ", "p": "set "}[verb and verb[0]]
        return f"{set_to}{field} to {match['value'] if named is None else f'“{named}”'}"
    if match["value"] is None:
        return f"{verb or ''}{field}"
    return (
        f"{field} {match['item'] or ''}"
        if verb is None
        else f"{'S' if verb[0] == 'P' else 's'}et {field} to {match['item'] or ''}"
    )


def place_of(message: str, columns: list[str], options: dict[str, Any]) -> str:
    """The field that a message is about: "label", "id", "prior", "column-3", or "" if it is about none."""
    for match in _COLUMN.finditer(message):
        named = next((name for name in columns if repr(name) == match["name"]), None)
        if named is None:
            continue
        labels = options.get("label")
        if named in ([labels] if isinstance(labels, str) else labels or []):
            return "label"
        return "id" if named == options.get("id") else f"column-{columns.index(named)}"
    named = next((field for field in _SETTINGS if f"“{FIELDS[field]}”" in in_fields(message)), None)
    if named is not None:
        return named
    for field, words in (("prior", ("prior", FIELDS["prior"])), ("label", ("label", FIELDS["label"]))):
        if message.startswith(words):
            return field
    return ""
