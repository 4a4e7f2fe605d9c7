"""Plain values as strict JSON beside numbered arrays, and back: a closed list of types, none of which runs code.

What JSON has is itself. Everything else is an object with one key that begins with $: ``{"$float": "nan"}``,
``{"$tuple": […]}``, ``{"$array": 3}`` for the fourth of the arrays.
"""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propense.errors import ModelFileError
from propense.model_files.container import DTYPES

__all__ = ["pack", "unpack"]

Arrays = list[NDArray[Any]]

# Numbers that are rare enough to be written out in the header.
_RARE = ("float16", "int8", "int16", "uint16", "uint32", "uint64")
_TYPES: dict[str, Any] = {f"numpy.{name}": np.dtype(name).type for name in (*DTYPES, *_RARE)}
_TYPES |= {"float": float, "int": int, "bool": bool}
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Of an array of strings: its width may be far above their lengths, and a file should not buy memory with digits.
_MOST_CHARACTERS = 1 << 26
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
    if type(value) is slice:
        return {"$slice": [pack(each, arrays) for each in (value.start, value.stop, value.step)]}
    if isinstance(value, np.generic):
        # The name first: it refuses the kinds whose item is no Python number.
        return {"dtype": _name(value.dtype), "$number": pack(value.item(), arrays)}
    if type(value) is np.ndarray:
        return _pack_array(value, arrays)
    if isinstance(value, np.dtype):
        return {"$dtype": _name(value)}
    for name, each in _TYPES.items():
        if value is each:
            return {"$type": name}
    raise ModelFileError(f"a value of type {type(value).__name__} is not plain")


def unpack(packed: Any, arrays: Arrays) -> Any:
    """The value of its JSON; each array is taken from `arrays` once and leaves an empty place there."""
    if packed is None or isinstance(packed, bool | int | str):
        return packed
    if isinstance(packed, float):
        # 1e999 is JSON, and infinite to Python.
        return packed if math.isfinite(packed) else _refuse("a number too large for float64")
    if isinstance(packed, list):
        return [unpack(each, arrays) for each in packed]
    tags = [key for key in packed if key.startswith("$")]
    if not tags:
        return {key: unpack(each, arrays) for key, each in packed.items()}
    reader = _READERS.get(tags[0])
    if reader is None or packed.keys() != {tags[0], *reader[1]}:
        _refuse(f"a value of the unknown kind {tags[0][:40]!r}")
    return reader[0](packed, arrays)


def _refuse(what: str) -> NoReturn:
    raise ModelFileError(f"it holds {what}")


def _name(dtype: np.dtype[Any]) -> str:
    """How a dtype is called in a file."""
    if dtype.kind == "U":
        return f"<U{dtype.itemsize // 4}"
    if dtype.kind == "T" and not hasattr(dtype, "na_object"):
        return "string"
    if dtype.name in DTYPES or dtype.name in _RARE or dtype.kind == "O":
        return dtype.name
    raise ModelFileError(f"an array or number of dtype {dtype} is not plain")


def _dtype(name: Any, size: int) -> np.dtype[Any]:
    """The dtype of that name, for an array of that size."""
    if not isinstance(name, str):
        _refuse("a dtype that is no name")
    words = _WORDS.fullmatch(name)
    if words:
        if int(words[1]) * size > _MOST_CHARACTERS:
            _refuse("strings too wide to hold")
        return np.dtype(name)
    if name == "string":
        return np.dtypes.StringDType()
    if name in DTYPES or name in _RARE or name == "object":
        return np.dtype(name)
    _refuse(f"the unknown dtype {name[:40]!r}")


def _pack_array(array: NDArray[Any], arrays: Arrays) -> dict[str, Any]:
    name = _name(array.dtype)
    if name in DTYPES:
        arrays.append(array)
        return {"$array": len(arrays) - 1}
    values = array.ravel().tolist()
    for each in values:
        if not (each is None or type(each) in (bool, int, float, str) or isinstance(each, np.generic)):
            raise ModelFileError(f"an array that holds a value of type {type(each).__name__} is not plain")
    return {"$values": [pack(each, arrays) for each in values], "dtype": name, "shape": list(array.shape)}


