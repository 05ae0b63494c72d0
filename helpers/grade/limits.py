"""Resource limits for a submission, and which of them this system can enforce."""

import os
import sys
from dataclasses import dataclass, field

MEGABYTE = 1 << 20
MOST_SECONDS, MOST_GIGABYTES = 100_000, 100_000  # more cannot be meant
THREADS = 6  # for each process, on average: Linux counts them as processes


@dataclass(frozen=True)
class Limits:
    """What one check may use.

    seconds: for the check. gigabytes: of memory, all its processes together. processes: at once.
    megabytes: of each file that it writes.
    """

    seconds: float = 60.0
    gigabytes: float = 6.0
    processes: int = 100
    megabytes: int = 256

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= MOST_SECONDS:
            raise ValueError(
                f"a check's seconds are above 0 and at most {MOST_SECONDS:,}, not {self.seconds:g}"
            )
        if self.gigabytes > MOST_GIGABYTES:
            raise ValueError(
                f"a check may use at most {MOST_GIGABYTES:,} GB of memory, not {self.gigabytes:g}"
            )
        if not self.gigabytes >= 1:
            raise ValueError(
                f"a check needs at least 1 GB of memory, for Python and torch: {self.gigabytes:g} "
                "is too little"
            )


@dataclass
class Held:
    """Which limits were held: by name, how; and the names of those that this system cannot hold."""

    held: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        held = ", ".join(f"{name} ({how})" for name, how in self.held.items()) or "none"
        return f"held: {held}" + (f"; not held here: {', '.join(self.open)}" if self.open else "")


def hold_resources(limits: Limits, own_user: bool) -> None:
    """Set this process's own limits, which all that it starts inherits. POSIX; elsewhere nothing.

    own_user: nobody else's processes count for the user that it runs as.
    """
    if os.name != "posix":
        return
    sizes = {"CORE": 0, "FSIZE": limits.megabytes * MEGABYTE}
    if sys.platform == "linux":
        sizes["NPROC"] = limits.processes * THREADS + (0 if own_user else _tasks_of_this_user())
        # Elsewhere torch's maps count for the system's limit of memory, or nothing does.
        sizes["DATA"] = int(limits.gigabytes * 1024) * MEGABYTE
    import resource

    for name, size in sizes.items():
        number = getattr(resource, f"RLIMIT_{name}")
        _, most = resource.getrlimit(number)
        if most != resource.RLIM_INFINITY:
            size = min(size, most)
        resource.setrlimit(number, (size, size))


def _tasks_of_this_user() -> int:
    """How many processes and threads this user has now; the system counts them all."""
    mine, count = os.getuid(), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == mine:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
