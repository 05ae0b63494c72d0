"""write_whole: the whole file, or the old one and a clear sentence."""

import errno
import os
import sys
from pathlib import Path

import pytest

from helpers import files
from helpers.files import as_path, write_whole


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_writes_text_and_bytes_and_makes_folders(tmp_path):
    path = write_whole(tmp_path / "a" / "b" / "text.txt", "naïve\r\nline\n")
    assert path.read_bytes() == "naïve\r\nline\n".encode()
    write_whole(str(path), b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert left_in(path.parent) == ["text.txt"]


@pytest.mark.parametrize(
    ("call", "number", "words"),
    [
        ("fsync", errno.ENOSPC, "the disk is full; free some space or choose another folder"),
        ("fsync", getattr(errno, "EDQUOT", errno.ENOSPC), "the disk is full; free some space"),
        ("fsync", errno.EIO, "the system says 'Input/output error'; choose another"),
        ("replace", errno.EACCES, "the permission is missing, "),
    ],
)
def test_what_the_system_refuses_leaves_the_old_file_and_no_litter(
    call, number, words, tmp_path, monkeypatch
):
    path = tmp_path / "trace.json"
    path.write_text("old")

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, call, refuse)
    with pytest.raises(OSError) as caught:
        write_whole(path, "new")
    assert str(caught.value).startswith(f"cannot write {path}: {words}")
    assert caught.value.errno == number
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["trace.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_device_that_is_always_full():
    with pytest.raises(OSError, match="cannot write /dev/full: the disk is full"):
        write_whole("/dev/full", "x" * 100_000)
    assert not os.path.isfile("/dev/full"), "the device was replaced by a file"


def test_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "x.json", "new")
    assert left_in(tmp_path) == []


def test_a_folder_in_place_of_the_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path, "x")
    assert str(caught.value) == (
        f"cannot write {tmp_path}: it is a folder; add a file name to the path"
    )


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="a part of the path is a file, not a folder; choose"):
        write_whole(tmp_path / "file" / "trace.json", "x")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX names")
def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(OSError, match="the name is too long; choose a shorter one"):
        write_whole(tmp_path / ("n" * 300), "x")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_whole(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o022)
    try:
        path = write_whole(tmp_path / "x", "x")
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("path", ["\0", "a\0b", None, 5])
def test_what_is_no_path_is_said_so(path):
    with pytest.raises((TypeError, ValueError), match="path"):
        as_path(path)
