"""A slow link inside a rank: by a clock of our own, so that no test depends on how fast we are."""

import threading
import time

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from helpers.network import Link, slow_link
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

LINK = Link(megabits=8, milliseconds=1)  # a million bytes a second


class Clock:
    """Time that passes only while somebody sleeps; each way of a link has a thread of its own."""

    def __init__(self):
        self.spent = {"out": 0.0, "in": 0.0}
        self.sleepers: list[str] = []
        self.crowded = False

    def sleep(self, seconds):
        way = threading.current_thread().name.split("_")[0].removeprefix("link-")
        self.crowded |= way in self.sleepers  # two messages on one way at one time
        self.sleepers.append(way)
        time.sleep(0.01)  # long enough for another one to come, if it could
        self.sleepers.remove(way)
        self.spent[way] += seconds


@pytest.mark.parametrize(
    ("link", "size", "messages", "seconds"),
    [(LINK, 1e6, 1, 1.001), (LINK, 0, 3, 0.003), (Link(1000), 125e6, 2, 1.0)],
)
def test_what_a_link_takes(link, size, messages, seconds):
    assert link.seconds(size, messages) == pytest.approx(seconds)


def test_a_ring_sends_twice_all_but_one_part():
    # Of three ranks each sends 4 messages of a third.
    assert LINK.all_reduce_seconds(3e6, 3) == pytest.approx(4 * (1e-3 + 1.0))


@pytest.mark.parametrize("link", [(0,), (-1,), (float("inf"),), (float("nan"),)])
def test_a_link_through_which_nothing_comes(link):
    with pytest.raises(ValueError, match="give a bandwidth above 0"):
        Link(*link)
    with pytest.raises(ValueError, match="a delay of 0 or more"):
        Link(1, -1)


def test_functions_that_an_older_torch_lacks_are_left_alone(monkeypatch):
    monkeypatch.delattr(dist, "all_gather_single")  # new in torch 2.13
    before = dist.all_gather
    with slow_link(LINK):
        assert dist.all_gather is not before and not hasattr(dist, "all_gather_single")
    assert dist.all_gather is before and not hasattr(dist, "all_gather_single")


def in_ranks():
    """Seconds that each operation takes of the ways out and in, on each of three ranks."""
    clock, found, said = Clock(), {}, []
    rank, x = dist.get_rank(), torch.full((300_000,), 1.0 + dist.get_rank())  # 1.2 million bytes
    whole, part, before = torch.empty(300_000), torch.empty(100_000), (dist.all_reduce, dist.P2POp)

    def timed(name, function):
        begun = dict(clock.spent)
        function()
        found[name] = clock.spent["out"] - begun["out"], clock.spent["in"] - begun["in"]

    def to_the_next_and_from_the_last():
        going = dist.isend(x, (rank + 1) % 3), dist.irecv(whole, (rank + 2) % 3)
        for message in going:
            message.wait()

    def both_in_a_batch():
        sending = dist.P2POp(dist.isend, x, (rank + 1) % 3)
        for message in dist.batch_isend_irecv(
            [sending, dist.P2POp(dist.irecv, whole, (rank + 2) % 3)]
        ):
            message.wait()

    def to_each_what_it_gets():
        # Rank r sends 100,000 numbers to rank 0, 0 to rank 1, and 50,000 to rank 2.
        take = [[100_000, 0, 50_000][rank]] * 3
        mine = torch.full((150_000,), float(rank))
        got = torch.empty(sum(take))
        dist.all_to_all_single(got, mine, take, [100_000, 0, 50_000])
        assert got.tolist()[:: max(take[0], 1)] == [0.0, 1.0, 2.0][: len(got)]

    def two_at_once():
        works = [dist.all_reduce(t, async_op=True) for t in x.chunk(2)]
        works[0].get_future().wait()
        works[1].wait()
        found["finished"] = works[1].is_completed()

    def a_step_of_fully_shard():
        fully_shard(net := torch.nn.Linear(1000, 300, bias=False), mesh=mesh)
        net(torch.ones(1, 1000)).sum().backward()

    mesh = init_device_mesh("cpu", (3,))
    two = dist.new_group([0, 1])
    with slow_link(LINK, clock.sleep):
        timed("all_reduce", lambda: dist.all_reduce(x))
        timed("broadcast", lambda: dist.broadcast(x, 0))
        timed("reduce_scatter", lambda: dist.reduce_scatter(part, list(x.chunk(3))))
        timed("reduce_scatter_tensor", lambda: dist.reduce_scatter_tensor(part, x))
        timed("all_gather", lambda: dist.all_gather(list(whole.chunk(3)), part))
        timed("all_gather_into_tensor", lambda: dist.all_gather_into_tensor(whole, part))
        timed("all_to_all_single", lambda: dist.all_to_all_single(whole, torch.ones(300_000)))
        timed(
            "all_to_all",
            lambda: dist.all_to_all([*whole.chunk(3)], [*torch.ones(300_000).chunk(3)]),
        )
        timed("uneven", to_each_what_it_gets)
        gathered = [torch.empty(300_000) for _ in range(3)]
        timed("gather", lambda: dist.gather(whole, gathered if rank == 1 else None, 1))
        timed("scatter", lambda: dist.scatter(whole, gathered if rank == 1 else None, 1))
        if rank < 2:
            timed("message", lambda: dist.send(x, 1) if rank == 0 else dist.recv(x, 0))
        timed("both ways", to_the_next_and_from_the_last)
        timed("in a batch", both_in_a_batch)
        timed("two at once", two_at_once)
        if rank < 2:
            timed("of two", lambda: dist.all_reduce(torch.ones_like(x), dist.ReduceOp.SUM, two))
        timed("fully_shard", a_step_of_fully_shard)
        try:
            dist.reduce(x, 0)
        except NotImplementedError as error:
            said.append(str(error))
    found["crowded"] = clock.crowded
    found["restored"] = (dist.all_reduce, dist.P2POp) == before
    return found, said, x[0].item()


