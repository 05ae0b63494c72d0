"""What a student's step holds in its hands: one rank's view of the training."""

from types import MappingProxyType

from cluster import compute, messages
from cluster.dist import Dist
from cluster.errors import Frozen, Misplaced
from cluster.event import Event
from cluster.facts import Facts, samples_of
from cluster.group import Group
from cluster.pending import Pending
from cluster.values import (
    CLASSES,
    Activation,
    ActivationGrad,
    OptState,
    Value,
    Weight,
    WeightGrad,
)


def written_by_cluster(name: str, get, doc: str) -> property:
    """A property of a model that a step can read, and not write."""

    def write(model, _):
        raise Frozen(f"rank {model.rank}: model.{name} is written by the cluster, not by a step")

    return property(lambda model: get(model._books), write, doc=doc)


class Model:
    """The model as one rank sees it.

    Methods that end in a message or a collective give something to await. Left unawaited for a
    while, they go on beside the computing, where the profile has two lanes (honest).
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
    profile = written_by_cluster("profile", lambda b: b.profile.name, "honest, classic or steps")
    log = written_by_cluster(
        "log",
        lambda b: [Event(e[0], e[1], b.number, *e[2:5], samples_of(e[5])) for e in b.log],
        "the events of this rank until now: a copy",
    )
    final_weights = written_by_cluster(
        "final_weights",
        lambda b: MappingProxyType({layer: _face(facts, b) for layer, facts in b.finals.items()}),
        "what set_final_weight was given, by layer",
    )
    weights = written_by_cluster("weights", lambda b: b.storage[0], "storage of weights")
    opt_states = written_by_cluster("opt_states", lambda b: b.storage[1], "of optimizer states")
    activations = written_by_cluster("activations", lambda b: b.storage[2], "of activations")
    grad_activations = written_by_cluster(
        "grad_activations", lambda b: b.storage[3], "of the gradients of activations"
    )
    grad_weights = written_by_cluster("grad_weights", lambda b: b.storage[4], "of gradients")

    def storage(self):
        """The five dictionaries: (weights, opt_states, activations, grad_activations,
        grad_weights). In classic and steps, memory is what lies in them."""
        return self._books.storage

    def memory(self) -> float:
        """What this rank holds now: elements, or in the honest profile bytes."""
        return self._books.memory()

    def status(self) -> None:
        """Print what lies in storage."""
        for name, place in zip(
            ("weights", "opt_states", "activations", "grad_activations", "grad_weights"),
            self.storage(),
            strict=True,
        ):
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
        return messages.send(self._books, dest, v)

    def receive(self, source: int) -> Pending:
        """Await it: the next value that rank `source` sends here."""
        return messages.receive(self._books, source)

    recv = receive


def _face(facts: Facts, books) -> Value:
    """A value to look at: it says what the facts say, and no operation takes it."""
    value = object.__new__(CLASSES[facts.kind])
    value._rank, value._number, value._claim = None, -1, (facts, books.layers)
    return value
