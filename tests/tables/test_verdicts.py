"""What reviewers write: many words for the same answers, and one clear error for any other."""

import numpy as np
import pytest

from propense.errors import InvalidOption, InvalidTable
from propense.tables import Label, LabelColumns
from propense.tables.verdicts import NO, OPEN, UNSURE, YES, read_words


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("yes", "no"),
        ("Y", "N"),
        ("1", "0"),
        ("1.0", "0.0"),
        ("1,0", "0,0"),
        ("1", "-1"),
        ("TRUE", "FALSE"),
        ("t", "f"),
        ("positive", "negative"),
        ("pos", "neg"),
        ("positiv", "Negativ"),
        ("positif", "négatif"),
        ("ja", "nein"),
        ("j", "n"),
        ("oui", "non"),
        ("si", "no"),
        ("Sí", "no"),
        ("x", "no"),
        ("+", "-"),
        ("'yes", "no"),
    ],
)
def test_every_coding_means_the_same(yes, no):
    cells = [yes, f" {yes} ", no, "", "  ", "?", "Cannot say", "can’t  say", "nan"]
    assert read_words(cells, "f.csv").tolist() == [YES, YES, NO, OPEN, OPEN, UNSURE, UNSURE, UNSURE, OPEN]


def test_words_of_ones_own_are_named():
    with pytest.raises(InvalidTable, match=r"f\.csv, column 'verdict' holds 'krank', 'gesund'|'gesund', 'krank'"):
        read_words(["krank", "gesund", ""], "f.csv")
    found = read_words(["Krank", "gesund", "?", ""], "f.csv", positive="krank", negative="Gesund")
    assert found.tolist() == [YES, NO, UNSURE, OPEN]
    # Words that usually mean the opposite.
    assert read_words(["0", "1"], "f.csv", positive="0", negative="1").tolist() == [YES, NO]
    assert read_words(["yes", "", "yes"], "f.csv", negative="").tolist() == [YES, NO, YES]
    with pytest.raises(InvalidOption, match="are the same word"):
        read_words(["krank"], "f.csv", positive="Krank", negative="krank")
    # A word that was given is the only one of its kind.
    with pytest.raises(InvalidTable, match="holds 'yes'"):
        read_words(["krank", "yes", "no"], "f.csv", positive="krank")
    assert read_words(["krank", "no"], "f.csv", positive="krank").tolist() == [YES, NO]


@pytest.mark.parametrize("cell", ["-", "2", "0.8", "unlabelled", "yes no", "1;0"])
def test_a_word_that_is_not_clear_is_refused(cell):
    with pytest.raises(InvalidTable, match="Write yes, no or"):
        read_words(["yes", cell], "f.csv")


def test_crosses_alone_do_not_say_which_rows_were_checked():
    with pytest.raises(InvalidTable, match="only 'x' and empty cells"):
        read_words(["x", "", ""], "f.csv")
    assert read_words(["x", "x"], "f.csv").tolist() == [YES, YES]
    assert read_words(["x", ""], "f.csv", negative="").tolist() == [YES, NO]


def test_ticks_between_empty_cells_do_not_say_which_rows_were_checked():
    with pytest.raises(InvalidTable, match=r"only '1', 'yes' and empty cells.*negative=''.*delete them"):
        read_words(["", "yes", "", "1", ""], "f.csv")
    assert read_words(["", "yes", "", "1", ""], "f.csv", negative="").tolist() == [NO, YES, NO, YES, NO]
    # Someone stopped half-way, checked one row, could not say of another, or found no positive.
    for cells in (["yes", "yes", "", ""], ["", "yes"], ["yes", "", "?", "yes"], ["no", "", "no"], ["yes", "", "no"]):
        assert len(read_words(cells, "f.csv")) == len(cells)


def test_the_error_says_how_to_give_the_meaning_of_words():
    for cells, words in (
        (["krank", "no"], "positive='krank' or negative='krank'"),
        (["krank", "gesund"], "positive='gesund' negative='krank' or the other way round"),
        (["krank", "gesund", "tot"], r"\(cannot say\)\.$"),
    ):
        with pytest.raises(InvalidTable, match=words):
            read_words(cells, "f.csv")


def test_many_unknown_words_are_not_all_listed():
    with pytest.raises(InvalidTable, match="and 14 more"):
        read_words([f"word{i}" for i in range(20)], "f.csv")
    assert read_words([], "f.csv").dtype == np.int8


def test_the_words_of_the_label_are_verdicts_too():
    """Somebody who fits fraud against ok writes fraud and ok."""
    cells = ["fraud", "OK", "?", ""]
    assert read_words(cells, "f", label=Label("status", "fraud", "ok")).tolist() == [YES, NO, UNSURE, OPEN]
    with pytest.raises(InvalidTable, match="holds 'fraud', 'ok'"):
        read_words(cells, "f")
    # What has a meaning of its own keeps it: the label may be that somebody did not pay.
    assert read_words(["yes", "no"], "f", label=Label("paid", "no", "yes")).tolist() == [YES, NO]
    # No label is not a verdict, and a word that is given wins.
    with pytest.raises(InvalidTable, match="holds 'unlabelled'"):
        read_words(["positive", "unlabelled"], "f", label=Label("s", "positive", "unlabelled"))
    with pytest.raises(InvalidTable, match="holds 'not reported'"):
        read_words(["reported", "not reported"], "f", label=Label("s", "reported", "not reported"))
    assert read_words(["case", "control"], "f", label=Label("s", "case", "control")).tolist() == [YES, NO]
    with pytest.raises(InvalidTable, match="holds 'fraud'"):
        read_words(cells[:2], "f", positive="theft", label=Label("status", "fraud", "ok"))
    several = LabelColumns((Label("a", "hit", "miss"), Label("b", "found", "lost")))
    assert read_words(["hit", "found", "miss"], "f", label=several).tolist() == [YES, YES, NO]
