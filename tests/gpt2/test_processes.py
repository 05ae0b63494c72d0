"""Who starts ranks: where the input was wrong, rank 0's sentence is not cut off by another rank."""

import sys
import time

import psutil
import pytest
import torch.distributed as dist
from project.processes import run_ranks
from project.run_data_parallel import setup

from helpers.ranks.environment import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def refuses(rank):
    if rank == 0:
        time.sleep(0.5)
        print("error: said by rank 0", file=sys.stderr, flush=True)
    sys.exit(2)


def test_rank_0_has_time_to_say_its_sentence(capfd):
    assert run_ranks(refuses, [(0,), (1,)]) == 2
    assert "said by rank 0" in capfd.readouterr().err


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
