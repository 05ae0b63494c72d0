"""Remove what was built or left behind; what people wrote and the environment stay.

python tools/clean.py          build/, caches, what runs left behind
python tools/clean.py --all    the environment (.venv) as well: the next set-up starts anew
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE = ("__pycache__", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", "*.egg-info")


def main(arguments: list[str], root: Path = ROOT) -> int:
    ours = [
        top
        for top in root.iterdir()
        if not top.is_symlink() and top.name not in (".venv", ".git", "build")
    ]
    found = [root / "build", *(top for top in ours if any(map(top.match, MADE)))]
    for top in ours:
        found += [path for pattern in MADE for path in top.rglob(pattern)]
    for path in [*found, *([root / ".venv"] if "--all" in arguments else [])]:
        if path.exists():
            shutil.rmtree(path, ignore_errors=True)
            print(f"{'could not remove' if path.exists() else 'removed'} {path.relative_to(root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
