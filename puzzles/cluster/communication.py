"""Messages and collectives: what a rank starts, and waits for.

`await model.all_reduce(…)` waits at once. Without the await, the rank goes on, and waits when it
awaits what it was given: where the profile lets them, communication and computing overlap.

Messages from one rank to another come in order, and each is received once. In a collective all
ranks of a group give something, and each gets its part of the result: the n-th collective of a
group on one rank is the n-th on all of its ranks. Each rank runs its own in the order in which it
started them; a collective starts when the last rank has come.
"""

from collections.abc import Coroutine

from cluster.values import GRADIENT, SHARDED, Facts, PuzzleError, added, combined, cut

NEEDS = {"all_reduce": (GRADIENT,), "reduce_scatter": (GRADIENT,), "all_gather": SHARDED}


class Pending(Coroutine):
    """What a rank has started. taken: it is awaited.

    work: `send`, `receive` or `join`. To its first yield it runs at once, and the rest when it is
    awaited. What it yields there is waits(): for which ranks it waits, and what it does, in words.
    """

    def __init__(self, work, model, *given):
        running = work(model, *given)
        self.model, self.waits, self.taken = model, next(running), False
        self.rest = self._to_the_end(running)
        model.pending.append(self)
        model.dist.moved += 1

    def _to_the_end(self, running):
        done = yield from running
        self.model.pending.remove(self)
        self.model.dist.moved += 1
        return done

    def __await__(self):
        if self.taken:
            told = f"awaits the same thing twice: it {self.waits()[1]}"
            raise PuzzleError(f"rank {self.model.rank} {told}")
        self.taken = True
        return self.rest

    # asyncio.create_task and gather take coroutines.
    def send(self, value):
        self.taken = True
        return self.rest.send(value)

    def throw(self, *error):
        return self.rest.throw(*error)


def until(model, ready):
    while not ready():
        model.dist.look()
        yield  # whoever drives the ranks runs the others, then this one again


class Channel:
    """From one rank to another: the n-th receive takes the n-th message.

    sent: of each message its facts, when its transfer began, when it is there. asked: how many
    receives there were.
    """

    def __init__(self):
        self.sent, self.asked = [], 0


def send(model, target: int, value):
    """Send a value, which stays in the sender's memory until it is gone."""
    channel = model.dist.channel(model, model.rank, target, "send")
    facts, profile, number = model.use(value, "send"), model.rules, len(channel.sent)
    seconds = profile.message(facts, model.rank, target)
    begun = max(model.time, model.send_free)
    model.event("send", facts.layer, seconds, facts.samples, (target, begun), begun)
    gone = begun + seconds
    if profile.real:
        model.send_free = gone
    else:
        model.time = gone
    channel.sent.append((facts, begun, gone if profile.ends else begun))
    yield lambda: ([target], f"sends to rank {target}")
    yield from until(model, lambda: profile.real or number <= channel.asked)
    model.time = max(model.time, gone)


def receive(model, source: int):
    """Return the next message from a rank."""
    channel, profile = model.dist.channel(model, source, model.rank, "receive"), model.rules
    number = channel.asked
    channel.asked += 1
    yield lambda: ([source], f"receives from rank {source}")
    yield from until(model, lambda: number < len(channel.sent))
    (facts, begun, there), asked, start = channel.sent[number], model.time, None
    model.time = max(asked, there)
    value, seconds = model.new(facts), profile.message(facts, source, model.rank)
    if profile.real:
        if there < asked:
            model.parked.append((there, asked, profile.size(facts)))
        start = min(model.time, max(asked, begun))
        seconds = model.time - start
    model.event("recv", facts.layer, seconds, facts.samples, (source, asked), start)
    return value


class Joined:
    """A rank in a collective. all: who has come, until it runs; this rank too.

    facts: of what the rank brings; result: of what comes out, and None until it runs.
    """

    def __init__(self, model, op: str, facts: Facts, group: tuple, all: list):
        self.model, self.op, self.facts, self.group, self.all = model, op, facts, group, all
        self.call = f"{op} of the {facts.kind} of layer {facts.layer}"
        self.begun, self.result = model.time, None

    def waits(self):
        first = (self.model.collectives or [self])[0]
        behind = "" if first is self else f", which comes after its {first.call}"
        missing = set(first.group) - {j.model.rank for j in first.all}
        busy = [j.model.rank for j in first.all if j.model.collectives[:1] != [j]]
        return missing or busy, f"is in {self.call}{behind}"


def join(model, op: str, value, group: tuple):
    """Return this rank's part of a collective. What it brings stays in its memory until the end."""
    facts, real = model.use(value, op, *NEEDS[op]), model.rules.real
    if op == "reduce_scatter" and not facts.complete:
        model.refuse(op, f"it cuts the sum into shards, and {facts} is cut")
    model.called[group] += 1
    number = model.called[group]
    come = model.dist.open.setdefault((group, number), [])
    mine = Joined(model, op, facts, group, come)
    if come and come[0].call != mine.call:
        first = f"rank {come[0].model.rank} {come[0].call}"
        both = f"rank {model.rank} calls {mine.call}, and {first}"
        told = "all ranks must call the same ones in the same order"
        raise PuzzleError(f"{both}, both as collective number {number} of their group: {told}")
    size, n = model.rules.size(facts), len(group)
    gathered = size * min(n, facts.parts / facts.shards.bit_count())
    rooms = {"all_reduce": size, "reduce_scatter": size / n, "all_gather": gathered}
    room = rooms[op] if real else 0.0  # for the result, until it is there
    model.hold(room, facts)
    model.collectives.append(mine)
    come.append(mine)
    if len(come) == n:
        del model.dist.open[group, number]
        try_to_run(come)
    yield mine.waits
    yield from until(model, lambda: mine.result)
    result, asked = mine.result, model.time
    if op == "reduce_scatter":
        result = cut(result, group.index(model.rank), n)
    model.held -= room
    model.time = max(asked, mine.start + (mine.seconds if real else 0.0))
    made, start = model.new(result), mine.start if real else None
    model.event(op, result.layer, mine.seconds, result.samples, (group, asked), start)
    return made


def try_to_run(joined: list[Joined]) -> None:
    """Let a collective happen if all have come and it is the first of each; then what is behind."""
    if len(joined) < len(joined[0].group) or any(j.model.collectives[0] is not j for j in joined):
        return
    first, *others = sorted(joined, key=lambda j: j.model.rank)
    rule = combined if first.op == "all_gather" else added
    result = first.facts  # a sum, or all shards
    for j in others:
        try:
            result = rule(result, j.facts)
        except PuzzleError as error:
            told = f"{j.call}, with what rank {j.model.rank} brings: {error}"
            raise PuzzleError(told) from None
    profile, given = first.model.rules, [j.facts for j in (first, *others)]
    start = max(max(j.begun, j.model.lane_free) for j in joined)
    seconds = profile.collective(first.op, given, result, first.group)
    joined.clear()  # a circle of objects would stay in memory
    for j in (first, *others):
        j.start, j.seconds, j.result = start, seconds, result
        j.model.collectives.pop(0)
        if profile.real:
            j.model.lane_free = start + seconds
    for j in (first, *others):
        if j.model.collectives:
            try_to_run(j.model.collectives[0].all)
