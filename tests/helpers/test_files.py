"""write_whole writes the whole file, or leaves the old one and says why in a clear sentence."""

import os

import pytest

from helpers.files import as_path, write_whole
from tests.said import said


def test_writes_text_and_bytes_makes_folders_keeps_links_and_follows_the_umask(tmp_path):
    path = write_whole(tmp_path / "a" / "b" / "text.txt", "naïve\r\nline\n")
    assert path.read_bytes() == "naïve\r\nline\n".encode()
    link = path.with_name("link.txt")
    link.symlink_to(path.name)
    before = os.umask(0o022)
    try:
        write_whole(str(link), b"\x00\xff")
    finally:
        os.umask(before)
    assert link.is_symlink() and path.read_bytes() == b"\x00\xff"
    assert path.stat().st_mode & 0o777 == 0o644
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["link.txt", "text.txt"]


def test_what_is_stopped_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "trace.json"
    path.write_text("old")

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("/dev/full", "cannot write /dev/full: the disk is full; free some space or choose"),
        (".", "it is a folder; add a file name to the path"),
        ("file/trace.json", "a part of the path is a file, not a folder; choose"),
        ("n" * 300, "the name is too long; choose a shorter one"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(place, words, tmp_path):
    (tmp_path / "file").write_text("x")
    assert words in said(write_whole, tmp_path / place, "x" * 100_000, error=OSError)
    assert os.path.exists("/dev/full") and not os.path.isfile("/dev/full")


@pytest.mark.parametrize("path", ["a\0b", 5])
def test_what_is_no_path_is_said_so(path):
    with pytest.raises((TypeError, ValueError), match="path"):
        as_path(path)
