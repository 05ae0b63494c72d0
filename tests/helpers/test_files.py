"""write_whole: the whole file, or the old one and a clear sentence."""

import errno
import os
import sys
from pathlib import Path

import pytest

from helpers import files
from helpers.files import write_whole


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_writes_text_and_bytes_and_makes_folders(tmp_path):
    path = write_whole(tmp_path / "a" / "b" / "text.txt", "naïve\r\nline\n")
    assert path.read_bytes() == "naïve\r\nline\n".encode()
    write_whole(str(path), b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert left_in(path.parent) == ["text.txt"]


@pytest.mark.parametrize("number", [errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)])
def test_full_disk_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, number):
    path = tmp_path / "trace.json"
    path.write_text("old")

    def disk_is_full(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", disk_is_full)
    with pytest.raises(OSError) as caught:
        write_whole(path, "new")
    assert str(caught.value) == (
        f"cannot write {path}: the disk is full; free some space or choose another folder"
    )
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


def test_missing_permission(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(files.os, "replace", forbidden)
    with pytest.raises(PermissionError, match="the permission is missing, .*that is yours"):
        write_whole(tmp_path / "x.json", "x")
    assert left_in(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX names")
def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(OSError, match="the name is too long; choose a shorter one"):
        write_whole(tmp_path / ("n" * 300), "x")


def test_an_unknown_cause_is_quoted(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files.os, "fsync", broken)
    with pytest.raises(OSError, match="the system says 'Input/output error'; choose another"):
        write_whole(tmp_path / "x", "x")


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
