"""Damage to bytes, and to trees of plain values, as disks, networks and people do it."""

import copy
import struct

# Lengths, counts and offsets at which readers go wrong.
_WHOLE = (0, 1, -1, 2, 7, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**40, 2**63 - 1)
_REAL = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 1e-300, 1e16, 1e9)
_TEXTS = ("", "a", "\x1b[31mred", "$array", "é\u2028\udc80", "x" * 3000, "float64", "<U9", "numpy", "passthrough", "1")
_VALUES = (
    *(None, True, False, *_WHOLE, 10**25, 1e308, -1e308, 1e-300, 0.5, -0.5, 1e9, *_TEXTS),
    *([], {}, [None], [[]], [0] * 50, {"a": 1}, {"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}),
    *({"$array": 0}, {"$array": 1}, {"$tuple": []}, {"$tuple": ["a", "number", []]}, {"$dict": [["a", 1]]}),
    *({"$values": [True, [1], ["a"]]}, {"$number": 0}, {"$same": 0}, {"$same": -1}),
    *({"$values": [False, [0, 10**9], []]}, {"$is": "Doubt", "kind": "a", "message": "b"}),
)


def pick(rng, options):
    """One of the options, as it is: NumPy would turn it into a scalar of its own."""
    return options[int(rng.integers(len(options)))]


def damaged(data, rng, *, near_ends=0.3, other=b""):
    """The bytes after one to a few small accidents; some of them near the ends, where formats keep their outlines."""
    for _ in range(int(rng.geometric(0.5))):
        if not data:
            return data
        place = _place(len(data), rng, near_ends)
        data = pick(rng, _ACCIDENTS)(data, place, rng, other or data)
    return data


def _place(length, rng, near_ends):
    if rng.random() < near_ends:
        near = int(rng.integers(min(length, 400)))
        return near if rng.random() < 0.4 else length - 1 - near
    return int(rng.integers(length))


def _flip(data, place, rng, other):
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]


def _set(data, place, rng, other):
    return data[:place] + bytes([int(rng.integers(256))]) + data[place + 1 :]


def _insert(data, place, rng, other):
    return data[:place] + rng.bytes(int(rng.integers(1, 40))) + data[place:]


def _remove(data, place, rng, other):
    return data[:place] + data[place + int(rng.integers(1, 40)) :]


def _truncate(data, place, rng, other):
    return data[:place]


def _splice(data, place, rng, other):
    start = int(rng.integers(len(other)))
    return data[:place] + other[start : start + int(rng.integers(1, 400))] + data[place:]


def _overwrite(data, place, rng, other):
    number = pick(rng, _WHOLE)
    width = int(pick(rng, (2, 4, 8)))
    return data[:place] + (number % 2 ** (8 * width)).to_bytes(width, "little") + data[place + width :]


def _zero(data, place, rng, other):
    count = int(rng.integers(1, 200))
    return data[:place] + bytes(min(count, len(data) - place)) + data[place + count :]


# What keeps the length is seen more often, since it gets past the outlines.
_ACCIDENTS = (*(_flip, _set, _overwrite) * 3, _zero, _insert, _remove, _truncate, _splice)


def with_odd_number(data, rng, width=8):
    """The bytes of numbers, one of which is another."""
    if len(data) < width:
        return data
    place = width * int(rng.integers(len(data) // width))
    if width == 8 and rng.random() < 0.6:
        number = struct.pack("<d", pick(rng, _REAL))
    else:
        number = (pick(rng, _WHOLE) % 2 ** (8 * width)).to_bytes(width, "little")
    return data[:place] + number + data[place + width :]


def mutated(tree, rng):
    """A copy of a tree of lists and dictionaries with one to a few other values in it."""
    tree = copy.deepcopy(tree)
    for _ in range(int(rng.geometric(0.6))):
        places = list(_places(tree))
        leaves = [
            (holder, key) for holder, key in places if key != "$array" and not isinstance(holder[key], dict | list)
        ]
        if leaves and rng.random() < 0.5:
            # Another value of the same type is taken for right by more of the checks.
            holder, key = pick(rng, leaves)
            holder[key] = _nearby(holder[key], rng)
        elif places:
            _mutate(*pick(rng, places), rng, places)
    return tree


def _places(tree):
    """Every place in a tree: what holds it, and its key there."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def _mutate(holder, key, rng, places):
    kind = rng.random()
    if kind < 0.4:
        holder[key] = copy.deepcopy(pick(rng, _VALUES))
    elif kind < 0.55:
        del holder[key]
    elif kind < 0.8:
        # What stands at another place is of the right kind more often.
        other, at = pick(rng, places)
        holder[key] = copy.deepcopy(other[at])
    elif isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[pick(rng, _TEXTS)] = copy.deepcopy(holder[key])


def _nearby(value, rng):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return pick(rng, (value + 1, value - 1, -value, value * 1000, value * 10**9, 0, 1, 3))
    if isinstance(value, str):
        return pick(rng, (value + "x", value[:-1], value.upper(), value + value, value[::-1]))
    return pick(rng, _VALUES)
