"""RC-1: wrong and right work."""

from helpers.grade.task import Program

PARTS = "flat.tensor_split(world_size)"
BATCH = """\
    for message in dist.batch_isend_irecv([sending, receiving]):
        message.wait()
"""

PROGRAMS = (
    Program(
        "a mean for a sum",
        {"flat.view(tensor.shape)": "flat.view(tensor.shape) / world_size"},
        says="this is the mean",
    ),
    Program(
        "the remainder is dropped",
        {
            PARTS: (
                "[flat[r * (len(flat) // world_size) :][: len(flat) // world_size] "
                "for r in range(world_size)]"
            )
        },
        says="numbers are not added up, with 4 ranks",
    ),
    Program(
        "rounded on the way",
        {"add_(arrived)": "add_(arrived.float().to(arrived.dtype))"},
        says="float32's accuracy",
    ),
    Program(
        "all send first",
        {BATCH: "    dist.send(mine, right)\n    dist.recv(theirs, left)\n"},
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
    ),
    Program(
        "a buffer of another type",
        {"empty_like(parts[(rank - step - 1) % world_size]": "empty(len(parts[rank - step - 1])"},
        says="dtype mismatch",
    ),
)

RIGHT = {
    "the other way round": {
        "right, left =": "left, right =",
        "rank - step - 1": "rank + step + 1",
        "rank - step)": "rank + step)",
        "rank + 1 - step": "rank - 1 + step",
    },
    "even ranks send first": {
        BATCH: """\
    if rank % 2 == 0:
        dist.send(mine, right)
    dist.recv(theirs, left)
    if rank % 2:
        dist.send(mine, right)
"""
    },
    "parts of other lengths": {
        PARTS: (
            "[flat[r * -(-len(flat) // world_size) :][: -(-len(flat) // world_size)] "
            "for r in range(world_size)]"
        )
    },
}
