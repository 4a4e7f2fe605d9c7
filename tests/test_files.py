"""Files appear whole or not at all."""

import pytest

from propense._files import write_atomically
from propense.errors import DownloadFailed, InvalidTable


def test_a_failed_writing_leaves_what_was_there(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("before")

    def break_off():
        with write_atomically(target, InvalidTable) as path:
            path.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]
    assert target.read_text() == "before"
    with (
        pytest.raises(InvalidTable, match=r"out\.csv was not written: No such file"),
        write_atomically(tmp_path / "none" / "out.csv", InvalidTable),
    ):
        pytest.fail("there is nowhere to write")


def test_our_own_errors_are_not_about_the_file(tmp_path):
    with (
        pytest.raises(DownloadFailed, match=r"^the network is down$"),
        write_atomically(tmp_path / "out.csv", InvalidTable),
    ):
        raise DownloadFailed("the network is down")
