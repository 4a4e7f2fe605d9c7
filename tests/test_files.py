"""Files appear whole or not at all."""

import contextlib
import os
import socket
import stat
from pathlib import Path

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


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def device(tmp_path):
    """A device node like /dev/null, where the user may make one."""
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    return tmp_path / "null"


@pytest.fixture
def socket_name(tmp_path):
    with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
    return tmp_path / "socket"


def refuse(target):
    with (
        pytest.raises(InvalidTable, match=f"{target.name} was not written: it is not a regular file"),
        write_atomically(target, InvalidTable),
    ):
        pytest.fail("this is not a file to write")


@pytest.mark.parametrize("kind", ["pipe", "device", "socket_name"])
def test_only_a_regular_file_is_replaced(kind, tmp_path, request):
    target = request.getfixturevalue(kind)
    before = target.stat()
    refuse(target)
    (tmp_path / "link").symlink_to(target)
    refuse(tmp_path / "link")
    assert (target.stat().st_ino, target.stat().st_mode) == (before.st_ino, before.st_mode)
    assert {each.name for each in tmp_path.iterdir()} == {target.name, "link"}


def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    (tmp_path / "self").symlink_to("self")
    refuse(tmp_path / "self")
    read, write = os.pipe()
    try:
        refuse(Path(f"/dev/fd/{write}"))
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("exists", [True, False])
def test_the_file_behind_a_link_is_written(exists, tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "file", tmp_path / "out.csv"
    if exists:
        real.write_text("before")
    link.symlink_to("there/file")
    with write_atomically(link, InvalidTable) as path:
        assert path.name == "out.csv"
        path.write_text("after")
    assert link.is_symlink()
    assert real.read_text() == "after"
    assert [each.name for each in real.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_replaced_file_keeps_its_permissions(mode, tmp_path):
    target = tmp_path / "private.csv"
    target.write_text("before")
    target.chmod(mode)
    with write_atomically(target, InvalidTable) as path:
        path.write_text("after")
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert target.read_text() == "after"


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").touch()
    with write_atomically(tmp_path / "new", InvalidTable) as path:
        path.touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
