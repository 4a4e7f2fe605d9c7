"""Plain values as strict JSON with numbered arrays, and back: a closed list of types, none of which runs code.

What JSON has is itself. Everything else is an object with one key that begins with $: ``{"$float": "nan"}``,
``{"$tuple": […]}``, ``{"$array": 3}`` for the fourth of the arrays.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propense.errors import ModelFileError
from propense.model_files.container import DTYPES, check_memory

__all__ = ["pack", "unpack"]

Arrays = list[NDArray[Any]]

# Numbers that are rare enough to be written out in the header.
_RARE = ("float16", "int8", "int16", "uint16", "uint32", "uint64")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_WORDS = re.compile(r"<U(\d{1,8})")


def pack(value: Any, arrays: Arrays) -> Any:
    """The JSON of a value; its numeric arrays are put at the end of `arrays`."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if type(value) is list:
        return [pack(each, arrays) for each in value]
    if type(value) is tuple:
        return {"$tuple": [pack(each, arrays) for each in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        pairs = {key: pack(each, arrays) for key, each in value.items()}
        return {"$dict": list(map(list, pairs.items()))} if any(key.startswith("$") for key in pairs) else pairs
    if isinstance(value, np.generic):
        # The name first: it refuses kinds whose item is not a Python number.
        return {"dtype": _name(value.dtype), "$number": pack(value.item(), arrays)}
    if type(value) is np.ndarray:
        return _pack_array(value, arrays)
    raise ModelFileError(f"a value of type {type(value).__name__} cannot be saved")


def unpack(packed: Any, arrays: Arrays, size: int = 0) -> Any:
    """The value of its JSON in a file of `size` bytes; each array is taken from `arrays` once."""
    check_memory(_announced(packed), size)
    return _unpack(packed, arrays)


def _announced(packed: Any) -> int:
    """How many bytes the arrays of strings take: a few digits in the file announce any width."""
    if isinstance(packed, list):
        return sum(map(_announced, packed))
    if not isinstance(packed, dict):
        return 0
    words = _WORDS.fullmatch(str(packed.get("dtype")))
    own = 4 * int(words[1]) if words else 0
    values = packed.get("$values")
    return own * max(1, len(values) if isinstance(values, list) else 0) + sum(map(_announced, packed.values()))


def _unpack(packed: Any, arrays: Arrays) -> Any:
    if isinstance(packed, list):
        return [_unpack(each, arrays) for each in packed]
    # 1e999 is JSON, and infinite to Python.
    if isinstance(packed, float) and not math.isfinite(packed):
        raise ModelFileError("it holds a number too large for float64")
    if not isinstance(packed, dict):
        return packed
    tag = next((key for key in packed if key.startswith("$")), None)
    if tag is None:
        return {key: _unpack(each, arrays) for key, each in packed.items()}
    read = _READERS.get(tag)
    try:
        inner, row = packed[tag], isinstance(packed[tag], list)
        if read is None or packed.keys() != {tag, *_MORE.get(tag, ())} or row is not (tag in _ROWS):
            raise KeyError
        return read(_unpack(inner, arrays) if row else inner, packed, arrays)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelFileError(f"it holds an invalid value of the kind {tag[:40]!r}") from None


def _name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in a file."""
    if dtype.kind == "U":
        return f"<U{dtype.itemsize // 4}"
    if dtype.kind == "T" and not hasattr(dtype, "na_object"):
        return "string"
    if dtype.name in DTYPES or dtype.name in _RARE or dtype.kind == "O":
        return dtype.name
    raise ModelFileError(f"an array or number of dtype {dtype} cannot be saved")


def _dtype(name: str) -> np.dtype[Any]:
    """The dtype of that name."""
    if _WORDS.fullmatch(name):
        return np.dtype(name)
    if name == "string":
        return np.dtypes.StringDType()
    if name in DTYPES or name in _RARE or name == "object":
        return np.dtype(name)
    raise ValueError(name)


def _pack_array(array: NDArray[Any], arrays: Arrays) -> dict[str, Any]:
    name = _name(array.dtype)
    if name in DTYPES:
        arrays.append(array)
        return {"$array": len(arrays) - 1}
    values = array.ravel().tolist()
    for each in values:
        if not (each is None or type(each) in (bool, int, float, str) or isinstance(each, np.generic)):
            raise ModelFileError(f"an array with a value of type {type(each).__name__} cannot be saved")
    return {"$values": [pack(each, arrays) for each in values], "dtype": name, "shape": list(array.shape)}


def _dict(pairs: Any, packed: Any, arrays: Arrays) -> dict[str, Any]:
    if not all(isinstance(key, str) for key, _ in pairs):
        raise ValueError
    return dict(pairs)


def _number(value: Any, packed: Any, arrays: Arrays) -> Any:
    dtype, value = _dtype(packed["dtype"]), _unpack(value, arrays)
    if dtype.kind == "O" or not _fits(value, dtype):
        raise ValueError
    return dtype.type(value)


def _array(number: Any, packed: Any, arrays: Arrays) -> NDArray[Any]:
    if type(number) is not int or not 0 <= number < len(arrays) or arrays[number] is _TAKEN:
        raise ValueError
    array, arrays[number] = arrays[number], _TAKEN
    return array


def _values(values: Any, packed: Any, arrays: Arrays) -> NDArray[Any]:
    shape, dtype = packed["shape"], _dtype(packed["dtype"])
    whole = isinstance(shape, list) and all(type(each) is int and each >= 0 for each in shape)
    if not whole or math.prod(shape) != len(values) or not all(_fits(each, dtype) for each in values):
        raise ValueError
    array = np.empty(len(values), dtype=dtype)
    for place, each in enumerate(values):
        array[place] = each
    return array.reshape(shape)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a value is what an array of this dtype holds, so that NumPy converts nothing."""
    kind = dtype.kind
    # NumPy 1 would wrap 300 to 44 in int8.
    if kind in "iu" and type(value) is int and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return False
    if kind == "O":
        return value is None or isinstance(value, bool | int | float | str | np.generic)
    kinds = {"f": (float,), "i": (int,), "u": (int,), "b": (bool,), "U": (str,), "T": (str,)}
    return type(value) in kinds.get(kind, ())


_TAKEN: NDArray[Any] = np.empty(0)
# How each kind is read from what its key holds.
_READERS: dict[str, Callable[[Any, Any, Arrays], Any]] = {
    "$float": lambda word, packed, arrays: _NOT_FINITE[word],
    "$tuple": lambda values, packed, arrays: tuple(values),
    "$dict": _dict,
    "$number": _number,
    "$array": _array,
    "$values": _values,
}
# Kinds that hold a list, and the keys that a kind has in addition to its own.
_ROWS = ("$tuple", "$dict", "$values")
_MORE = {"$number": ("dtype",), "$values": ("dtype", "shape")}
