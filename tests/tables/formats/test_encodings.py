"""Texts that are not UTF-8: read where it is clear what they are, and one error with the way out where it is not."""

import gzip

import pytest

from propense.errors import InvalidOption, InvalidTable
from propense.tables import TableFile
from propense.tables.spelling import Spelling

GERMAN = ["Größe", "Straße", "Überweisung", "Café", "naïve", "Müller", "Österreich", "für", "über", "schön", "Zürich"]
SIGNS = ["»Zitat«", "5 €", "20 °C", "3 m²"]
FRENCH = ["été", "Genève", "à", "où", "Noël", "garçon", "cœur", "l’été", "forêt", "maïs", "déjà vu", "« oui »"]
POLISH = ["Łódź", "żółw", "święto", "książka", "Gdańsk", "źródło", "ćma", "pięć"]
RUSSIAN = ["Привет", "Москва", "жён", "больница", "возраст", "Санкт-Петербург", "да", "нет"]
JAPANESE = ["日本", "東京", "患者", "年齢", "はい"]


def rows(words):
    return "name,lab\n" + "".join(f"{word},{number % 2}\n" for number, word in enumerate(words))


def read(folder, data, name="t.csv", **options):
    (folder / name).write_bytes(data)
    return TableFile(folder / name, **options)


CLEAR = [
    (GERMAN + SIGNS, "cp1252", "cp1252"),
    (FRENCH, "cp1252", "cp1252"),
    (GERMAN[:10], "mac_roman", "mac_roman"),
    (GERMAN[:10], "cp850", "cp850"),
    (POLISH, "cp1250", "cp1250"),
    (RUSSIAN, "cp1251", "cp1251"),
    (RUSSIAN, "koi8_r", "koi8-r"),
    (JAPANESE, "utf-8", "utf-8"),
    (JAPANESE, "utf-16", "utf-16"),
    (GERMAN, "utf-16-le", "utf-16-le"),
    (GERMAN, "utf-16-be", "utf-16-be"),
    (GERMAN, "utf-8-sig", "utf-8"),
    (GERMAN, "utf-32", "utf-32"),
]


@pytest.mark.parametrize(("words", "written", "found"), CLEAR, ids=[f"{case[1]}-{case[0][0]}" for case in CLEAR])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_text_is_read_in_its_own_encoding(tmp_path, words, written, found, name):
    data = rows(words).encode(written)
    source = read(tmp_path, gzip.compress(data) if name.endswith(".gz") else data, name)
    assert source.read().column("name").to_pylist() == words
    assert source.encoding.replace("-", "_") == found.replace("-", "_")
    assert source.marked == (written in ("utf-16", "utf-32", "utf-8-sig"))


@pytest.mark.parametrize("written", ["shift_jis", "gb18030", "euc_kr"])
def test_what_cannot_be_told_is_an_error_that_names_the_way_out(tmp_path, written):
    words = JAPANESE if written != "euc_kr" else ["환자", "나이", "서울"]
    with pytest.raises(
        InvalidTable, match=r"t\.csv is not UTF-8, and its letters do not show what it is.* pass encoding='"
    ) as caught:
        read(tmp_path, rows(words).encode(written))
    assert "\n" not in str(caught.value)
    source = read(tmp_path, rows(words).encode(written), encoding=written)
    assert source.read().column("name").to_pylist() == words


def test_two_readings_that_are_both_plausible_are_shown(tmp_path):
    with pytest.raises(InvalidTable, match=r"In cp850 it has 'Köln'\. In mac_roman it has 'Kîln'"):
        read(tmp_path, rows(["Köln"]).encode("cp850"))


def test_letters_that_come_late_count_too(tmp_path):
    """Batches are read from the disk, but the encoding is that of the whole file."""
    words = ["plain"] * 400_000 + ["Müller", "für", "Größe"]
    source = read(tmp_path, rows(words).encode("cp1252"))
    last = list(source.batches(["name"]))[-1].column("name").to_pylist()[-3:]
    assert (source.encoding, last) == ("cp1252", words[-3:])


def test_a_file_of_two_encodings_is_refused(tmp_path):
    data = rows(GERMAN).encode() + "Grün,1\n".encode("cp1252")
    with pytest.raises(InvalidTable, match="is UTF-8 in some lines and not in others: 12 letters are, 1 are not"):
        read(tmp_path, data)


def test_what_a_model_expects_counts_where_a_text_is_not_utf8(tmp_path):
    expected = Spelling(encoding="cp1250")
    czech = ["Dvořák", "Jiří", "Plzeň"]
    assert read(tmp_path, rows(czech).encode("cp1250"), expected=expected).read().column("name").to_pylist() == czech
    # A text that is UTF-8 is, and one that says what it is too.
    for written in ("utf-8", "utf-16"):
        source = read(tmp_path, rows(czech).encode(written), expected=expected)
        assert (source.encoding, source.read().column("name").to_pylist()) == (written, czech)


def test_an_encoding_that_is_given_wins_and_must_exist(tmp_path):
    assert read(tmp_path, "a\nø\n".encode("cp1252"), encoding="CP1250").read().to_pydict() == {"a": ["ř"]}
    for name in ("nosuch", "zlib_codec", "idna", "../x", "unicode_escape", ""):
        with pytest.raises(InvalidOption, match=r"encoding='.*' is not an encoding\. Usual ones: utf-8, cp1252"):
            read(tmp_path, b"a\n1\n", encoding=name)
    with pytest.raises(InvalidTable, match=r"t\.csv, line 2, is not ASCII\. Save it as UTF-8"):
        read(tmp_path, "a\né\n".encode("cp1252"), encoding="ascii").read()
    with pytest.raises(InvalidOption, match=r"encoding='cp1252' is for files of text, and .*t\.parquet is not one"):
        read(tmp_path, b"", "t.parquet", encoding="cp1252")
