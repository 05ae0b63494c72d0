"""Which files belong to a repository: those that git tracks; without git, all that nothing made."""

import os
import subprocess
from fnmatch import fnmatch
from pathlib import Path

MARKER = ".student-edition"  # stands in a folder that was written as a student edition
MADE = ".git .venv build runs __pycache__ .*_cache .ipynb_checkpoints *.egg-info *.py[co]".split()
MADE += "*.log out[0-9]*.txt .DS_Store".split()


def tracked_files(root: Path) -> tuple[list[str], str]:
    """The files of the repository at `root`, sorted, with "/"; and who said so: "git" or why not.

    A file that git tracks and that is not there any more is left out.
    """
    names, why_not = _ask_git(root)
    if not names:
        names = _walk(root)
    return sorted(name for name in names if (root / name).is_file()), why_not or "git"


def _ask_git(root: Path) -> tuple[list[str], str]:
    if not (root / ".git").exists():
        return [], "there is no .git here"
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True
        )
    except FileNotFoundError:
        return [], "git is not installed"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return [], f"git said: {lines[0] if lines else error.returncode}"
    names = [os.fsdecode(name) for name in answer.stdout.split(b"\0") if name]
    return names, "" if names else "git tracks no file here yet"


def _walk(root: Path) -> list[str]:
    """Every file below `root`, except for what is made, and for student editions."""
    found = []
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = [
            name for name in folders if not _is_made(name) and not (here / name / MARKER).exists()
        ]
        found += [
            (here / name).relative_to(root).as_posix() for name in files if not _is_made(name)
        ]
    return found


def _is_made(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in MADE)
