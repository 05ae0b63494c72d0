"""Two hosts on one machine: they have addresses of their own, and nothing of them is left."""

import os
import subprocess
import sys

import pytest

from helpers.network import Link, NoHosts, TwoHosts, hosts, why_not

pytestmark = pytest.mark.ranks

needs_hosts = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can")
SERVE = (
    "import socket; s = socket.create_server(('', 5000)); print('ready', flush=True); "
    "c, (who, _) = s.accept(); print(who, len(c.recv(9)))"
)


@pytest.fixture(scope="module")
def two():
    with TwoHosts() as two:
        yield two


@needs_hosts
def test_each_host_has_its_name_and_address_and_reaches_the_other(two):
    for host in (0, 1):
        code = "import socket; print(socket.gethostname())"
        assert two.run(host, [sys.executable, "-c", code]) == f"{two.names[host]}\n"
    server = two.start(1, [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    call = f"import socket; socket.create_connection(('{two.addresses[1]}', 5000)).send(b'x')"
    two.run(0, [sys.executable, "-c", call])
    assert server.communicate(timeout=10)[0] == f"{two.addresses[0]} 1\n"


@needs_hosts
def test_a_host_does_not_see_this_machine(two):
    interfaces = two.run(0, ["ip", "-brief", "link"]).split("\n")
    assert sorted(line.split("@")[0].split()[0] for line in interfaces if line) == ["eth0", "lo"]


@needs_hosts
def test_ranks_on_two_hosts_talk_over_the_cable(two):
    """gloo must take this interface, and not the loopback."""
    code = "from helpers.ranks.store import interface_to as to; print(*map(to, {}))"
    for host in (0, 1):
        assert two.run(host, [sys.executable, "-c", code.format(two.addresses)]) == "eth0 eth0\n"


@needs_hosts
def test_the_cable_is_slowed_both_ways(two):
    got = two.slow(Link(50, 2))
    assert got in (Link(50, 2), Link(50))  # without netem in the kernel no delay
    for host in (0, 1):
        assert "rate 50Mbit" in two.run(host, ["tc", "qdisc", "show", "dev", "eth0"])


@needs_hosts
def test_a_command_that_fails_is_named(two):
    with pytest.raises(NoHosts, match="'ip link show none' failed on node1"):
        two.run(1, ["ip", "link", "show", "none"])


@needs_hosts
def test_what_was_started_ends_with_the_hosts():
    with TwoHosts() as two:
        sleeper = two.start(1, [sys.executable, "-c", "import time; time.sleep(600)"])
        holders = [holder.pid for holder in two._holders]
    assert sleeper.returncode is not None
    assert not [pid for pid in holders if os.path.exists(f"/proc/{pid}")]


# --- where it cannot be --------------------------------------------------------------------------


def test_another_system(monkeypatch):
    monkeypatch.setattr(hosts.sys, "platform", "darwin")
    with pytest.raises(NoHosts, match="network namespaces are a part of Linux"):
        TwoHosts()


def test_a_program_that_is_not_there(monkeypatch):
    monkeypatch.setattr(hosts.sys, "platform", "linux")
    monkeypatch.setattr(hosts.shutil, "which", lambda name, path: name != "ip" or None)
    assert why_not() == "the program ip is not installed: install the package iproute2"


def test_a_user_who_may_not(monkeypatch):
    refused = subprocess.CompletedProcess([], 1, "", "unshare failed: Operation not permitted\n")
    monkeypatch.setattr(hosts.sys, "platform", "linux")
    monkeypatch.setattr(hosts, "_unshare", lambda: [])
    monkeypatch.setattr(hosts.shutil, "which", lambda name, path: name)
    monkeypatch.setattr(hosts.subprocess, "run", lambda *_, **__: refused)
    assert why_not() == (
        "this user may not create a network namespace (unshare failed: Operation not permitted): "
        "run it as root"
    )