def test_operations_are_as_late_as_the_link_says():
    answers = launch(in_ranks, ranks=3, quiet=True)
    # The bytes that one rank sends, at a million a second, and a millisecond for each message.
    expected = {
        "all_reduce": (1.604, 0),
        "broadcast": (1.201, 0),
        "reduce_scatter": (0.802, 0),
        "reduce_scatter_tensor": (0.802, 0),
        "all_gather": (0.802, 0),
        "all_gather_into_tensor": (0.802, 0),
        "all_to_all_single": (0.802, 0),
        "all_to_all": (0.802, 0),
        "fully_shard": (2 * 0.802, 0),  # an all-gather and a reduce-scatter
        "both ways": (1.201, 1.201),  # out and in at one time
        "in a batch": (1.201, 1.201),
        "two at once": (1.608, 0),  # one way: the second goes when the first has gone
    }
    for rank, (found, said, value) in enumerate(answers):
        for name, seconds in expected.items():
            assert found[name] == pytest.approx(seconds), (rank, name)
        assert found["finished"] and found["restored"] and not found["crowded"]
        assert "slow_link cannot slow dist.reduce: inside its block use all_gather" in said[0]
        # 1 + 2 + 3 everywhere, and that is what all have in the end, three times.
        assert value == 18.0
    # Out 0.2, 0.6 and 0.4 MB; in 0.8, 0 and 0.4 MB: the fuller way counts, in two messages.
    for (found, *_), seconds in zip(answers, (0.802, 0.602, 0.402), strict=True):
        assert found["uneven"] == pytest.approx((seconds, 0))
    for (found, *_), messages in zip(answers, (1, 2, 1), strict=True):
        assert found["gather"] == found["scatter"] == pytest.approx((1.201 * messages, 0))
    assert answers[0][0]["of two"] == pytest.approx((1.202, 0))  # not what three would take
    assert answers[0][0]["message"] == pytest.approx((1.201, 0))
    assert answers[1][0]["message"] == pytest.approx((0, 1.201))


def test_a_message_that_nobody_has_sent_yet_holds_up_no_other():
    """Rank 1 expects an answer from rank 2, which waits for what rank 0 tells rank 1."""

    def program():
        rank, x, y = dist.get_rank(), torch.ones(4), torch.ones(4)
        with slow_link(Link(1000)):
            if rank == 0:
                dist.isend(x, 1).wait()
            elif rank == 1:
                answer, word = dist.irecv(y, 2), dist.irecv(x, 0)
                word.wait()
                dist.isend(x, 2).wait()
                answer.wait()
            else:
                dist.irecv(x, 1).wait()
                dist.isend(x, 1).wait()
        return True

    assert launch(program, ranks=3, quiet=True, timeout=20) == [True] * 3
