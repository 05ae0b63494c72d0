"""FB-4: an all-reduce that sends eight bits and adds in thirty-two."""

import torch
import torch.distributed as dist

from tasks._sent import noting_what_leaves

HINTS = (
    "Do FB-1 first, it's needed here. Every rank is responsible for one row: where do the others' "
    "copies of it come from, in which type do they add up, and how does everybody get the sum?",
    "Four lines. Quantize the rows by ROW and swap them; restore what came, and add up over "
    "dimension 0, which stays; quantize that total, gather and restore it; and of the flattened "
    "result return as many numbers as x has: the rest is padding.",
)
LESSON, MINUTES, RANKS = "fewer_bits", 15, 3
TOLERANCE = 1e-6


def observe(module, case):
    x = case["x"][dist.get_rank()].clone()
    with noting_what_leaves() as sent:
        found = module.all_reduce(x)
    everywhere = [torch.empty_like(found) for _ in range(dist.get_world_size())]
    dist.all_gather(everywhere, found.contiguous())
    return {
        "bytes sent": sum(each["bytes"] for each in sent),
        "the sum": found,
        "all ranks have the same": all(torch.equal(found, other) for other in everywhere),
    }


def cases():
    length = int(torch.randint(400, 1600, ()))
    size = torch.exp2(torch.randint(-12, 12, (RANKS, -(-length // 64), 1)))
    x = torch.randn(RANKS, len(size[0]), 64) * size
    return [{"x": list(x.flatten(1)[:, :length])}]


TOTAL, GATHER = "restore(parts).sum(0, keepdim=True)", "gather(quantize(total, ROW), group)"
BACK = "restore(everything).flatten()"
OWN_SCALES = "restore(Blocks(parts.codes, quantize(rows, ROW).scales, ROW))"
ROUNDED = """restore(parts)
while len(total) > 1:
    total = torch.cat([restore(quantize(total[:1] + total[1:2], ROW)), total[2:]])"""
WIDE = """[torch.empty_like(total) for _ in range(ranks)]
dist.all_gather(everything, total, group=group)"""
OWN = """found = restore(everything)
found[dist.get_rank(group)] = total[0]
return found.flatten()"""
ALL = """
rows = rows.flatten()[None]
total = restore(gather(quantize(rows, ROW), group)).sum(0, keepdim=True)
return restore(quantize(total, ROW)).flatten()[: len(x)]
"""
MUTANTS = {
    (".sum(0, keepdim=True)", ".mean(0, keepdim=True)"): "the result is the mean over the ranks: "
    "an all-reduce adds",
    (TOTAL, "parts.codes.float().sum(0, keepdim=True)"): "the codes are added without their "
    "scales: restore the parts first",
    ("restore(parts)", OWN_SCALES): "each rank restores what it got with its own scales: those of "
    "a row travel beside its codes",
    (TOTAL, "sum(restore(parts).bfloat16()).float()[None]"): "the sum is added up in bf16: "
    "restore first, and add in float32",
    (TOTAL, ROUNDED): "the sum is added up in eight bits, rounded after each rank: restore first, "
    "and add in float32",
    ((GATHER, WIDE), (BACK, "torch.cat(everything).flatten()")): "the sums go around in 32 bits: "
    "quantize them again before they are gathered",
    (f"return {BACK}", OWN): "each rank keeps its own part of the sum in 32 bits while all others "
    "have it in eight, so the replicas drift apart: take your own part from what was gathered too",
    ALL: "each rank sends everything to everybody, and all add everything up: that's n times the "
    "bytes of a rank's part",
    ("[: len(x)]", ""): "the result is longer than x: leave out the zeros that fill the last block",
}
