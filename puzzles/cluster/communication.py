"""Messages and collectives: what a rank starts, and waits for.

`await model.all_reduce(…)` waits at once. Without the await, the rank goes on, and waits when it
awaits what it was given: where the profile lets them, communication and computing overlap.

Messages from one rank to another come in order, and each is received once. In a collective all
ranks of a group give something, and each gets its part of the result: the n-th collective of a
group on one rank is the n-th on all of its ranks. Each rank runs its own in the order in which it
started them; a collective starts when the last rank has come.
"""

from collections.abc import Coroutine

from cluster.values import GRADIENT, SHARDED, Facts, PuzzleError, Value, added, combined, cut

NEEDS = {"all_reduce": (GRADIENT,), "reduce_scatter": (GRADIENT,), "all_gather": SHARDED}


class Pending(Coroutine):
    """What a rank has started. taken: it is awaited. value: what lies in memory until its end.

    words: what the rank does. other: the rank that it waits for. Each kind of it has ready(), true
    once its rank need not wait for others, and finish(), which returns what awaiting it returns.
    """

    def __init__(self, books, words: str, other: int | None = None, value=None):
        self.books, self.words, self.other, self.value = books, words, other, value
        self.taken, self.steps = False, None
        books.pending.append(self)
        books.cluster.moved += 1

    def __await__(self):
        if self.taken:
            told = f"awaits the same thing twice: it {self.words}"
            raise PuzzleError(f"rank {self.books.rank} {told}")
        self.taken = True
        while not self.ready():
            self.books.cluster.look()
            yield  # whoever drives the ranks runs the others, then this one again
        self.books.pending.remove(self)
        self.books.cluster.moved += 1
        done, self.value = self.finish(), None
        return done

    def waits(self) -> tuple[list[int], str]:
        """Return for which ranks, and what this one does, in words."""
        return [self.other], self.words

    # asyncio.create_task and gather take coroutines.
    def send(self, value):
        self.steps = self.steps or self.__await__()
        return self.steps.send(value)

    def throw(self, *error):
        self.steps = self.steps or self.__await__()
        return self.steps.throw(*error)


class Channel:
    """From one rank to another: the n-th receive takes the n-th message.

    sent: of each message its facts, when its transfer began, when it is there. asked: how many
    receives there were. parked: of each message that lay in the receiver's memory (from when, until
    when, its size).
    """

    def __init__(self):
        self.sent, self.asked, self.parked = [], 0, []


class Sending(Pending):
    """A value on its way. It stays in the sender's memory until it is gone."""

    def __init__(self, books, target: int, value):
        self.channel = books.cluster.channel(books, books.rank, target, "send")
        facts, profile = books.use(value, "send"), books.profile
        seconds = profile.message(facts, books.rank, target)
        begun = max(books.now, books.send_free)
        books.event("send", facts.layer, seconds, facts.samples, (target, begun), begun)
        self.gone = begun + seconds
        if profile.real:
            books.send_free = self.gone
        else:
            books.now = self.gone
        self.number = len(self.channel.sent)
        self.channel.sent.append((facts, begun, self.gone if profile.ends else begun))
        super().__init__(books, f"sends to rank {target}", target, value)

    def ready(self) -> bool:
        return self.books.profile.real or self.number <= self.channel.asked

    def finish(self) -> None:
        self.books.now = max(self.books.now, self.gone)


class Receiving(Pending):
    """A message that is to come."""

    def __init__(self, books, source: int):
        self.channel = books.cluster.channel(books, source, books.rank, "receive")
        self.number = self.channel.asked
        self.channel.asked += 1
        super().__init__(books, f"receives from rank {source}", source)

    def ready(self) -> bool:
        return self.number < len(self.channel.sent)

    def finish(self) -> Value:
        books, (facts, begun, there) = self.books, self.channel.sent[self.number]
        profile, asked, start = books.profile, books.now, None
        books.now = max(asked, there)
        value, seconds = books.new(facts), profile.message(facts, self.other, books.rank)
        if profile.real:
            if there < asked:
                self.channel.parked.append((there, asked, profile.size(facts)))
            start = min(books.now, max(asked, begun))
            seconds = books.now - start
        books.event("recv", facts.layer, seconds, facts.samples, (self.other, asked), start)
        return value


