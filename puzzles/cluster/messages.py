"""Messages from one rank to another: in order, and each received once."""

from collections import deque

from cluster.errors import Misplaced
from cluster.facts import Facts
from cluster.pending import Pending
from cluster.value import Value


class Channel:
    """From one rank to another.

    sent: messages that nobody has taken: (facts, when its transfer began, when it is there).
    asked: receives that have no message yet. stuck: sends that wait for room. parked: of each
    message that lay in the receiver's buffer (from when, until when, its size).
    """

    __slots__ = ("sent", "asked", "stuck", "parked")

    def __init__(self):
        self.sent: deque[tuple[Facts, float, float]] = deque()
        self.asked: deque[Receiving] = deque()
        self.stuck: deque[Sending] = deque()
        self.parked: list[tuple[float, float, float]] = []


class Sending(Pending):
    """A value on its way. It stays in the sender's memory until it has left."""

    __slots__ = ("target", "value", "gone")

    def __init__(self, rank, ready, target, value, gone):
        Pending.__init__(self, rank, ready)
        self.target, self.value, self.gone = target, value, gone

    def finish(self) -> None:
        self.value = None
        if self.gone > self.rank.now:
            self.rank.now = self.gone

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
        profile, asked = rank.profile, rank.now
        if there > asked:
            rank.now = there
        if not profile.overlap:
            seconds = profile.message(facts, self.source, rank.number)
            rank.event("recv", facts.layer, seconds, facts.samples, (self.source, asked))
            return rank.new(facts)
        if there < asked:
            self.channel.parked.append((there, asked, profile.size(facts)))
        value = rank.new(facts)
        start = min(rank.now, max(asked, begun))
        more = self.source, asked
        rank.log.append(
            ("recv", facts.layer, start, rank.now - start, rank.held, facts.samples, more)
        )
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
    if rank.tape is not None:
        rank.tape.append(("send", target, value._number))
    seconds = profile.message(facts, rank.number, target)
    begun = gone = rank.now
    if profile.overlap:
        if rank.send_free > begun:
            begun = rank.send_free
        there = gone = rank.send_free = begun + seconds
        more = target, begun
        rank.log.append(("send", facts.layer, begun, seconds, rank.held, facts.samples, more))
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
    if rank.tape is not None:
        rank.tape.append(("receive", source))
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
