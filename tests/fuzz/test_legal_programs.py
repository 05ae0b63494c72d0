"""Random communication programs: a legal one is never judged, and one that hangs always is.

A legal program is made from one sequence of events that all ranks share: a message, a collective,
a group. Each rank does its own part of each event in the order of the sequence, so no order of the
ranks can make it hang. It may start its parts asynchronously and wait for them later, do them in a
thread, or be late.

A program that hangs is made from a legal one: at a random place one rank, or several, do what
nobody answers. Then the verdict must come, and name the ranks that wait.
"""

import random
import re
import threading
import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch, supervisor

pytestmark = pytest.mark.stress
MODES = pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
COLLECTIVES = ("all_reduce", "broadcast", "all_gather", "reduce", "barrier", "objects")


@pytest.fixture
def impatient(monkeypatch):
    """Ranks are judged often and soon, so that what isn't proven shows."""
    monkeypatch.setattr(supervisor, "STALL_S", 0.2)
    monkeypatch.setattr(supervisor, "ASK_S", 0.05)


# --- programs ------------------------------------------------------------------------------------


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
def test_legal_programs_are_never_judged(checked, effort, numbers, impatient):
    for ranks in (2, 4):
        for _ in range(effort(1, 5)):
            seeds = [numbers.randrange(1 << 30) for _ in range(effort(3, 12))]
            report = judged(several_legal, ranks, checked, seeds)
            assert report.ok, f"{ranks} ranks, seeds {seeds}: {report.failure}"
            assert report.results == ["done"] * ranks


# --- programs that hang ---------------------------------------------------------------------------


def receive(peer, tag=0):
    dist.recv(torch.zeros(2), peer, tag=tag)


def send(peer, tag=0):
    dist.send(torch.zeros(2), peer, tag=tag)


def poll(peer):
    work = dist.irecv(torch.zeros(2), peer)
    while not work.is_completed():
        time.sleep(0.01)


def thread_that_receives(peer, joined):
    thread = threading.Thread(target=receive, args=(peer,))
    thread.start()
    if joined:
        thread.join()


def crossed(peer, tag):
    works = [dist.isend(torch.zeros(2), peer, tag=tag), dist.irecv(torch.zeros(2), peer, tag=tag)]
    for work in works:
        work.wait()


def in_turn(groups):
    for group in groups:
        dist.all_reduce(torch.zeros(2), group=group)


# What each rank of a few does, by its number among them. Two ranks unless it says otherwise.
HANGS = {
    "nobody sends": lambda me, ranks: receive(ranks[1]) if me == 0 else None,
    "nobody receives": lambda me, ranks: send(ranks[1]) if me == 0 else None,
    "nobody receives an isend": (
        lambda me, ranks: dist.isend(torch.zeros(2), ranks[1]).wait() if me == 0 else None
    ),
    "a ring of sends": lambda me, ranks: send(ranks[(me + 1) % len(ranks)]),
    "a ring of receives": lambda me, ranks: receive(ranks[me - 1]),
    "other tags": lambda me, ranks: (send, receive)[me](ranks[1 - me], tag=5 + me),
    "other tags, later": lambda me, ranks: crossed(ranks[1 - me], tag=5 + me),
    "a collective less": (
        lambda me, ranks: (
            dist.all_reduce(torch.zeros(2), group=dist.new_group(ranks))
            if me
            else dist.new_group(ranks)
        )
    ),
    "groups in another order": (
        lambda me, ranks: in_turn([dist.new_group(ranks) for _ in range(2)][:: 1 - 2 * (me == 0)])
    ),
    "asks for ever": lambda me, ranks: poll(ranks[1 - me]) if me == 0 else receive(ranks[0]),
    "a thread that is joined": lambda me, ranks: thread_that_receives(ranks[1 - me], True),
    "a thread that is left": lambda me, ranks: thread_that_receives(ranks[1 - me], me == 0),
    "a group of members only": (
        lambda me, ranks: (
            dist.new_group(ranks, use_local_synchronization=True) if me else receive(ranks[1])
        )
    ),
}
MAKES_GROUPS = ("a collective less", "groups in another order")  # for which every rank must come


def waiting_ranks(name: str, stuck: list[int]) -> list[int]:
    """Those of a few ranks that wait for ever; the others of them return."""
    if name in ("nobody sends", "nobody receives", "nobody receives an isend"):
        return stuck[:1]
    return stuck[1:] if name == "a collective less" else stuck


def hanging(seed: int, name: str, stuck: list[int]) -> None:
    """A legal program, and then a few ranks that can't go on, while the others return."""
    rank = dist.get_rank()
    Runner(offset=0).run(legal_events(seed, dist.get_world_size()))
    dist.barrier()
    if rank in stuck:
        HANGS[name](stuck.index(rank), stuck)
    elif name in MAKES_GROUPS:
        for _ in range(1 + (name == "groups in another order")):
            dist.new_group(stuck)


@MODES
def test_a_program_that_hangs_is_told(checked, effort, numbers, impatient):
    names = list(HANGS)
    numbers.shuffle(names)
    for name in names[: effort(2, len(names))] * effort(1, 4):
        ranks = numbers.choice((2, 3, 4))
        several = name.startswith("a ring")
        stuck = numbers.sample(range(ranks), numbers.randint(2, ranks) if several else 2)
        seed = numbers.randrange(1 << 30)
        report = judged(hanging, ranks, checked, seed, name, stuck)
        told = f"{name}, ranks {stuck} of {ranks}, seed {seed}: {report}"
        assert report.failure, told
        assert "did not finish within" not in report.failure.sentence, told
        rows = str(report).splitlines()[1:]
        for rank in range(ranks):
            row = next(row for row in rows if row.startswith(f"  rank {rank} "))
            words = ("sends", "receives", "calls")
            waits = rank in waiting_ranks(name, stuck)
            assert any(word in row for word in words) == waits, told
            if waits:  # as a rank, not as a line, a tag or a size
                said = re.sub(r"(line|tag) \d+|\d+ float32", "", report.failure.sentence)
                assert re.search(rf"\b{rank}\b", said), told


def judged(program, ranks: int, checked: bool, *args, timeout: float = 120):
    how = {"timeout": timeout, "on_error": "report", "quiet": True, "checked": checked}
    return launch(program, ranks, args, **how)
