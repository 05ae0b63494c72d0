"""Run a module of the cluster in a process of its own: one order in, one answer out, then the end.

    python -m cluster.apart MODULE     the order as JSON on stdin, the answer as JSON on stdout

A keeper stands between the two processes: it ends what the module's process has left running, also
where that has a session of its own (Linux; elsewhere, what is still below it or in its group).
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers.grade.keep import adopt, wait_and_end
from helpers.grade.limits import Limits, hold_resources
from helpers.grade.tree import end_tree
from helpers.grade.watch import Watch, end_below

PUZZLES = Path(__file__).resolve().parents[1]
GIGABYTES = 4.0
MOST_BYTES = 200_000_000  # of an answer


def ask_apart(
    module: str, order: dict, seconds: float, who: str, gigabytes: float = GIGABYTES
) -> tuple[object, str]:
    """(the answer of MODULE.answer(order), "") or (None, why there is none).

    After `seconds` the process is ended with all that it started. It has so much memory and 100
    processes, as far as this system can hold it to that. who: the process, in that sentence.
    """
    folders = [str(PUZZLES), str(PUZZLES.parent)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders), "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory(prefix="puzzle-", ignore_cleanup_errors=True) as place:
        with open(Path(place, "answer"), "w+b") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cluster.apart", module],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=place,
                env=environment,
                start_new_session=os.name == "posix",
            )
            limits = Limits(seconds, gigabytes)
            watch = Watch(process.pid, limits)
            try:
                text = json.dumps(order | {"gigabytes": gigabytes}).encode()
                process.communicate(text, timeout=seconds)
            except subprocess.TimeoutExpired:
                return None, f"{who} did not end within {seconds:g} s, and was stopped"
            finally:
                watch.stop()
                end_below(process.pid)
                end_tree(process)
            if watch.reason:
                return None, f"{who} was stopped: {watch.reason}"
            out.seek(0)
            text = out.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        return None, f"{who} wrote more than {MOST_BYTES:,} bytes"
    if not text:
        return None, f"{who} ended without an answer, with exit status {process.returncode}"
    try:
        return json.loads(text), ""
    except (ValueError, RecursionError, MemoryError):
        return None, f"{who} gave an answer that makes no sense"


def main(module: str) -> None:
    """Be the keeper; in a copy of this process, serve one order."""
    if hasattr(os, "fork"):
        adopt()
        child = os.fork()
        if child:
            status = wait_and_end(child)
            os._exit(status if status >= 0 else 128 - status)
    answer = os.dup(1)
    order = json.load(sys.stdin)
    os.dup2(2, 1)
    hold_resources(Limits(gigabytes=order["gigabytes"]), own_user=False)
    found = importlib.import_module(module).answer(order)
    with open(answer, "wb") as pipe:
        pipe.write(json.dumps(found).encode())


if __name__ == "__main__":
    main(sys.argv[1])
