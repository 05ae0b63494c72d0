"""What a student's step holds in its hands: one rank's view of the training, and the cluster."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from cluster import compute
from cluster.communication import Pending, receive, send, start_collective
from cluster.driver import SECONDS, Watch, drive
from cluster.errors import Frozen, Misplaced, PuzzleError
from cluster.facts import numbers_in
from cluster.profiles import make_profile
from cluster.rank import NAMES, Rank
from cluster.values import Activation, ActivationGrad, OptState, Value, Weight, WeightGrad, by_hand


class Event(NamedTuple):
    """Something that a rank did. time, duration: in the profile's unit. memory: in its unit."""

    typ: str
    layer: int | None
    rank: int
    time: float
    duration: float
    memory: float
    samples: frozenset[int] = frozenset()


class Group:
    """Some of the ranks. Collectives of a group are between them alone."""

    def __init__(self, books, ranks: tuple[int, ...]):
        self._books, self.ranks = books, ranks

    @property
    def size(self) -> int:
        return len(self.ranks)

    @property
    def index(self) -> int:
        """The place of this rank in the group: the shard that reduce_scatter gives it."""
        return self.ranks.index(self._books.number)

    def all_reduce(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: the sum of the gradients of all ranks of the group."""
        return start_collective(self._books, "all_reduce", v, self.ranks)

    def reduce_scatter(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: this rank's shard of that sum."""
        return start_collective(self._books, "reduce_scatter", v, self.ranks)

    def all_gather(self, v: Value, layer: int | None = None) -> Pending:
        """Await it: the shards of all ranks of the group, put together."""
        return start_collective(self._books, "all_gather", v, self.ranks)


class Dist:
    """A cluster of `world_size` ranks.

    profile: "bytes", "classic", "measured" or "steps"; left out, what the environment variable
    PUZZLES_PROFILE says, else bytes. machine: a name in machines/, or a Calculon system file.
    keep_tape: write down what each rank does, so that another process can do it again.
    """

    def __init__(self, world_size: int, profile=None, machine=None, keep_tape: bool = False):
        if not isinstance(world_size, int) or isinstance(world_size, bool) or world_size < 1:
            raise PuzzleError(f"Dist({world_size!r}): a cluster has 1 rank or more, a whole number")
        self.world_size, self.keep_tape = world_size, keep_tape
        self.profile = make_profile(profile, machine, world_size)
        self.ranks = [Rank(self, number) for number in range(world_size)]
        self.open: dict[tuple, object] = {}  # collectives that have begun, by group and number
        self.driver = None  # the cluster's own; None: asyncio drives the ranks
        self.watch = Watch(self)
        self.everyone = tuple(range(world_size))

    def prepare(self, number: int, layers: int, batch: int) -> Rank:
        """The books of a rank for a new model."""
        for name, value, least in (("num_layers", layers, 1), ("global_batch_size", batch, 1)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise PuzzleError(f"Model: {name} is a whole number from {least} on, not {value!r}")
        if not isinstance(number, int) or not 0 <= number < self.world_size:
            raise PuzzleError(
                f"Model: there is no rank {number!r} in a cluster of {self.world_size}: they are 0 "
                f"to {self.world_size - 1}"
            )
        rank = self.ranks[number]
        if rank.next or rank.log:
            raise PuzzleError(
                f"Model: rank {number} of this Dist has worked already: a new run needs a new Dist"
            )
        for other in self.ranks:
            alike = (other.layers, other.batch) == (layers, batch)
            if other.layers and other is not rank and not alike:
                raise PuzzleError(
                    f"Model: rank {number} has {layers} layers and {batch} samples, and rank "
                    f"{other.number} {other.layers} and {other.batch}: give all the same"
                )
        rank.layers, rank.batch = layers, batch
        rank.most_events = 20_000 + 50 * (layers + 2) * (batch + 2)
        return rank

    # The calls below the model's: they cost what the model's cost.

    async def all_reduce(self, rank: int, value, time: float):
        """(the sum over all ranks, the time when it is there)."""
        return await self._collective("all_reduce", rank, value, time)

    async def all_gather(self, rank: int, value, time: float):
        """(all shards, the time when they are there)."""
        return await self._collective("all_gather", rank, value, time)

    async def reduce_scatter(self, rank: int, value, time: float):
        """(this rank's shard of the sum, the time when it is there)."""
        return await self._collective("reduce_scatter", rank, value, time)

    async def send(self, rank_source: int, rank_dest: int, value) -> None:
        """Send a value, alone or as (value, time)."""
        value, time = value if isinstance(value, tuple) else (value, None)
        await send(self._at(rank_source, time), rank_dest, value)

    async def receive(self, rank_source: int, rank_dest: int):
        """(the value, the time when it is there)."""
        rank = self._at(rank_dest, None)
        return await receive(rank, rank_source), rank.now

    async def _collective(self, op: str, number: int, value, time: float):
        rank = self._at(number, time)
        return await start_collective(rank, op, value, self.everyone), rank.now

    def _at(self, number: int, time: float | None) -> Rank:
        if not isinstance(number, int) or not 0 <= number < self.world_size:
            raise Misplaced(f"there is no rank {number!r}: they are 0 to {self.world_size - 1}")
        rank = self.ranks[number]
        if time is not None and abs(time - rank.now) > 1e-9 * max(1.0, rank.now):
            raise Misplaced(f"rank {number}: its clock says {rank.now:g}, not {time:g}")
        return rank


def written_by_cluster(name: str, get, doc: str) -> property:
    """A property of a model that a step can read, and not write."""

    def write(model, _):
        raise Frozen(f"rank {model.rank}: model.{name} is written by the cluster, not by a step")

    return property(lambda model: get(model._books), write, doc=doc)


class Model:
    """The model as one rank sees it.

    Methods that end in a message or a collective give something to await. Left unawaited for a
    while, they go on beside the computing, where the profile has two lanes (bytes).
    """

    def __init__(self, rank=0, dist=None, num_layers=2, global_batch_size=1):
        dist = Dist(1) if dist is None else dist
        if type(dist) is not Dist:
            raise Misplaced(f"Model: dist must be a Dist, not a {type(dist).__name__}")
        self._books = dist.prepare(rank, num_layers, global_batch_size)
        self._everyone = Group(self._books, dist.everyone)

    rank = written_by_cluster("rank", lambda b: b.number, "the number of this rank")
    world_size = written_by_cluster("world_size", lambda b: b.cluster.world_size, "ranks in all")
    num_layers = written_by_cluster("num_layers", lambda b: b.layers, "layers of the model")
    global_batch_size = written_by_cluster("global_batch_size", lambda b: b.batch, "samples in all")
    time = written_by_cluster("time", lambda b: b.now, "the clock of this rank")
    dist = written_by_cluster("dist", lambda b: b.cluster, "the cluster")
    profile = written_by_cluster(
        "profile", lambda b: b.profile.name, "bytes, classic, measured or steps"
    )
    log = written_by_cluster(
        "log",
        lambda b: [Event(e[0], e[1], b.number, *e[2:5], numbers_in(e[5])) for e in b.log],
        "the events of this rank until now: a copy",
    )
    final_weights = written_by_cluster(
        "final_weights",
        lambda b: MappingProxyType({i: by_hand(facts, b.layers) for i, facts in b.finals.items()}),
        "what set_final_weight was given, by layer",
    )
    weights, opt_states, activations, grad_activations, grad_weights = (
        written_by_cluster(name, lambda b, i=i: b.storage[i], f"the storage of {name}")
        for i, name in enumerate(NAMES)
    )

    def storage(self):
        """The five dictionaries: (weights, opt_states, activations, grad_activations,
        grad_weights). In classic and steps, memory is what lies in them."""
        return self._books.storage

    def memory(self) -> float:
        """What this rank holds now: elements, or in the profile `bytes` bytes."""
        return self._books.memory()

    def status(self) -> None:
        """Print what lies in storage."""
        for name, place in zip(NAMES, self.storage(), strict=True):
            print(f"{name}: {', '.join(f'{key}: {value!r}' for key, value in place.items())}")

    def load_weights(self, layer: int, shard: int = 0, num_shards: int = 1):
        """The (Weight, OptState) of a layer at step 0, or shard `shard` of `num_shards` of both."""
        return compute.load(self._books, layer, shard, num_shards)

    def get_input_activation(self, samples) -> Activation:
        """The input of layer 0 for these samples of the batch."""
        return compute.take_input(self._books, samples)

    def forward(self, layer: int, inp: Activation, weight: Weight) -> Activation:
        """The activation of layer `layer` -> that of layer `layer + 1`."""
        return compute.forward(self._books, layer, inp, weight)

    def backward(self, layer: int, inp: Activation, grad: ActivationGrad, weight: Weight):
        """(WeightGrad of the layer, ActivationGrad of layer - 1)."""
        return compute.backward(self._books, layer, inp, grad, weight)

    def loss(self, inp: Activation) -> ActivationGrad:
        """The activation of layer num_layers -> the ActivationGrad of the last layer."""
        return compute.loss(self._books, inp)

    def update(self, layer: int, weight_grad: WeightGrad, weight: Weight, opt_state: OptState):
        """(Weight, OptState) of step 1. The gradient must hold every sample of the batch once."""
        return compute.update(self._books, layer, weight_grad, weight, opt_state)

    def set_final_weight(self, layer: int, weight: Weight) -> None:
        """Hand in the updated weight of a layer, or the shards of it that this rank keeps."""
        compute.finish(self._books, layer, weight)

    def empty_grad(self, layer: int) -> WeightGrad:
        """A gradient of zeros, of no sample: for a rank that has nothing to add to a collective."""
        return compute.empty(self._books, layer)

    def group(self, ranks) -> Group:
        """Some of the ranks, this one among them: with all_reduce, all_gather, reduce_scatter."""
        ranks = tuple(sorted(set(ranks)))
        size = self.world_size
        for rank in ranks:
            if not isinstance(rank, int) or not 0 <= rank < size:
                raise Misplaced(f"rank {self.rank}, group: there is no rank {rank!r} of {size}")
        if self.rank not in ranks:
            raise Misplaced(f"rank {self.rank} is not in the group {list(ranks)} that it asks for")
        return Group(self._books, ranks)

    def all_reduce(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: the sum of the gradients of all ranks."""
        return self._everyone.all_reduce(v, layer)

    def reduce_scatter(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: shard `rank` of that sum."""
        return self._everyone.reduce_scatter(v, layer)

    def all_gather(self, v: Value, layer: int | None = None) -> Pending:
        """Await it: the shards of all ranks, put together."""
        return self._everyone.all_gather(v, layer)

    def send(self, dest: int, v: Value) -> Pending:
        """Await it: the value has left for rank `dest`."""
        return send(self._books, dest, v)

    def receive(self, source: int) -> Pending:
        """Await it: the next value that rank `source` sends here."""
        return receive(self._books, source)

    recv = receive


def run(
    step: Callable,
    world_size: int,
    num_layers: int,
    global_batch_size: int,
    *arguments,
    profile: str | None = None,
    machine: str | None = None,
    keep_tape: bool = False,
    seconds: float | None = SECONDS,
) -> list:
    """Run `step(model, *arguments)` on every rank, and give what each rank returned.

    profile, machine, keep_tape: see Dist. seconds: of the real clock, after which the step is
    stopped. Raises PuzzleError for what no cluster would do, and what the step itself raises.
    Works where a loop of asyncio runs already, as in a notebook.
    """
    dist = Dist(world_size, profile, machine, keep_tape)
    models = [Model(rank, dist, num_layers, global_batch_size) for rank in range(world_size)]
    return drive(dist, [step(model, *arguments) for model in models], seconds)
