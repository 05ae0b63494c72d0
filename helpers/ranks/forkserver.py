"""One interpreter imports torch, and every rank is a copy of it: a start costs milliseconds.

Importing torch takes one to two seconds of a core, for each rank of each launch. On Linux a process
that has imported torch, and done nothing else, can be forked any number of times (one that has
computed can't, because a fork doesn't inherit its threads). So the first launch starts this server,
and each rank is forked from it. Elsewhere ranks are fresh interpreters.

The server talks to its owner over one socket: a request carries the three pipes of the new rank;
the answers are (pid, None) for a rank that has started and (pid, status) for one that has ended.
When the owner dies, the socket closes, and the server ends with it.
"""

import array
import contextlib
import gc
import importlib
import io
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial

_ANSWER = struct.Struct("!qq?")  # pid, status, whether it has ended


def possible() -> bool:
    """Return whether ranks can be forked here. LAB_FORK=0 turns it off."""
    return sys.platform == "linux" and os.environ.get("LAB_FORK", "1") != "0"


class ForkServer:
    """The owner's side: start the server, and ask it for processes.

    Args:
        environment: of a fresh interpreter; None forks the server from this process, which has
            imported torch and done nothing else.
        imports: modules that a fresh interpreter imports besides.
    """

    def __init__(
        self,
        environment: dict[str, str] | None,
        imports: Iterable[str] = (),
    ):
        mine, theirs = socket.socketpair()
        self._socket = mine
        self._lock = threading.Lock()
        self._began: list[int] = []
        self._ended: dict[int, int] = {}
        self._change = threading.Condition()
        self._gone = False
        if environment is None:
            self.process = _forked_server(mine, theirs)
        else:
            self.process = _fresh_server(theirs, environment, *imports)
        theirs.close()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def alive(self) -> bool:
        return not self._gone and self.process.poll() is None

    def fork(self) -> "Forked":
        """Fork a process that waits for its job; raise OSError if the server has died."""
        inner, outer = _pipes()
        try:
            with self._lock:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", inner))
                self._socket.sendmsg([b"f"], [rights])
                with self._change:
                    while not self._began and not self._gone:
                        self._change.wait()
                    if not self._began:
                        raise OSError
                    pid = self._began.pop(0)
        except OSError as error:
            for descriptor in outer:
                os.close(descriptor)
            raise OSError(
                "the process that ranks are forked from has died: run it again"
            ) from error
        finally:
            for descriptor in inner:
                os.close(descriptor)
        return Forked(self, pid, outer)

    def status(self, pid: int, wait: bool) -> int | None:
        """Return the exit status of a process, or None while it runs."""
        with self._change:
            while wait and pid not in self._ended and not self._gone:
                self._change.wait()
            gone = -signal.SIGKILL if self._gone else None
            return self._ended.get(pid, gone)

    def retire(self) -> None:
        """Start no more ranks; the server ends once the last rank that it started has ended."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the server, but not the ranks that it has started."""
        self._socket.close()
        self.process.kill()
        self.process.wait()

    def _listen(self) -> None:
        try:
            while data := self._socket.recv(_ANSWER.size, socket.MSG_WAITALL):
                pid, status, ended = _ANSWER.unpack(data)
                with self._change:
                    if ended:
                        self._ended[pid] = status
                    else:
                        self._began.append(pid)
                    self._change.notify_all()
        except (OSError, struct.error):
            pass
        with self._change:
            self._gone = True
            self._change.notify_all()


def fork_ranks(count: int) -> list["Child"]:
    """Fork processes that wait for a job from this one, which has imported torch, started no
    thread, and done nothing else."""
    children, ours = [], []
    for _ in range(count):
        inner, outer = _pipes()
        ours += outer
        pid = os.fork()
        if pid == 0:  # a rank ends with its pipes, so it may not hold those of the others
            _become_a_rank(inner, partial(list, map(os.close, ours)))
        os.setpgid(pid, pid)
        for pipe in inner:
            os.close(pipe)
        children.append(Child(pid, outer))
    return children


def _pipes() -> tuple[list[int], list[int]]:
    """A new process's stdin, stdout and stderr, and the other ends of these pipes."""
    (stdin, orders), (news, stdout), (text, stderr) = (os.pipe() for _ in range(3))
    return [stdin, stdout, stderr], [orders, news, text]


def _files(outer: list[int]) -> list[io.FileIO]:
    modes = ("wb", "rb", "rb")
    return [os.fdopen(pipe, mode, buffering=0) for pipe, mode in zip(outer, modes, strict=True)]


