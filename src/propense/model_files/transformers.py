"""What scikit-learn's scalers, imputer and encoder have learnt, and how new ones are made to know it again.

Only what scikit-learn documents is kept, never its private attributes: they change from version to version, and a file
should outlive them. What a transformer keeps privately it is made to find again, by fitting it on a tiny matrix.
"""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from propense.errors import ModelFileError
from propense.model_files.checks import Check, array_of, check_facts, is_count, is_pair, is_real, is_truth, one_of

__all__ = [
    "OUTPUTS",
    "SCALERS",
    "check_parameters",
    "learnt_by_encoder",
    "learnt_by_imputer",
    "learnt_by_scaler",
    "names_of",
    "output_of",
    "restore_encoder",
    "restore_imputer",
    "restore_scaler",
]

_ROW = array_of("f", -1)
# What each scaler learns, and the argument without which it may be None; "" is never.
SCALERS: dict[type, dict[str, str]] = {
    StandardScaler: {"mean_": "with_mean", "var_": "with_std", "scale_": "with_std"},
    MinMaxScaler: dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), ""),
    MaxAbsScaler: {"max_abs_": "", "scale_": ""},
    RobustScaler: {"center_": "with_centering", "scale_": "with_scaling"},
}
_FITTED_ON = (
    "float64",
    "float32",
    "float16",
    "object",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
# What `set_output` may choose.
OUTPUTS = ("default", "pandas", "polars")
# Cells of the matrix that a one-hot encoder with infrequent categories is fitted on: 128 MiB.
_MOST_CELLS = 1 << 24


def _is_plain(value: Any, p: int) -> bool:
    return value is None or isinstance(value, str | bool | numbers.Real | np.generic)


def _is_row(value: Any, p: int) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _is_numeric_type(value: Any, p: int) -> bool:
    return np.dtype(value).kind in "fiub"


_TRUTHS = (
    "copy with_mean with_std clip with_centering with_scaling unit_variance add_indicator keep_empty_features "
    "sparse_output"
)
# Each argument of the transformers by name, which mean the same wherever they occur.
_PARAMETERS: dict[str, Check] = {
    **dict.fromkeys(_TRUTHS.split(), is_truth),
    "feature_range": is_pair,
    "quantile_range": is_pair,
    "missing_values": _is_plain,
    "fill_value": _is_plain,
    "strategy": one_of("mean", "median", "most_frequent", "constant"),
    "categories": lambda value, p: value == "auto" if isinstance(value, str) else isinstance(value, list),
    "drop": lambda value, p: value in (None, "first", "if_binary") if not _is_row(value, p) else True,
    "dtype": _is_numeric_type,
    "handle_unknown": one_of("error", "ignore", "infrequent_if_exist", "warn"),
    "min_frequency": lambda value, p: value is None or is_real(value, p),
    "max_categories": lambda value, p: value is None or is_count(value, p),
    "feature_name_combiner": one_of("concat"),
}


def check_parameters(transformer: Any) -> None:
    """Refuse an argument that is not what it may be."""
    for name, value in transformer.get_params(deep=False).items():
        if name in _PARAMETERS and not _PARAMETERS[name](value, 0):
            raise ModelFileError(f"{name} of {type(transformer).__name__} is not what it may be")


def names_of(transformer: Any) -> dict[str, Any]:
    """How many features it has seen, and what they are called where they have names."""
    facts = {"n_features_in_": int(transformer.n_features_in_)}
    names = getattr(transformer, "feature_names_in_", None)
    return facts if names is None else {**facts, "feature_names_in_": names}


def output_of(transformer: Any) -> Any:
    """The container that `set_output` has chosen for a transformer, or None."""
    # scikit-learn has a public way to set it and none to read it. Without it a loaded pipeline would pass arrays where
    # the fitted one passed frames, and warn of missing names.
    return getattr(transformer, "_sklearn_output_config", {}).get("transform")


def learnt_by_scaler(scaler: Any, where: str) -> dict[str, Any]:
    """Its public attributes, all of which it has set."""
    facts = names_of(scaler) | {name: getattr(scaler, name) for name in SCALERS[type(scaler)]}
    if hasattr(scaler, "n_samples_seen_"):
        facts["n_samples_seen_"] = scaler.n_samples_seen_
    unknown = [name for name in vars(scaler) if name.endswith("_") and not name.startswith("_") and name not in facts]
    if unknown:
        raise ModelFileError(
            f"{where} has learnt {unknown[0]!r}, which this version of propense does not know of. Upgrade propense"
        )
    return facts


def restore_scaler(scaler: Any, facts: Any) -> None:
    """Set its public attributes."""

    def row_or_none(flag: str) -> Check:
        return lambda value, p: _ROW(value, p) if value is not None else bool(flag) and not getattr(scaler, flag)

    expected = {name: row_or_none(flag) for name, flag in SCALERS[type(scaler)].items()}
    if not isinstance(scaler, RobustScaler):
        expected["n_samples_seen_"] = lambda value, p: is_real(value, p) or array_of("iuf", -1)(value, p)
    check_facts(facts, expected, {}, type(scaler).__name__)
    for name, value in facts.items():
        setattr(scaler, name, value)


def learnt_by_imputer(imputer: SimpleImputer, where: str) -> dict[str, Any]:
    """What it fills in, where it marks missing values, and the dtype it was fitted on."""
    marked = None if imputer.indicator_ is None else imputer.indicator_.features_
    facts = names_of(imputer) | {"statistics_": imputer.statistics_, "marked": marked, "dtype": _fitted_on(imputer)}
    if facts["dtype"] not in _FITTED_ON:
        raise ModelFileError(
            f"{where} was fitted on values of type {facts['dtype']}, which a file does not take. Fit it on numbers"
        )
    return facts


def _fitted_on(imputer: SimpleImputer) -> str | None:
    """The dtype of the matrix an imputer has seen."""
    # Nothing public tells it, and it decides what a constant is rounded to and whether words are taken. Only read
    # here, when a file is written; to read one, an imputer is fitted on a matrix of that dtype.
    return getattr(getattr(imputer, "_fit_dtype", None), "name", None)


def restore_imputer(imputer: SimpleImputer, facts: Any) -> None:
    """Fit it on two rows, the second with a missing value in each marked column; then tell it what to fill in."""
    expected: dict[str, Check] = {
        "statistics_": array_of("fiuO", -1),
        "marked": lambda value, p: value is None or (array_of("iu", None)(value, p) and all(0 <= i < p for i in value)),
        "dtype": one_of(*_FITTED_ON),
    }
    p = check_facts(facts, expected, {}, "SimpleImputer")
    missing, dtype, marked, statistics = imputer.missing_values, facts["dtype"], facts["marked"], facts["statistics_"]
    if (marked is None) is bool(imputer.add_indicator):
        raise ModelFileError("SimpleImputer marks missing values, or does not, against its add_indicator")
    there = ["0", "1"] if dtype == "object" else [0, 1]
    matrix = np.full((2, p), there[1] if missing == there[0] else there[0], dtype=dtype)
    if marked is not None and len(marked):
        matrix[1, marked] = missing
    imputer.fit(matrix)
    # From scikit-learn 1.8 on the constants are objects, which earlier ones do not take.
    later = statistics.dtype == object and imputer.statistics_.dtype != object
    imputer.statistics_ = statistics.astype(imputer.statistics_.dtype) if later else statistics
    _set_names(imputer, facts)


def learnt_by_encoder(encoder: OneHotEncoder, where: str) -> dict[str, Any]:
    """Its categories, and by their numbers those it drops and those it lumps together as infrequent."""
    infrequent = getattr(encoder, "infrequent_categories_", None)
    numbered = infrequent and [
        None if some is None else _numbers(every, some)
        for every, some in zip(encoder.categories_, infrequent, strict=True)
    ]
    dropped = _numbered(encoder.drop_idx_)
    return names_of(encoder) | {"categories_": encoder.categories_, "infrequent": numbered, "dropped": dropped}


def _numbered(dropped: Any) -> list[int | None] | None:
    """For each feature the number of the category that is dropped, or None."""
    return None if dropped is None else [None if number is None else int(number) for number in dropped]


def _numbers(every: NDArray[Any], some: NDArray[Any]) -> list[int]:
    """Where some of the categories stand among all, both being in the same order and NaN equal to itself."""
    found: list[int] = []
    for number, category in enumerate(every):
        wanted = some[len(found)] if len(found) < len(some) else None
        if len(found) < len(some) and (category == wanted or (category != category and wanted != wanted)):
            found.append(number)
    return found


def restore_encoder(encoder: OneHotEncoder, facts: Any) -> None:
    """Fit it with its categories numbered, which settles what it drops and lumps together; then name them."""
    expected: dict[str, Check] = {"categories_": _are_categories, "infrequent": _is_list, "dropped": _is_list}
    check_facts(facts, expected, {}, "OneHotEncoder")
    sizes = [len(each) for each in facts["categories_"]]
    wanted, lumped = encoder.get_params(deep=False), facts["infrequent"]
    enabled = wanted["min_frequency"] is not None or wanted["max_categories"] is not None
    if (lumped is not None) is not enabled:
        raise ModelFileError("OneHotEncoder lumps categories together, or does not, against its arguments")
    by_name = wanted["drop"] is None or isinstance(wanted["drop"], str)
    encoder.set_params(
        categories=[np.arange(size) for size in sizes],
        drop=wanted["drop"] if by_name else facts["dropped"],
        handle_unknown="ignore",
        min_frequency=1 if enabled else None,
        max_categories=None,
    )
    encoder.fit(_rows_of_categories(sizes, lumped) if enabled else np.zeros((1, len(sizes)), dtype=np.int64))
    encoder.set_params(**wanted)
    if _numbered(encoder.drop_idx_) != facts["dropped"]:
        raise ModelFileError("OneHotEncoder drops other categories than its arguments say")
    encoder.categories_ = facts["categories_"]
    _set_names(encoder, facts)


def _are_categories(value: Any, p: int) -> bool:
    """For each feature at least one category."""
    kinds = array_of("biufUO", None)
    return isinstance(value, list) and len(value) == p and all(kinds(each, p) and len(each) > 0 for each in value)


def _is_list(value: Any, p: int) -> bool:
    return value is None or (isinstance(value, list) and len(value) == p)


def _rows_of_categories(sizes: list[int], lumped: list[Any]) -> NDArray[np.int64]:
    """Rows in which every frequent category, by its number, occurs once and no infrequent one; −1 is no category."""
    frequent: list[NDArray[np.int64]] = []
    for size, some in zip(sizes, lumped, strict=True):
        some = [] if some is None else some
        if not isinstance(some, list) or any(type(i) is not int or not 0 <= i < size for i in some):
            raise ModelFileError("OneHotEncoder lumps together categories that it does not have")
        frequent.append(np.setdiff1d(np.arange(size), np.asarray(some, dtype=np.int64)))
    longest = max([1, *(len(each) for each in frequent)])
    if longest * len(sizes) > _MOST_CELLS:
        raise ModelFileError("OneHotEncoder has too many categories in too many columns, some of them infrequent")
    matrix = np.full((longest, len(sizes)), -1, dtype=np.int64)
    for column, each in enumerate(frequent):
        matrix[: len(each), column] = each
    return matrix


def _set_names(transformer: Any, facts: dict[str, Any]) -> None:
    if "feature_names_in_" in facts:
        transformer.feature_names_in_ = facts["feature_names_in_"]
