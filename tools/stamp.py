"""The stamp of a finished set-up: what .venv holds, and whether that is what is asked for.

While set-up runs, the stamp says "unfinished". It stays so only where set-up was killed, and then
nobody knows what the environment holds.
"""

import hashlib
import json
import os
from pathlib import Path

NAME = "lab-stamp.json"
UNFINISHED = {"unfinished": True}


def venv_python(venv: Path, system: str = os.name) -> Path:
    """The interpreter of a virtual environment."""
    return venv / "Scripts" / "python.exe" if system == "nt" else venv / "bin" / "python"


def state(root: Path, extras: set[str], wanted: str) -> dict:
    """What the stamp says when everything is in place."""
    return {
        "pyproject": hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest(),
        "folder": str(root),  # a folder that was moved or copied is set up again
        "extras": sorted(extras),
        "torch": wanted,
    }


def read(venv: Path) -> dict:
    """The stamp, or {} where there is none that can be read."""
    try:
        stamp = json.loads((venv / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write(venv: Path, stamp: dict) -> None:
    (venv / NAME).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def remove(venv: Path) -> None:
    (venv / NAME).unlink(missing_ok=True)


def in_place(venv: Path, needed: dict) -> bool:
    """Whether the environment already holds what is needed (or more: other extras)."""
    stamp = read(venv)
    if any(stamp.get(key) != needed[key] for key in ("pyproject", "folder")):
        return False
    if needed["torch"] not in ("auto", stamp.get("torch")):
        return False
    return set(needed["extras"]) <= set(stamp.get("extras", [])) and venv_python(venv).exists()
