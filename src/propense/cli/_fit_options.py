"""The options by which `propense fit` and `propense compare` read a table, and what they say of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from propense.cli._completion import complete_columns
from propense.cli._options import split_names

if TYPE_CHECKING:
    from propense.tables import FitOptions

__all__ = [
    "Categorical",
    "ClassFeatures",
    "Dates",
    "Decision",
    "Drop",
    "Duplicates",
    "Id",
    "Keep",
    "Missing",
    "MissingWords",
    "Positive",
    "Prior",
    "PriorGroups",
    "PropensityFeatures",
    "names_in",
    "read_options",
]

# Options that hold columns separated by commas.
_LISTS = ("drop", "categorical", "keep", "class_features", "propensity_features")


def _columns(flag: str, help: str) -> Any:
    return typer.Option(flag, help=help, autocompletion=complete_columns)


Positive = Annotated[
    str | None, typer.Option("--positive", help="The value that means labelled, if that is not clear.")
]
Id = Annotated[str | None, _columns("--id", "The column that names the rows. It is not used as a feature.")]
ClassFeatures = Annotated[
    list[str] | None,
    _columns(
        "--class-features",
        "The columns that being positive depends on: A,B. May be repeated. Default: all columns.",
    ),
]
PropensityFeatures = Annotated[
    list[str] | None,
    _columns(
        "--propensity-features",
        "The columns that the chance of a label depends on: A,B. May be repeated. Default: all columns.",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="The share of rows that are positive, if you know it: 0.15, or a range: 0.1-0.2. The estimate is "
        "then made to match it, and the test of whether labels are at random (SCAR) detects more. By group: "
        "f=0.12,m=0.15-0.2 with --prior-groups.",
    ),
]
PriorGroups = Annotated[
    str | None, _columns("--prior-groups", "The column that holds the groups of --prior, such as sex.")
]
Drop = Annotated[list[str] | None, _columns("--drop", "Columns to leave out: A,B. May be repeated.")]
Categorical = Annotated[
    list[str] | None,
    _columns("--categorical", "Columns whose numbers are names, such as postcodes: A,B. May be repeated."),
]
Keep = Annotated[
    list[str] | None,
    _columns(
        "--keep",
        "Columns to use although they look like row numbers or like a copy of the label: A,B. May be repeated.",
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(
        "--dates", help="The order of day and month in dates such as 01/02/2020: dmy or mdy, if no cell shows it."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="Words that mean a missing cell: unknown,-99. May be repeated. They are added to the usual ones: NA, "
        "N/A, #N/A, NaN, null, None, <NA>, -, --, . and ?",
    ),
]
MissingWords = Annotated[
    bool,
    typer.Option(
        "--missing-words/--no-missing-words",
        help="Whether the usual words mean a missing cell. If not, only empty cells and those of --missing do.",
    ),
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        "--duplicates",
        help="Rows that are equal in every column: drop (use each once) or keep (use all). Default: keep, with a note "
        "if they are copies; a table that holds every row several times is an error.",
    ),
]
Decision = Annotated[
    str,
    typer.Option("--decision", help="Predict positive above the share of positives (balanced) or above ½ (posterior)."),
]


def read_options(
    columns: list[str], label: str, *, prior: str | None, missing: list[str] | None, **given: Any
) -> "FitOptions":
    """The options of a fit as the library takes them; `columns` are those of the table."""
    from propense.tables import FitOptions
    from propense.tables.prior_words import read_prior

    labels = split_names("--label", [label], columns) or [label]
    for name in _LISTS:
        found = split_names(f"--{name.replace('_', '-')}", given[name], columns)
        # None says that no columns were named for y or e.
        given[name] = found if name.endswith("features") else found or []
    return FitOptions(
        label=labels if len(labels) > 1 else labels[0],
        prior=read_prior(prior),
        missing=[word.strip() for words in missing or [] for word in words.split(",")],
        **given,
    )


def names_in(options: "FitOptions") -> dict[str, list[str] | None]:
    """The names in the options that are lists with commas on the command line."""
    lists = {name: getattr(options, name) for name in (*_LISTS, "missing")}
    return {name: None if each is None else list(each) for name, each in lists.items()}
