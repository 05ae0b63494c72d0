"""Who starts ranks."""

import sys

import psutil
import pytest
import torch.distributed as dist
from project.run_data_parallel import run_ranks, setup
from wrong_input import WrongInput

from helpers.ranks.environment import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def refuses(rank):
    raise WrongInput("said by a rank")


def test_what_a_rank_refuses_is_said_once(capfd):
    assert run_ranks(refuses, (), 2) == 2
    assert capfd.readouterr().err == "error: said by a rank\n"


@pytest.mark.skipif(sys.platform == "win32", reason="torch takes no socket from us there")
def test_a_rank_listens_on_the_loopback_only(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    before = listening()
    setup(0, 1, "gloo")
    try:
        assert {address for address, _ in listening() - before} == {"127.0.0.1"}
    finally:
        dist.destroy_process_group()


def listening() -> set[tuple[str, int]]:
    """Where this process waits for calls."""
    sockets = psutil.Process().net_connections(kind="inet")
    return {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == "LISTEN"}
