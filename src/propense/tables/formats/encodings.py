"""How the letters of a text were written: found from its bytes, as far as that is safe."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from propense.errors import InvalidOption, InvalidTable

__all__ = ["Found", "check_encoding", "find_encoding", "is_encoding"]

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a text may be that is not UTF-8: Windows in Western and Central Europe, in Russian; DOS; old Macs; Russian Unix.
_USUAL, _LATIN, _CYRILLIC = "cp1252", ("cp1250", "cp850", "mac_roman"), ("cp1251", "koi8_r")
# Words with bytes beyond ASCII, and how many different ones are looked at.
_WORD, _WORDS = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*"), 5_000
# What is not ASCII, and what is not UTF-8 either; bytes that are looked at after the first of these.
_BEYOND, _ESCAPED, _MORE = re.compile(r"[^\x00-\x7f]"), re.compile("[\udc80-\udcff]"), 4 << 20
# Fewer different words do not show that a text is in one of the other encodings.
_FEW = 5
# The most letters that may stand at an odd place, as a share of those beyond ASCII.
_ODD = 0.05
# The least share of о, е, а and и among the letters of Russian; a third is usual.
_VOWELS = 0.2
# Of a compressed text, as much is looked at as may be read into memory.
_ALLOWANCE, _PER_BYTE = 16 << 20, 100
# Signs that stand between letters in words.
_INSIDE = "’‘´`·\u00ad–-\u00a0"
# Not how texts are stored.
_NOT_TEXT = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7", "charmap", "mbcs", "oem"}


@dataclass(frozen=True)
class Found:
    """The name of an encoding, and whether the text begins with a byte order mark."""

    name: str
    marked: bool = False


def is_encoding(name: object) -> bool:
    """Whether it is the name of an encoding of texts that Python knows."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,30}", name):
        return False
    try:
        found = codecs.lookup(name)
    except LookupError:
        return False
    return bool(found._is_text_encoding) and found.name.replace("-", "_") not in _NOT_TEXT


def check_encoding(name: str | None) -> str | None:
    """The name as Python spells it; an error if there is no such encoding."""
    if name is None:
        return None
    if not is_encoding(name):
        raise InvalidOption(
            f"encoding={name!r} is not an encoding. Usual ones: utf-8, cp1252 (Windows, Western Europe), cp1250 "
            "(Windows, Central Europe), latin-1, utf-16, shift_jis, gb18030."
        )
    return codecs.lookup(name).name


def find_encoding(blocks: Callable[[], Iterator[bytes]], size: int, where: str, expected: str | None = None) -> Found:
    """The encoding of a text: its mark, UTF-8 where it is, or else one in which its words look like words.

    Parameters
    ----------
    blocks : callable
        Gives the bytes of the text from its start.
    size : int
        How large the file is; of a compressed one, a limited multiple is looked at.
    where : str
        What errors call it.
    expected : str, default=None
        The encoding of a text of the same kind, which counts if this one is not UTF-8.
    """
    start = next(blocks(), b"")
    for mark, name in _MARKS:
        if start.startswith(mark):
            return Found(name, marked=True)
    wide = _without_mark(start[: 1 << 16])
    if wide is not None:
        return Found(wide)
    words, good, bad = _look(blocks, _ALLOWANCE + _PER_BYTE * size)
    if not bad:
        return Found("utf-8")
    if expected is not None and expected != "utf-8" and _share_odd(words, expected) is not None:
        return Found(expected)
    if good >= bad:
        raise InvalidTable(
            f"{where} is UTF-8 in some lines and not in others: {good:,} letters are, {bad:,} are not. Two files were "
            "perhaps joined. Save it as UTF-8, or pass encoding='cp1252' or another."
        )
    if _is_fine(words, _USUAL):
        return Found(_USUAL)
    others = [name for name in (*_LATIN, *_CYRILLIC) if _is_fine(words, name)]
    if len({_decoded(words, name) for name in others}) == 1 and len(words) >= _FEW:
        return Found(others[0])
    tried = others or [_USUAL, "cp1250", "cp1251", "shift_jis", "gb18030"]
    readings = "".join(f" In {name} it has {_shown(words, name)!r}." for name in others[:3])
    raise InvalidTable(
        f"{where} is not UTF-8, and its letters do not show what it is.{readings} Save it as UTF-8, in Excel "
        f"as 'CSV UTF-8', or pass encoding={tried[0]!r} or another ({', '.join(tried[1:])})."
    )


