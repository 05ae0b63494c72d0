"""Run a command with a time limit, and end everything that it started when the limit is over."""

import os
import signal
import subprocess
from pathlib import Path


def run_limited(command: list[str], folder: Path, seconds: float) -> int | None:
    """The exit code of `command`, run in `folder`; None where it was stopped after `seconds`.

    Its output goes where ours goes. An interrupt (Ctrl-C) ends it too.
    """
    windows = os.name == "nt"
    # A group of its own: a test starts processes, and they must end with it.
    group = {} if windows else {"start_new_session": True}
    process = subprocess.Popen(command, cwd=folder, **group)
    try:
        return process.wait(timeout=max(seconds, 0.1))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if windows:
            if process.poll() is None:
                tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
                subprocess.run(tree, capture_output=True)
        else:
            _end_group(process)
        process.wait()


def _end_group(process: subprocess.Popen) -> None:
    """End what is left of the group: the leader itself, or what outlived it."""
    try:
        if process.poll() is None:
            # A polite signal first: pytest prints the stack and its counts, children clean up.
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
