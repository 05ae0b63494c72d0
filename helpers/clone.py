"""The clone: the folder in which lessons and tasks lie beside this code."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class NotAClone(ValueError):
    """This is the installed package, which holds neither lessons nor tasks."""


def need_clone(root: Path = ROOT) -> None:
    """Refuse to go on outside of a clone of the lab.

    Raises:
        NotAClone: `root` holds no lessons.
    """
    if not (root / "notebooks").is_dir():
        raise NotAClone(
            f"this is the installed package, in {root}, and lessons and tasks are in a clone of "
            "the lab: run the same command at the top of one"
        )