def _without_mark(start: bytes) -> str | None:
    """UTF-16 without a mark, where every other byte is 0, as in text of mostly Latin letters and digits."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    half = len(start) // 2
    if half < 2 or start[:2] == b"\0\0":
        return None
    if odd > 0.4 * half and even <= 0.01 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd <= 0.01 * half:
        return "utf-16-be"
    return None


def _look(blocks: Callable[[], Iterator[bytes]], most: int) -> tuple[set[bytes], int, int]:
    """Words beyond ASCII, how many of their letters are UTF-8, and how many bytes are not."""
    words: set[bytes] = set()
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    good = bad = seen = 0
    for block in blocks():
        seen += len(block)
        text = decoder.decode(block)
        if not text.isascii():
            wrong = len(_ESCAPED.findall(text))
            good, bad = good + len(_BEYOND.findall(text)) - wrong, bad + wrong
            if wrong:
                words.update(_WORD.findall(block)[:_WORDS])
                # Once it is known not to be UTF-8, a few more words show what it is.
                most = min(most, seen + _MORE)
        if seen > most or len(words) >= _WORDS:
            return words, good, bad
    # A letter that is cut off at the end.
    bad += len(decoder.decode(b"", final=True))
    return words, good, bad


def _is_fine(words: set[bytes], name: str) -> bool:
    share = _share_odd(words, name)
    if share is None or share > _ODD:
        return False
    letters = [sign for sign in _decoded(words, name) if sign.isalpha()] if name in _CYRILLIC else []
    # Russian has its usual vowels, mostly in lower case; bytes of Korean or Chinese do not.
    return not letters or sum(sign in "оеаи" for sign in letters) >= _VOWELS * len(letters)


def _share_odd(words: set[bytes], name: str) -> float | None:
    """The share of the letters beyond ASCII that stand at an odd place; None if a word cannot be decoded."""
    odd = every = 0
    for word in words:
        try:
            text = word.decode(name)
        except UnicodeDecodeError:
            return None
        every += sum(not sign.isascii() for sign in text)
        odd += _odd(text, cyrillic=name in _CYRILLIC)
    return odd / max(every, 1)


def _odd(word: str, *, cyrillic: bool) -> int:
    """How many signs of a word are not where they would be in a language written with these letters."""
    beyond = [not sign.isascii() for sign in word]
    letters = [sign.isalpha() and sign not in "ªº" for sign in word]
    if cyrillic:
        if any(one and two for one, two in zip(letters, beyond, strict=True)) and any(map(str.isascii, word)):
            return sum(beyond)
    elif len(word) > 1 and all(beyond) and any(letters):
        # Words of a Latin script have letters from A to Z too; bytes of another script do not.
        return sum(beyond)
    odd = 0
    for place, sign in enumerate(word):
        if not beyond[place]:
            continue
        before, after = place > 0 and letters[place - 1], place + 1 < len(word) and letters[place + 1]
        if not letters[place]:
            drawn = "\u2500" <= sign <= "\u259f"
            odd += (before and after and sign not in _INSIDE) or drawn or not sign.isprintable()
        elif sign.isupper() and before and word[place - 1].islower():
            odd += 1
        elif not cyrillic:
            # Polish has words with three in a row.
            odd += place >= 3 and all(beyond[place - 3 : place + 1])
    return odd


def _decoded(words: set[bytes], name: str) -> str:
    return "\n".join(word.decode(name) for word in sorted(words))


def _shown(words: set[bytes], name: str) -> str:
    """One of the longer words."""
    return max(sorted(words), key=len).decode(name)[:30]
