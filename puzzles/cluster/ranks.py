"""The books of each rank, the cluster of them, and what happens when no rank can go on."""

import asyncio
import os
import time
from collections import Counter, defaultdict
from contextlib import suppress
from typing import NamedTuple

from cluster.communication import Channel
from cluster.profiles import PROFILES
from cluster.values import WEIGHT, Facts, PuzzleError, Value, numbers_in, value_of, whole_number
from helpers.waits import Wait, find_deadlock, sentence

NAMES = ("weights", "opt_states", "activations", "grad_activations", "grad_weights")
ROUNDS = 4
PATIENCE_S = 1.0  # where other tasks live beside the ranks, and might wake one of them


class Freed(PuzzleError, KeyError):
    """Something that isn't in storage."""

    __str__ = ValueError.__str__


class Storage(dict):
    """One of the five dictionaries of a rank."""

    def __init__(self, rank: int, name: str):
        self.words = f"rank {rank} has no {name}"

    def __missing__(self, key):
        raise Freed(f"{self.words}[{key!r}]: it was never put there, or is freed")


class Event(NamedTuple):
    """Something that a rank did. time, duration, memory: in the profile's units.

    more: of what communicates, with whom, and since when the rank stood there.
    """

    typ: str
    layer: int | None
    rank: int
    time: float
    duration: float
    memory: float
    samples: frozenset[int] = frozenset()
    more: tuple | None = None


