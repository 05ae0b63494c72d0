"""Messages and collectives: what a rank starts, and waits for.

`await model.all_reduce(…)` waits at once. Without the await, the rank goes on, and waits when it
awaits what it was given: where the profile lets them, communication and computing overlap.

Messages from one rank to another come in order, and each is received once. In a collective all
ranks of a group give something, and each gets its part of the result: the n-th collective of a
group on one rank is the n-th on all of its ranks. Each rank runs its own in the order in which it
started them; a collective starts when the last rank has come.
"""

from collections import deque
from collections.abc import Coroutine

from cluster.values import GRADIENT, SHARDED, Facts, PuzzleError, Value, added, combined, cut

NEEDS = {"all_reduce": (GRADIENT,), "reduce_scatter": (GRADIENT,), "all_gather": SHARDED}


class Pending(Coroutine):
    """What a rank has started. ready: its rank need not wait for others. taken: it is awaited.

    Each kind has finish(), which returns what awaiting it returns; doing(), what the rank does, in
    words; and needs(), the ranks that it waits for.
    """

    def __init__(self, books, ready: bool = False):
        self.books, self.ready, self.taken, self.steps = books, ready, False, None
        books.pending[self] = True
        books.cluster.moved += 1

    def __await__(self):
        if self.taken:
            raise PuzzleError(
                f"rank {self.books.rank} awaits the same thing twice: it {self.doing()}"
            )
        self.taken = True
        while not self.ready:
            self.books.cluster.look()
            yield  # whoever drives the ranks runs the others, then this one again
        del self.books.pending[self]
        self.books.cluster.moved += 1
        return self.finish()

    # asyncio.create_task and gather take coroutines.
    def send(self, value):
        self.steps = self.steps or self.__await__()
        return self.steps.send(value)

    def throw(self, *error):
        self.steps = self.steps or self.__await__()
        return self.steps.throw(*error)


class Channel:
    """From one rank to another.

    sent: messages that nobody has taken: (facts, when its transfer began, when it is there).
    asked: receives that have no message yet. stuck: sends that wait for room. parked: of each
    message that lay in the receiver's memory (from when, until when, its size).
    """

    def __init__(self):
        self.sent, self.asked, self.stuck, self.parked = deque(), deque(), deque(), []

    def deliver(self) -> None:
        """Hand messages to receives as long as there are both."""
        while self.sent and self.asked:
            receiving = self.asked.popleft()
            receiving.message, receiving.ready = self.sent.popleft(), True
            if self.stuck:
                self.stuck.popleft().ready = True


class Sending(Pending):
    """A value on its way. It stays in the sender's memory until it is gone."""

    def __init__(self, books, target: int, value):
        channel = books.cluster.channel(books, books.rank, target, "send")
        if not isinstance(value, Value):
            took = type(value).__name__
            books.refuse("send", f"it takes a value of the cluster, not a {took}")
        facts, profile = books.use(value, value.kind, "send"), books.profile
        self.target, self.value = target, value
        seconds = profile.message(facts, books.rank, target)
        begun = self.gone = books.now
        if profile.overlap:
            begun = max(begun, books.send_free)
            there = self.gone = books.send_free = begun + seconds
            books.event("send", facts.layer, seconds, facts.samples, (target, begun), begun)
        else:
            books.event("send", facts.layer, seconds, facts.samples, (target, begun))
            there = books.now if profile.ends_in_turn else begun
            self.gone = books.now
        channel.sent.append((facts, begun, there))
        channel.deliver()
        super().__init__(books, profile.room is None or len(channel.sent) <= profile.room)
        if not self.ready:
            channel.stuck.append(self)

    def finish(self) -> None:
        self.value = None
        self.books.now = max(self.books.now, self.gone)

    def doing(self) -> str:
        return f"sends to rank {self.target}"

    def needs(self):
        return [self.target]


class Receiving(Pending):
    """A message that is to come."""

    def __init__(self, books, source: int):
        self.channel = books.cluster.channel(books, source, books.rank, "receive")
        super().__init__(books)
        self.source, self.message = source, None
        self.channel.asked.append(self)
        self.channel.deliver()

    def finish(self) -> Value:
        books, (facts, begun, there) = self.books, self.message
        profile, asked, start = books.profile, books.now, None
        books.now = max(asked, there)
        value = books.new(facts)
        if profile.overlap:
            if there < asked:
                self.channel.parked.append((there, asked, profile.size(facts)))
            start = min(books.now, max(asked, begun))
            seconds = books.now - start
        else:
            seconds = profile.message(facts, self.source, books.rank)
        books.event("recv", facts.layer, seconds, facts.samples, (self.source, asked), start)
        return value

    def doing(self) -> str:
        return f"receives from rank {self.source}"

    def needs(self):
        return [self.source]


