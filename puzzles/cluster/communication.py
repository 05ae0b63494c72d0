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

    work: `send`, `receive` or `join`. To its yield it runs at once, and the rest when it is awaited
    and ready(). It yields waits() and ready: for which ranks it waits, and what it does, in words;
    and whether it can go on.
    """

    def __init__(self, work, model, *given):
        running = work(model, *given)
        self.model, self.taken, self.rest = model, False, self._to_the_end(running)
        self.waits, self.ready = next(running)
        model.pending.append(self)
        model.dist.moved += 1

    def _to_the_end(self, running):
        while not self.ready():
            self.model.dist.look()
            yield  # whoever drives the ranks runs the others, then this one again
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
    waits = [target], f"sends to rank {target}"
    yield lambda: waits, lambda: profile.real or number <= channel.asked
    model.time = max(model.time, gone)


def receive(model, source: int):
    """Return the next message from a rank."""
    channel, profile = model.dist.channel(model, source, model.rank, "receive"), model.rules
    number = channel.asked
    channel.asked += 1
    waits = [source], f"receives from rank {source}"
    yield lambda: waits, lambda: number < len(channel.sent)
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


class Collective:
    """One collective of a group. given: of each rank that has come, the facts of what it brings.

    begun: when the last of them came. result: the facts of what comes out; None until it runs.
    """

    def __init__(self, op: str, call: str, group: tuple):
        self.op, self.call, self.group = op, call, group
        self.given, self.begun, self.result = {}, 0.0, None


def join(model, op: str, value, group: tuple):
    """Return this rank's part of a collective. What it brings stays in its memory until the end."""
    facts, dist, real = model.use(value, op, *NEEDS[op]), model.dist, model.rules.real
    if op == "reduce_scatter" and not facts.complete:
        model.refuse(op, f"it cuts the sum into shards, and {facts} is cut")
    model.called[group] += 1
    number, call = model.called[group], f"{op} of the {facts.kind} of layer {facts.layer}"
    ours = dist.open.setdefault((group, number), Collective(op, call, group))
    if ours.call != call:
        both = f"rank {model.rank} calls {call}, and rank {next(iter(ours.given))} {ours.call}"
        told = "all ranks must call the same ones in the same order"
        raise PuzzleError(f"{both}, both as collective number {number} of their group: {told}")
    size, n = model.rules.size(facts), len(group)
    gathered = size * min(n, facts.parts / facts.shards.bit_count())
    rooms = {"all_reduce": size, "reduce_scatter": size / n, "all_gather": gathered}
    room = rooms[op] if real else 0.0  # for the result, until it is there
    model.hold(room, facts)
    model.collectives.append(ours)
    ours.given[model.rank], ours.begun = facts, max(ours.begun, model.time)
    if len(ours.given) == n:
        del dist.open[group, number]
        try_to_run(ours, dist.ranks)
    yield lambda: waits_of(model, ours), lambda: ours.result
    result, asked = ours.result, model.time
    if op == "reduce_scatter":
        result = cut(result, group.index(model.rank), n)
    model.held -= room
    model.time = max(asked, ours.start + (ours.seconds if real else 0.0))
    made, start = model.new(result), ours.start if real else None
    model.event(op, result.layer, ours.seconds, result.samples, (group, asked), start)
    return made


def waits_of(model, ours: Collective) -> tuple:
    first = (model.collectives or [ours])[0]
    behind = "" if first is ours else f", which comes after its {first.call}"
    missing = set(first.group) - first.given.keys()
    busy = [rank for rank in first.given if model.dist.ranks[rank].collectives[:1] != [first]]
    return missing or busy, f"is in {ours.call}{behind}"


def try_to_run(ours: Collective, ranks: dict) -> None:
    """Let it happen if all have come and it is the first of each; then what is behind it."""
    models = [ranks[rank] for rank in ours.given]
    if len(models) < len(ours.group) or any(m.collectives[0] is not ours for m in models):
        return
    rule, rules = combined if ours.op == "all_gather" else added, models[0].rules
    first, *others = ours.group
    result = ours.given[first]  # becomes the sum, or all shards
    for rank in others:
        try:
            result = rule(result, ours.given[rank])
        except PuzzleError as error:
            told = f"{ours.call}, with what rank {rank} brings: {error}"
            raise PuzzleError(told) from None
    given = [ours.given[rank] for rank in ours.group]
    ours.seconds = rules.collective(ours.op, given, result, ours.group)
    ours.result, ours.start = result, max(ours.begun, *(model.lane_free for model in models))
    for model in models:
        model.collectives.pop(0)
        if rules.real:
            model.lane_free = ours.start + ours.seconds
    for model in models:
        if model.collectives:
            try_to_run(model.collectives[0], ranks)
