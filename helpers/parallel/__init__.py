"""Tensor parallelism: each rank of a group holds a part of each layer.

    cut(model, LLAMA, group)                  each rank keeps its part of one model, in place
    loss = parallel_cross_entropy(logits, targets, group)
    join(parts, LLAMA)                        the whole model's tensors, from those of all ranks

A plan says how each module is cut: {"*.q_proj": "column", "*.o_proj": "row", …}. A column cut
splits the outputs; a row cut splits the inputs, and the ranks' partial results are summed, so a
column followed by a row needs one all-reduce (Shoeybi et al. 2019, arXiv 1909.08053). With
`sequence=True`, the activations between them are cut along the sequence (Korthikanti et al. 2022,
arXiv 2205.05198).

Files: `operators` moves tensors, inside autograd or not; `layers` are cut, by a `plan`; `context`
cuts sequences; `overlap` is an all-reduce that runs while a rank computes, for the scripts in DP/.

Every function takes the process group as an argument; None means all ranks.
"""

from helpers.parallel.layers import (
    ColumnParallelLinear,
    RowParallelLinear,
    add_up_shared,
    parallel_cross_entropy,
    sequence_parallel,
)
from helpers.parallel.operators import all_gather, copy_to_group, reduce_from_group
from helpers.parallel.plan import LLAMA, PlanError, cut, join, require_heads
