"""Work in place of the solutions of DP: what the check must name, and what it must pass.

The judge of DP-3 has more rules; test_rules.py breaks each of them once.
"""

BLOCK = "range(length * rank // world_size, length * (rank + 1) // world_size)"
GATHER = "dist.all_gather(list(self.whole.chunk(self.size)), self.mine.data, group=self.group)"
SEED = 'f"seed {seed}, epoch {epoch}"'

PROGRAMS = {
    "DP-1": {
        "one rank alone communicates":
            ({"dist.all_reduce": "dist.get_rank() == 0 and dist.all_reduce"}, "left early"),
        "divided into a new name":
            ("""
        for p in model.parameters():
            if p.grad is not None:
                g = p.grad
                dist.all_reduce(g)
                g = g / world_size
        """, "(g = g / n names a new tensor, and changes no p.grad)"),
        "the weights in place of the gradients":
            ("""
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= world_size
        """, "the weights have changed"),
        "a new tensor as the gradient": """
        for p in model.parameters():
            if p.grad is not None:
                everybody = [torch.empty_like(p.grad) for _ in range(world_size)]
                dist.all_gather(everybody, p.grad)
                p.grad = torch.stack(everybody).mean(0)
        """,
        "zeros where there is no gradient": """
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        for p in model.parameters():
            p.grad, flat = flat[: p.numel()].view_as(p) / world_size, flat[p.numel() :]
        """},
    "DP-2": {
        "divided into a new name":
            ("""
        for p in model.parameters():
            w = p.data
            dist.all_reduce(w)
            w = w / world_size
        """, "(w = w / n names a new tensor, and changes no p)"),
        "the sum of the gradients in place of the weights":
            ("""
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
        """, "the gradients have changed"),
        "other memory, the same parameter, and the frozen one left alone": """
        for p in model.parameters():
            if p.requires_grad:
                everybody = [torch.empty_like(p.data) for _ in range(world_size)]
                dist.all_gather(everybody, p.data)
                p.data = torch.stack(everybody).mean(0)
        """},
    "DP-3": {
        "the remainder dropped":
            ({BLOCK: "[length // world_size * rank + i for i in range(length // world_size)]"},
             "the remainder is dropped"),
        # met: torch's DistributedSampler without set_epoch(epoch), of which its documentation warns
        "the same permutation in every epoch": ({SEED: "seed"}, "two epochs have the same order"),
        "every world_size-th, of a tensor":
            {BLOCK: "range(rank, length, world_size)",
             f"random.Random({SEED}).shuffle(order)":
                 "import torch\n"
                 "draw = torch.Generator().manual_seed(seed + epoch)\n"
                 "order = torch.randperm(length, generator=draw)"}},
    "DP-4": {
        "leaves too early":
            ({"while": "if", " and self.buckets[self.next].left == 0": ""},
             "before the gradient of"),
        "self.next stays, so that all leave again": ("""
        bucket = self.bucket_of[p]
        bucket.take(p)
        bucket.left -= 1
        if bucket.left == 0:
            self.leave(bucket)
        """, "24 all-reduces in 3 steps, and 12 buckets"),
        "one gradient later than they may": ("""
        bucket = self.bucket_of[p]
        bucket.take(p)
        last = sum(one.left for one in self.buckets) == 1
        bucket.left -= last
        while self.next < len(self.buckets) and self.buckets[self.next].left == 0:
            self.leave(self.buckets[self.next])
            self.next += 1
        bucket.left -= not last
        """, "a bucket stays although it and those before it are complete")},
    "DP-5": {
        "one message in place of a list":
            {"parts = list(flat.chunk(self.size))\n": "",
             "dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                 "dist.reduce_scatter_tensor(part, flat, group=self.group)",
             "self.mine.grad = part if": "part /= self.size\nself.mine.grad = part if",
             GATHER: "dist.all_gather_into_tensor(self.whole, self.mine.data, group=self.group)"},
        "reduced to each owner, and broadcast by it":
            {"dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                 "for owner, piece in enumerate(parts):\n"
                 "        dist.reduce(piece, owner, group=self.group)\n"
                 "    part.copy_(parts[self.rank] / self.size)",
             GATHER:
                 "for owner, piece in enumerate(self.whole.chunk(self.size)):\n"
                 "        piece.copy_(self.mine.data if owner == self.rank else piece)\n"
                 "        dist.broadcast(piece, owner, group=self.group)"},
        "added up in a new name":
            ({"self.mine.grad = part if self.mine.grad is None else self.mine.grad + part":
                  "gradient = self.mine.grad\n"
                  "gradient = part if gradient is None else gradient + part"},
             "average() leaves no mine.grad"),
        "every rank keeps the whole gradient":
            ({"dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                  "dist.all_reduce(flat, op=dist.ReduceOp.AVG)\n    part = flat"},
             "mine.grad is the whole gradient: this rank keeps its part only")},
    "DP-6": {
        "backwards": {"in self.units": "in reversed(self.units)"},
        "two updates":
            ({"self.optimizer.step()": "self.optimizer.step()\nself.optimizer.step()"},
             "the optimizer updates 2 times")},
    "DP-8": {
        "gradients every step": ("""
        while True:
            group.compute()
            group.all_reduce(group.gradients())
            group.update()
        """, "it runs, but its loss"),
        "a longer day": ("""
        group.budget = 1000
        for _ in range(800):
            group.all_reduce([weights[-1:] for weights in group.weights()])
        """, "of the clock"),
        "trains without the clock": ("""
        for step in range(700):
            for optimizer in group.optimizers:
                optimizer.param_groups[0]["lr"] = 6e-3 * (1 - step / 700)
            for net, ids in zip(group.nets, next(group.stories).split(1)):
                net.zero_grad()
                group._loss(net, ids).backward()
            group.update()
        """, "what a replica learns must come through group.compute()"),
        "two trainings for the price of one": ("""
        while True:
            for optimizer in group.optimizers:
                optimizer.param_groups[0]["lr"] = 6e-3 * (1 - group.seconds / group.budget)
            group.compute()
            group.update()
            for net, ids in zip(group.nets, next(group.stories).split(1)):
                net.zero_grad()
                group._loss(net, ids).backward()
            group.update()
        """, "what a replica learns must come through group.compute()"),
        "averages without the link": ("""
        while True:
            for optimizer in group.optimizers:
                optimizer.param_groups[0]["lr"] = 6e-3 * (1 - group.seconds / group.budget)
            group.compute()
            group.update()
            for same in zip(*group.weights()):
                mean = sum(same) / len(same)
                for weight in same:
                    weight.copy_(mean)
        """, "what a replica learns must come through group.compute()"),
        "copies one replica's mean to all":
            {"zip(group.weights(), short, strict=True)":
                 "((w, short[0]) for w in group.weights())"}},
}  # fmt: skip