class Joined(Pending):
    """A rank in a collective. all: who has come, until it runs; this rank too.

    facts: of what the rank brings; result: of what comes out, and None until it runs. room: the
    memory that the result takes until it is there.
    """

    def __init__(self, books, op: str, value, group: tuple):
        facts = books.use(value, op, *NEEDS[op])
        if op == "reduce_scatter" and not facts.complete:
            books.refuse(op, f"it cuts the sum into shards, and {facts} is cut")
        books.called[group] += 1
        number, call = books.called[group], f"{op} of the {facts.kind} of layer {facts.layer}"
        self.all = books.cluster.open.setdefault((group, number), [])
        if self.all and self.all[0].call != call:
            first = f"rank {self.all[0].books.rank} {self.all[0].call}"
            both = f"rank {books.rank} calls {call}, and {first}"
            told = "all ranks must call the same ones in the same order"
            raise PuzzleError(f"{both}, both as collective number {number} of their group: {told}")
        super().__init__(books, f"is in {call}", value=value)
        self.op, self.call, self.group, self.facts = op, call, group, facts
        self.begun, self.result = books.now, None
        size, n = books.profile.size(facts), len(group)
        gathered = size * min(n, facts.parts / facts.shards.bit_count())
        rooms = {"all_reduce": size, "reduce_scatter": size / n, "all_gather": gathered}
        self.room = rooms[op] if books.profile.real else 0.0
        books.hold(self.room, facts)
        books.collectives.append(self)
        self.all.append(self)
        if len(self.all) == n:
            del books.cluster.open[group, number]
            try_to_run(self.all)

    def ready(self) -> bool:
        return self.result is not None

    def finish(self) -> Value:
        books, asked, facts = self.books, self.books.now, self.result
        if self.op == "reduce_scatter":
            facts = cut(facts, self.group.index(books.rank), len(self.group))
        real = books.profile.real
        books.held -= self.room
        books.now = max(asked, self.start + (self.seconds if real else 0.0))
        made, start = books.new(facts), self.start if real else None
        books.event(self.op, facts.layer, self.seconds, facts.samples, (self.group, asked), start)
        return made

    def waits(self):
        first = (self.books.collectives or [self])[0]
        behind = "" if first is self else f", which comes after its {first.call}"
        missing = set(first.group) - {j.books.rank for j in first.all}
        busy = [j.books.rank for j in first.all if j.books.collectives[:1] != [j]]
        return missing or busy, self.words + behind


def try_to_run(joined: list[Joined]) -> None:
    """Let a collective happen if all have come and it is the first of each; then what is behind."""
    if len(joined) < len(joined[0].group) or any(j.books.collectives[0] is not j for j in joined):
        return
    first, *others = sorted(joined, key=lambda j: j.books.rank)
    rule = combined if first.op == "all_gather" else added
    result = first.facts  # a sum, or all shards
    for j in others:
        try:
            result = rule(result, j.facts)
        except PuzzleError as error:
            told = f"{j.call}, with what rank {j.books.rank} brings: {error}"
            raise PuzzleError(told) from None
    profile, given = first.books.profile, [j.facts for j in (first, *others)]
    start = max(max(j.begun, j.books.lane_free) for j in joined)
    seconds = profile.collective(first.op, given, result, first.group)
    joined.clear()  # a circle of objects would stay in memory
    for j in (first, *others):
        j.start, j.seconds, j.result = start, seconds, result
        j.books.collectives.pop(0)
        if profile.real:
            j.books.lane_free = start + seconds
    for j in (first, *others):
        if j.books.collectives:
            try_to_run(j.books.collectives[0].all)
