"""DP-3: wrong and right work. tests/tasks breaks each rule of the judge once."""

from helpers.grade.task import Program

BLOCK = "range(length * rank // world_size, length * (rank + 1) // world_size)"
SEED = 'f"seed {seed}, epoch {epoch}"'

PROGRAMS = (
    Program(
        "the remainder dropped",
        {BLOCK: "[length // world_size * rank + i for i in range(length // world_size)]"},
        says="the remainder is dropped",
    ),
    Program(
        "the same permutation in every epoch",
        {SEED: "seed"},
        says="two epochs have the same order",
        met="torch's DistributedSampler without set_epoch(epoch), of which its documentation warns",
    ),
)

RIGHT = {
    "every world_size-th, of a tensor": {
        BLOCK: "range(rank, length, world_size)",
        f"random.Random({SEED}).shuffle(order)": (
            "import torch\n"
            "draw = torch.Generator().manual_seed(seed + epoch)\n"
            "order = torch.randperm(length, generator=draw)"
        ),
    },
}