class Rank:
    """The books of one rank; `Model` adds what a step may call.

    time: its clock. held: its memory now; peak: the most, and when. log: its events.
    final_weights: the new weights by layer. pending: what it has started and not awaited.
    parked: of each message that lay in its memory: from when, until when, its size. lane_free,
    send_free: when its collectives and its messages that go on beside computing have ended.
    collectives: started, in order, not ended yet. called: how many of each group.
    """

    def __init__(self, rank: int, dist: "Dist", num_layers: int, global_batch_size: int):
        whole_number("Model", num_layers=num_layers, global_batch_size=global_batch_size)
        dist.check_rank("Model", rank)
        if rank in dist.ranks:
            told = "has a model already: a new run needs a new Dist"
            raise PuzzleError(f"rank {rank} of this Dist {told}")
        for other in dist.ranks.values():
            if (other.num_layers, other.global_batch_size) != (num_layers, global_batch_size):
                mine = f"rank {rank} has {num_layers} layers and {global_batch_size} samples"
                theirs = f"rank {other.rank} {other.num_layers} and {other.global_batch_size}"
                raise PuzzleError(f"{mine}, {theirs}: give all the same")
        dist.ranks[rank] = self
        self.dist, self.rank, self.world_size = dist, rank, dist.world_size
        self.num_layers, self.global_batch_size = num_layers, global_batch_size
        self.rules, self.profile = dist.profile, dist.profile.name
        self.time = self.held = self.lane_free = self.send_free = 0.0
        self.peak = 0.0, 0.0
        self.places = tuple(Storage(rank, name) for name in NAMES)
        self.weights, self.opt_states, self.activations, *grads = self.places
        self.grad_activations, self.grad_weights = grads
        self.log, self.pending, self.parked, self.collectives = [], [], [], []
        self.final_weights, self.called, self.loaded = {}, Counter(), set()

    def stored(self):
        return [v for place in self.places for v in place.values() if isinstance(v, Value)]

    def memory(self) -> float:
        """Return what this rank holds now: elements, or in `bytes` and `measured` bytes."""
        return self.held if self.rules.real else sum(value._size for value in self.stored())

    def new(self, facts: Facts) -> Value:
        """Return a value that this rank holds from now on."""
        size = self.rules.size(facts)
        made = value_of(facts, self.num_layers, self.global_batch_size, self, size)
        self.hold(size, facts)
        return made

    def hold(self, size: float, facts: Facts) -> None:
        """Take memory that a value will fill. Raises PuzzleError where the card is full."""
        self.held += size
        if self.held > self.peak[0] and self.rules.real:
            self.peak = self.held, self.time
            if self.held > self.rules.limit:
                self.refuse_memory(*self.peak, f"{facts}: it")

    def refuse_memory(self, held: float, when: float, what: str) -> None:
        raise PuzzleError(
            f"rank {self.rank} runs out of memory at {when:.4g} s, with {what} would hold "
            f"{held / 1e9:.1f} GB, and the card has {self.rules.limit / 1e9:.1f} GB"
        )

    def use(self, value, op, *kinds: str) -> Facts:
        """Return the facts of a value that `op` needs here, of one of these kinds; none: any."""
        if hasattr(value, "__await__"):
            self.refuse(op, "it got a call that has not been awaited: write await before the call")
        if not isinstance(value, Value) or (kinds and value.kind not in kinds):
            got = value._facts if isinstance(value, Value) else _a(type(value).__name__)
            needs = _a(" or ".join(kinds) or "value of the cluster")
            self.refuse(op, f"it needs {needs}, and got {got}")
        facts, owner = value._facts, value._owner
        if owner is None:
            told = "nobody has computed it: use what the model's own methods return"
            self.refuse(op, f"{facts} was built by hand, and {told}")
        if owner.dist is not self.dist:
            self.refuse(op, f"{facts} belongs to another run")
        if owner is not self:
            self.refuse(op, f"{facts} lies on rank {owner.rank}: send it with model.send")
        return facts

    def take(self, op, layer: int, *given: tuple) -> list[Facts]:
        """Return the facts of values, each given with its class, that `op` needs of this layer.

        Where only storage counts as memory, refuse what is used beside it.
        """
        if op != "loss" and (not isinstance(layer, int) or not 0 <= layer < self.num_layers):
            self.refuse(op, f"there is no layer {layer!r}: they are 0 to {self.num_layers - 1}")
        found = [self.use(value, op, cls.kind) for value, cls in given]
        final = op.startswith("set_final_weight")
        for facts in found:
            if facts.layer != layer:
                self.refuse(op, f"it needs the {facts.kind} of layer {layer}, and got {facts}")
            if final and not facts.step:
                self.refuse(op, f"{facts} is the old one, of step 0: hand in what update gave")
            if facts.step and not final:
                self.refuse(op, f"{facts} has been updated already: update comes last, and once")
            computes = facts.kind == WEIGHT and op.startswith(("forward", "backward"))
            if computes and not facts.complete:
                self.refuse(op, f"it needs the whole weight, and got {facts}: gather it first")
        for value, _ in () if self.rules.real or final else given:
            if not any(each is value for each in self.stored()):
                told = "is in none of the five dictionaries of model.storage(), where memory counts"
                self.refuse(op, f"{value._facts} {told}: put it there until the call has returned")
        return found

    def event(self, typ: str, layer, seconds: float, samples=0, more=None, start=None) -> None:
        """Write down what this rank does now, and for so long; or beside the rest, from `start`."""
        begun = self.time if start is None else start
        done = typ, layer, self.rank, begun, seconds, self.memory(), numbers_in(samples), more
        self.log.append(Event(*done))
        if start is None:
            self.time += seconds
        if len(self.log) > 20_000 + 50 * (self.num_layers + 2) * (self.global_batch_size + 2):
            done = f"rank {self.rank} has done {len(self.log):,} things"
            raise PuzzleError(f"{done}, far more than a step needs: is there a loop without end?")

    def refuse(self, op, sentence: str) -> None:
        raise PuzzleError(f"rank {self.rank}, {op}: {sentence}")

    def ask(self, op, rule, *inputs) -> Facts:
        """Return what a rule makes of facts; say where if it refuses them."""
        try:
            return rule(*inputs)
        except PuzzleError as error:
            self.refuse(op, str(error))


