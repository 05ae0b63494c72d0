"""Work in place of solutions: what the check must name, and what it must pass."""

BLOCK = "range(length * rank // world_size, length * (rank + 1) // world_size)"
GATHER = "dist.all_gather(list(self.whole.chunk(self.size)), self.mine.data, group=self.group)"
SEED = 'f"seed {seed}, epoch {epoch}"'
TO_HALF = "if dtype in HALF:\n    model.to(dtype)\n"
PARTS = "flat.tensor_split(world_size)"
BATCH = """\
    for message in dist.batch_isend_irecv([sending, receiving]):
        message.wait()
"""
EVEN = "rank % 2 == 0"
RECEIVE_AND_WAIT = "dist.recv(theirs, left)\nmessage.wait()"

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
        "other memory, the same parameter, and the frozen one left alone": """
        for p in model.parameters():
            if p.requires_grad:
                everybody = [torch.empty_like(p.data) for _ in range(world_size)]
                dist.all_gather(everybody, p.data)
                p.data = torch.stack(everybody).mean(0)
        """},
    "DP-3": {
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
        """, "24 all-reduces in 3 steps, and 12 buckets")},
    "DP-5": {
        "one message in place of a list":
            {"parts = list(flat.chunk(self.size))\n": "",
             "dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                 "dist.reduce_scatter_tensor(part, flat, group=self.group)",
             "self.mine.grad = part if": "part /= self.size\nself.mine.grad = part if",
             GATHER: "dist.all_gather_into_tensor(self.whole, self.mine.data, group=self.group)"},
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
        "backwards": {"in self.units": "in reversed(self.units)"}},
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
        "copies one replica's mean to all":
            {"zip(group.weights(), short, strict=True)":
                 "((w, short[0]) for w in group.weights())"}},
    "DP-PP-1": {
        "only for the first stage":
            ({"dist.all_reduce": "dist.get_rank() % 2 or dist.all_reduce"},
             "ranks 1 and 3 left early"),
        "gathered, and a new tensor as the gradient": """
        for p in stage.parameters():
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size(group))]
            dist.all_gather(everybody, p.grad, group=group)
            p.grad = torch.stack(everybody).mean(0)
        """},
    "DP-PP-2": {
        "averages along the row":
            ({"(stage, groups.dp)": "(stage, groups.pp)"},
             "the ranks of one row average with each other, and they hold different layers"),
        "each rank trains the whole model by itself": ("""
        from simplellm.slicing import slice_stage

        grid = make_grid(options, place.world_size)
        here = grid.coordinates(place.rank)
        tokenizer, whole = prepare(options, device)
        parts = [(d, grid.dp) for d in range(grid.dp)]
        streams = [iter(make_stories(options, tokenizer, *part, quiet=True)) for part in parts]
        optimizer, recorder, losses = make_optimizer(options, whole), Recorder(place.rank), []
        for step in range(options.steps):
            optimizer.zero_grad()
            for d, stories in enumerate(streams):
                ids = next(stories).to(device)
                with recorder.span("F"):
                    loss = causalLLMLoss(whole(ids), ids, tokenizer.vocab_size)
                with recorder.span("B"):
                    (loss / grid.dp).backward()
                if d == here.dp:
                    mine = loss.item()
            with recorder.span("all-reduce"):
                pass
            with recorder.span("update"):
                optimizer.step()
            if here.pp == grid.pp - 1:
                losses.append(mine)
                say(step, mine)
        stage = slice_stage(whole, here.pp, grid.pp) if grid.pp > 1 else whole
        return losses, stage, recorder.trace()
        """, "each rank trains the whole model by itself, and nothing leaves it"),
        "gathers the gradients over a column as objects":
            {"average_gradients(stage, groups.dp)": """for p in stage.parameters():
                found = [None] * grid.dp
                dist.all_gather_object(found, p.grad, group=groups.dp)
                p.grad = sum(found) / grid.dp"""}},
    "PF-3": {
        "the other way round": """
