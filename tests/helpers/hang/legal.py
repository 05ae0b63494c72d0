"""What legal programs share: their messages, how late one may come, and their launch."""

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch

LATE_S = 1.2  # much longer than these tests let ranks stand still before they are judged
MODES = pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])


def rank() -> int:
    return dist.get_rank()


def send(peer=1, tag=0):
    dist.send(torch.full((1,), 7.0), peer, tag=tag)


def receive(peer=0, tag=0) -> float:
    x = torch.zeros(1)
    dist.recv(x, peer, tag=tag)
    return x.item()


def results(program, ranks=2, *arguments, checked=True, timeout=60) -> list:
    """What each rank returns: nobody has judged the program."""
    how = {"timeout": timeout, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, ranks, arguments, **how)
    assert report.ok, report.failure
    return report.results
