import subprocess

import pytest

from helpers.grade.tracked import MARKER, tracked_files


@pytest.fixture
def repository(tmp_path):
    for name in ("a.py", "lab/b.txt", "build/c.txt", ".venv/d.py", "lab/__pycache__/e.pyc"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_what_git_tracks(repository):
    git(repository, "init")
    (repository / "not added.txt").write_text("x")
    (repository / "gone.txt").write_text("x")
    (repository / "é.txt").write_text("x")
    git(repository, "add", "a.py", "build/c.txt", "gone.txt", "é.txt")
    (repository / "gone.txt").unlink()
    assert tracked_files(repository) == (["a.py", "build/c.txt", "é.txt"], "git")


def test_without_git_all_that_was_not_made(repository):
    (repository / "old").mkdir()
    (repository / "old" / MARKER).write_text("{}")
    (repository / "old" / "a.py").write_text("x")
    assert tracked_files(repository) == (["a.py", "lab/b.txt"], "there is no .git here")


def test_git_that_tracks_nothing(repository):
    git(repository, "init")
    names, source = tracked_files(repository)
    assert (names, source) == (["a.py", "lab/b.txt"], "git tracks no file here yet")


def test_git_that_fails(repository):
    (repository / ".git").write_text("gitdir: nowhere\n")
    names, source = tracked_files(repository)
    assert names == ["a.py", "lab/b.txt"]
    assert source.startswith("git said: fatal: not a git repository")


def test_no_git_program(repository, monkeypatch):
    git(repository, "init")
    monkeypatch.setenv("PATH", "")
    assert tracked_files(repository)[1] == "git is not installed"
