"""Remove what was built or left behind; what people wrote and the environment stay.

python tools/clean.py          build/, caches, what runs left behind
python tools/clean.py --all    the environment (.venv) as well: the next set-up starts anew
"""

import argparse
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("__pycache__", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", "*.egg-info")


def leftovers(root: Path, everything: bool) -> list[Path]:
    """What would be removed from `root`: nothing inside .venv or .git, unless .venv goes whole."""
    found = [path for path in (root / "build",) if path.exists()]
    for top in root.iterdir():
        if top.name in (".venv", ".git", "build"):
            continue
        for pattern in FOLDERS:
            found += [top] if top.match(pattern) else []
            found += top.rglob(pattern) if top.is_dir() and not top.is_symlink() else []
    if everything and (root / ".venv").exists():
        found.append(root / ".venv")
    return sorted(set(found))


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Remove what was built or left behind.")
    parser.add_argument("--all", action="store_true", help="the environment (.venv) as well")
    for path in leftovers(root, parser.parse_args(arguments).all):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        print(
            f"removed {path.relative_to(root)}" if not path.exists() else f"could not remove {path}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
