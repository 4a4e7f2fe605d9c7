"""Messages of the library for the command line: Python arguments become flags."""

import re

__all__ = ["with_flags"]

# Quoted text and calls such as JERM(prior=1) stay as they are, and paths such as data/label=1/a.parquet.
_QUOTED_CALL_OR_ARGUMENT = re.compile(
    r"(?<!\w)(?:'[^']*'|\"[^\"]*\")"
    r"|\w\((?:[^()]|\([^()]*\))*\)"
    r"|(?<![^\s(])"
    r"(?P<name>label|positive|negative|weights|strata|clusters|columns|id|drop|categorical|decimal|dates|missing|missing_words|duplicates|keep|prior|prior_groups|scar_test|dask|jobs|learners"
    r"|format|sheet|encoding"
    r"|propensity|odds_ratio|departure|rising|clearest|correlation)="
    r"(?P<value>False\b|\[(?P<items>(?:'[^']*'|\"[^\"]*\")(?:, (?:'[^']*'|\"[^\"]*\"))*)\]|(?=['\"\w(\[-]))?"
)
_ITEM = re.compile(r"'[^']*'|\"[^\"]*\"")


def with_flags(message: str) -> str:
    """The message with ``drop=['x', 'y']`` written ``--drop 'x' --drop 'y'``, and ``prior=`` written ``--prior``."""
    return _QUOTED_CALL_OR_ARGUMENT.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    if match["name"] is None:
        return match[0]
    flag = match["name"].replace("_", "-")
    if match["value"] == "False":
        return f"--no-{flag}"
    if match["items"] is not None:
        return " ".join(f"--{flag} {item}" for item in _ITEM.findall(match["items"]))
    return f"--{flag}" if match["value"] is None else f"--{flag} "
