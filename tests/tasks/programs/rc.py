"""Work in place of the solutions of RC: what the check must name, and what it must pass."""

PARTS = "flat.tensor_split(world_size)"
BATCH = """\
    for message in dist.batch_isend_irecv([sending, receiving]):
        message.wait()
"""
EVEN = "rank % 2 == 0"
RECEIVE_AND_WAIT = "dist.recv(theirs, left)\nmessage.wait()"

PROGRAMS = {
    "RC-1": {
        "rounded on the way":
            ({"add_(arrived)": "add_(arrived.float().to(arrived.dtype))"}, "float32's accuracy"),
        "all send first":
            ({BATCH: "    dist.send(mine, right)\n    dist.recv(theirs, left)\n"},
             "deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first"),
        "a buffer of another type":
            ({"empty_like(parts[(rank - step - 1) % world_size]":
                  "empty(len(parts[rank - step - 1])"},
             "dtype mismatch"),
        "by the store, without a message": ("""
        store = dist.distributed_c10d._get_default_store()
        cases = globals().setdefault("CASES", [])
        cases.append(tensor)
        texts = [str(value) for value in tensor.flatten().tolist()]
        store.set(f"{len(cases)} {rank}", " ".join(texts))
        total = 0
        for other in range(world_size):
            theirs = store.get(f"{len(cases)} {other}").decode().split()
            numbers = torch.tensor([float(value) for value in theirs], dtype=torch.float64)
            total = total + numbers.to(tensor.dtype)
        tensor.copy_(total.view(tensor.shape))
        return 0
        """, "rank 0 sends nothing"),
        "the other way round":
            {"right, left =": "left, right =",
             "rank - step - 1": "rank + step + 1",
             "rank - step)": "rank + step)",
             "rank + 1 - step": "rank - 1 + step"},
        "even ranks send first": {BATCH: """\
    if rank % 2 == 0:
        dist.send(mine, right)
    dist.recv(theirs, left)
    if rank % 2:
        dist.send(mine, right)
"""},
        "parts of other lengths":
            {PARTS:
                 "[flat[r * -(-len(flat) // world_size) :][: -(-len(flat) // world_size)] "
                 "for r in range(world_size)]"}},
    "RC-2": {
        "the last rank turns the order": {"rank % 2 == 0": "rank < world_size - 1"},
        "nobody waits for the send":
            ({RECEIVE_AND_WAIT: "dist.recv(theirs, left)"},
             "starts isend and never calls wait() on its result"),
        "the deadlock stays":
            ({EVEN: "True"}, "deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first"),
        "all receive first": ({EVEN: "False"}, "all receive first"),
        "waits before it receives":
            ({RECEIVE_AND_WAIT: "message.wait()\ndist.recv(theirs, left)"},
             "deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first"),
        "good for four ranks only":
            ({EVEN: "rank in (0, 2) or world_size == 3"},
             "deadlock: a ring of sends. Ranks 0, 1 and 2 all send first"),
        "only rank 0 receives first; irecv, then send":
            {EVEN: "rank",
             "dist.isend(mine, right)\n": "dist.irecv(theirs, left)\n",
             RECEIVE_AND_WAIT: "dist.send(mine, right)\nmessage.wait()"},
        "both are started":
            {RECEIVE_AND_WAIT: "dist.irecv(theirs, src=left).wait()\nmessage.wait()"}},
}  # fmt: skip
