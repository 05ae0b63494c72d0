"""What a student's step holds in its hands: one rank's view of the training."""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from cluster.communication import Pending, join, receive, send
from cluster.ranks import NAMES, Books, Dist, drive
from cluster.values import (
    Activation,
    ActivationGrad,
    Facts,
    OptState,
    PuzzleError,
    Value,
    Weight,
    WeightGrad,
    covers,
    cut,
    mask_of,
    numbers,
    numbers_in,
    value_of,
)


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
    """Some of the ranks. Collectives of a group are between them alone.

    index: the place of this rank in the group: the shard that reduce_scatter returns to it.
    """

    def __init__(self, books: Books, ranks: tuple[int, ...]):
        self._books, self.ranks = books, ranks
        self.size, self.index = len(ranks), ranks.index(books.rank)

    def all_reduce(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: the sum of the gradients of all ranks of the group."""
        return Pending(join, self._books, "all_reduce", v, self.ranks)

    def reduce_scatter(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: this rank's shard of that sum."""
        return Pending(join, self._books, "reduce_scatter", v, self.ranks)

    def all_gather(self, v: Value, layer: int | None = None) -> Pending:
        """Await it: the shards of all ranks of the group, put together."""
        return Pending(join, self._books, "all_gather", v, self.ranks)


class Model(Group):
    """The model as one rank sees it. Its own collectives are those of the group of all ranks.

    Methods that end in a message or a collective return something to await. Left unawaited for a
    while, they go on beside the computing, where the profile has two lanes (bytes, measured).
    """

    def __init__(self, rank=0, dist=None, num_layers=2, global_batch_size=1):
        self.dist = Dist(1) if dist is None else dist
        self._books = books = Books(self.dist, rank, num_layers, global_batch_size)
        self.rank, self.world_size = rank, self.dist.world_size
        self.num_layers, self.global_batch_size = num_layers, global_batch_size
        self.profile = self.dist.profile.name
        self.weights, self.opt_states, self.activations, *grads = books.places
        self.grad_activations, self.grad_weights = grads
        super().__init__(books, self.dist.everyone)

    @property
    def time(self) -> float:
        """The clock of this rank."""
        return self._books.now

    @property
    def log(self) -> list[Event]:
        """The events of this rank until now: a copy."""
        return [Event(e[0], e[1], self.rank, *e[2:5], numbers_in(e[5])) for e in self._books.log]

    @property
    def final_weights(self) -> MappingProxyType:
        """What set_final_weight was given, by layer."""
        finals = self._books.finals.items()
        return MappingProxyType({layer: value_of(f, self.num_layers) for layer, f in finals})

    def storage(self):
        """Return the five dictionaries: (weights, opt_states, activations, grad_activations,
        grad_weights). In classic and steps, memory is what lies in them."""
        return self._books.places

    def memory(self) -> float:
        """Return what this rank holds now: elements, or in `bytes` and `measured` bytes."""
        return self._books.memory()

    def status(self) -> None:
        """Print what lies in storage."""
        for name, place in zip(NAMES, self.storage(), strict=True):
            print(f"{name}: {', '.join(f'{key}: {value!r}' for key, value in place.items())}")

    def load_weights(self, layer: int, shard: int = 0, num_shards: int = 1):
        """Return the (Weight, OptState) of a layer at step 0, or a shard of both."""
        b, op = self._books, "load_weights"
        b.take(op, layer)
        facts = b.ask(op, cut, Facts(Weight.kind, layer), shard, num_shards)
        b.loaded.add(layer)
        pair = b.new(facts), b.new(facts._replace(kind=OptState.kind))
        b.event(op, layer, b.profile.load(num_shards))
        return pair

    def get_input_activation(self, samples) -> Activation:
        """Return the input of layer 0 for these samples of the batch."""
        b, op, samples = self._books, "get_input_activation", list(samples)
        for sample in samples:
            if not isinstance(sample, int) or not 0 <= sample < b.batch:
                b.refuse(op, f"there is no sample {sample!r}: they are 0 to {b.batch - 1}")
        return b.new(Facts(Activation.kind, 0, b.ask(op, mask_of, samples)))

    def forward(self, layer: int, inp: Activation, weight: Weight) -> Activation:
        """Take the activation of layer `layer` to that of layer `layer + 1`."""
        b, op = self._books, f"forward of layer {layer}"
        x, _ = b.take(op, layer, (inp, Activation), (weight, Weight))
        out = b.new(Facts(Activation.kind, layer + 1, x.samples))
        b.event("forward", layer, b.profile.forward(x.samples.bit_count()), x.samples)
        return out

    def loss(self, inp: Activation) -> ActivationGrad:
        """Take the activation of layer num_layers to the ActivationGrad of the last layer."""
        b, after = self._books, self.num_layers
        [x] = b.take("loss", after, (inp, Activation))
        out = b.new(Facts(ActivationGrad.kind, after - 1, x.samples))
        b.event("loss", after, 0.0, x.samples)
        return out

    def backward(self, layer: int, inp: Activation, grad: ActivationGrad, weight: Weight):
        """Return (WeightGrad of the layer, ActivationGrad of layer - 1)."""
        b, op = self._books, f"backward of layer {layer}"
        given = (inp, Activation), (weight, Weight), (grad, ActivationGrad)
        x, _, g = b.take(op, layer, *given)
        if x.samples != g.samples:
            both = f"{numbers(x.samples)}, and the gradient for {numbers(g.samples)}"
            b.refuse(op, f"the activation is for {both}: they must be the same")
        gradient = b.new(Facts(WeightGrad.kind, layer, x.samples))
        before = b.new(Facts(ActivationGrad.kind, layer - 1, x.samples))
        b.event("backward", layer, b.profile.backward(x.samples.bit_count()), x.samples)
        return gradient, before

    def update(self, layer: int, weight_grad: WeightGrad, weight: Weight, opt_state: OptState):
        """Return (Weight, OptState) of step 1. The gradient must hold every sample once."""
        b, op = self._books, f"update of layer {layer}"
        given = (weight_grad, WeightGrad), (weight, Weight), (opt_state, OptState)
        g, w, s = b.take(op, layer, *given)
        if lost := ((1 << b.batch) - 1) & ~g.samples:
            told = "missing in the gradient: add up those of all micro-batches and all ranks first"
            b.refuse(op, f"{numbers(lost)} {'is' if lost.bit_count() == 1 else 'are'} {told}")
        if not covers([g], w):
            b.refuse(op, f"{w} needs more than {g}: both must be whole, or the same shard")
        if not (covers([s], w) and covers([w], s)):
            b.refuse(op, f"{w} and {s} are not the same part of it")
        pair = b.new(w._replace(step=1)), b.new(s._replace(step=1))
        b.event("update", layer, b.profile.update(w.shards.bit_count(), w.parts), g.samples)
        return pair

    def set_final_weight(self, layer: int, weight: Weight) -> None:
        """Hand in the updated weight of a layer, or the shards of it that this rank keeps."""
        op = f"set_final_weight of layer {layer}"
        [self._books.finals[layer]] = self._books.take(op, layer, (weight, Weight))

    def empty_grad(self, layer: int) -> WeightGrad:
        """Return a gradient of no sample, for a rank that has nothing to add to a collective."""
        self._books.take("empty_grad", layer)
        return self._books.new(Facts(WeightGrad.kind, layer))

    def group(self, ranks) -> Group:
        """Return some of the ranks, this one among them, as a group with collectives."""
        ranks = tuple(sorted(set(ranks)))
        for rank in ranks:
            self.dist.check_rank(f"rank {self.rank}, group", rank)
        if self.rank not in ranks:
            raise PuzzleError(f"rank {self.rank} is not in the group {list(ranks)} it asks for")
        return Group(self._books, ranks)

    def send(self, dest: int, v: Value) -> Pending:
        """Await it: the value has left for rank `dest`."""
        return Pending(send, self._books, dest, v)

    def receive(self, source: int) -> Pending:
        """Await it: the next value that rank `source` sends here."""
        return Pending(receive, self._books, source)

    recv = receive


def run(
    step: Callable,
    world_size: int,
    num_layers: int,
    global_batch_size: int,
    *arguments,
    profile: str | None = None,
) -> list:
    """Run `step(model, *arguments)` on every rank, and return what each rank returned.

    profile: see Dist. Raises PuzzleError for what no cluster would do, and what the step
    itself raises. Works where a loop of asyncio runs already, as in a notebook.
    """
    dist = Dist(world_size, profile)
    models = [Model(rank, dist, num_layers, global_batch_size) for rank in range(world_size)]
    return drive(dist, [step(model, *arguments) for model in models])