me = os.getpid()
if me == self.owner:
    return self.file
self.owner = me
self.file = self.open_file()
return self.file
""",
        "nothing given":
            ({"return self.file": ""},
             "rank, item 0: 'None, and no open file, of 1 opened' in place of "
             "'file 1 of 1 opened'")},
    "PF-4": {
        "weights in half":
            ({'with record_function("forward")': f'{TO_HALF}with record_function("forward")'},
             "they must stay torch.float32")},
    "PF-5": {
        "padded, and a mask of true and false": """
places = target.shape[1]
read = nn.functional.pad(target, (0, 0, 1, 0))[:, :-1]
later = torch.ones(places, places, dtype=torch.bool).triu(1)
return self.transformer(source, read, tgt_mask=later)
"""},
    "CK-1": {
        "named before all are complete":
            ({"dist.barrier()  # now all parts are complete\n": ""},
             "the folder has its final name while rank"),
        "what a killed run left is in the way":
            ({"shutil.rmtree(draft, ignore_errors=True)": "pass"}, "is in the way: remove it"),
        "every rank renames":
            ({"complete\nif rank == 0:": "complete\nif True:"}, "only one may rename it"),
        "one rank calls something else":
            ({"dist.barrier()  # now all parts are complete":
                  "dist.all_reduce(torch.ones(1)) if rank == 0 else dist.barrier()"},
             "of by_hand.py, in save_part"),
        "fsync of the file, which has a number; by keywords":
            {"os.fsync(file.fileno())": "os.fsync(file)",
             "save(state, file)": "save(f=file, obj=state)"},
        "rank 1 does it, with replace": {"rank == 0": "rank == 1", "os.rename": "os.replace"}},
    "CO-1": {
        "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """},
    "CO-3": {
        "memory forgotten": ({"done.fits and ": ""}, "does not fit:"),
        "by the library": """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """},
    "TR-1": {
        "losses are added up in float32":
            {"of_batch = 0.0": "of_batch = torch.zeros(())",
             "+= loss.item()": "+= loss.detach()",
             "append(of_batch)": "append(of_batch.item())"}},
    "RC-1": {
        "rounded on the way":
            ({"add_(arrived)": "add_(arrived.float().to(arrived.dtype))"}, "float32's accuracy"),
        "a buffer of another type":
            ({"empty_like(parts[(rank - step - 1) % world_size]":
                  "empty(len(parts[rank - step - 1])"},
             "dtype mismatch"),
        "the other way round":
            {"right, left =": "left, right =",
             "rank - step - 1": "rank + step + 1",
             "rank - step)": "rank + step)",
             "rank + 1 - step": "rank - 1 + step"}},
    "RC-2": {
        "the last rank turns the order": {"rank % 2 == 0": "rank < world_size - 1"},
        "nobody waits for the send":
            ({RECEIVE_AND_WAIT: "dist.recv(theirs, left)"},
             "starts isend and never calls wait() on its result"),
        "the deadlock stays":
            ({EVEN: "True"}, "deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first"),
        "good for four ranks only":
            ({EVEN: "rank in (0, 2) or world_size == 3"},
             "deadlock: a ring of sends. Ranks 0, 1 and 2 all send first"),
        "only rank 0 receives first; irecv, then send":
            {EVEN: "rank",
             "dist.isend(mine, right)\n": "dist.irecv(theirs, left)\n",
             RECEIVE_AND_WAIT: "dist.send(mine, right)\nmessage.wait()"}},
    "LA-1": {
        "half of a launcher is enough":
            ({" and size_name in environ": ""},
             "WORLD_SIZE is not: believe the next launcher that says both: this raises KeyError"),
        "a message without the name":
            ({'f"{rank_name}={rank} does not fit {size_name}={world_size}"': '"no"'},
             "cannot be: name the variable with the rank in the message, not only 'no'")},
}  # fmt: skip
