"""Messages and collectives: what a rank starts, and waits for.

`await model.all_reduce(…)` waits at once. Without the await, the rank goes on, and waits when it
awaits what it was given: where the profile lets them, communication and computing overlap.

Messages from one rank to another come in order, and each is received once. In a collective all
ranks of a group give something, and each gets its part of the result: the n-th collective of a
group on one rank is the n-th on all of its ranks. Each rank runs its own in the order in which it
started them; a collective starts when the last rank has come.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from cluster.errors import Mismatch, Misplaced, PuzzleError, WrongShard
from cluster.facts import GRADIENT, SHARDED, Facts, added, combined, cut, words
from cluster.values import Value

NEEDS = {"all_reduce": (GRADIENT,), "reduce_scatter": (GRADIENT,), "all_gather": SHARDED}


class Pending:
    """ready: it need not wait any longer. number: its place among those of its rank.

    Each kind has finish(), what awaiting it gives; doing(), what the rank does, in words; and
    needs(), the ranks that it waits for.
    """

    __slots__ = ("rank", "ready", "taken", "number", "future", "error", "steps")

    def __init__(self, rank, ready: bool = False):
        self.rank, self.ready, self.taken = rank, ready, False
        self.future = self.error = self.steps = None
        rank.pendings = self.number = rank.pendings + 1
        rank.pending[self.number] = self

    def __await__(self):
        rank = self.rank
        if self.taken:
            raise PuzzleError(f"rank {rank.number} awaits the same thing twice: it {self.doing()}")
        self.taken = True
        if not self.ready:
            rank.waiting = self
            if rank.cluster.driver is not None:
                yield self
            else:
                self.future = asyncio.get_running_loop().create_future()
                rank.cluster.watch.blocked(rank)
                yield from self.future
            rank.waiting = None
            if self.error is not None:
                raise self.error
        del rank.pending[self.number]
        rank.write("take", self.number)
        return self.finish()

    def settle(self) -> None:
        """It need not wait any longer."""
        self.ready = True
        if self.rank.waiting is self:
            if self.future is None:
                self.rank.cluster.driver.wake(self.rank)
            elif not self.future.done():
                self.rank.cluster.watch.moved += 1
                self.future.set_result(None)

    def fail(self, error: Exception) -> None:
        """The waiting is in vain."""
        self.error = error
        if self.future is not None and not self.future.done():
            self.future.set_result(None)

    def send(self, value):
        self.steps = self.steps or self.__await__()
        return self.steps.send(value)

    def throw(self, *error):
        self.steps = self.steps or self.__await__()
        return self.steps.throw(*error)

    def close(self):
        if self.steps is not None:
            self.steps.close()


@dataclass
class Channel:
    """From one rank to another.

    sent: messages that nobody has taken: (facts, when its transfer began, when it is there).
    asked: receives that have no message yet. stuck: sends that wait for room. parked: of each
    message that lay in the receiver's buffer (from when, until when, its size).
    """

    sent: deque[tuple[Facts, float, float]] = field(default_factory=deque)
    asked: deque["Receiving"] = field(default_factory=deque)
    stuck: deque["Sending"] = field(default_factory=deque)
    parked: list[tuple[float, float, float]] = field(default_factory=list)


class Sending(Pending):
    """A value on its way. It stays in the sender's memory until it has left."""

    __slots__ = ("target", "value", "gone")

    def __init__(self, rank, ready, target, value, gone):
        Pending.__init__(self, rank, ready)
        self.target, self.value, self.gone = target, value, gone

    def finish(self) -> None:
        self.value = None
        self.rank.now = max(self.rank.now, self.gone)

    def doing(self) -> str:
        return f"sends to rank {self.target}"

    def needs(self):
        return (self.target,)


