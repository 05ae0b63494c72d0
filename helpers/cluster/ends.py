"""What lies outside of the layers: the word embedding in front, the loss behind."""

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.network import all_reduce_seconds
from helpers.cluster.seconds import Seconds
from helpers.cost import ModelConfig

EMBEDDED = 12  # bytes for each value of (tokens, hidden): words, positions, dropout
LOGITS = 30, 20  # for each logit, in 32 bits: maximum, exponentials, sum; and back
KERNELS = 6, 12  # of the embedding, of the loss


def embedding_seconds(
    model: ModelConfig, layout: Layout, machine: Machine
) -> tuple[Seconds, Seconds]:
    """Forward and backward of one micro-batch, on the first stage."""
    look_up = machine.memory_seconds(EMBEDDED * layout.tokens * model.hidden)
    host = machine.launch * KERNELS[0]
    talk = _talk(model, layout, machine)
    return Seconds(memory=look_up, network=talk, host=host), Seconds(memory=look_up, host=host)


def loss_seconds(model: ModelConfig, layout: Layout, machine: Machine) -> tuple[Seconds, Seconds]:
    """Forward and backward of one micro-batch, on the last stage: logits and cross-entropy."""
    n, h, part = layout.tokens, model.hidden, model.vocabulary / layout.tp
    host, product = machine.launch * KERNELS[1], machine.matmul_seconds
    forward, backward = (machine.memory_seconds(each * n * part) for each in LOGITS)
    return (
        Seconds(product(n, part, h), forward, 0.0, host),
        Seconds(
            product(n, h, part) + product(h, part, n), backward, _talk(model, layout, machine), host
        ),
    )


def _talk(model: ModelConfig, layout: Layout, machine: Machine) -> float:
    """One all-reduce of (tokens, hidden): each rank has only a part of the words."""
    size = 2 * layout.tokens * model.hidden
    return all_reduce_seconds(machine, size, layout.tp, layout.on_a_node("tp", machine.node))
