"""Two hosts on one machine, each with its own network, joined by a cable.

A host is a Linux network namespace: it has its own addresses, ports and interfaces and can't see
the rest of the machine, so a program in it has to find the other host as it would on a cluster.
This needs the program `ip`, and root or a system that lets users create namespaces.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from helpers.network.link import Link

PROGRAMS = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2"}
# `ip` and `tc` are in folders that only root searches.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
# Holds a namespace open until its standard input ends, however this process ends.
HOLDER = (
    "import socket, subprocess, sys; socket.sethostname(sys.argv[1]); "
    "subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True); "
    "print('ready', flush=True); sys.stdin.read()"
)


class NoHosts(OSError):
    """This machine cannot be two hosts; the message says why."""


def why_not() -> str:
    """Return in one sentence why this machine cannot be two hosts; "" if it can."""
    if not sys.platform.startswith("linux"):
        return "network namespaces are a part of Linux, and this is another system"
    for name, package in PROGRAMS.items():
        if not shutil.which(name, path=PATH):
            return f"the program {name} is not installed: install the package {package}"
    tried = subprocess.run([*_unshare(), "true"], capture_output=True, text=True)
    if tried.returncode:
        said = tried.stderr.strip() or f"code {tried.returncode}"
        return f"this user may not create a network namespace ({said}): run it as root"
    return ""


class TwoHosts:
    """Two hosts, `node0` and `node1`, until the `with` block ends.

    Raises:
        NoHosts: if this machine cannot be two hosts; `why_not` says why.
    """

    names = ("node0", "node1")
    addresses = ("10.77.0.1", "10.77.0.2")
    interface = "eth0"

    def __init__(self):
        if why := why_not():
            raise NoHosts(why)
        self._holders: list[subprocess.Popen] = []
        self._started: list[subprocess.Popen] = []

    def __enter__(self) -> "TwoHosts":
        try:
            for name in self.names:
                self._holders.append(self._hold(name))
            second = str(self._holders[1].pid)
            cable = ["type", "veth", "peer", "name", self.interface, "netns", second]
            self.run(0, ["ip", "link", "add", "name", self.interface, *cable])
            for host, address in enumerate(self.addresses):
                self.run(host, ["ip", "address", "add", f"{address}/24", "dev", self.interface])
                self.run(host, ["ip", "link", "set", self.interface, "up"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._holders:
            process.kill()
        for process in [*self._started, *self._holders]:
            with process:  # waits, and closes its pipes
                pass

    def start(self, host: int, command: Sequence[str], **options: Any) -> subprocess.Popen:
        """Start a command on host 0 or 1; options as for `subprocess.Popen`.

        It is stopped with everything it started when the `with` block ends.
        """
        options.setdefault("env", os.environ | {"PATH": PATH})
        enter = ["nsenter", "--target", str(self._holders[host].pid), "--net", "--uts"]
        process = subprocess.Popen(
            [*enter, *_as_root(), "--", *command], start_new_session=True, **options
        )
        self._started.append(process)
        return process

    def run(self, host: int, command: Sequence[str], timeout: float = 60.0) -> str:
        """Run a command on host 0 or 1 and return what it printed; NoHosts if it fails."""
        process = self.start(
            host, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        said, _ = process.communicate(timeout=timeout)
        if process.returncode:
            raise NoHosts(f"'{' '.join(command)}' failed on {self.names[host]}: {said.strip()}")
        return said

    def slow(self, link: Link) -> Link:
        """Make the cable as slow as `link` in both directions; return the link it now is.

        If the kernel lacks `netem`, the cable gets the bandwidth but no delay.
        """
        rate = f"{link.megabits:g}mbit"

        def queue(*discipline: str) -> None:
            for host in (0, 1):
                device = ["dev", self.interface, "root"]
                self.run(host, ["tc", "qdisc", "replace", *device, *discipline])

        try:
            queue("netem", "rate", rate, "delay", f"{link.milliseconds:g}ms", "limit", "100000")
            return link
        except NoHosts:
            queue("tbf", "rate", rate, "burst", "65536", "latency", "1s")
            return Link(link.megabits)

    def _hold(self, name: str) -> subprocess.Popen:
        """Start a process in a new namespace; a user's second is created inside the first."""
        inside = []
        if self._holders and _as_root():
            inside = ["nsenter", "--target", str(self._holders[0].pid), *_as_root(), "--"]
        unshare = ["unshare", "--net", "--uts"] if inside else _unshare()
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [*inside, *unshare, sys.executable, "-c", HOLDER, name]
        process = subprocess.Popen(command, text=True, env=os.environ | {"PATH": PATH}, **pipes)
        if process.stdout.readline().strip() != "ready":
            said = process.stderr.read().strip().splitlines()[-1:] or ["no reason given"]
            process.kill()
            raise NoHosts(f"the host {name} cannot be created: {said[0]}")
        return process


def _as_root() -> list[str]:
    """Return the flags nsenter needs if this user is root only inside the namespace."""
    return [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]


def _unshare() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--uts"]
