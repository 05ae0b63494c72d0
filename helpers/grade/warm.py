"""One process that has imported torch, of which every judge is a copy: a check starts at once.

As for ranks (`helpers.ranks.forkserver`): importing takes seconds, a copy milliseconds, and a
process that has imported and has done nothing else may be copied as often as one likes. No line of
any work runs in it. Its environment is the scrubbed one, so what it hands down holds no secret.

Between it and a judge stands a keeper, which waits for the judge, ends what the judge has left
behind, and tells the judge's exit status; so the caller needs to know one process only.
"""

import array
import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache

from helpers.grade.keep import adopt, wait_and_end
from helpers.grade.watch import end_below
from helpers.ranks.pool import rank_defaults

LIBRARIES = ("numpy", "torch.distributed", "psutil", "cloudpickle")
LAB = ("helpers.hang.watch", "helpers.ranks.connect", "helpers.ranks.worker", "helpers.ranks")
LAB += ("helpers.oracle", "helpers.grade.judge", "helpers.grade.forked")
NUMBER = array.array("q").itemsize


class WarmJudge:
    """A judge that was copied: its three pipes, and how it ends."""

    def __init__(self, pipes: list[int], told: int):
        self.stdin = os.fdopen(pipes[0], "wb")
        self.stdout, self.stderr = (os.fdopen(pipe, "rb") for pipe in pipes[1:])
        self._told = told
        self._keeper = int.from_bytes(os.read(told, NUMBER), sys.byteorder)
        if not self._keeper:
            raise OSError("the process that starts judges has died")

    def wait(self, seconds: float) -> int | None:
        """The exit status, or None where it has not ended within `seconds`."""
        if not select.select([self._told], [], [], seconds)[0]:
            return None
        data = os.read(self._told, NUMBER)
        return int.from_bytes(data, sys.byteorder, signed=True) if data else -signal.SIGKILL

    def end(self) -> None:
        """End it now, and everything that came from it."""
        end_below(self._keeper)
        os.close(self._told)


class Warm:
    """The owner's side of the process. libraries: what it imports besides."""

    def __init__(self, environment: dict[str, str], libraries: tuple[str, ...] = ()):
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()  # several checks may be asked for at once
        call = f"serve({theirs.fileno()}, {libraries!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from helpers.grade.warm import serve; {call}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=rank_defaults() | environment,
            start_new_session=True,
        )
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it, and the judges that it has made."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def judge(self) -> WarmJudge:
        """A new judge. Raises OSError where the process has died."""
        mine, theirs = [], []
        for reads in (True, False, False, False):  # its stdin, stdout, stderr; the keeper's word
            read, write = os.pipe()
            theirs.append(read if reads else write)
            mine.append(write if reads else read)
        try:
            with self._lock:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", theirs))
                self._socket.sendmsg([b"j"], [rights])
        finally:
            for pipe in theirs:
                os.close(pipe)
        return WarmJudge(mine[:3], mine[3])


@cache
def the_warm() -> dict[tuple, Warm]:
    """Where this program keeps such a process, by its environment; empty before the first check."""
    return {}


def serve(descriptor: int, libraries: tuple[str, ...] = ()) -> None:
    """The process itself: import once, then copy whenever it is asked; ends with its owner."""
    for name in (*LIBRARIES, *LAB, *libraries):
        try:
            importlib.import_module(name)
        except ImportError:  # no torch: the check will say so, in words
            continue
    gc.collect()
    gc.freeze()  # what is there now stays shared between all copies
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a keeper
    with socket.socket(fileno=descriptor) as control:
        while True:
            data, rights, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4 * 4))
            if not data:
                break
            pipes = array.array("i")
            pipes.frombytes(rights[0][2])
            if os.fork() == 0:
                control.close()
                _keep(list(pipes))
            for pipe in pipes:
                os.close(pipe)
    os._exit(0)


def _keep(pipes: list[int]) -> None:
    """The keeper: start the judge, wait for it, end what it left, tell how it ended."""
    from helpers.grade.confine import die_with_parent

    told, status = pipes[3], -signal.SIGKILL
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent()
        adopt()
        os.setsid()
        os.write(told, os.getpid().to_bytes(NUMBER, sys.byteorder))
        judge = os.fork()
        if judge == 0:
            _become_a_judge(pipes)
        for pipe in pipes[:3]:
            os.close(pipe)
        status = wait_and_end(judge)
        os.write(told, status.to_bytes(NUMBER, sys.byteorder, signed=True))
    finally:
        os._exit(0)


def _become_a_judge(pipes: list[int]) -> None:
    from helpers.grade.confine import die_with_parent
    from helpers.grade.judge import main

    try:
        die_with_parent()
        for target, pipe in enumerate(pipes[:3]):
            os.dup2(pipe, target)
        for pipe in pipes:
            os.close(pipe)
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        code = 1
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
