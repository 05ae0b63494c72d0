"""Which interface leads to another machine: gloo must take it, and not the loopback."""

import os
import sys

import pytest

from helpers.ranks.store import _without_stacks, address_towards, interface_to, use_interfaces

pytestmark = pytest.mark.ranks


def test_the_way_to_this_machine_itself_is_the_loopback():
    assert address_towards("127.0.0.1") == "127.0.0.1"
    assert interface_to("127.0.0.1") == ("lo" if sys.platform.startswith("linux") else None)


def test_a_name_that_nobody_knows_has_no_way():
    assert interface_to("no-such-host.invalid") is None


def test_a_second_connection_takes_back_the_interfaces_of_the_first(monkeypatch):
    for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ib0")  # a person's own
    use_interfaces(
        {"GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
    )
    assert [os.environ[f"{lib}_SOCKET_IFNAME"] for lib in ("GLOO", "TP", "NCCL")] == [
        "lo", "lo", "ib0",
    ]  # fmt: skip
    use_interfaces({"GLOO_SOCKET_IFNAME": "eth0"})
    assert os.environ["GLOO_SOCKET_IFNAME"] == "eth0"
    assert "TP_SOCKET_IFNAME" not in os.environ
    use_interfaces({})
    assert "GLOO_SOCKET_IFNAME" not in os.environ
    assert os.environ["NCCL_SOCKET_IFNAME"] == "ib0"


def test_what_torch_writes_while_a_store_opens_is_kept_unless_it_fails(capfd):
    with _without_stacks():
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"
    with pytest.raises(RuntimeError), _without_stacks():
        os.write(2, b"a stack\n")
        raise RuntimeError
    assert capfd.readouterr().err == ""
