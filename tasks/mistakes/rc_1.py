"""Wrong ways to do RC-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

RING = """
n = world_size
flat = tensor.reshape(-1).clone()
parts = list(flat.tensor_split(n))
bytes_sent = 0
for s in range(n - 1):
    mine, theirs = parts[(rank - s) % n], torch.empty_like(parts[(rank - s - 1) % n])
    work = dist.isend(mine, (rank + 1) % n)
    dist.recv(theirs, (rank - 1) % n)
    work.wait()
    parts[(rank - s - 1) % n] += theirs
    bytes_sent += mine.nbytes
for s in range(n - 1):
    mine, theirs = parts[(rank - s + 1) % n], parts[(rank - s) % n]
    work = dist.isend(mine, (rank + 1) % n)
    dist.recv(theirs, (rank - 1) % n)
    work.wait()
    bytes_sent += mine.nbytes
tensor.copy_(flat.view_as(tensor))
return bytes_sent
"""


def but(old, new):
    """The ring with something else in one place (or in each that reads the same)."""
    assert old in RING, old
    return RING.replace(old, new)


MISTAKES = (
    PlantedMistake(
        "torch's own all-reduce",
        """
        dist.all_reduce(tensor)
        return 2 * (world_size - 1) * tensor.nbytes // world_size
        """,
        says="calls dist.all_reduce: build the ring from messages",
    ),
    PlantedMistake(
        "everyone gathers everything",
        """
        everybody = [torch.empty_like(tensor.contiguous()) for _ in range(world_size)]
        dist.all_gather(everybody, tensor.contiguous())
        tensor.copy_(sum(everybody))
        return 0
        """,
        says="calls dist.all_gather",
    ),
    PlantedMistake("nothing at all", "return 0", says="the tensor has not changed"),
    PlantedMistake(
        "a new tensor",
        but("tensor.copy_(flat.view_as(tensor))", "tensor = flat.view_as(tensor)"),
        says="a new tensor is seen by nobody",
    ),
    PlantedMistake(
        "a mean for a sum",
        but("tensor.copy_(flat.view_as(tensor))", "tensor.copy_(flat.view_as(tensor) / n)"),
        says="this is the mean",
    ),
    PlantedMistake(
        "no all-gather",
        but(
            "for s in range(n - 1):\n    mine, theirs = parts[(rank - s + 1)",
            "for s in ():\n    mine, theirs = parts[(rank - s + 1)",
        ),
        says="the all-gather, which passes the finished parts on, is missing",
    ),
    PlantedMistake(
        "the all-gather begins with the wrong part",
        but(
            "mine, theirs = parts[(rank - s + 1) % n], parts[(rank - s) % n]",
            "mine, theirs = parts[(rank - s) % n], parts[(rank - s - 1) % n]",
        ),
        says="follow this one part round the ring",
    ),
    PlantedMistake(
        "kept, not added",
        but("] += theirs", "].copy_(theirs)"),
        says="and nothing of rank",
    ),
    PlantedMistake(
        "a step too many",
        RING.replace("for s in range(n - 1):", "for s in range(n):", 1),
        says="send one part in each of 6 steps",
    ),
    PlantedMistake(
        "a step too few",
        but("for s in range(n - 1):", "for s in range(n - 2):"),
        says="and nothing of rank",
    ),
    PlantedMistake(
        "the remainder is dropped",
        but(
            "parts = list(flat.tensor_split(n))",
            "size = len(flat) // n\nparts = [flat[r * size : (r + 1) * size] for r in range(n)]",
        ),
        says="numbers are not added up, with 4 ranks",
    ),
    PlantedMistake(
        "works in a copy of a transposed tensor",
        but(".reshape(-1).clone()", ".reshape(-1)").replace(
            "tensor.copy_(flat.view_as(tensor))\n", ""
        ),
        says="flatten() gives a copy where the memory has gaps",
    ),
    PlantedMistake(
        "the whole tensor travels round",
        """
        total, passing, bytes_sent = tensor.clone(), tensor.contiguous(), 0
        for _ in range(world_size - 1):
            arrived = torch.empty_like(passing)
            message = dist.isend(passing, (rank + 1) % world_size)
            dist.recv(arrived, (rank - 1) % world_size)
            message.wait()
            total += arrived
            bytes_sent += passing.nbytes
            passing = arrived
        tensor.copy_(total)
        return bytes_sent
        """,
        says="sends 3.00 times the size of the tensor, and a ring of 4 needs 1.50",
    ),
    PlantedMistake(
        "a star through rank 0",
        """
        others = [r for r in range(1, world_size)]
        total, bytes_sent = tensor.contiguous().clone(), 0
        if world_size > 1 and rank == 0:
            for other in others:
                arrived = torch.empty_like(total)
                dist.recv(arrived, other)
                total += arrived
            for other in others:
                dist.send(total, other)
                bytes_sent += total.nbytes
        elif world_size > 1:
            dist.send(total, 0)
            bytes_sent += total.nbytes
            dist.recv(total, 0)
        tensor.copy_(total)
        return bytes_sent
        """,
        says="which is not its neighbour in the ring of 4",
    ),
    PlantedMistake(
        "nobody waits for the sends",
        but("    work.wait()\n", ""),
        says="never calls wait() on its result",
    ),
    PlantedMistake(
        "rounded on the way",
        but(
            "parts[(rank - s - 1) % n] += theirs",
            "parts[(rank - s - 1) % n] += theirs.float().to(theirs.dtype)",
        ),
        says="float32's accuracy",
    ),
    PlantedMistake("no count", but("return bytes_sent", ""), says="gives None"),
    PlantedMistake(
        "numbers counted as bytes",
        but("mine.nbytes", "mine.numel()"),
        says="add up part.nbytes",
    ),
    PlantedMistake(
        "a rank that is alone doubles its tensor",
        "if world_size == 1:\n    tensor *= 2\n    return 0\n" + RING,
        says="with world_size 1 the tensor changes",
    ),
    PlantedMistake(
        "a rank that is alone sends to itself",
        but("for s in range(n - 1):", "for s in range(max(1, n - 1)):"),
        says="with world_size 1 something is sent",
    ),
    PlantedMistake(
        "all send first",
        but("work = dist.isend(mine, (rank + 1) % n)", "dist.send(mine, (rank + 1) % n)").replace(
            "    work.wait()\n", ""
        ),
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    PlantedMistake(
        "a buffer of another type",
        but(
            "torch.empty_like(parts[(rank - s - 1) % n])", "torch.empty(parts[rank - s - 1].shape)"
        ),
        says="dtype mismatch",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "isend, recv, wait": RING,
    "the other way round": but("isend(mine, (rank + 1)", "isend(mine, (rank + 0 - 1)")
    .replace("dist.recv(theirs, (rank - 1) % n)", "dist.recv(theirs, (rank + 1) % n)")
    .replace("(rank - s - 1) % n", "(rank + s + 1) % n")
    .replace("(rank - s) % n", "(rank + s) % n")
    .replace("(rank - s + 1) % n", "(rank + s - 1) % n"),
    "even ranks send first": but(
        "    work = dist.isend(mine, (rank + 1) % n)\n    dist.recv(theirs, (rank - 1) % n)\n"
        "    work.wait()\n",
        "    if rank % 2:\n        dist.recv(theirs, (rank - 1) % n)\n"
        "    dist.send(mine, (rank + 1) % n)\n"
        "    if rank % 2 == 0:\n        dist.recv(theirs, (rank - 1) % n)\n",
    ),
    "parts of other lengths": but(
        "parts = list(flat.tensor_split(n))",
        "size = -(-len(flat) // n)\nparts = [flat[r * size : (r + 1) * size] for r in range(n)]",
    ),
}