def _a(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeo" else f"a {word}"


class Dist:
    """A cluster of `world_size` ranks.

    profile: "bytes", "classic", "measured" or "steps"; left out, what the environment variable
    PUZZLES_PROFILE says, else bytes.

    Whoever drives the ranks, asyncio or `run`, runs them in turn; one that waits looks around and
    yields. moved: counts what any rank starts or is done with. If several rounds pass in which
    nothing moves, nothing ever will. open: collectives that have begun, by group and number.
    """

    def __init__(self, world_size: int, profile: str | None = None):
        whole_number("Dist", world_size=world_size)
        name = profile or os.environ.get("PUZZLES_PROFILE") or "bytes"
        if name not in PROFILES:
            known = "choose bytes, classic, measured or steps"
            raise PuzzleError(f"there is no profile {name!r}: {known}")
        self.world_size, self.profile = world_size, PROFILES[name](world_size)
        self.everyone, self.ranks, self.open = tuple(range(world_size)), {}, {}
        self.channels: dict[tuple, Channel] = defaultdict(Channel)
        self.moved = self.seen = self.looked = 0
        self.since, self.driven = 0.0, False
        self.tasks = set()  # the one that waits for the ranks, and theirs
        with suppress(RuntimeError):  # no loop runs here
            self.tasks.add(asyncio.current_task())

    def check_rank(self, op: str, rank) -> None:
        if type(rank) is not int or not 0 <= rank < self.world_size:
            told = f"there is no rank {rank!r}: they are 0 to {self.world_size - 1}"
            raise PuzzleError(f"{op}: {told}")

    def channel(self, model: Rank, source: int, target: int, op: str) -> Channel:
        for other in (source, target):
            self.check_rank(f"rank {model.rank}, {op}", other)
        if source == target:
            model.refuse(op, f"rank {source} is this rank itself: it has the value already")
        return self.channels[source, target]

    def look(self) -> None:
        """Raise Deadlock if no rank can go on; each rank that waits asks in each round."""
        if self.seen != self.moved:
            self.seen, self.looked, self.since = self.moved, 0, time.monotonic()
        self.looked += 1
        with suppress(RuntimeError):
            self.tasks.add(asyncio.current_task())
        if self.looked > ROUNDS * len(self.ranks):
            others = not self.driven and asyncio.all_tasks() - self.tasks
            if not others or time.monotonic() - self.since > PATIENCE_S:
                raise deadlock(self)

    # The calls below the model's: they cost what the model's cost, and return the time, too.

    async def all_reduce(self, rank: int, value, time: float):
        model = self._at(rank, time)
        return await model.all_reduce(value), model.time

    async def all_gather(self, rank: int, value, time: float):
        model = self._at(rank, time)
        return await model.all_gather(value), model.time

    async def reduce_scatter(self, rank: int, value, time: float):
        model = self._at(rank, time)
        return await model.reduce_scatter(value), model.time

    async def send(self, rank_source: int, rank_dest: int, value) -> None:
        """Send a value, alone or as (value, time)."""
        value, time = value if isinstance(value, tuple) else (value, None)
        await self._at(rank_source, time).send(rank_dest, value)

    async def receive(self, rank_source: int, rank_dest: int):
        model = self._at(rank_dest)
        return await model.receive(rank_source), model.time

    def _at(self, rank: int, time: float | None = None) -> Rank:
        self.check_rank("Dist", rank)
        model = self.ranks[rank]
        if time is not None and abs(time - model.time) > 1e-9 * max(1.0, model.time):
            raise PuzzleError(f"rank {rank}: its clock says {model.time:g}, not {time:g}")
        return model


def deadlock(cluster: Dist) -> PuzzleError:
    """Return the error that says which ranks wait for each other, or for one that has ended."""
    waits, ended = [], []
    for rank, model in sorted(cluster.ranks.items()):
        stuck = next((p for p in model.pending if p.taken), None)
        if stuck is None:
            ended.append(rank)
        else:
            others, words = stuck.waits()
            waits.append(Wait(rank, tuple(sorted(others)), words))
    found = find_deadlock(waits, ended)
    if found is None:
        return PuzzleError("deadlock: collectives of overlapping groups were started in two orders")
    cure = "All ranks of a group must make the same collectives, and each receive needs its send"
    if found.cycle:
        cure = "Let one of them change its order: send first, receive first, or join the others"
    return PuzzleError(f"deadlock: {sentence(found)}. {cure}")
