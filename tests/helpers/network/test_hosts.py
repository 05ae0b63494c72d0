"""Two hosts on one machine: they have addresses of their own, and nothing of them is left."""

import os
import subprocess
import sys

import pytest

from helpers.network import Link, NoHosts, TwoHosts, hosts, why_not

pytestmark = pytest.mark.ranks

SERVE = (
    "import socket; s = socket.create_server(('', 5000)); print('ready', flush=True); "
    "c, (who, _) = s.accept(); print(socket.gethostname(), who, len(c.recv(9)))"
)


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can")
def test_two_hosts_reach_each_other_over_a_slow_cable_and_nothing_is_left():
    with TwoHosts() as two:
        server = two.start(1, [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        call = f"import socket; socket.create_connection(('{two.addresses[1]}', 5000)).send(b'x')"
        two.run(0, [sys.executable, "-c", call])
        assert server.communicate(timeout=10)[0] == f"node1 {two.addresses[0]} 1\n"
        assert two.slow(Link(50, 2)) in (Link(50, 2), Link(50))  # no delay without netem
        for host in (0, 1):
            assert "rate 50Mbit" in two.run(host, ["tc", "qdisc", "show", "dev", "eth0"])
        with pytest.raises(NoHosts, match="'ip link show none' failed on node1"):
            two.run(1, ["ip", "link", "show", "none"])
        sleeper = two.start(1, [sys.executable, "-c", "import time; time.sleep(600)"])
        holders = [holder.pid for holder in two._holders]
    assert sleeper.returncode is not None
    assert not [pid for pid in holders if os.path.exists(f"/proc/{pid}")]


def test_another_system(monkeypatch):
    monkeypatch.setattr(hosts.sys, "platform", "darwin")
    with pytest.raises(NoHosts, match="network namespaces are a part of Linux"):
        TwoHosts()
