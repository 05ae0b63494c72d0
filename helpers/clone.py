"""The clone: the folder in which lessons and tasks lie beside this code."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def need_clone() -> None:
    """Raise ValueError if this is the installed package, which has neither lessons nor tasks."""
    if not (ROOT / "notebooks").is_dir():
        raise ValueError(
            f"this is the installed package, in {ROOT}, and lessons and tasks are in a clone of "
            "the lab: run the same command at the top of one"
        )
