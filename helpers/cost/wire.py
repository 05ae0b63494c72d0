"""Communication volume: the bytes one rank sends, for each kind of parallelism.

A ring over n ranks (Patarasuk and Yuan, 2009) is optimal in volume: an all-gather or reduce-scatter
sends (n-1)/n of the result, and an all-reduce is one after the other.
"""

from dataclasses import dataclass

from helpers.cost.flops import RECOMPUTE
from helpers.cost.memory import BYTES, ZERO
from helpers.cost.model import ModelConfig, one_of

CONTEXT = ("ring", "gather", "ulysses")


def all_gather_bytes(size: float, ranks: int) -> float:
    """Return the bytes each rank sends to gather `size` bytes; a reduce-scatter sends the same."""
    return size * (ranks - 1) / ranks


def all_reduce_bytes(size: float, ranks: int) -> float:
    """Return the bytes each rank sends to sum `size` bytes over all ranks."""
    return 2 * all_gather_bytes(size, ranks)


def context_parallel_bytes(
    model: ModelConfig, batch: int, sequence: int, cp: int, way: str = "ring", tp: int = 1
) -> tuple[float, float]:
    """Return the bytes a rank sends for one layer's attention, forward and backward.

    ring: K and V travel cp - 1 times, and backward their gradients too, cp times to be home again
    (arXiv 2310.01889). gather: K and V are all-gathered, their gradients reduce-scattered
    (arXiv 2407.21783, section 3.3.2). ulysses: queries, keys, values and the result are exchanged
    by all-to-alls (arXiv 2309.14509); with fewer key heads than ranks, some are sent twice.
    2 bytes a number, gradients too; `CP/ring` sends the gradients of half precision in float32.
    """
    if one_of(CONTEXT, way, "way") and cp == 1:
        return 0.0, 0.0
    tokens = BYTES * batch * sequence / cp / tp
    kv, q = 2 * tokens * model.kv_width, tokens * model.query_width
    if way == "ulysses":
        return (all_gather_bytes(2 * q + kv * max(1, cp * tp / model.kv_heads), cp),) * 2
    return (cp - 1) * kv, ((2 * cp - 1) if way == "ring" else (cp - 1)) * kv


@dataclass(frozen=True)
class Wire:
    """Bytes that one rank, in the middle of a pipeline, sends in one step; 2 bytes a value."""

    data: float
    tensor: float
    pipeline: float

    @property
    def total(self) -> float:
        return self.data + self.tensor + self.pipeline


def bytes_on_the_wire(
    model: ModelConfig,
    parameters: float,
    *,
    micro_batch: int,
    micro_batches: int,
    sequence: int,
    dp: int = 1,
    tp: int = 1,
    pp: int = 1,
    chunks: int = 1,
    zero: int = 0,
    recompute: str = "none",
) -> Wire:
    """Return the bytes one rank sends in one step; parameters: those on the rank.

    data: an all-reduce of the gradients. ZeRO 1 and 2 scatter them and gather the new weights, the
    same volume; 3 gathers the weights twice, forward and backward: ZeRO's 2P, 2P and 3P values
    (arXiv 1910.02054, section 7). ZeRO 2 and 3 have no room for whole gradients, so they reduce
    after each micro-batch, and stage 3 gathers for each.
    tensor: Megatron's layer (arXiv 1909.08053) has two all-reduces of sbh values forward, two
    backward, and two more if it is recomputed; sequence parallelism replaces each by a
    reduce-scatter and an all-gather of the same volume.
    pipeline: sbh values to the next stage and back, of which each tensor-parallel rank sends its
    share (arXiv 2104.04473, section 4.1).
    """
    passes = {2: micro_batches + 1, 3: 3 * micro_batches}.get(one_of(ZERO, zero, "zero"), 2)
    data = passes * all_gather_bytes(BYTES * parameters, dp)
    values = BYTES * micro_batch * sequence * model.hidden
    times = 3 if one_of(RECOMPUTE, recompute, "recompute") == "full" else 2
    tensor = 2 * times * all_reduce_bytes(values, tp) * model.layers / pp
    pipeline = 2 * chunks * values / tp if pp > 1 else 0.0
    return Wire(data, micro_batches * tensor, micro_batches * pipeline)
