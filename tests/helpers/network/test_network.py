"""A link's latency and rate are found again, and ranks and two hosts are as slow as it says."""

import inspect
import os
import subprocess
import sys
import threading
import time

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from helpers.network import Link, NoHosts, TwoHosts, fit, hosts, slow_link, why_not
from helpers.ranks import launch
from tests.said import said

pytestmark = pytest.mark.ranks


def test_the_link_that_made_the_times_is_found():
    link = Link.of(alpha=50e-6, beta=1 / 2e9)
    found = fit({size: link.seconds(size) for size in (1, 1000, 10**6, 10**8)})
    assert found.alpha == pytest.approx(link.alpha) and found.beta == pytest.approx(link.beta)
    # A second more for the longest: the latency is that of the short ones still.
    assert fit({1: 1e-4, 1000: 1e-4, 10**9: 1.5}).alpha == pytest.approx(1e-4, rel=0.01)
    for times in ({}, {8: 1e-3}, {1: 1.0, 100: 0.1}):
        assert "measure two sizes" in said(fit, times)


def test_what_messages_take_on_a_link():
    assert Link(8, 1).seconds(1e6, 3) == pytest.approx(1.003)
    link = Link.of(alpha=1.0, beta=1.0)
    times = {way: link.all_reduce_seconds(8, 8, way) for way in ("ring", "star", "tree")}
    assert times == pytest.approx({"ring": 14 * 2, "star": 14 * 9, "tree": 6 * 9})
    assert link.all_reduce_seconds(8, 5, "tree") == pytest.approx(6 * 9)  # as many steps as for 8
    for wrong in ((0,), (float("nan"),), (1, -1)):
        assert "give a bandwidth above 0, " in said(Link, *wrong)


LINK = Link(megabits=8, milliseconds=1)  # a million bytes a second


class Clock:
    """Time that passes only while somebody sleeps; each way of a link has a thread of its own."""

    def __init__(self):
        self.spent, self.sleepers, self.crowded = {"out": 0.0, "in": 0.0}, [], False

    def sleep(self, seconds):
        way = threading.current_thread().name.split("_")[0].removeprefix("link-")
        self.crowded |= way in self.sleepers  # two messages on one way at one time
        self.sleepers.append(way)
        time.sleep(0.01)  # long enough for another one to come, if it could
        self.sleepers.remove(way)
        self.spent[way] += seconds


def in_ranks():
    """On each of three ranks: whether each operation takes the ways out and in for so many seconds.

    The bytes that a rank sends, at a million a second, and a millisecond for each message.
    """
    clock, rank = Clock(), dist.get_rank()
    x, whole, part = torch.full((300_000,), 1.0 + rank), torch.empty(300_000), torch.empty(100_000)
    before, mesh = (dist.all_reduce, dist.P2POp), init_device_mesh("cpu", (3,))
    pair, ends = dist.new_group([0, 1]), ((rank + 1) % 3, (rank + 2) % 3)
    thirds, both = list(whole.chunk(3)), ((dist.isend, dist.irecv), (x, whole), ends)

    def message():
        [lambda: dist.send(x, 1), lambda: dist.recv(x, 0), int][rank]()

    def of_a_pair():
        return rank < 2 and dist.all_reduce(x.clone(), group=pair)

    def uneven():
        """Rank r sends 100,000 numbers to rank 0, 0 to rank 1, and 50,000 to rank 2."""
        take = [[100_000, 0, 50_000][rank]] * 3
        mine = torch.empty(150_000)
        dist.all_to_all_single(torch.empty(sum(take)), mine, take, [100_000, 0, 50_000])

    def fully_shard_step():
        fully_shard(net := torch.nn.Linear(1000, 300, bias=False), mesh=mesh)
        net(torch.ones(1, 1000)).sum().backward()

    with slow_link(LINK, clock.sleep):
        for call, out, back in (
            (lambda: dist.all_reduce(x), 1.604, 0),
            (lambda: dist.broadcast(x, 0), 1.201, 0),
            (lambda: dist.reduce(whole, 0), 1.201, 0),
            (lambda: dist.reduce_scatter(part, list(x.chunk(3))), 0.802, 0),
            (lambda: dist.reduce_scatter_tensor(part, x), 0.802, 0),
            (lambda: dist.all_gather(thirds, part), 0.802, 0),
            (lambda: dist.all_gather_into_tensor(whole, part), 0.802, 0),
            (lambda: dist.all_to_all_single(whole, torch.ones(300_000)), 0.802, 0),
            # Out 0.2, 0.6 and 0.4 MB; in 0.8, 0 and 0.4 MB: the fuller way counts, in two messages.
            (uneven, (0.802, 0.602, 0.402)[rank], 0),
            (message, (1.201, 0, 0)[rank], (0, 1.201, 0)[rank]),
            # Out and in at one time.
            (lambda: [dist.isend(x, ends[0]), dist.irecv(whole, ends[1])], 1.201, 1.201),
            (lambda: dist.batch_isend_irecv([*map(dist.P2POp, *both)]), 1.201, 1.201),
            # One way: the second goes when the first has gone.
            (lambda: [dist.all_reduce(t, async_op=True) for t in whole.chunk(2)], 1.608, 0),
            (of_a_pair, (1.202, 1.202, 0)[rank], 0),
            (fully_shard_step, 1.604, 0),  # an all-gather and a reduce-scatter
        ):
            begun, works = dict(clock.spent), call()
            for work in works if isinstance(works, list) else ():
                work.get_future().wait() if out == 1.608 else work.wait()
            took = [clock.spent[way] - begun[way] for way in ("out", "in")]
            assert took == pytest.approx([out, back], abs=1e-9), (inspect.getsource(call), took)
    assert before == (dist.all_reduce, dist.P2POp) and not clock.crowded
    return x[0].item()


def test_operations_are_as_late_as_the_link_says():
    assert launch(in_ranks, ranks=3, quiet=True) == [6.0] * 3  # 1 + 2 + 3: what all have in the end


def test_a_message_that_nobody_has_sent_yet_holds_up_no_other():
    """Rank 1 expects an answer from rank 2, which waits for what rank 0 tells rank 1."""

    def program():
        rank, x, y = dist.get_rank(), torch.ones(4), torch.ones(4)
        with slow_link(Link(1000)):
            waiting = [dist.irecv(y, 2)] if rank == 1 else []
            if rank:
                dist.irecv(x, rank - 1).wait()
            waiting.append(dist.isend(x, (1, 2, 1)[rank]))
            for work in waiting:
                work.wait()
        return True

    assert launch(program, ranks=3, quiet=True, timeout=20) == [True] * 3


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
        failed = said(two.run, 1, ["ip", "link", "show", "none"], error=NoHosts)
        assert "'ip link show none' failed on node1" in failed
        sleeper = two.start(1, [sys.executable, "-c", "import time; time.sleep(600)"])
        holders = [holder.pid for holder in two._holders]
    assert sleeper.returncode is not None
    assert not [pid for pid in holders if os.path.exists(f"/proc/{pid}")]


def test_another_system(monkeypatch):
    monkeypatch.setattr(hosts.sys, "platform", "darwin")
    assert "network namespaces are a part of Linux" in said(TwoHosts, error=NoHosts)
