"""End a process together with all processes that came from it."""

import os
import signal
import subprocess


def end_tree(process: subprocess.Popen) -> None:
    """Kill `process` and its descendants at once, and wait for it.

    Started with `start_new_session`, its whole group goes too. A descendant that left both the
    group and its parent is out of reach.
    """
    if os.name == "nt":
        command = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        if process.poll() is None:
            subprocess.run(command, capture_output=True, check=False)
    else:
        below = _descendants(process.pid) if process.poll() is None else []
        _kill(os.killpg, process.pid)
        for pid in below:
            _kill(os.kill, pid)
    if process.poll() is None:
        process.kill()
    process.wait()


def _kill(function, number: int) -> None:
    try:
        function(number, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _descendants(pid: int) -> list[int]:
    """The processes below `pid`, as `ps` sees them now; none where there is no `ps`."""
    try:
        table = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    children: dict[int, list[int]] = {}
    for line in table.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found
