"""The columns of data frames of pandas, polars and pyarrow, none of which is imported here."""

import datetime
import decimal
import numbers
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense._inputs.columns import HOLDS, Cells, Column, day_of, days, days_of_durations, example, learn_column
from propense._maths.arrays import Matrix, library_of
from propense.errors import InvalidFeatures

__all__ = [
    "all_numbers",
    "encode_frame",
    "is_frame",
    "is_mixed",
    "learn_columns",
    "named_columns",
    "read_cells",
    "refuse_mixed",
]

_KINDS = "numbers, text, dates, durations or true/false"
_START = datetime.date(1970, 1, 1)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or a table of pyarrow."""
    names = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
    return any(kind.__name__ == names.get(kind.__module__.partition(".")[0]) for kind in type(X).__mro__)


def is_mixed(X: Any) -> bool:
    """Whether X is a data frame with a column that is not of plain numbers."""
    if not is_frame(X):
        return False
    return not all(_is_plain(column) for _, column in named_columns(X))


def learn_columns(X: Any, counted: NDArray[np.bool_] | None = None) -> tuple[tuple[Column, ...], Matrix]:
    """What the columns of a data frame are, from the rows that count, and the frame in numbers."""
    found = [(name, read_cells(column, name)) for name, column in named_columns(X)]
    columns = tuple(learn_column(name, cells, counted) for name, cells in found)
    return columns, _matrix(columns, [cells for _, cells in found], len(X))


def encode_frame(columns: Sequence[Column], X: Any) -> Matrix:
    """A data frame with the columns of a fit, in numbers: see `Column.encode`."""
    return _matrix(columns, [read_cells(column, name) for name, column in named_columns(X)], len(X))


def all_numbers(X: Any) -> list[Column]:
    """The columns of a data frame, all of them numbers."""
    return [Column(name, "number") for name, _ in named_columns(X)]


def refuse_mixed(X: Any, estimator: Any) -> None:
    """Raise an error if X is a data frame with a column of text or dates, for an estimator that takes numbers."""
    for name, column in named_columns(X) if is_mixed(X) else ():
        cells = read_cells(column, name)
        if cells.kind in ("category", "date", "duration"):
            raise InvalidFeatures(
                f"X, column {name!r} holds {HOLDS[cells.kind]}, such as {example(cells)!r}, but "
                f"{type(estimator).__name__} takes numbers. Encode the column, for example with sklearn's "
                "OneHotEncoder, or leave it out."
            )


def _matrix(columns: Sequence[Column], cells: Sequence[Cells], rows: int) -> Matrix:
    out = np.empty((rows, len(columns)), order="F")
    for j, column in enumerate(columns):
        out[:, j] = column.encode(cells[j])
    return out


def named_columns(X: Any) -> list[tuple[str, Any]]:
    """The names and the columns; in pandas, names need not be text."""
    if hasattr(X, "iloc"):
        return [(str(name), X.iloc[:, j]) for j, name in enumerate(X.columns)]
    if hasattr(X, "column_names"):
        return list(zip(X.column_names, X.columns, strict=True))
    return [(series.name, series) for series in X.get_columns()]


def _is_plain(column: Any) -> bool:
    """Whether a column has a type of whole or floating-point numbers, and NumPy's if it is of pandas."""
    library = library_of(column)
    if library == "pyarrow":
        types = _types()
        return bool(types.is_integer(column.type) or types.is_floating(column.type))
    if library == "polars":
        return bool(column.dtype.is_integer() or column.dtype.is_float())
    dtype = column.dtype.subtype if hasattr(column, "sparse") else column.dtype
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def read_cells(column: Any, name: str) -> Cells:
    """The cells of a column of a data frame."""
    read = {"pyarrow": _arrow_cells, "polars": _polars_cells}.get(library_of(column), _pandas_cells)
    cells = read(column, name)
    missing = cells.values < 0 if cells.kind == "category" else np.isnan(cells.values)
    return Cells("empty", np.full(len(missing), np.nan)) if missing.all() else cells


def _pandas_cells(series: Any, name: str) -> Cells:
    dtype = series.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        return _arrow_cells(series.array.__arrow_array__(), name)
    if hasattr(series, "cat"):
        return Cells("category", series.cat.codes.to_numpy(), [_word(value) for value in series.cat.categories], True)
    if dtype.kind == "M":
        return Cells("date", days((series.dt.tz_convert(None) if hasattr(dtype, "tz") else series).to_numpy()))
    if dtype.kind == "m":
        return Cells("duration", days_of_durations(series.to_numpy()))
    if dtype.kind in "biuf":
        nullable = not isinstance(dtype, np.dtype) and not hasattr(series, "sparse")
        values = series.to_numpy(dtype=np.float64, **({"na_value": np.nan} if nullable else {}))
        return Cells("truth" if dtype.kind == "b" else "number", values)
    if dtype.name in ("str", "string"):
        places, words = series.factorize()
        return Cells("category", places, [str(word) for word in words])
    if dtype == np.dtype(object):
        return _object_cells(series.to_numpy(), name)
    raise _refused(name, dtype)


