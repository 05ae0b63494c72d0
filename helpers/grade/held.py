"""Which limits this system holds work to, seen by beginning a check as every check begins."""

import tempfile
from pathlib import Path

from helpers.grade.limits import Held, Limits
from helpers.grade.submission import WorkFailed
from helpers.grade.task import ROOT
from helpers.grade.workshop import Order
from helpers.grade.workshop_client import Workshop


def held_here(limits: Limits) -> tuple[Held, str]:
    """The limits that hold here; and why there is no world of its own for work, or "".

    Raises WorkFailed where no check can begin at all.
    """
    with tempfile.TemporaryDirectory(prefix="limits-", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        (place / "work").mkdir()
        try:
            return _begin(Workshop(), place, limits, alone=True), ""
        except WorkFailed as refused:
            return _begin(Workshop(fork=False), place, limits, alone=False), str(refused)


def _begin(workshop: Workshop, place: Path, limits: Limits, alone: bool) -> Held:
    try:
        return workshop.open(Order(str(place), str(ROOT / "tasks"), limits, alone))
    finally:
        workshop.close()


def show_limits(limits: Limits) -> int:
    """Print a line for each limit. 0 if all hold, 1 if not."""
    held, why = held_here(limits)
    lines = [f"held      {name}: {how}" for name, how in held.held.items()]
    lines += [f"NOT HELD  {name}" for name in held.open]
    if held.open:
        reason = f" ({why})" if why else ""
        lines.append(f"Work would run as you, and could read and change your files{reason}.")
        lines.append('What to do: "What holds a submission" in TEACHING.md.')
    print("\n".join(lines))
    return 1 if held.open else 0
