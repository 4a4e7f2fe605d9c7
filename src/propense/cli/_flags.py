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
    r"|spread|purity|checked)="
    r"(?P<value>False\b|\[(?P<items>(?:'[^']*'|\"[^\"]*\")(?:, (?:'[^']*'|\"[^\"]*\"))*)\]|(?=['\"\w(\[-]))?"
)
_ITEM = re.compile(r"'[^']*'|\"[^\"]*\"")
_QUOTED = re.compile(r"((?<!\w)(?:'[^']*'|\"[^\"]*\"))")
# Fitted attributes in brackets, such as (prior_), say nothing to readers who write no Python.
_ATTRIBUTE = re.compile(r" \((?:[a-z]\w*_(?:\.\w+)?|predict_proba|cv)\)")
_METHODS = {"PUClassifier": "pu", "SAREM": "sar-em"}
_METHOD = re.compile(rf"\b([Uu]se|with) ({'|'.join(_METHODS)})(?![\w(]|\.\w)")
_COLUMNS = re.compile(r"\b([Pp]ass|as) (propensity|class)_features(?![\w=])")
_PARAMETER = re.compile(
    r"\b(?:[Rr]aise|[Tt]ry|penalty) [^.:]*\b(?:max_iter|tol|\w*ridge|\w+_penalty|alpha|spy_quantile)\b"
)


def with_flags(message: str) -> str:
    """The message as the command line says it.

    ``drop=['x', 'y']`` is written ``--drop 'x' --drop 'y'``, and ``prior=`` is written ``--prior``. Classes become
    names of methods, fitted attributes are left out, and a sentence says how parameters of a method are set.
    """
    pieces = _QUOTED.split(_QUOTED_CALL_OR_ARGUMENT.sub(_flag, message))
    words = "".join(piece if quoted % 2 else _plain(piece) for quoted, piece in enumerate(pieces))
    how = " Parameters of the method are set with --set, such as --set ridge=10."
    return words + how if _PARAMETER.search(words) else words


def _plain(words: str) -> str:
    words = _METHOD.sub(lambda match: f"{match[1]} the method {_METHODS[match[2]]}", _ATTRIBUTE.sub("", words))
    return _COLUMNS.sub(r"\1 --\2-features", words)


def _flag(match: re.Match[str]) -> str:
    if match["name"] is None:
        return match[0]
    flag = match["name"].replace("_", "-")
    if match["value"] == "False":
        return f"--no-{flag}"
    if match["items"] is not None:
        return " ".join(f"--{flag} {item}" for item in _ITEM.findall(match["items"]))
    return f"--{flag}" if match["value"] is None else f"--{flag} "