def _unpack_float(packed: Any, arrays: Arrays) -> Any:
    word = packed["$float"]
    return _NOT_FINITE[word] if isinstance(word, str) and word in _NOT_FINITE else _refuse("an unknown number")


def _unpack_list(packed: Any, arrays: Arrays, tag: str) -> list[Any]:
    if not isinstance(packed[tag], list):
        _refuse(f"a {tag[1:]} that is no list")
    return [unpack(each, arrays) for each in packed[tag]]


def _unpack_tuple(packed: Any, arrays: Arrays) -> Any:
    return tuple(_unpack_list(packed, arrays, "$tuple"))


def _unpack_dict(packed: Any, arrays: Arrays) -> Any:
    pairs = _unpack_list(packed, arrays, "$dict")
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        _refuse("a dict that is not made of pairs")
    return dict(pairs)


def _unpack_slice(packed: Any, arrays: Arrays) -> Any:
    ends = _unpack_list(packed, arrays, "$slice")
    if len(ends) != 3 or not all(each is None or type(each) in (int, str) for each in ends):
        _refuse("a slice without three ends")
    return slice(*ends)


def _unpack_number(packed: Any, arrays: Arrays) -> Any:
    dtype = _dtype(packed["dtype"], 1)
    value = unpack(packed["$number"], arrays)
    if dtype.kind == "O" or not _fits(value, dtype.kind):
        _refuse(f"a number that is no {dtype}")
    return dtype.type(value)


def _unpack_array(packed: Any, arrays: Arrays) -> Any:
    number = packed["$array"]
    if type(number) is not int or not 0 <= number < len(arrays) or arrays[number] is _TAKEN:
        _refuse("an array that is not there, or twice")
    array, arrays[number] = arrays[number], _TAKEN
    return array


def _unpack_values(packed: Any, arrays: Arrays) -> Any:
    values, shape = _unpack_list(packed, arrays, "$values"), packed["shape"]
    if not isinstance(shape, list) or any(type(each) is not int or each < 0 for each in shape):
        _refuse("an array of no shape")
    dtype = _dtype(packed["dtype"], len(values))
    if math.prod(shape) != len(values) or not all(_fits(each, dtype.kind) for each in values):
        _refuse(f"an array that is not of {shape} values of dtype {dtype}")
    array = np.empty(len(values), dtype=dtype)
    for place, each in enumerate(values):
        array[place] = each
    return array.reshape(shape)


def _unpack_dtype(packed: Any, arrays: Arrays) -> Any:
    return _dtype(packed["$dtype"], 1)


def _unpack_type(packed: Any, arrays: Arrays) -> Any:
    name = packed["$type"]
    return _TYPES[name] if isinstance(name, str) and name in _TYPES else _refuse("an unknown type")


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is what an array of this kind of dtype holds, so that NumPy converts nothing."""
    if kind == "O":
        return value is None or isinstance(value, bool | int | float | str | np.generic)
    kinds = {"f": (float,), "i": (int,), "u": (int,), "b": (bool,), "U": (str,), "T": (str,)}
    return type(value) in kinds.get(kind, ())


_TAKEN: NDArray[Any] = np.empty(0)
# How each kind is read, and the keys it has beside its own.
_READERS: dict[str, tuple[Callable[[Any, Arrays], Any], tuple[str, ...]]] = {
    "$float": (_unpack_float, ()),
    "$tuple": (_unpack_tuple, ()),
    "$dict": (_unpack_dict, ()),
    "$slice": (_unpack_slice, ()),
    "$number": (_unpack_number, ("dtype",)),
    "$array": (_unpack_array, ()),
    "$values": (_unpack_values, ("dtype", "shape")),
    "$dtype": (_unpack_dtype, ()),
    "$type": (_unpack_type, ()),
}
