"""Collectives: all ranks of a group give something, and each gets its part of the result.

The n-th collective of a group on one rank is the n-th on all of its ranks. Each rank runs its own
in the order in which it started them; a collective starts when the last rank has come.
"""

from cluster.errors import Mismatch, Misplaced, PuzzleError, WrongShard
from cluster.facts import GRADIENT, SHARDED, Facts, added, combined, cut, words
from cluster.pending import Pending
from cluster.value import Value

NEEDS = {"all_reduce": (GRADIENT,), "reduce_scatter": (GRADIENT,), "all_gather": SHARDED}


class Collective:
    """One collective. given: by rank, the facts it brings and when. left: who has not come."""

    __slots__ = (
        "op", "kind", "layer", "first", "group", "given", "joined", "left", "start", "seconds",
        "result",
    )  # fmt: skip

    def __init__(self, op: str, facts: Facts, rank, group: tuple):
        self.op, self.kind, self.layer = op, facts.kind, facts.layer
        self.first, self.group = rank.number, group
        self.given: dict[int, tuple[Facts, float]] = {}
        self.joined: dict[int, Joined] = {}
        self.left = set(group)
        self.start = self.seconds = 0.0
        self.result: Facts | None = None

    def what(self) -> str:
        return f"{self.op} of the {self.kind} of layer {self.layer}"


class Joined(Pending):
    """A rank in a collective. value: what it brings, which stays in its memory until the end.
    room: the memory that the result takes until it is there."""

    __slots__ = ("call", "value", "room")

    def __init__(self, rank, call, value, room):
        super().__init__(rank)
        self.call, self.value, self.room = call, value, room

    def finish(self):
        rank, call = self.rank, self.call
        rank.held -= self.room
        facts = call.result
        if call.op == "reduce_scatter":
            facts = cut(facts, call.group.index(rank.number), len(call.group))
        more = call.group, rank.now
        if rank.profile.overlap:
            rank.now = max(rank.now, call.start + call.seconds)
            made = rank.new(facts)
            rank.log.append(
                (call.op, call.layer, call.start, call.seconds, rank.held, facts.samples, more)
            )
        else:
            rank.now = max(rank.now, call.start)
            rank.event(call.op, call.layer, call.seconds, facts.samples, more)
            made = rank.new(facts)
        self.value = self.call = None
        return made

    def doing(self) -> str:
        if self.call is None:
            return "was in a collective"
        first = (self.rank.collectives or [self.call])[0]
        behind = "" if first is self.call else f", which comes after its {first.what()}"
        return f"is in {self.call.what()}{behind}"

    def needs(self):
        first, ranks = self.rank.collectives[0], self.rank.cluster.ranks
        return first.left or [n for n in first.group if ranks[n].collectives[:1] != [first]]


def start(rank, op: str, value, group: tuple) -> Joined:
    """Start a collective of this rank; awaiting it gives the rank's part of the result."""
    facts = _usable(rank, op, value)
    number = rank.called.get(group, 0)
    rank.called[group] = number + 1
    cluster, key = rank.cluster, (group, number)
    call = cluster.open.get(key)
    if call is None:
        call = cluster.open[key] = Collective(op, facts, rank, group)
    elif (call.op, call.kind, call.layer) != (op, facts.kind, facts.layer):
        raise Mismatch(
            f"rank {rank.number} calls {op} of the {facts.kind} of layer {facts.layer}, and rank "
            f"{call.first} {call.what()}, both as collective number {number + 1} of their group: "
            "all ranks must call the same ones in the same order"
        )
    if rank.tape is not None:
        if group not in rank.groups:
            rank.groups[group] = len(rank.groups)
            rank.tape.append(("group", group))
        rank.tape.append(("collective", op, value._number, rank.groups[group]))
    room = _room(rank, op, facts, group)
    rank.hold(room, facts)
    call.given[rank.number] = facts, rank.now
    call.left.discard(rank.number)
    rank.collectives.append(call)
    joined = call.joined[rank.number] = Joined(rank, call, value, room)
    if not call.left:
        del cluster.open[key]
        _run(cluster, call)
    return joined


def _usable(rank, op: str, value) -> Facts:
    if not isinstance(value, Value) or value.kind not in NEEDS[op]:
        told = words(value.facts) if isinstance(value, Value) else f"a {type(value).__name__}"
        rank.refuse(Misplaced, op, f"it takes a {' or '.join(NEEDS[op])}, and got {told}")
    facts = rank.use(value, value.kind, op)
    if op == "reduce_scatter" and not facts.complete:
        rank.refuse(WrongShard, op, f"it cuts the sum into shards, and {words(facts)} is cut")
    return facts


def _room(rank, op: str, facts: Facts, group: tuple) -> float:
    """The memory of the result, taken from the start on, until the value is there."""
    if rank.profile.in_storage:
        return 0.0
    size = rank.profile.size(facts)
    if op == "all_gather":
        return size * min(len(group), facts.parts / len(facts.shards))
    return size / len(group) if op == "reduce_scatter" else size


def _run(cluster, call: Collective) -> None:
    """Let it happen, and what waited behind it, where it is first in line on all its ranks."""
    waiting = [call]
    while waiting:
        call = waiting.pop()
        ranks = [cluster.ranks[number] for number in call.group]
        if call.left or call.result or any(rank.collectives[0] is not call for rank in ranks):
            continue
        call.result = _result(call)
        given = [call.given[number][0] for number in call.group]
        lanes = cluster.profile.overlap
        call.start = max(
            max(call.given[rank.number][1], rank.lane_free if lanes else 0.0) for rank in ranks
        )
        call.seconds = cluster.profile.collective(call.op, given, call.result, call.group)
        for rank in ranks:
            rank.collectives.pop(0)
            rank.lane_free = call.start + call.seconds
            call.joined[rank.number].settle()
            if rank.collectives:
                waiting.append(rank.collectives[0])
        call.joined = call.given = None  # a circle of objects would stay in memory


def _result(call: Collective) -> Facts:
    """What all ranks together have: a sum, or all shards. Raises what `added` or `combined` do."""
    given = [call.given[number][0] for number in call.group]
    first, gather = given[0], call.op == "all_gather"
    samples, counted = 0, 0
    alike = True
    for facts in given:
        alike = alike and facts.parts == first.parts and facts.step == first.step
        alike = alike and (
            facts.samples == first.samples if gather else facts.shards == first.shards
        )
        samples |= facts.samples
        counted += facts.samples.bit_count()
    if alike and gather:
        return first._replace(shards=frozenset().union(*(facts.shards for facts in given)))
    if alike and samples.bit_count() == counted:
        return first._replace(samples=samples)
    total, rule = first, combined if gather else added  # one of them does not fit: which?
    for number, facts in zip(call.group[1:], given[1:], strict=True):
        try:
            total = rule(total, facts)
        except PuzzleError as error:
            raise type(error)(f"{call.what()}, with what rank {number} brings: {error}") from None
    return total
