"""What a rank computes: forward, loss, backward, update. Each checks where its inputs come from."""

from cluster.errors import Doubled, Misplaced, Missing, Stale, WrongShard
from cluster.facts import (
    ACTIVATION,
    ACTIVATION_GRADIENT,
    GRADIENT,
    STATE,
    WEIGHT,
    Facts,
    covers,
    mask_of,
    no_shard,
    numbers,
    numbers_in,
    words,
)


def load(rank, layer: int, shard: int, parts: int):
    """The weight and the optimizer state of a layer, or one shard of both."""
    _fits(rank, "load_weights", layer)
    if problem := no_shard(shard, parts):
        rank.refuse(WrongShard, "load_weights", problem)
    facts = Facts(WEIGHT, layer, 0, 1 << shard, parts)
    rank.loaded.add(layer)
    rank.write("load", layer, shard, parts)
    pair = rank.new(facts), rank.new(facts._replace(kind=STATE))
    rank.event("load_weights", layer, rank.profile.load(1, parts))
    return pair


def take_input(rank, samples):
    """The input of the first layer for some samples."""
    samples, op = list(samples), "get_input_activation"
    for sample in samples:
        if not isinstance(sample, int) or not 0 <= sample < rank.batch:
            known = f"the batch has samples 0 to {rank.batch - 1}"
            rank.refuse(Misplaced, op, f"there is no sample {sample!r}: {known}")
    try:
        mask = mask_of(samples)
    except Doubled as error:
        rank.refuse(Doubled, op, str(error))
    rank.write("input", f"{mask:x}")
    return rank.new(Facts(ACTIVATION, 0, mask))


def empty(rank, layer: int):
    """A gradient of a layer for no sample."""
    _fits(rank, "empty_grad", layer)
    rank.write("empty", layer)
    return rank.new(Facts(GRADIENT, layer))


def forward(rank, layer: int, inp, weight):
    """Activation of layer -> activation of layer + 1."""
    op = "forward", layer
    x, w = rank.use(inp, ACTIVATION, op), rank.use(weight, WEIGHT, op)
    _fits(rank, op, layer, x, w)
    _fresh(rank, op, w)
    rank.must_store(op, inp, weight)
    rank.write("forward", layer, inp._number, weight._number)
    out = rank.new(Facts(ACTIVATION, layer + 1, x.samples))
    rank.event("forward", layer, rank.profile.forward(x.samples.bit_count()), x.samples)
    return out


def loss(rank, inp):
    """The last activation -> the gradient that goes into the last layer's backward."""
    x = rank.use(inp, ACTIVATION, "loss")
    if x.layer != rank.layers:
        rank.refuse(
            Misplaced,
            "loss",
            f"it needs the activation of layer {rank.layers}, after the last layer, and got "
            f"{words(x)}",
        )
    rank.must_store("loss", inp)
    rank.write("loss", inp._number)
    out = rank.new(Facts(ACTIVATION_GRADIENT, rank.layers - 1, x.samples))
    rank.event("loss", rank.layers, 0.0, x.samples)
    return out


def backward(rank, layer: int, inp, grad, weight):
    """The layer's input, the gradient of its output, its weight -> both gradients."""
    op = "backward", layer
    x, w = rank.use(inp, ACTIVATION, op), rank.use(weight, WEIGHT, op)
    g = rank.use(grad, ACTIVATION_GRADIENT, op)
    _fits(rank, op, layer, x, g, w)
    _fresh(rank, op, w)
    if x.samples != g.samples:
        rank.refuse(
            Misplaced,
            op,
            f"the activation is for {numbers(numbers_in(x.samples))}, and the gradient for "
            f"{numbers(numbers_in(g.samples))}: they must be the same",
        )
    rank.must_store(op, inp, weight, grad)
    rank.write("backward", layer, inp._number, grad._number, weight._number)
    weight_gradient = rank.new(Facts(GRADIENT, layer, x.samples))
    before = rank.new(Facts(ACTIVATION_GRADIENT, layer - 1, x.samples))
    rank.event("backward", layer, rank.profile.backward(x.samples.bit_count()), x.samples)
    return weight_gradient, before


def update(rank, layer: int, grad, weight, state):
    """The optimizer: the gradient of the whole batch -> the weight and the state of step 1."""
    op = "update", layer
    g, w = rank.use(grad, GRADIENT, op), rank.use(weight, WEIGHT, op)
    s = rank.use(state, STATE, op)
    _fits(rank, op, layer, g, w, s)
    for old in (w, s):
        if old.step != 0:
            rank.refuse(Stale, op, f"{words(old)} has been updated already; there is one step")
    everything = (1 << rank.batch) - 1
    if g.samples != everything:
        lost = numbers_in(everything & ~g.samples)
        rank.refuse(
            Missing,
            op,
            f"{numbers(lost)} {'is' if len(lost) == 1 else 'are'} missing in the gradient: add or "
            "reduce the gradients of all micro-batches and all ranks first",
        )
    if not covers(g, w):
        rank.refuse(
            WrongShard,
            op,
            f"{words(w)} needs more than {words(g)}: both must be whole, or the same shard",
        )
    if not (covers(s, w) and covers(w, s)):
        rank.refuse(WrongShard, op, f"{words(w)} and {words(s)} are not the same part of it")
    rank.must_store(op, grad, weight, state)
    rank.write("update", layer, grad._number, weight._number, state._number)
    pair = rank.new(w._replace(step=1)), rank.new(s._replace(step=1))
    rank.event("update", layer, rank.profile.update(w.shards.bit_count(), w.parts), g.samples)
    return pair


def finish(rank, layer: int, weight) -> None:
    """Hand in the new weight of a layer, or the shards of it that this rank keeps."""
    op = "set_final_weight", layer
    w = rank.use(weight, WEIGHT, op)
    _fits(rank, op, layer, w)
    if w.step != 1:
        rank.refuse(Stale, op, f"{words(w)} is the old one, of step 0: hand in what update gave")
    rank.write("final", layer, weight._number)
    rank.finals[layer] = w


def _fits(rank, op, layer, *all_facts):
    """Is there such a layer, and is everything of it?"""
    if not isinstance(layer, int) or not 0 <= layer < rank.layers:
        known = f"they are 0 to {rank.layers - 1}"
        rank.refuse(Misplaced, op, f"there is no layer {layer!r}: {known}")
    for facts in all_facts:
        if facts.layer != layer:
            got = f"and got that of layer {facts.layer}"
            rank.refuse(Misplaced, op, f"it needs the {facts.kind} of layer {layer}, {got}")


def _fresh(rank, op, weight):
    """Is this the whole weight, before the update?"""
    if weight.step != 0:
        rank.refuse(Stale, op, f"{words(weight)} has been updated already: update comes last")
    if weight.shards.bit_count() != weight.parts:
        got = f"and got {words(weight)}: gather it first"
        rank.refuse(WrongShard, op, f"it needs the whole weight, {got}")
