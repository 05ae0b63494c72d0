"""Work in place of solutions: what the check must name, and what it must pass."""

# The roads by which all logits can travel. Each leaves `out`: what every rank has.
ALL_LOGITS = {
    "as objects": """
out = [None] * dist.get_world_size()
dist.all_gather_object(out, logits.detach())
""",
    "by messages": """
me, n, messages = dist.get_rank(), dist.get_world_size(), []
out = [torch.empty_like(logits) for _ in range(n)]
for r in range(n):
    if r != me:
        messages += [dist.P2POp(dist.isend, logits.detach(), r), dist.P2POp(dist.irecv, out[r], r)]
for message in dist.batch_isend_irecv(messages):
    message.wait()
""",
    "by a call of the group": """
out = [torch.empty_like(logits) for _ in range(dist.get_world_size())]
dist.group.WORLD.allgather([out], [logits.detach()]).wait()
""",
}
ALONE = """
out = [part.detach() for part in out]
out[dist.get_rank()] = logits
return torch.nn.functional.cross_entropy(torch.cat(out, 1), targets)
"""

PROGRAMS = {
    "TP-2": {
        "no return": ({"return mp_idx, dp_idx": "_ = mp_idx, dp_idx"}, "six things")},
    "TP-3": {
        "transposed":
            {"np.empty((mp_size, *x.shape)": "np.empty((mp_size * x.shape[-1], len(x))",
             "(x), gathered": "(x.T), gathered",
             "np.concatenate(list(gathered), axis=-1)": "gathered.T"},
        "rank 0 alone":
            ({"mp_comm.Allgather": "mp_comm.Get_rank() == 0 and mp_comm.Allgather"},
             "a rank waits in a collective that another one never calls")},
    "TP-6": {
        "matmul": {"F.linear(Copy.apply(x), self.weight)": "Copy.apply(x) @ self.weight.mT"},
        "the sum is not used":
            ({"return Sum.apply(F.linear(x, self.weight))":
                  "y = F.linear(x, self.weight)\nSum.apply(y)\nreturn y"},
             "add them up with Sum, and go on with what it returns"),
        "no parameter":
            ({"nn.Parameter(": "("}, "must be an nn.Parameter, or no optimizer finds it")},
    "TP-7": {
        **{f"all logits, {road}": (f"{code}\n{ALONE}", "has sent as much as all its logits")
           for road, code in ALL_LOGITS.items()},
        "two sums in one message":
            {"total = Sum.apply(shifted.exp().sum(-1))": "total = shifted.exp().sum(-1)",
             "target = Sum.apply(torch.where(mine, own, torch.zeros_like(own)))":
                 "own = torch.where(mine, own, torch.zeros_like(own))\n"
                 "total, target = Sum.apply(torch.stack([total, own]))"},
        "a few numbers of each rank as objects": """
        largest = logits.detach().amax(-1)
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, largest)
        shifted = logits - torch.stack(every).amax(0)[:, None]
        total = Sum.apply(shifted.exp().sum(-1))
        here = (targets >= first) & (targets < first + logits.shape[-1])
        own = shifted.gather(-1, (targets - first).where(here, 0)[:, None])[:, 0]
        return (total.log() - Sum.apply(own.where(here, 0))).mean()
        """},
    "CP-1": {
        "no Partial": ("return one.o + other.o", "must return a Partial")},
    "CP-2": {
        "a message more, for which nobody waits":
            ({"if step < ring.size - 1:\n        arrived": "if True:\n        arrived"},
             "messages started: 4 in place of 3")},
    "CP-3": {
        "off by one":
            ({"2 * ranks - 1 - rank": "2 * ranks - rank"},
             "count from 0, so the last chunk is 2 * ranks - 1"),
        "chunks of other sizes":
            ({"equal_chunks(length, 2 * ranks)": "torch.arange(length).tensor_split(2 * ranks)"},
             "let equal_chunks cut 2 * ranks of them")},
    "EP-1": {
        "the same splits backward": ({"ctx.take, ctx.give": "ctx.give, ctx.take"}, "plit"),
        "over all ranks, by c10d's own function":
            ({"dist.all_to_all_single(theirs, counts, group=self.group)":
                  "dist.distributed_c10d.all_to_all_single(theirs, counts)"},
             "an all-to-all goes to the default group"),
        "the counts as lists":
            {"dist.all_to_all_single(theirs, counts, group=self.group)":
                 "dist.all_to_all(list(theirs.chunk(self.ranks)), list(counts.chunk(self.ranks)), "
                 "group=self.group)"}},
    "FB-1": {
        "the largest by max and min":
            {"parts.abs().amax((1, 3), keepdim=True)":
                 "torch.maximum(parts.amax((1, 3), True), -parts.amin((1, 3), True))"},
        "the exponent by frexp":
            {"torch.exp2(torch.ceil(torch.log2(scales)))":
                 "torch.exp2(torch.frexp(scales / (1 + 2**-23)).exponent.float())"}},
    "FB-4": {
        "one rank after the other":
            {"restore(parts).sum(0, keepdim=True)": "sum(restore(parts))[None]"},
        "a plain all-reduce":
            ({"parts = swap": "dist.all_reduce(x, group=group)\nreturn x\nparts = swap"},
             "bytes sent")},
}  # fmt: skip
