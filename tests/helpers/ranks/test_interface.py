"""Which interface leads to another machine: gloo must take it, and not the loopback."""

import sys

import pytest

from helpers.network import TwoHosts, why_not
from helpers.ranks.store import address_towards, interface_to


def test_the_way_to_this_machine_itself_is_the_loopback():
    assert address_towards("127.0.0.1") == "127.0.0.1"
    assert interface_to("127.0.0.1") == ("lo" if sys.platform.startswith("linux") else None)


def test_a_name_that_nobody_knows_has_no_way():
    assert interface_to("no-such-host.invalid") is None


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can")
def test_between_two_hosts_it_is_the_cable():
    code = "from helpers.ranks.store import interface_to as to; print(*map(to, {}))"
    with TwoHosts() as two:
        for host in (0, 1):
            command = [sys.executable, "-c", code.format(two.addresses)]
            assert two.run(host, command) == "eth0 eth0\n"
