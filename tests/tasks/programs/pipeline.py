"""Work in place of solutions: what the check must name, and what it must pass."""

BEGIN = "if rank == 0:"
BACK = "for k in range(micro_batches):\n    backward(k)"
WAIT_FORWARD, WAIT_BACK = "free(rank + 1, k)", "free(rank - 1, k - 1)"
NO_WAIT = {WAIT_FORWARD: "pass", WAIT_BACK: "pass"}
FREE = "    del grad, grad_activations[-1]"
ALL_REDUCE = "await model.all_reduce(grad_weights[layer], layer)"
UPDATE = "    weights[layer], opt_states[layer] = model.update("
SUM_UP = "await model.reduce_scatter(grad_weights[layer], layer)"
LOSS = "grad_activations[last] = model.loss"
LOAD = ":\n    weights[layer], opt_states"
RECEIVES = ":\n    if layer == first and stage > 0:"
OPTIMIZER = "optimizer = make_optimizer(options, stage)\n"

PROGRAMS = {
    "PP-1": {
        "ones in place of the gradient":
            ({"y.backward(gradient)": "y.backward(torch.ones_like(y))"},
             "rank 2 goes backward through the batch with ones"),
        "another batch":
            ({"x = ids\n": "x = ids.flip(0)\n"}, "gets something else than the ids of the batch"),
        "what was received is not used":
            ({"x.requires_grad_()": "x = torch.zeros_like(x).requires_grad_()"},
             "give it the tensor that recv has filled"),
        "no backward but on the last rank":
            ({"y.backward(gradient)": "pass", "send(x.grad,": "send(torch.zeros_like(x),"},
             "rank 2 never goes backward through the batch"),
        "something sent back":
            ({"send(x.grad,": "send(2 * x.grad,"}, "with something else than the x.grad of rank 3"),
        "no loss given": ({"return loss": "pass"}, "is there a return?"),
        "the last rank of the lesson":
            ({"rank == last": "rank == 2", "rank < last": "rank != 2"},
             "classes and vocab_size is"),
        "forgot requires_grad_":
            ({"x.requires_grad_()": "pass"},
             "exists only where x.requires_grad_() was called before stage(x)"),
        "nothing recorded":
            ({'with recorder.span("F")': "if True", 'with recorder.span("B")': "if True"},
             "spans, F: is missing"),
        "forgot to send back":
            ({"dist.send(x.grad, rank - 1)": "pass"},
             "every rank but the first x.grad to rank - 1"),
        "both send first":
            ({BEGIN: f"rank > 0 and dist.send(torch.zeros(shape), rank - 1)\n{BEGIN}"},
             "both send first"),
        "the last rank sends on":
            ({BEGIN: f"rank == last and dist.send(torch.zeros(shape), rank + 1)\n{BEGIN}"},
             "but the ranks are 0 to"),
        "both in one batch":
            {"dist.send(y.detach(), rank + 1)":
                 "out = dist.P2POp(dist.isend, y.detach(), rank + 1)",
             "dist.recv(gradient, rank + 1)":
                 "back = dist.P2POp(dist.irecv, gradient, rank + 1)\n"
                 "    [m.wait() for m in dist.batch_isend_irecv([out, back])]"}},
    "PP-2": {
        "the same micro-batch each time":
            ({"x = parts[k]": "x = parts[0]"}, "micro-batch 0 goes through rank 0 more than once"),
        "backward in another order on the last rank":
            ({BACK: BACK.replace("micro_batches)", "micro_batches)[:: -1 if rank == last else 1]")},
             "rank 2 goes backward through micro-batch 0 with the gradient of micro-batch 5"),
        "the last one comes back first":
            {BACK: BACK.replace("micro_batches)", "micro_batches)[::-1]")},
        "put right at the end":
            {"def forward(k):":
                 "old = {p: p.grad for p in stage.parameters() if p.grad is not None}\n"
                 "stage.zero_grad()\n\ndef forward(k):",
             " / micro_batches": "",
             "return sum(losses)":
                 "for p in stage.parameters():\n"
                 "    p.grad = p.grad / micro_batches + old.get(p, 0)\n"
                 "return sum(losses) / micro_batches"}},
    "PP-3": {
        "every x and y stays":
            ({".pop(k)": "[k]"}, "after its backward let go of a micro-batch's x and y"),
        "nobody waits for what goes back":
            ({"send(x.grad, rank - 1, k)":
                  "dist.batch_isend_irecv([dist.P2POp(dist.isend, x.grad, rank - 1)])",
              WAIT_BACK: "pass"},
             "nobody waits for the isend of rank 1 to rank 0"),
        "plain sends":
            ({"sends[peer, k] = dist.isend(tensor, peer), tensor": "dist.send(tensor, peer)"}
             | NO_WAIT, "both send first"),
        "each waits for the one before it":
            NO_WAIT | {"sends[peer, k] = dist":
                           "[free(*one) for one in list(sends) if one[0] == peer]\n"
                           "    sends[peer, k] = dist"}},
    "PP-5": {
        "room counted until I":
            ({"f[s] - w[s] < room": "f[s] - i[s] < room"}, "each stays until its W has ended"),
        "the library's search": """
        from helpers.search import search
        from helpers.simulate import Costs
        found = search(ranks, micro_batches, Costs(activation_bytes=1, memory_limit=room), walks=80)
        return [[str(a) for a in row] for row in found.schedule.ranks]
        """},
    "GP-3": {
        "by where parts begin": """
layers = list(modules)
where = [_retrieve_device(layer) for layer in layers]
begins = [0] + [n for n in range(1, len(where)) if where[n] != where[n - 1]]
parts = [layers[a:b] for a, b in zip(begins, [*begins[1:], None])]
return nn.ModuleList(map(_assemble_partition, parts)), [where[n] for n in begins]
""",
        "from the last layer":
            ({"in modules:": "in list(modules)[::-1]:"},
             "the layers come in the order [2, 1, 0]: a batch must go through them as they stand")},
    "GP-4": {
        "by micro-batch": """
for k in range(num_batches + num_partitions - 1):
    first, last = max(0, k - num_partitions + 1), min(k, num_batches - 1)
    yield [(i, k - i) for i in range(first, last + 1)]
""",
        "twice":
            ({"if 0 <= cycle - j < num_batches]": "if 0 <= cycle - j < num_batches] * 2"},
             "'micro-batch 0 and micro-batch 0' in place of 'micro-batch 0'")},
    "GP-5": {
        "another error":
            ({"raise answer[1].with_traceback(answer[2])": 'raise RuntimeError("no answer")'},
             "out of compute comes RuntimeError: no answer: raise the worker's error"),
        "one after the other, and errors are lost": ("""
for i, j in schedule:
    job = Task(partial(self.one, j, i, batches[i]))
    self.in_queues[j].put(job)
    batches[i] = self.out_queues[j].get()[1][1]
""", "the parts work one after the other")},
    "GP-7": {
        "append": """
sequence = nn.Sequential()
for n in range(len(self.h)):
    sequence.append(WithDevice(BlockWithMask(self.h[n]), self.devices[n]))
self._hold(Pipe(sequence, split_size, recorders=recorders))
"""},
    "PZ-1": {
        "forgets the update":
            ({"set_final_weight(layer, new)": "set_final_weight(layer, weights[layer])"},
             "is the old one, of step 0: hand in what update gave")},
    "PZ-2": {
        "only the last sample":
            ({"grad_weights[layer] + grad if sample > 0 else grad": "grad"},
             "samples 0 to 2 are missing in the gradient")},
    "PZ-3": {
        "only rank 0 updates":
            ({"    new, _": "    if model.rank:\n        return model\n    new, _"},
             "its copy is stale, and would spoil the next step")},
    "PZ-4": {
        "the same shard on every rank":
            ({"layer, model.rank, model.world_size": "layer, 0, model.world_size"},
             "it needs the whole weight, and got the weight of layer 0, shard 0 of 4")},
    "PZ-5": {
        "gathers three times":
            ({LOSS: f'weights["whole"] = await model.all_gather(weights[last], last)\n{LOSS}'},
             "it takes 20.7 steps, and 20.4 are enough: a layer is gathered twice")},
    "PZ-6": {
        "loads everything":
            ({f"mine{LOAD}": f"range(model.num_layers){LOAD}"}, "its copy is stale")},
    "PZ-7": {
        "samples back in two orders":
            ({"after, sample])\n        del activations[after, sample]": "after, 3 - sample])"},
             "the activation is for sample 0, and the gradient for sample 3: "
             "they must be the same")},
    "PZ-8": {
        "collectives of one's own layers alone":
            ({f"layers{RECEIVES}": f"mine{RECEIVES}"}, "none of them can go first")},
    "PZ-P0": {
        # met: the CS 8803 SMR lab's own demo, which fails with two micro-batches a rank
        "the demo of the lab: adds the reduced gradient to the local one":
            ({FREE:
                  "    for layer in range(model.num_layers):\n"
                  f"        grad_weights[layer] += {ALL_REDUCE}\n{FREE}"},
             "would count twice in the gradient of layer 0")},
    "PZ-P1": {
        "whole gradients":
            ({"        grad = await model.reduce_scatter(grad, layer)\n": "",
              UPDATE: f"    grad_weights[layer] = {SUM_UP}\n{UPDATE}"},
             "are enough: keep one whole weight and one whole gradient at a time")},
    "PZ-P2": {
        "the last rank is always the last stage":
            ({"after == model.num_layers": "rank == model.world_size - 1"}, "waits for rank 2")},
    "PZ-P3": {
        "GPipe":
            ({"min(stages - rank - 1, len(batches))": "len(batches)"},
             "are enough: after the warm-up each forward is followed by a backward")},
    "PZ-P4": {
        # met: submissions to that lab, one of them with 139,268 % MFU
        "gradients that claim all samples":
            ({"grad_weights.pop(layer)":
                  '__import__("lib").WeightGrad(layer, last + 1, range(samples), samples)'},
             "was built by hand, and nobody has computed it")},
    "PZ-P5": {
        "activations from nothing, in place of computing them again":
            ({"    out = model.forward(layer, activations[layer, number], weight)":
                  "    from lib import Activation\n"
                  "    out = Activation(layer + 1, model.num_layers, batches[number], "
                  "model.global_batch_size)\n"
                  '    if op != "again":\n'
                  "        out = model.forward(layer, activations[layer, number], weight)"},
             "was built by hand, and nobody has computed it")},
    "TW-1": {
        "the optimizer before fully_shard":
            ({OPTIMIZER: "", "for module in [m for": f"{OPTIMIZER}for module in [m for"},
             "was made before fully_shard"),
        "a pipeline over all ranks":
            ({', group=mesh["pp"].get_group()': ""}, "the pipeline goes over all ranks")},
}  # fmt: skip