class Collective:
    """One collective of all ranks of a group. joined: who has come, by rank. result: its facts."""

    def __init__(self, op: str, facts: Facts, first: int, group: tuple):
        self.op, self.kind, self.layer, self.first = op, facts.kind, facts.layer, first
        self.group, self.joined = group, {}
        self.start, self.seconds, self.result = 0.0, 0.0, None

    def __str__(self) -> str:
        return f"{self.op} of the {self.kind} of layer {self.layer}"

    def try_to_run(self) -> None:
        """Let it happen if all have come and it is the first of each, and then what is behind."""
        joined = list(self.joined.values())
        if len(joined) < len(self.group) or any(j.books.collectives[0] is not self for j in joined):
            return
        self.result = self._result()
        cluster = joined[0].books.cluster
        lanes = [j.books.lane_free if cluster.profile.overlap else 0.0 for j in joined]
        self.start = max([*lanes, *(j.begun for j in joined)])
        given = [j.facts for j in joined]
        self.seconds = cluster.profile.collective(self.op, given, self.result, self.group)
        self.joined = {}  # a circle of objects would stay in memory
        for j in joined:
            j.books.collectives.pop(0)
            j.books.lane_free = self.start + self.seconds
            j.ready = True
        for j in joined:
            if j.books.collectives:
                j.books.collectives[0].try_to_run()

    def _result(self) -> Facts:
        """Return what all ranks together have: a sum, or all shards. Raises PuzzleError."""
        rule = combined if self.op == "all_gather" else added
        total = self.joined[self.group[0]].facts
        for number in self.group[1:]:
            try:
                total = rule(total, self.joined[number].facts)
            except PuzzleError as error:
                raise PuzzleError(f"{self}, with what rank {number} brings: {error}") from None
        return total


class Joined(Pending):
    """A rank in a collective. value: what it brings, which stays in its memory until the end.
    room: the memory that the result takes until it is there."""

    def __init__(self, books, op: str, value, group: tuple):
        kinds = NEEDS[op]
        if not isinstance(value, Value) or value.kind not in kinds:
            took = value.facts if isinstance(value, Value) else f"a {type(value).__name__}"
            books.refuse(op, f"it takes a {' or '.join(kinds)}, and got {took}")
        facts = books.use(value, value.kind, op)
        if op == "reduce_scatter" and not facts.complete:
            books.refuse(op, f"it cuts the sum into shards, and {facts} is cut")
        number = books.called[group] = books.called.get(group, 0) + 1
        made = Collective(op, facts, books.rank, group)
        call = books.cluster.open.setdefault((group, number), made)
        if str(call) != str(made):
            raise PuzzleError(
                f"rank {books.rank} calls {made}, and rank {call.first} {call}, both as collective "
                f"number {number} of their group: all ranks must call the same ones in the same "
                "order"
            )
        super().__init__(books)
        self.call, self.value, self.facts, self.begun = call, value, facts, books.now
        self.room = 0.0 if books.profile.in_storage else self._room()
        books.hold(self.room, facts)
        books.collectives.append(call)
        call.joined[books.rank] = self
        if len(call.joined) == len(group):
            del books.cluster.open[group, number]
            call.try_to_run()

    def _room(self) -> float:
        size, n = self.books.profile.size(self.facts), len(self.call.group)
        if self.call.op == "all_gather":
            return size * min(n, self.facts.parts / self.facts.shards.bit_count())
        return size / n if self.call.op == "reduce_scatter" else size

    def finish(self):
        books, call = self.books, self.call
        books.held -= self.room
        facts = call.result
        if call.op == "reduce_scatter":
            facts = cut(facts, call.group.index(books.rank), len(call.group))
        asked, beside = books.now, books.profile.overlap
        books.now = max(asked, call.start + (call.seconds if beside else 0.0))
        made = books.new(facts)
        start = call.start if beside else None
        books.event(call.op, call.layer, call.seconds, facts.samples, (call.group, asked), start)
        self.value = None
        return made

    def doing(self) -> str:
        first = (self.books.collectives or [self.call])[0]
        behind = "" if first is self.call else f", which comes after its {first}"
        return f"is in {self.call}{behind}"

    def needs(self):
        first = self.books.collectives[0]
        missing = [number for number in first.group if number not in first.joined]
        others = [j.books for j in first.joined.values()]
        return missing or [b.rank for b in others if b.collectives[:1] != [first]]