class Receiving(Pending):
    """A message that is to come."""

    __slots__ = ("source", "channel", "message")

    def __init__(self, rank, source, channel):
        Pending.__init__(self, rank)
        self.source, self.channel, self.message = source, channel, None

    def deliver(self) -> None:
        """Take the oldest message."""
        channel = self.channel
        self.message = channel.sent.popleft()
        self.settle()
        if channel.stuck:
            channel.stuck.popleft().settle()

    def finish(self) -> Value:
        rank, (facts, begun, there) = self.rank, self.message
        profile, asked, start = rank.profile, rank.now, None
        rank.now = max(asked, there)
        value = rank.new(facts)
        if profile.overlap:
            if there < asked:
                self.channel.parked.append((there, asked, profile.size(facts)))
            start = min(rank.now, max(asked, begun))
            seconds = rank.now - start
        else:
            seconds = profile.message(facts, self.source, rank.number)
        rank.event("recv", facts.layer, seconds, facts.samples, (self.source, asked), start)
        return value

    def doing(self) -> str:
        return f"receives from rank {self.source}"

    def needs(self):
        return (self.source,)


def send(rank, target: int, value) -> Sending:
    """Start to send; awaiting it gives None."""
    channel = rank.outgoing.get(target) or _channel(rank, target, "send", "dest")
    if not isinstance(value, Value):
        took = type(value).__name__
        rank.refuse(Misplaced, "send", f"it takes a value of the cluster, not a {took}")
    facts = rank.use(value, value.kind, "send")
    profile = rank.profile
    rank.write("send", target, value._number)
    seconds = profile.message(facts, rank.number, target)
    begun = gone = rank.now
    if profile.overlap:
        begun = max(begun, rank.send_free)
        there = gone = rank.send_free = begun + seconds
        rank.event("send", facts.layer, seconds, facts.samples, (target, begun), begun)
    else:
        rank.event("send", facts.layer, seconds, facts.samples, (target, begun))
        there = rank.now if profile.ends_in_turn else begun
    channel.sent.append((facts, begun, there))
    room = profile.room is None or len(channel.sent) - len(channel.asked) <= profile.room
    sending = Sending(rank, room, target, value, gone)
    if not room:
        channel.stuck.append(sending)
    if channel.asked:
        channel.asked.popleft().deliver()
    return sending


def receive(rank, source: int) -> Receiving:
    """Start to receive; awaiting it gives the value."""
    channel = rank.incoming.get(source) or _channel(rank, source, "receive", "source")
    rank.write("receive", source)
    receiving = Receiving(rank, source, channel)
    if channel.sent:
        receiving.deliver()
    else:
        channel.asked.append(receiving)
    return receiving


def _channel(rank, other, op: str, name: str) -> Channel:
    """The channel to or from another rank, made where it is first used."""
    size = rank.cluster.world_size
    if type(other) is not int or not 0 <= other < size:
        known = f"{name} must be 0 to {size - 1}"
        rank.refuse(Misplaced, op, f"there is no rank {other!r}: {known}")
    if other == rank.number:
        rank.refuse(Misplaced, op, f"{name} is {other}, this rank itself: it has the value already")
    source, target = (rank, rank.cluster.ranks[other])[:: 1 if op == "send" else -1]
    made = Channel()
    source.outgoing[target.number] = target.incoming[source.number] = made
    return made


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
        more, beside = (call.group, rank.now), rank.profile.overlap
        rank.now = max(rank.now, call.start + (call.seconds if beside else 0.0))
        made = rank.new(facts)
        start = call.start if beside else None
        rank.event(call.op, call.layer, call.seconds, facts.samples, more, start)
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


def start_collective(rank, op: str, value, group: tuple) -> Joined:
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
    if group not in rank.groups:
        rank.groups[group] = len(rank.groups)
        rank.write("group", group)
    rank.write("collective", op, value._number, rank.groups[group])
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
        return size * min(len(group), facts.parts / facts.shards.bit_count())
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
    rule = combined if call.op == "all_gather" else added
    total = call.given[call.group[0]][0]
    for number in call.group[1:]:
        try:
            total = rule(total, call.given[number][0])
        except PuzzleError as error:
            raise type(error)(f"{call.what()}, with what rank {number} brings: {error}") from None
    return total
