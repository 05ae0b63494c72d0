"""Run a command with a time limit, and end everything that it started when the limit is over."""

import os
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO

LOOK_S = 0.05  # between two looks at what runs


def run_limited(command: list[str], folder: Path, seconds: float) -> int | None:
    """The exit code of `command`, run in `folder`; None where it was stopped after `seconds`.

    Its output goes where ours goes. An interrupt (Ctrl-C) ends it too.
    """
    running = limited(command, folder, seconds)
    try:
        while True:
            next(running)
            time.sleep(LOOK_S)
    except StopIteration as end:
        return end.value
    finally:
        running.close()


def limited(
    command: list[str], folder: Path, seconds: float, output: IO | None = None
) -> Generator[None, None, int | None]:
    """The same, for several at once: yields as long as it runs; to close it is to end it.

    output: an open file for all that it says.
    """
    windows = os.name == "nt"
    # A group of its own: a test starts processes, and they must end with it.
    group = {} if windows else {"start_new_session": True}
    errors = None if output is None else subprocess.STDOUT
    process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors, **group)
    end = time.monotonic() + max(seconds, 0.1)
    try:
        while process.poll() is None:
            if time.monotonic() > end:
                return None
            yield
        return process.returncode
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