def _polars_cells(series: Any, name: str) -> Cells:
    pl, dtype = sys.modules["polars"], series.dtype
    if dtype == pl.Boolean:
        return Cells("truth", series.cast(pl.Float64).to_numpy())
    if dtype.is_numeric() or dtype == pl.Null:
        return Cells("number", series.cast(pl.Float64).to_numpy())
    if dtype == pl.Date or dtype == pl.Datetime:
        return Cells("date", days(series.to_numpy()))
    if dtype == pl.Duration:
        return Cells("duration", days_of_durations(series.to_numpy()))
    if dtype == pl.Time:
        # Nanoseconds since midnight.
        return Cells("duration", days_of_durations(series.cast(pl.Duration("ns")).to_numpy()))
    if dtype == pl.String or dtype == pl.Categorical or dtype == pl.Enum:
        text = series.cast(pl.String)
        # The rank among the different texts is the place of a text among them in order.
        places = text.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        return Cells("category", places, text.drop_nulls().unique().sort().to_list(), dtype != pl.String)
    if dtype == pl.Object:
        return _object_cells(_objects(series.to_list()), name)
    raise _refused(name, dtype)


def _arrow_cells(column: Any, name: str) -> Cells:
    types, kind = _types(), column.type
    if hasattr(column, "combine_chunks"):
        column = (column.unify_dictionaries() if types.is_dictionary(kind) else column).combine_chunks()
    if types.is_string_view(kind):
        column, kind = column.cast("string"), "string"
    elif types.is_string(kind) or types.is_large_string(kind):
        kind = "string"
    if kind == "string":
        column = column.dictionary_encode()
    if kind == "string" or types.is_dictionary(kind):
        words = column.dictionary.to_pylist()
        places = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
        # A missing cell may also be a word of its own.
        places = np.append(np.where([word is None for word in words], -1, np.arange(len(words))), -1)[places]
        return Cells("category", places.astype(np.int64), [_word(word) for word in words], kind != "string")
    if types.is_boolean(kind):
        return Cells("truth", _numbers(column.cast("float64")))
    if types.is_decimal(kind) or types.is_null(kind):
        return Cells("number", _numbers(column.cast("float64")))
    if types.is_integer(kind) or types.is_floating(kind):
        return Cells("number", _numbers(column))
    if types.is_date(kind) or types.is_timestamp(kind):
        return Cells("date", days(column.to_numpy(zero_copy_only=False)))
    if types.is_duration(kind):
        return Cells("duration", days_of_durations(column.to_numpy(zero_copy_only=False)))
    if types.is_time(kind):
        # The time since midnight.
        whole = column.cast("int32" if types.is_time32(kind) else "int64").cast("int64")
        return Cells("duration", days_of_durations(whole.cast(f"duration[{kind.unit}]").to_numpy(zero_copy_only=False)))
    raise _refused(name, kind)


def _numbers(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _object_cells(values: NDArray[Any], name: str) -> Cells:
    """The cells of a column of Python objects, which must all be of one kind."""
    kinds = [_kind_of(value) for value in values]
    first = {kind: place for place, kind in reversed(list(enumerate(kinds))) if kind != "missing"}
    if "" in first:
        raise _refused(name, type(values[first[""]]).__name__)
    if len(first) > 1:
        one, other = (values[place] for place in sorted(first.values())[:2])
        raise InvalidFeatures(
            f"X, column {name!r} mixes {type(one).__name__} ({_shown(one)}) and {type(other).__name__} "
            f"({_shown(other)}). Make all of its cells {_KINDS}."
        )
    kind = next(iter(first), "number")
    known = np.array([each != "missing" for each in kinds], dtype=bool)
    present = values[known]
    if kind == "category":
        places: dict[str, int] = {}
        codes = np.full(len(values), -1)
        codes[known] = [places.setdefault(str(value), len(places)) for value in present]
        return Cells("category", codes, list(places))
    out = np.full(len(values), np.nan)
    try:
        read = {"date": _day, "duration": _span}.get(kind, float)
        out[known] = [read(value) for value in present]
    except OverflowError:
        raise InvalidFeatures(
            f"X, column {name!r} contains a number beyond float64, which ends at 1.8e308. Scale the column."
        ) from None
    return Cells(kind, out)


def _kind_of(value: Any) -> str:
    """The kind of a Python object, "missing", or "" if it is not of any kind."""
    if isinstance(value, str):
        return "category"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, decimal.Decimal):
        return "missing" if value.is_nan() else "number"
    if isinstance(value, numbers.Real):
        return "missing" if value != value else "number"
    if isinstance(value, np.datetime64 | np.timedelta64):
        return "missing" if np.isnat(value) else "date" if isinstance(value, np.datetime64) else "duration"
    # Those of pandas are recognised by the names of their types.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, datetime.timedelta | datetime.time):
        return "duration"
    return "date" if isinstance(value, datetime.date) else ""


def _day(value: Any) -> float:
    """The days since 1970 of a date or time; without a time zone it is in UTC."""
    if isinstance(value, np.datetime64):
        return float(days(np.array([value]))[0])
    if not isinstance(value, datetime.datetime):
        return float((value - _START).days)
    return day_of(value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value)


def _span(value: Any) -> float:
    """The days of a duration, or of a time since midnight."""
    if isinstance(value, np.timedelta64):
        return float(days_of_durations(np.array([value]))[0])
    if isinstance(value, datetime.time):
        value = datetime.timedelta(0, value.second, value.microsecond, 0, value.minute, value.hour)
    return float(value / datetime.timedelta(days=1))


def _word(value: Any) -> str:
    """The text of a level; 3.0 is 3, since missing cells turn whole numbers into floating point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _types() -> Any:
    return sys.modules["pyarrow"].types


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _refused(name: str, kind: Any) -> InvalidFeatures:
    return InvalidFeatures(f"X, column {name!r} holds {kind}: not {_KINDS}. Convert it, or leave it out.")
