"""Random communication programs that can't hang are never judged; test_hangs.py has those that do.

A legal program is made from one sequence of events that all ranks share: a message, a collective,
a group. Each rank does its own part of each event in the order of the sequence, so no order of the
ranks can make it hang. It may start its parts asynchronously and wait for them later, do them in a
thread, or be late.
"""

import random
import threading
import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch, supervisor

pytestmark = [pytest.mark.stress, pytest.mark.ranks]
MODES = pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
COLLECTIVES = ("all_reduce", "broadcast", "all_gather", "reduce", "barrier", "objects")


def legal_events(seed: int, ranks: int) -> list[tuple]:
    """The events of a program, as facts that every rank reads alike."""
    draw = random.Random(seed)
    groups = [sorted(draw.sample(range(ranks), draw.randint(2, ranks))) for _ in range(2)]
    events = []
    for number in range(draw.randint(4, 12)):
        late = (draw.randrange(ranks), draw.choice([0] * 9 + [0.01, 0.01, 0.3]))
        if draw.random() < 0.6:
            source, target = draw.sample(range(ranks), 2)
            ways = draw.choice(("plain", "plain", "later", "thread", "batch", "objects"))
            shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 3)))
            both = (ways, draw.choice(("plain", "later")) if ways in ("plain", "later") else ways)
            tag = draw.choice((0, 0, 3, number))
            events.append(("message", source, target, both, tag, shape, late))
        else:
            name, group = draw.choice(COLLECTIVES), draw.choice((None, 0, 1))
            members = list(range(ranks)) if group is None else groups[group]
            root = draw.choice(members)
            later = draw.random() < 0.4 and name in ("all_reduce", "broadcast")
            events.append(("collective", name, group, members, root, later, late))
    return [("groups", groups), *events]


class Runner:
    """One rank's part of a sequence of events."""

    def __init__(self, offset: int):
        self.rank, self.offset = dist.get_rank(), offset
        self.works: list = []
        self.threads: list[threading.Thread] = []
        self.kept: list = []  # what asynchronous operations still read or write
        self.groups: list = []

    def run(self, events: list[tuple]) -> None:
        for number, event in enumerate(events):
            if event[0] == "groups":
                self.groups = [dist.new_group(ranks) for ranks in event[1]]
                continue
            who, seconds = event[-1]
            if who == self.rank and seconds:
                time.sleep(seconds)
            (self.message if event[0] == "message" else self.collective)(number, *event[1:-1])
        self.end()

    def end(self) -> None:
        for thread in self.threads:
            thread.join()
        for work in self.works:
            work.wait()

    def message(self, number, source, target, ways, tag, shape) -> None:
        if self.rank not in (source, target):
            return
        sends = self.rank == source
        peer, way = (target, ways[0]) if sends else (source, ways[1])
        tensor = torch.full(shape, float(number if sends else -1))
        self.kept.append(tensor)
        tag += self.offset  # what an event's thread does late meets nobody else's message
        if way == "objects":
            told = [number if sends else None]
            (dist.send_object_list if sends else dist.recv_object_list)(told, peer)
            assert told == [number]
        elif way == "thread":
            tag = 1000 + self.offset + number
            function = dist.send if sends else dist.recv
            thread = threading.Thread(target=function, args=(tensor, peer), kwargs={"tag": tag})
            thread.start()
            self.threads.append(thread)
        elif way == "batch":
            operation = dist.P2POp(dist.isend if sends else dist.irecv, tensor, peer, tag=tag)
            self.works += dist.batch_isend_irecv([operation])
        elif way == "later":
            self.works.append((dist.isend if sends else dist.irecv)(tensor, peer, tag=tag))
        else:
            (dist.send if sends else dist.recv)(tensor, peer, tag=tag)

    def collective(self, number, name, group, members, root, later) -> None:
        if self.rank not in members:
            return
        group = None if group is None else self.groups[group]
        tensor = torch.ones(3)
        self.kept.append(tensor)
        if name == "barrier":
            dist.barrier(group)
        elif name == "objects":
            found = [None] * len(members)
            dist.all_gather_object(found, number, group=group)
            assert found == [number] * len(members)
        elif name == "all_gather":
            dist.all_gather([torch.zeros(3) for _ in members], tensor, group=group)
        elif name == "reduce":
            dist.reduce(tensor, root, group=group)
        else:
            arguments = {"src": root} if name == "broadcast" else {}
            work = getattr(dist, name)(tensor, group=group, async_op=later, **arguments)
            if later:
                self.works.append(work)


def several_legal(seeds: list[int]) -> str:
    """Many programs after each other: a launch costs more than a program."""
    for seed in seeds:
        events = legal_events(seed, dist.get_world_size())
        Runner(offset=seed % 1000 * 10_000).run(events)
    return "done"


@MODES
def test_legal_programs_are_never_judged(checked, effort, numbers, monkeypatch):
    # Often and soon, so that what isn't proven shows.
    monkeypatch.setattr(supervisor, "STALL_S", 0.2)
    monkeypatch.setattr(supervisor, "ASK_S", 0.05)
    for ranks in (2, 4):
        for _ in range(effort(1, 5)):
            seeds = [numbers.randrange(1 << 30) for _ in range(effort(3, 12))]
            how = {"timeout": 120, "on_error": "report", "quiet": True, "checked": checked}
            report = launch(several_legal, ranks, (seeds,), **how)
            assert report.ok, f"{ranks} ranks, seeds {seeds}: {report.failure}"
            assert report.results == ["done"] * ranks
