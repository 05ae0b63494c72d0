"""The folder that an edition is written to, and the files that belong to it."""

import os
import subprocess

import pytest

from helpers.grade.folder import Content, FolderError, write_folder
from helpers.grade.tracked import MARKER, tracked_files

from .conftest import contents

FILES = {"a.txt": Content(b"a"), "lab/run.sh": Content(b"b", executable=True)}


def test_a_folder_is_written_whole_and_replaced_whole(tmp_path):
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)  # an empty one is taken
    write_folder(out, FILES)
    first = contents(out)
    assert sorted(first) == [MARKER, "a.txt", "lab/run.sh"]
    if os.name == "posix":
        assert os.access(out / "lab/run.sh", os.X_OK) and not os.access(out / "a.txt", os.X_OK)
    (out / ".venv").mkdir()
    write_folder(out, dict(reversed(FILES.items())))
    assert contents(out) == first and not (out / ".venv").exists()
    # A file can't stand where a folder must be: like a full disk, it stops the writing midway.
    with pytest.raises(FolderError, match="could not be written and is as it was before"):
        write_folder(out, {"a": Content(b""), "a/b": Content(b"")})
    assert contents(out) == first and list(out.parent.iterdir()) == [out]


def test_where_the_folder_is_published_its_history_stays(tmp_path):
    out = tmp_path / "course"
    write_folder(out, FILES)
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write_folder(out, {"a.txt": FILES["a.txt"]})
    assert sorted(contents(out)) == [".git/HEAD", MARKER, "a.txt"]


@pytest.mark.parametrize("marker", [None, "", "[]", '{"files": 3}'])
@pytest.mark.parametrize("force", [False, True])
def test_never_replaces_a_folder_of_somebody_else(tmp_path, marker, force):
    (tmp_path / "thesis.txt").write_bytes(b"years of work")
    if marker is not None:
        (tmp_path / MARKER).write_text(marker)
    before = contents(tmp_path)
    with pytest.raises(FolderError, match="was not written by this program"):
        write_folder(tmp_path, FILES, force)
    with pytest.raises(FolderError, match="thesis.txt is not a folder: name another with --out"):
        write_folder(tmp_path / "thesis.txt", FILES)
    assert contents(tmp_path) == before


def test_work_in_it_is_kept_unless_forced(tmp_path):
    write_folder(tmp_path / "out", FILES)
    (tmp_path / "out" / "a.txt").write_bytes(b"my solution")
    with pytest.raises(FolderError, match="a.txt has been changed since it was written"):
        write_folder(tmp_path / "out", FILES)
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"my solution"
    write_folder(tmp_path / "out", FILES, force=True)
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"a"


def test_what_git_tracks_and_what_looks_so_without_git(tmp_path, monkeypatch):
    made = ("build/c.txt", ".venv/d.py", "lab/__pycache__/e.pyc", "old/a.py", f"old/{MARKER}")
    for name in ("a.py", "lab/é.txt", "gone.txt", *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    walked = ["a.py", "gone.txt", "lab/é.txt"]
    assert tracked_files(tmp_path) == (walked, "there is no .git here")
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    names, source = tracked_files(tmp_path)
    assert names == walked and source.startswith("git said: fatal: not a git repository")
    (tmp_path / ".git").unlink()
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init"], check=True, capture_output=True)
    assert tracked_files(tmp_path) == (walked, "git tracks no file here yet")
    subprocess.run([*git, "add", "a.py", "build/c.txt", "gone.txt", "lab/é.txt"], check=True)
    (tmp_path / "gone.txt").unlink()
    assert tracked_files(tmp_path) == (["a.py", "build/c.txt", "lab/é.txt"], "git")
    monkeypatch.setenv("PATH", "")
    assert tracked_files(tmp_path)[1] == "git is not installed"