def _fresh_server(
    theirs: socket.socket, environment: dict[str, str], *imports: str
) -> subprocess.Popen:
    call = f"serve{(theirs.fileno(), *imports)}"
    return subprocess.Popen(
        [sys.executable, "-c", f"from helpers.ranks.forkserver import serve; {call}"],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        env=environment,
        # Ctrl-C in a terminal is for the owner alone. Not a new session: Linux may divide the
        # CPU among sessions first, and priorities don't count across sessions.
        process_group=0,
    )


def _forked_server(mine: socket.socket, theirs: socket.socket) -> "Child":
    pid = os.fork()
    if pid == 0:
        try:
            mine.close()
            os.setpgid(0, 0)
            serve(theirs.detach())
        finally:
            os._exit(1)
    return Child(pid)


class Child:
    """A forked process, with as much of `subprocess.Popen` as its owner needs; pipes for a rank."""

    def __init__(self, pid: int, pipes: list[int] | None = None):
        self.pid, self._status, self._lock = pid, None, threading.Lock()
        if pipes:
            self.stdin, self.stdout, self.stderr = _files(pipes)

    def poll(self) -> int | None:
        with self._lock:
            if self._status is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                self._status = os.waitstatus_to_exitcode(status) if ended else None
            return self._status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        with contextlib.suppress(ChildProcessError):  # another thread has seen its end
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return self.poll()


class Forked:
    """A forked process, with as much of `subprocess.Popen` as a rank needs."""

    def __init__(self, server: ForkServer, pid: int, pipes: list[int]):
        self.pid = pid
        self._server = server
        self.stdin, self.stdout, self.stderr = _files(pipes)

    def poll(self) -> int | None:
        return self._server.status(self.pid, wait=False)

    def wait(self) -> int:
        return self._server.status(self.pid, wait=True)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def serve(descriptor: int, *imports: str) -> None:
    """Import torch once, then fork on every request: the server's side."""
    import numpy  # noqa: F401
    import torch.distributed  # noqa: F401

    import helpers.hang.checked_mode  # noqa: F401
    import helpers.hang.deferred  # noqa: F401
    import helpers.hang.monitor  # noqa: F401
    import helpers.ranks.connect  # noqa: F401
    import helpers.ranks.worker  # noqa: F401
    from helpers.hang.places import is_library

    is_library(__file__)  # asks for Python's own folders, which takes as long as all of our imports
    for name in imports:
        importlib.import_module(name)
    gc.freeze()  # objects that exist now stay shared between all ranks
    control = socket.socket(fileno=descriptor)
    wake, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    sources, children = [control, wake], 0
    while control in sources or children:  # without its owner the server waits for the last rank
        ready, _, _ = select.select(sources, [], [])
        if wake in ready:
            os.read(wake, 4096)
            children -= _tell_who_ended(control)
        if control in ready:
            try:
                data, rights, _, _ = control.recvmsg(1, socket.CMSG_SPACE(3 * 4))
            except ConnectionError:  # it was killed before it had read our last answer
                data = b""
            if not data:
                sources.remove(control)
                continue
            pipes = array.array("i")
            pipes.frombytes(rights[0][2])
            pid = os.fork()
            if pid == 0:
                _become_a_rank(
                    list(pipes), lambda: (control.close(), os.close(wake), os.close(signalled))
                )
            # A group of its own, so that the processes that a rank starts end with it. Set here,
            # so that the group exists before the owner can kill it.
            os.setpgid(pid, pid)
            children += 1
            for pipe in pipes:
                os.close(pipe)
            _answer(control, pid, 0, False)
    os._exit(0)


def _tell_who_ended(control: socket.socket) -> int:
    """Tell the owner which ranks have ended; return how many."""
    count = 0
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return count
        if pid == 0:
            return count
        count += 1
        _answer(control, pid, os.waitstatus_to_exitcode(status), True)


def _answer(control: socket.socket, pid: int, status: int, ended: bool) -> None:
    """Tell the owner; if it is gone nobody has to know, and the end of its requests says so."""
    with contextlib.suppress(ConnectionError):
        control.sendall(_ANSWER.pack(pid, status, ended))


def _become_a_rank(pipes: list[int], drop: Callable[[], None]) -> None:
    """Turn the new process into a rank: take the pipes, drop what isn't a rank's, and serve."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, pipe in enumerate(pipes):
            os.dup2(pipe, target)
            os.close(pipe)
        drop()
        _draw_new_seeds()
        sys.modules["helpers.ranks.worker"].main()
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def _draw_new_seeds() -> None:
    """Reseed, because forks of one process would all draw the same random numbers."""
    random.seed()
    sys.modules["numpy"].random.seed()
