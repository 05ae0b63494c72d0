"""Work in place of solutions: what the check must name, and what it must pass."""

GATHER = "dist.all_gather(list(self.whole.chunk(self.size)), self.mine.data, group=self.group)"
TO_HALF = "if dtype in HALF:\n    model.to(dtype)\n"
EVEN = "rank % 2 == 0"
RECEIVE_AND_WAIT = "dist.recv(theirs, left)\nmessage.wait()"
ALL_LOGITS = """
out = [None] * dist.get_world_size()
dist.all_gather_object(out, logits.detach())
out[dist.get_rank()] = logits
return torch.nn.functional.cross_entropy(torch.cat(out, 1), targets)
"""
BACK = "for k in range(micro_batches):\n    backward(k)"
WAIT_FORWARD, WAIT_BACK = "free(rank + 1, k)", "free(rank - 1, k - 1)"
NO_WAIT = {WAIT_FORWARD: "pass", WAIT_BACK: "pass"}
LOSS = "grad_activations[last] = model.loss"

PROGRAMS = {
    "DP-1": {
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
    "DP-4": {
        "leaves too early":
            ({"while": "if", " and self.buckets[self.next].left == 0": ""},
             "before the gradient of")},
    "DP-5": {
        "one message in place of a list":
            {"parts = list(flat.chunk(self.size))\n": "",
             "dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                 "dist.reduce_scatter_tensor(part, flat, group=self.group)",
             "self.mine.grad = part if": "part /= self.size\nself.mine.grad = part if",
             GATHER: "dist.all_gather_into_tensor(self.whole, self.mine.data, group=self.group)"},
        "every rank keeps the whole gradient":
            ({"dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)":
                  "dist.all_reduce(flat, op=dist.ReduceOp.AVG)\npart = flat"},
             "mine.grad is the whole gradient: this rank keeps its part only")},
    "DP-6": {
        "backwards": {"self.units:\n    unit.average": "reversed(self.units):\n    unit.average",
                      "self.units:\n    unit.gather": "reversed(self.units):\n    unit.gather"}},
    "DP-8": {
        "gradients every step": ("""
        while True:
            group.compute()
            group.all_reduce(group.gradients())
            group.update()
        """, "it runs, but its loss")},
    "DP-PP-2": {
        "averages along the row":
            ({"(stage, groups.dp)": "(stage, groups.pp)"},
             "the ranks of one row average with each other, and they hold different layers"),
        "gathers the gradients over a column as objects":
            {"average_gradients(stage, groups.dp)": """for p in stage.parameters():
    found = [None] * grid.dp
    dist.all_gather_object(found, p.grad, group=groups.dp)
    p.grad = sum(found) / grid.dp"""}},
    "PF-3": {
        "nothing given":
            ({"return self.file": ""}, "rank, item 0: 'None, and no open file, of 1 opened' in")},
    "PF-4": {
        "weights in half":
            ({'with record_function("forward")': f'{TO_HALF}with record_function("forward")'},
             "they must stay torch.float32")},
    "CK-1": {
        "named before all are complete":
            ({"dist.barrier()  # now all parts are complete\n": ""},
             "the folder has its final name while rank"),
        "each part is the rank's before":
            ({"rank{rank}": "rank{(rank + 1) % dist.get_world_size()}"}, "the rank before: it"),
        "what a killed run left is in the way":
            ({"shutil.rmtree(draft, ignore_errors=True)": "pass"}, "is in the way: remove it"),
        "every rank renames":
            ({"complete\nif rank == 0:": "complete\nif True:"}, "only one may rename it"),
        "fsync of the file, which has a number; by keywords":
            {"os.fsync(file.fileno())": "os.fsync(file)",
             "save(state, file)": "save(f=file, obj=state)"},
        "rank 1 does it, with replace": {"rank == 0:\n    shutil": "rank == 1:\n    shutil",
             "rank == 0:\n    names": "rank == 1:\n    names", "os.rename": "os.replace"}},
    "CO-1": {
        "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """},
    "CO-3": {
        "memory forgotten": ({" if done.fits": ""}, "does not fit:")},
    "RC-1": {
        "rounded on the way":
            ({"add_(arrived)": "add_(arrived.float().to(arrived.dtype))"}, "float32's accuracy"),
        "the other way round":
            {"right, left =": "left, right =",
             "arrived = torch.empty_like(parts[(rank - step - 1)":
                 "arrived = torch.empty_like(parts[(rank + step + 1)",
             "parts[(rank - step - 1) % world_size].add_":
                 "parts[(rank + step + 1) % world_size].add_",
             "rank - step) % world_size], arr": "rank + step) % world_size], arr",
             "rank + 1 - step) % world_size], parts[(rank - step)":
                 "rank - 1 + step) % world_size], parts[(rank + step)"}},
    "RC-2": {
        "the last rank turns the order": {"rank % 2 == 0": "rank < world_size - 1"},
        "nobody waits for the send":
            ({RECEIVE_AND_WAIT: "dist.recv(theirs, left)"},
             "starts isend and never calls wait() on its result"),
        "only rank 0 receives first; irecv, then send":
            {EVEN: "rank",
             "dist.isend(mine, right)\n": "dist.irecv(theirs, left)\n",
             RECEIVE_AND_WAIT: "dist.send(mine, right)\nmessage.wait()"}},
    "NS-2": {
        "asks the last peer first": ({"in peers()": "in peers()[::-1]"}, "asked, number 0: ")},
    "LA-1": {
        "two numbers": ({"return rank, world_size, local_rank": "return rank, world_size"},
                        "give three numbers: rank, world size, local rank; not (0, "),
        "a message without the name":
            ({'f"{rank_name}={rank} does not fit {size_name}={world_size}"': '"no"'},
             "cannot be: name the variable with the rank in the message, not only 'no'")},
    "TP-2": {
        "no return": ({"return mp_idx, dp_idx": "_ = mp_idx, dp_idx"}, "six things")},
    "TP-3": {
        "rank 0 alone":
            ({"mp_comm.Allgather": "mp_comm.Get_rank() == 0 and mp_comm.Allgather"},
             "a rank waits in a collective that another one never calls")},
    "TP-6": {
        "no parameter":
            ({"nn.Parameter(": "("}, "must be an nn.Parameter, or no optimizer finds it")},
    "TP-7": {
        "all logits, as objects": (ALL_LOGITS, "has sent as much as all its logits"),
        "two sums in one message":
            {"total = Sum.apply(shifted.exp().sum(-1))": "total = shifted.exp().sum(-1)",
             "target = Sum.apply(torch.where(mine, own, torch.zeros_like(own)))":
                 "own = torch.where(mine, own, torch.zeros_like(own))\n"
                 "total, target = Sum.apply(torch.stack([total, own]))"}},
    "CP-1": {
        "no Partial": ("return one.o + other.o", "must return a Partial")},
    "CP-3": {
        "chunks of other sizes":
            ({"equal_chunks(length, 2 * ranks)": "torch.arange(length).tensor_split(2 * ranks)"},
             "let equal_chunks cut 2 * ranks of them")},
    "EP-1": {
        "over all ranks, by c10d's own function":
            ({"dist.all_to_all_single(theirs, counts, group=self.group)":
                  "dist.distributed_c10d.all_to_all_single(theirs, counts)"},
             "an all-to-all goes to the default group")},
    "PP-1": {
        "ones in place of the gradient":
            ({"y.backward(gradient)": "y.backward(torch.ones_like(y))"},
             "rank 2 goes backward through the batch with ones"),
        "another batch":
            ({"0:\n    x = ids": "0:\n    x = ids.flip(0)"},
             "gets something else than the ids of the batch"),
        "no backward but on the last rank":
            ({"y.backward(gradient)": "pass", "send(x.grad,": "send(torch.zeros_like(x),"},
             "rank 2 never goes backward through the batch"),
        "no loss given": ({"return loss": "pass"}, "is there a return?"),
        "forgot requires_grad_":
            ({"x.requires_grad_()": "pass"},
             "exists only where x.requires_grad_() was called before stage(x)"),
        "forgot to send back":
            ({"dist.send(x.grad, rank - 1)": "pass"},
             "every rank but the first x.grad to rank - 1"),
        "both in one batch":
            {"dist.send(y.detach(), rank + 1)":
                 "out = dist.P2POp(dist.isend, y.detach(), rank + 1)",
             "dist.recv(gradient, rank + 1)":
                 "back = dist.P2POp(dist.irecv, gradient, rank + 1)\n"
                 "[m.wait() for m in dist.batch_isend_irecv([out, back])]"}},
    "PP-2": {
        "the same micro-batch each time":
            ({"x = parts[k]": "x = parts[0]"}, "micro-batch 0 goes through rank 0 more than once"),
        "backward in another order on the last rank":
            ({BACK: BACK.replace("micro_batches)", "micro_batches)[:: -1 if rank == last else 1]")},
             "rank 2 goes backward through micro-batch 0 with the gradient of micro-batch 5")},
    "PP-3": {
        "nobody waits for what goes back":
            ({"send(x.grad, rank - 1, k)":
                  "dist.batch_isend_irecv([dist.P2POp(dist.isend, x.grad, rank - 1)])",
              WAIT_BACK: "pass"},
             "nobody waits for the isend of rank 1 to rank 0"),
        "each waits for the one before it":
            NO_WAIT | {"sends[peer, k] = dist":
                           "[free(*one) for one in list(sends) if one[0] == peer]\n"
                           "sends[peer, k] = dist"}},
    "PP-5": {
        "room counted until I":
            ({"f[s] - w[s] < room": "f[s] - i[s] < room"}, "each stays until its W has ended")},
    "GP-3": {
        "from the last layer":
            ({"in modules:": "in list(modules)[::-1]:"},
             "the layers come in the order [2, 1, 0]: a batch must go through them as they stand")},
    "GP-5": {
        "another error":
            ({"raise answer[1].with_traceback(answer[2])": 'raise RuntimeError("no answer")'},
             "out of compute comes RuntimeError: no answer: raise the worker's error")},
    "PZ-5": {
        "gathers three times":
            ({LOSS: f'weights["whole"] = await model.all_gather(weights[last], last)\n{LOSS}'},
             "it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice")},
    "TW-1": {
        "a pipeline over all ranks":
            ({', group=mesh["pp"].get_group()': ""}, "the pipeline goes over all ranks")},
}  # fmt: skip
