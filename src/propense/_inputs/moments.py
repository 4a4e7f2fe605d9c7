"""Dates, times and durations written as text: which form the texts of a column have, and the days of each."""

import datetime
import re
from collections.abc import Collection, Mapping

__all__ = ["DATE_FORM", "DATE_ORDERS", "OddDates", "date_form", "day_of", "duration_of", "duration_words", "moment_of"]

_START = datetime.datetime(1970, 1, 1)
# What comes first where both are numbers, if the cells do not show it.
DATE_ORDERS = ("dmy", "mdy")
# A form of dates as `Column.form` has it; the empty one is 2020-12-31, and what is a date by its type.
DATE_FORM = re.compile(r"|y[/.]m[/.]d|[dm]([./-])[dm]\1y|d month y|month d y|y-m|m/y")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:?\d{2}.*)?")
_TIME = (
    r"(?:[T ] *(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r" *(?P<half>[ap]\.?m\.?)? *(?P<zone>z|[+-]\d{2}:?\d{2})?)?"
)
_MONTH = r"(?P<m>[^\W\d_]{3,9})\.?"
_SHAPES = {
    "y-m-d": r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    "y/m/d": r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})",
    "y.m.d": r"(?P<y>\d{4})\.(?P<m>\d{1,2})\.(?P<d>\d{1,2})",
    "d.m.y": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    "d/m/y": r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})",
    "d-m-y": r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<y>\d{4})",
    "d month y": rf"(?P<d>\d{{1,2}})\.?[ -]{_MONTH},?[ -](?P<y>\d{{4}})",
    "month d y": rf"{_MONTH} (?P<d>\d{{1,2}}),? (?P<y>\d{{4}})",
    "y-m": r"(?P<y>\d{4})-(?P<m>\d{2})",
    "m/y": r"(?P<m>\d{1,2})/(?P<y>\d{4})",
}
_FORMS = {name: re.compile(shape + _TIME, re.IGNORECASE) for name, shape in _SHAPES.items()}
# In m/d/y the first number is the month: the shape of d/m/y with its names exchanged.
_FORMS |= {
    f"m{sign}d{sign}y": re.compile(
        rf"(?P<m>\d{{1,2}}){re.escape(sign)}(?P<d>\d{{1,2}}){re.escape(sign)}(?P<y>\d{{4}})" + _TIME, re.IGNORECASE
    )
    for sign in "./-"
}
_TWO_DIGITS = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2\d{2}")
# English and German months by their first three letters.
_MONTHS = {
    name: number
    for names in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "jän feb mär apr mai jun jul aug sep okt nov dez",
    )
    for number, name in enumerate(names.split(), 1)
}
# Seconds of a unit of time. A year has 365.25 days and a month a twelfth of that.
_DAY = 86_400.0
_UNITS = {
    word: seconds
    for words, seconds in (
        ("ms msec millisecond milliseconds", 0.001),
        ("s sec secs second seconds sek sekunde sekunden", 1.0),
        ("min mins minute minutes minuten", 60.0),
        ("h hr hrs hour hours std stunde stunden", 3600.0),
        ("d day days tag tage tagen", _DAY),
        ("w wk wks week weeks woche wochen", 7 * _DAY),
        ("mo mos mon month months monat monate monaten", 365.25 / 12 * _DAY),
        ("y yr yrs year years jahr jahre jahren", 365.25 * _DAY),
    )
    for word in words.split()
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([^\W\d_]+)\.?")
_PARTS = re.compile(rf"([-+])?\s*({_PART.pattern})(?:(?:\s*,\s*|\s+and\s+|\s+und\s+|\s*)({_PART.pattern}))*")
_CLOCK = re.compile(r"([-+])?(?:(\d+) days?,? \+?)?(\d{1,6}):([0-5]\d)(?::([0-5]\d(?:[.,]\d{1,9})?))?")
_WRITTEN = re.compile(
    r"([-+])?P(?=.)(?:(\d+(?:\.\d+)?)Y)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_LONGEST = 60


class OddDates(Exception):
    """Texts that are dates, but cannot be read; `word` is one of them."""

    def __init__(self, message: str, word: str) -> None:
        super().__init__(message)
        self.word = word


def date_form(counts: Mapping[str, int], order: str | None = None) -> str | None:
    """The form of dates in which texts, each in so many cells, are written; None if they are not dates.

    Raises `OddDates` if most cells are dates, but not all of them, not of one form, or if it is not clear whether the
    day or the month comes first. `order` is "dmy" or "mdy" if that is known.
    """
    shapes = {word: _shape(word) for word in counts}
    dated = [word for word, shape in shapes.items() if shape]
    if 2 * sum(counts[word] for word in dated) <= sum(counts.values()):
        _refuse_two_digits(counts)
        return None
    odd = next((word for word, shape in shapes.items() if not shape), None)
    if odd is not None:
        raise OddDates(f"most cells are dates such as {dated[0]!r}, but {odd!r} is not one", odd)
    found = dict.fromkeys(shapes[word] for word in dated)
    if len(found) > 1:
        one, other = (next(word for word in dated if shapes[word] == shape) for shape in list(found)[:2])
        raise OddDates(f"dates are written in more than one form, such as {one!r} and {other!r}", other)
    form = next(iter(found))
    if form in ("d.m.y", "d/m/y", "d-m-y"):
        form = _with_order(form, dated, order)
    wrong = next((word for word in dated if moment_of(word, form) is None), None)
    if wrong is not None:
        raise OddDates(f"{wrong!r} is not a day of the calendar", wrong)
    return "" if form == "y-m-d" else form


def moment_of(word: str, form: str = "") -> datetime.datetime | None:
    """The time of a text in a form of dates, without a zone and in UTC; None if it is not of this form."""
    if not form and _ISO.fullmatch(word):
        try:
            return _in_utc(datetime.datetime.fromisoformat(word))
        except (ValueError, OverflowError):
            pass
    found = _FORMS[form or "y-m-d"].fullmatch(word) if len(word) <= _LONGEST else None
    if found is None:
        return None
    parts = found.groupdict()
    hour = int(parts["hour"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"][0] in "pP")
    month = parts["m"]
    number = int(month) if month.isdigit() else _MONTHS.get(month[:3].lower(), 0)
    try:
        moment = datetime.datetime(
            int(parts["y"]),
            number,
            int(parts.get("d") or 1),
            hour,
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            int((parts["fraction"] or "0").ljust(6, "0")[:6]),
        )
        if (zone := parts["zone"]) and zone not in "zZ":
            away = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment -= away if zone[0] == "+" else -away
    except (ValueError, OverflowError):
        return None
    return moment


def day_of(moment: datetime.datetime) -> float:
    """The days since 1970 of a time; without a time zone it is in UTC."""
    # In Python's own time, whose differences cannot overflow.
    since = moment.replace(tzinfo=None) - _START - (moment.utcoffset() or datetime.timedelta())
    return float(since.days + (10**6 * since.seconds + since.microseconds) / (86_400 * 10**6))


def duration_of(word: str) -> float | None:
    """The days of a duration such as 3 days, 1h 30m, 02:15:00 or P3DT4H; None if a text is not one.

    02:15 is two hours and a quarter. A bare m means minutes only after hours: elsewhere it may be metres.
    """
    if len(word) > _LONGEST:
        return None
    if clock := _CLOCK.fullmatch(word):
        sign, days, hours, minutes, seconds = clock.groups()
        total = 3600.0 * int(hours) + 60.0 * int(minutes) + float((seconds or "0").replace(",", "."))
        way = -1.0 if sign == "-" else 1.0
        # As Python and pandas write it, the sign before days is that of the days alone: -1 days +12:00:00.
        return way * total / _DAY if days is None else way * float(days) + total / _DAY
    if (written := _WRITTEN.fullmatch(word)) and any(written.groups()[1:]):
        scales = (365.25, 365.25 / 12, 7.0, 1.0, 1 / 24, 1 / 1440, 1 / _DAY)
        total = sum(float(part) * scale for part, scale in zip(written.groups()[1:], scales, strict=True) if part)
        return -total if written[1] == "-" else total
    if not (parts := _PARTS.fullmatch(word)):
        return None
    total, before = 0.0, ""
    for number, unit in _PART.findall(word):
        name = unit.lower()
        scale = 60.0 if name == "m" and before in ("h", "hr", "hrs", "std") else _UNITS.get(name)
        if scale is None:
            return None
        total, before = total + float(number) * scale, name
    return (-total if parts[1] == "-" else total) / _DAY


def duration_words(day: float) -> str:
    """A duration in the unit that suits it: 3 days, 1.5 hours."""
    size = abs(day) * _DAY
    for name, scale in (("years", 365.25 * _DAY), ("days", _DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if size >= (2 if name == "years" else 1) * scale:
            break
    else:
        name, scale = "seconds", 1.0
    return f"{round(day * _DAY / scale, 6):.4g} {name}"


def _shape(word: str) -> str:
    """The form of a text that looks like a date, with the day first where that is not clear; empty if none."""
    if len(word) > _LONGEST:
        return ""
    for name in _SHAPES:
        found = _FORMS[name].fullmatch(word)
        if found and (found["m"].isdigit() or found["m"][:3].lower() in _MONTHS):
            return name
    return "y-m-d" if _ISO.fullmatch(word) else ""


def _with_order(form: str, words: Collection[str], order: str | None) -> str:
    """The form with the day or the month first, as the cells show or else `order` says."""
    sign, day_first, month_first = form[1], None, None
    for word in words:
        first, second, _ = word.split(sign, 2)
        day_first = word if int(first) > 12 else day_first
        month_first = word if int(second) > 12 else month_first
    if day_first and month_first:
        raise OddDates(
            f"dates are written in more than one form: {day_first!r} has its day first and {month_first!r} its month",
            month_first,
        )
    # With points, as in Europe, the day comes first.
    month = month_first is not None if day_first or month_first else order == "mdy"
    if not (day_first or month_first or order or sign == "."):
        raise OddDates(
            f"{next(iter(words))!r} may have its day or its month first, and no cell shows which; pass dates='dmy' or "
            "dates='mdy'",
            next(iter(words)),
        )
    return f"m{sign}d{sign}y" if month else form


def _refuse_two_digits(words: Collection[str]) -> None:
    """Raise `OddDates` if all texts are dates with years of two digits."""
    found = [_TWO_DIGITS.fullmatch(word) for word in words]
    if len(found) < 2 or not all(found):
        return
    pairs = [(int(each[1]), int(each[3])) for each in found if each]
    if any(all(1 <= pair[d] <= 31 and 1 <= pair[1 - d] <= 12 for pair in pairs) for d in (0, 1)):
        word = next(iter(words))
        raise OddDates(f"dates such as {word!r} have years of two digits", word)


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(tzinfo=None) - (moment.utcoffset() or datetime.timedelta())
