"""Where code is: the innermost line that the student wrote, and its text."""

import linecache
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

Frame = tuple[str, int, str]  # file, line, function
Frames = Sequence[Frame]
NOWHERE: Frame = ("", 0, "")
CELLS: dict[str, str] = {}  # file name -> what to call it, "cell [7]", for cells of a notebook


@dataclass(frozen=True)
class Where:
    """A place in the student's code: " at line 4 of cell [7], in train", and the line itself."""

    phrase: str = ""
    line: str = ""
    frame: Frame = NOWHERE


def locate(frames: Frames) -> Where:
    """Return the innermost frame in the student's own code, or else the innermost of any.

    frames: the outermost first.
    """
    frames = [f for f in frames if f[0] and not f[0].startswith("<frozen")]
    mine = [f for f in frames if f[0] in CELLS or not is_library(f[0])]
    if not mine:
        return Where()
    name, number, function = mine[-1]
    inside = f", in {function}" if function not in ("", "<module>") else ""
    source = linecache.getline(name, number).rstrip()
    line = f"  {number:>4} | {source}" if source.strip() else ""
    phrase = f" at line {number} of {CELLS.get(name, Path(name).name)}{inside}"
    return Where(phrase, line, mine[-1])


def caller(frame: FrameType | None) -> Frame:
    """Return the student's innermost frame, from `frame` outward, or else the outermost."""
    found = ("", 0, "")
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen"):
            found = (name, frame.f_lineno, frame.f_code.co_name)
            if not is_library(name):
                return found
        frame = frame.f_back
    return found


@cache
def is_library(name: str) -> bool:
    """Return whether a file belongs to Python, an installed package, or this project."""
    if name.startswith("<"):
        return not name.startswith("<cell")  # a cell that runs on ranks
    return any(str(Path(name)).startswith(prefix) for prefix in _libraries())


@cache
def _libraries() -> tuple[str, ...]:
    home = Path(__file__).resolve().parents[2]
    paths = sysconfig.get_paths()
    library = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    library += [str(home / name) for name in ("helpers", "simplellm", "tasks")]
    library.append(sys.base_prefix + "/lib/python")
    return tuple(library)
