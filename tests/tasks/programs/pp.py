"""Work in place of the solutions of PP: what the check must name, and what it must pass."""

BEGIN = "if rank == 0:"
BACK = "for k in range(micro_batches):\n    backward(k)"
WAIT_FORWARD, WAIT_BACK = "free(rank + 1, k)", "free(rank - 1, k - 1)"
NO_WAIT = {WAIT_FORWARD: "pass", WAIT_BACK: "pass"}

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
        "zeros for a gradient that was not asked for":
            ({"x.requires_grad_()": "pass", "send(x.grad,": "send(torch.zeros_like(x),"},
             "x on rank 1 does not ask for a gradient"),
        "no backward but on the last rank":
            ({"y.backward(gradient)": "pass", "send(x.grad,": "send(torch.zeros_like(x),"},
             "rank 2 never goes backward through the batch"),
        "something sent back":
            ({"send(x.grad,": "send(2 * x.grad,"}, "with something else than the x.grad of rank 3"),
        "computed twice":
            ({"y = stage(x)": "_, y = stage(x), stage(x)"}, "rank 0 calls stage(x) 2 times"),
        "no loss given": ({"return loss": "pass"}, "is there a return?"),
        "a loss on every rank":
            ({"return loss": "return loss or 0.0"}, "only the last rank has one"),
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
        "from the last micro-batch to the first":
            {"for k in range(micro_batches):\n    forward":
                 "for k in reversed(range(micro_batches)):\n    forward"},
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
        "nobody waits for what goes forward":
            ({"send(y.detach(), rank + 1, k)": "dist.isend(y.detach(), rank + 1)",
              WAIT_FORWARD: "pass"},
             "nobody waits for the isend of rank 0 to rank 1"),
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
        "W before F":
            ({"if i[s] < f[s]": "if w[s] == i[s] < f[s]",
              "elif came": "elif w[s] == i[s] and came"},
             "it runs and it fits, but it is slow: score"),
        "the library's search": """
        from helpers.search import search
        from helpers.simulate import Costs
        found = search(ranks, micro_batches, Costs(activation_bytes=1, memory_limit=room), walks=80)
        return [[str(a) for a in row] for row in found.schedule.ranks]
        """},
}  # fmt: skip
