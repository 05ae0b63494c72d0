"""Ranks that are forked from the process that is here, which has imported torch already.

`helpers.ranks` starts its server as a fresh interpreter, which imports torch for seconds. A
workshop is itself a copy of a process that has imported torch and has done nothing else, so its
server can be a copy too.
"""

import os
import signal
import socket
import threading

from helpers.ranks.forkserver import ForkServer, possible, serve
from helpers.ranks.pool import the_pool


def use_forked_ranks() -> None:
    """Let `launch` fork its ranks from this process, where ranks can be forked."""
    if possible():
        the_pool()._server = _ServerHere()


class _ServerHere(ForkServer):
    """The server of ranks, forked from this process instead of started."""

    def __init__(self):
        mine, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                mine.close()
                os.setsid()
                serve(theirs.detach())
            finally:
                os._exit(1)
        theirs.close()
        self._socket, self.process = mine, _Child(pid)
        self._lock, self._change = threading.Lock(), threading.Condition()
        self._began, self._ended = [], {}
        self._gone = self.ready = False
        self.trains = True  # none is better
        threading.Thread(target=self._listen, daemon=True).start()


class _Child:
    """A forked process, with as much of `subprocess.Popen` as the server's owner needs."""

    def __init__(self, pid: int):
        self.pid, self._status = pid, None

    def poll(self) -> int | None:
        if self._status is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if found else None
        return self._status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status
