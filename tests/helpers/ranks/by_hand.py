"""Processes that a person starts at once, as in as many terminals."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from helpers.ranks.environment import free_port


def ended(*calls: list[str], port: int | None = None) -> list[subprocess.CompletedProcess]:
    """Start a process for each call, and wait for all. port: at which the ranks meet."""
    environ = os.environ | {"MASTER_PORT": str(port or free_port())}
    run = partial(subprocess.run, capture_output=True, text=True, env=environ, timeout=250)
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
