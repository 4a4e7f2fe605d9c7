"""What two words in a column of labels mean: which of them marks the labelled rows, where that is certain.

Every reader of labels asks here: `fit` in Python, and the label columns of tables.
"""

import unicodedata

__all__ = [
    "PAIRS",
    "is_about_labels",
    "labelled_word",
    "means_unlabelled",
    "never_labelled",
    "number_word",
    "plain_word",
]

# Pairs in which it is clear that the first value means labelled, in lower case. Words of a trade are not here: whether
# "paid" or "default" was labelled, only the person with the table knows.
PAIRS = {
    ("1", "0"),
    ("1", "-1"),
    ("+1", "-1"),
    ("+", "-"),
    ("true", "false"),
    ("t", "f"),
    ("yes", "no"),
    ("y", "n"),
    ("positive", "negative"),
    ("pos", "neg"),
    ("p", "n"),
    ("p", "u"),
    ("l", "u"),
    ("pos", "unl"),
    ("case", "control"),
    ("cases", "controls"),
    ("present", "absent"),
    ("presence", "absence"),
    ("ill", "healthy"),
    ("sick", "healthy"),
    # German, Dutch, Scandinavian
    ("ja", "nein"),
    ("j", "n"),
    ("wahr", "falsch"),
    ("positiv", "negativ"),
    ("fall", "kontrolle"),
    ("krank", "gesund"),
    ("ja", "nee"),
    ("waar", "onwaar"),
    ("positief", "negatief"),
    ("ja", "nej"),
    ("ja", "nei"),
    # French, Spanish, Portuguese, Italian, Romanian
    ("oui", "non"),
    ("vrai", "faux"),
    ("positif", "négatif"),
    ("positif", "negatif"),
    ("cas", "témoin"),
    ("si", "no"),
    ("sí", "no"),
    ("sì", "no"),
    ("verdadero", "falso"),
    ("verdadeiro", "falso"),
    ("vero", "falso"),
    ("positivo", "negativo"),
    ("caso", "control"),
    ("caso", "controle"),
    ("caso", "controllo"),
    ("sim", "não"),
    ("sim", "nao"),
    ("da", "nu"),
    # Slavic languages
    ("tak", "nie"),
    ("ano", "ne"),
    ("áno", "nie"),
    ("da", "ne"),
    ("да", "нет"),
    ("да", "не"),
    ("так", "ні"),
    # Others
    ("kyllä", "ei"),
    ("igen", "nem"),
    ("evet", "hayır"),
    ("evet", "hayir"),
    ("ναι", "όχι"),
    ("نعم", "لا"),
    ("是", "否"),
    ("阳性", "阴性"),
    ("はい", "いいえ"),
    ("陽性", "陰性"),
    ("예", "아니오"),
}
_NEGATIVE = {negative for _, negative in PAIRS}

# Words that say that nobody knows, or that nobody has put a label there.
_UNLABELLED = {
    *("unlabelled", "unlabeled", "unlabel", "unl", "not labelled", "not labeled", "no label", "without label"),
    *("unknown", "unk", "not known", "undetermined", "unspecified", "unclassified", "unassigned", "unannotated"),
    *("untested", "unchecked", "unscreened", "not tested", "not checked", "not assessed", "not available"),
    *("none", "n/a", "na", "#n/a", "<na>", "nan", "nat", "null", "missing", "?", "??", "-", "--", "."),
    *("unbekannt", "ohne label", "nicht gelabelt", "keine angabe", "k.a.", "k. a.", "onbekend", "okänd", "ukendt"),
    *("ukjent", "inconnu", "inconnue", "non renseigné", "desconocido", "desconocida", "desconhecido", "sconosciuto"),
    *("nieznany", "neznámý", "неизвестно", "未知", "不明"),
}
# What negates the words that follow, and words before which "un" says that a label is not there. Before others it
# says less: unpaid or unhealthy may well be what was labelled.
_NEGATIONS = ("not", "non", "no", "never", "nicht", "kein", "keine", "nie", "niet", "geen", "pas", "não", "не")
_MARKED = {
    *(
        "labelled",
        "labeled",
        "marked",
        "flagged",
        "tagged",
        "annotated",
        "reported",
        "recorded",
        "registered",
        "listed",
    ),
    *("coded", "confirmed", "verified", "detected", "diagnosed", "identified", "noticed", "observed", "selected"),
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def plain_word(word: str) -> str:
    """A word in lower case, composed, with single spaces: what is compared."""
    text = " ".join(unicodedata.normalize("NFC", word).casefold().replace("_", " ").split())
    # A Turkish capital dotted İ is an i and a dot of its own when it is folded.
    return text.replace("i̇", "i")


def labelled_word(one: str, other: str) -> str | None:
    """Which of two words means labelled; None where that is not certain."""
    words = {plain_word(one): one, plain_word(other): other}
    if len(words) < 2:
        return None
    for first, second in (tuple(words), tuple(words)[::-1]):
        if (first, second) in PAIRS:
            return words[first]
    for first, second in (tuple(words), tuple(words)[::-1]):
        known = second in _UNLABELLED and first not in _UNLABELLED | _NEGATIVE
        if known or _negates(second, first):
            return words[first]
    return None


def means_unlabelled(word: str) -> bool:
    """Whether a word says that a row has no label: unlabelled, unknown, none."""
    return plain_word(word) in _UNLABELLED


def is_about_labels(word: str) -> bool:
    """Whether a word says only that there is no label, and nothing of the row: unlabelled, not reported, unflagged."""
    return means_unlabelled(word) or any(_negates(plain_word(word), marked) for marked in _MARKED)


def never_labelled(word: str) -> bool:
    """Whether a word does not mean labelled, whatever the other one is: no, false, unlabelled."""
    return plain_word(word) in _NEGATIVE | _UNLABELLED


def number_word(word: str) -> int | None:
    """The number that an English word stands for, from zero to ten."""
    plain = plain_word(word)
    return _NUMBERS.index(plain) if plain in _NUMBERS else None


def _negates(word: str, other: str) -> bool:
    """Whether one word negates another: unlabelled and labelled, not flagged and flagged, non-fraud and fraud."""
    if word == f"without {other}" or (other.startswith("with ") and word == f"without {other[5:]}"):
        return True
    if not other or not word.endswith(other):
        return False
    prefix = word[: -len(other)]
    if prefix == "un":
        return other in _MARKED
    # Without a gap, only "non": notable does not negate table.
    return prefix.rstrip(" -") in _NEGATIONS if prefix[-1:] in (" ", "-") else prefix == "non" and len(other) > 2
