"""Work in place of the solutions of TP: what the check must name, and what it must pass."""

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
        "matmul, without Copy":
            ({"F.linear(Copy.apply(x), self.weight)": "x @ self.weight.mT"},
             "the gradient of x is this rank's own term alone"),
        "the sum is not used":
            ({"return Sum.apply(F.linear(x, self.weight))":
                  "y = F.linear(x, self.weight)\nSum.apply(y)\nreturn y"},
             "add them up with Sum, and go on with what it returns"),
        "the copy is not used":
            ({"return F.linear(Copy.apply(x), self.weight)":
                  "Copy.apply(x)\n    return F.linear(x, self.weight)"},
             "with what Copy returns"),
        "no parameter":
            ({"nn.Parameter(": "("}, "must be an nn.Parameter, or no optimizer finds it")},
    "TP-7": {
        **{f"all logits, {road}": (f"{code}\n{ALONE}", "has sent as much as all its logits")
           for road, code in ALL_LOGITS.items()},
        "all logits to rank 0, which computes for all": ("""
        out = None
        if dist.get_rank() == 0:
            out = [torch.empty_like(logits) for _ in range(dist.get_world_size())]
        dist.gather(logits.detach(), out)
        total = logits.new_empty(len(logits))
        if dist.get_rank() == 0:
            total = torch.cat(out, 1).logsumexp(-1)
        dist.broadcast(total, 0)
        here = (targets >= first) & (targets < first + logits.shape[-1])
        own = logits.gather(-1, (targets - first).where(here, 0)[:, None])[:, 0].where(here, 0)
        mean = (total - Sum.apply(own.detach())).mean()
        surrogate = ((logits.detach() - total[:, None]).exp() * logits).sum(-1) - own
        return mean + (surrogate - surrogate.detach()).mean()
        """, "rank 1 has sent as much as all its logits"),
        "two sums in one message":
            {"total = Sum.apply(shifted.exp().sum(-1))": "total = shifted.exp().sum(-1)",
             "target = Sum.apply(torch.where(mine, own, torch.zeros_like(own)))":
                 "own = torch.where(mine, own, torch.zeros_like(own))\n"
                 "total, target = Sum.apply(torch.stack([total, own]))"},
        "gathers the log-sums of all ranks into one tensor": """
        mine = logits.detach().logsumexp(-1)
        every = torch.empty(dist.get_world_size() * len(mine), dtype=mine.dtype)
        dist.all_gather_into_tensor(every, mine)
        total = every.view(-1, len(mine)).logsumexp(0)
        at = targets - first
        here = (at >= 0) & (at < logits.shape[-1])
        own = logits.gather(-1, at.clamp(0, logits.shape[-1] - 1)[:, None])[:, 0].where(here, 0)
        target = own.detach().clone()
        dist.all_reduce(target)
        surrogate = ((logits.detach() - total[:, None]).exp() * logits).sum(-1) - own
        return (surrogate - surrogate.detach() + total - target).mean()
        """,
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
}  # fmt: skip
