"""What a student's step holds in its hands: one rank's view of the training."""

import asyncio
import gc

from cluster.communication import Pending, join, receive, send
from cluster.ranks import NAMES, Dist, Rank
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
    value_of,
)


class Group:
    """Some of the ranks. Collectives of a group are between them alone.

    index: the place of this rank in the group: the shard that reduce_scatter returns to it.
    """

    def __init__(self, model: Rank, ranks: tuple[int, ...]):
        self._model, self.ranks = model, ranks
        self.size, self.index = len(ranks), ranks.index(model.rank)

    def all_reduce(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: the sum of the gradients of all ranks of the group."""
        return Pending(join, self._model, "all_reduce", v, self.ranks)

    def reduce_scatter(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: this rank's shard of that sum."""
        return Pending(join, self._model, "reduce_scatter", v, self.ranks)

    def all_gather(self, v: Value, layer: int | None = None) -> Pending:
        """Await it: the shards of all ranks of the group, put together."""
        return Pending(join, self._model, "all_gather", v, self.ranks)


class Model(Rank, Group):
    """The model as one rank sees it. Its own collectives are those of the group of all ranks.

    Methods that end in a message or a collective return something to await. Left unawaited for a
    while, they go on beside the computing, where the profile has two lanes (bytes, measured).
    """

    def __init__(self, rank=0, dist=None, num_layers=2, global_batch_size=1):
        dist = Dist(1) if dist is None else dist
        Rank.__init__(self, rank, dist, num_layers, global_batch_size)
        Group.__init__(self, self, dist.everyone)

    def storage(self):
        """Return the five dictionaries: (weights, opt_states, activations, grad_activations,
        grad_weights). In classic and steps, memory is what lies in them."""
        return self.places

    def status(self) -> None:
        """Print what lies in storage."""
        for name, place in zip(NAMES, self.places, strict=True):
            print(f"{name}: {', '.join(f'{key}: {value!r}' for key, value in place.items())}")

    def load_weights(self, layer: int, shard: int = 0, num_shards: int = 1):
        """Return the (Weight, OptState) of a layer at step 0, or a shard of both."""
        op = "load_weights"
        self.take(op, layer)
        facts = self.ask(op, cut, Facts(Weight.kind, layer), shard, num_shards)
        self.loaded.add(layer)
        pair = self.new(facts), self.new(facts._replace(kind=OptState.kind))
        self.event(op, layer, self.rules.load(num_shards))
        return pair

    def get_input_activation(self, samples) -> Activation:
        """Return the input of layer 0 for these samples of the batch."""
        op, samples = "get_input_activation", list(samples)
        for sample in samples:
            if not isinstance(sample, int) or not 0 <= sample < self.global_batch_size:
                last = self.global_batch_size - 1
                self.refuse(op, f"there is no sample {sample!r}: they are 0 to {last}")
        return self.new(Facts(Activation.kind, 0, self.ask(op, mask_of, samples)))

    def forward(self, layer: int, inp: Activation, weight: Weight) -> Activation:
        """Take the activation of layer `layer` to that of layer `layer + 1`."""
        op = f"forward of layer {layer}"
        x, _ = self.take(op, layer, (inp, Activation), (weight, Weight))
        out = self.new(Facts(Activation.kind, layer + 1, x.samples))
        self.event("forward", layer, self.rules.forward(x.samples.bit_count()), x.samples)
        return out

    def loss(self, inp: Activation) -> ActivationGrad:
        """Take the activation of layer num_layers to the ActivationGrad of the last layer."""
        after = self.num_layers
        [x] = self.take("loss", after, (inp, Activation))
        out = self.new(Facts(ActivationGrad.kind, after - 1, x.samples))
        self.event("loss", after, 0.0, x.samples)
        return out

    def backward(self, layer: int, inp: Activation, grad: ActivationGrad, weight: Weight):
        """Return (WeightGrad of the layer, ActivationGrad of layer - 1)."""
        op = f"backward of layer {layer}"
        given = (inp, Activation), (weight, Weight), (grad, ActivationGrad)
        x, _, g = self.take(op, layer, *given)
        if x.samples != g.samples:
            both = f"{numbers(x.samples)}, and the gradient for {numbers(g.samples)}"
            self.refuse(op, f"the activation is for {both}: they must be the same")
        gradient = self.new(Facts(WeightGrad.kind, layer, x.samples))
        before = self.new(Facts(ActivationGrad.kind, layer - 1, x.samples))
        self.event("backward", layer, self.rules.backward(x.samples.bit_count()), x.samples)
        return gradient, before

    def update(self, layer: int, weight_grad: WeightGrad, weight: Weight, opt_state: OptState):
        """Return (Weight, OptState) of step 1. The gradient must hold every sample once."""
        op = f"update of layer {layer}"
        given = (weight_grad, WeightGrad), (weight, Weight), (opt_state, OptState)
        g, w, s = self.take(op, layer, *given)
        if lost := ((1 << self.global_batch_size) - 1) & ~g.samples:
            told = "missing in the gradient: add up those of all micro-batches and all ranks first"
            self.refuse(op, f"{numbers(lost)} {'is' if lost.bit_count() == 1 else 'are'} {told}")
        if not covers([g], w):
            self.refuse(op, f"{w} needs more than {g}: both must be whole, or the same shard")
        if not (covers([s], w) and covers([w], s)):
            self.refuse(op, f"{w} and {s} are not the same part of it")
        pair = self.new(w._replace(step=1)), self.new(s._replace(step=1))
        self.event("update", layer, self.rules.update(w.shards.bit_count(), w.parts), g.samples)
        return pair

    def set_final_weight(self, layer: int, weight: Weight) -> None:
        """Hand in the updated weight of a layer, or the shards of it that this rank keeps."""
        op = f"set_final_weight of layer {layer}"
        [facts] = self.take(op, layer, (weight, Weight))
        self.final_weights[layer] = value_of(facts, self.num_layers)

    def load_all(self, layers, shard: int = 0, num_shards: int = 1) -> None:
        """Load these layers, or a shard of each, into storage."""
        for layer in layers:
            pair = self.load_weights(layer, shard, num_shards)
            self.weights[layer], self.opt_states[layer] = pair

    def update_all(self, layers) -> None:
        """Update these layers by the gradients in storage, and hand in their new weights."""
        for layer in layers:
            given = self.grad_weights[layer], self.weights[layer], self.opt_states[layer]
            self.weights[layer], self.opt_states[layer] = self.update(layer, *given)
            self.set_final_weight(layer, self.weights[layer])

    def empty_grad(self, layer: int) -> WeightGrad:
        """Return a gradient of no sample, for a rank that has nothing to add to a collective."""
        self.take("empty_grad", layer)
        return self.new(Facts(WeightGrad.kind, layer))

    def group(self, ranks) -> Group:
        """Return some of the ranks, this one among them, as a group with collectives."""
        ranks = tuple(sorted(set(ranks)))
        for rank in ranks:
            self.dist.check_rank(f"rank {self.rank}, group", rank)
        if self.rank not in ranks:
            raise PuzzleError(f"rank {self.rank} is not in the group {list(ranks)} it asks for")
        return Group(self, ranks)

    def send(self, dest: int, v: Value) -> Pending:
        """Await it: the value has left for rank `dest`."""
        return Pending(send, self, dest, v)

    def receive(self, source: int) -> Pending:
        """Await it: the next value that rank `source` sends here."""
        return Pending(receive, self, source)

    recv = receive


def run(step, world_size: int, num_layers: int, global_batch_size: int, *more, profile=None):
    """Run `step(model, *more)` on every rank, and return what each rank returned.

    profile: see Dist. Raises PuzzleError for what no cluster would do, and what the step
    itself raises. Works where a loop of asyncio runs already, as in a notebook.
    """
    dist = Dist(world_size, profile)
    dist.driven = True
    models = [Model(rank, dist, num_layers, global_batch_size) for rank in range(world_size)]
    steps = [step(model, *more) for model in models]
    for rank, one in enumerate(steps):
        if not asyncio.iscoroutine(one):
            told = f"the step returned a {type(one).__name__}: write it as `async def`"
            raise PuzzleError(f"rank {rank}: {told}")
    results, running = [None] * world_size, dict(enumerate(steps))
    # Memory is what Python holds, to the moment: the collector would free some of it by chance.
    gc.disable()
    try:
        while running:
            for rank, one in list(running.items()):
                try:
                    if one.send(None) is not None:
                        told = "awaits something that no method of its model has returned"
                        raise PuzzleError(f"rank {rank} {told}")
                except StopIteration as end:
                    results[rank] = end.value
                    del running[rank]
    finally:
        for one in running.values():
            one.close()
        gc.enable()
    return results
