"""Which interface leads to another machine: gloo must take it, and not the loopback."""

import sys

from helpers.ranks.store import address_towards, interface_to


def test_the_way_to_this_machine_itself_is_the_loopback():
    assert address_towards("127.0.0.1") == "127.0.0.1"
    assert interface_to("127.0.0.1") == ("lo" if sys.platform.startswith("linux") else None)


def test_a_name_that_nobody_knows_has_no_way():
    assert interface_to("no-such-host.invalid") is None
