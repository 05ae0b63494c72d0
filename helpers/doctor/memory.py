"""How much memory this machine has, on Linux, macOS and Windows, with Python's own library."""

import ctypes
import platform
import re
import subprocess
from pathlib import Path


def memory() -> tuple[int | None, int | None]:
    """Bytes that we may use in all, and bytes that are free now; None: could not be found out."""
    find = {"Linux": _linux, "Darwin": _macos, "Windows": _windows}.get(platform.system())
    try:
        return find() if find else (None, None)
    except (OSError, ValueError, KeyError, AttributeError, subprocess.SubprocessError):
        return None, None


def _linux() -> tuple[int, int]:
    lines = Path("/proc/meminfo").read_text().splitlines()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    total, free = 1024 * kilobytes["MemTotal"], 1024 * kilobytes["MemAvailable"]
    limit = container_limit()
    return (min(total, limit), min(free, limit)) if limit else (total, free)


def container_limit(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that a container may use (control groups, both versions), or None without a limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            continue
        # Version 1 writes "no limit" as a number close to 2**63.
        if text.isdigit() and int(text) < 2**60:
            return int(text)
    return None


def _macos() -> tuple[int, int | None]:
    def said(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout

    total = int(said("sysctl", "-n", "hw.memsize"))
    pages = said("vm_stat")
    size = re.search(r"page size of (\d+)", pages)
    free = re.findall(r"Pages (?:free|inactive|speculative):\s+(\d+)", pages)
    return total, (int(size.group(1)) * sum(map(int, free)) if size and free else None)


def _windows() -> tuple[int, int]:
    class Status(ctypes.Structure):  # MEMORYSTATUSEX
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "page", "page_free", "virtual", "virtual_free", "more")
        ]

    status = Status(length=ctypes.sizeof(Status))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        raise OSError("GlobalMemoryStatusEx failed")
    return status.total, status.free
