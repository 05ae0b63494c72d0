"""Start ranks, wait for them, and end all where one has failed."""

import sys
import time
from collections.abc import Callable, Sequence

from torch.multiprocessing import Process

POLL_S = 0.05
SPEAKS_S = 60.0  # for rank 0: a busy machine may not have started it yet


def run_ranks(target: Callable, jobs: Sequence[tuple]) -> int:
    """A process for each tuple of arguments. Gives 0, or the exit code of the first to fail.

    Where one fails, the others would wait for it for ever: they are ended.
    """
    processes = [Process(target=target, args=job) for job in jobs]
    try:
        for process in processes:
            process.start()
        return _wait(processes)
    finally:
        for process in processes:
            if process.pid is not None and process.is_alive():
                process.terminate()
        for process in processes:
            if process.pid is not None:
                process.join()


def _wait(processes: list[Process]) -> int:
    while any(process.exitcode is None for process in processes):
        for rank, process in enumerate(processes):
            if process.exitcode:
                if process.exitcode == 2:  # a wrong input: rank 0 found it too, and says so
                    processes[0].join(SPEAKS_S)
                else:
                    print(
                        f"error: rank {rank} failed with code {process.exitcode}; the others were "
                        "ended",
                        file=sys.stderr,
                    )
                return process.exitcode
        time.sleep(POLL_S)
    return max((abs(process.exitcode) for process in processes), default=0)
