"""Work in place of the solutions of GP: what the check must name, and what it must pass."""

from helpers.grade.task import Program

FORGETS = """
class Forgets(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, both):
        return self.inner(both[0]), both[1]

blocks = """

PROGRAMS = (
    Program(
        "GP-1", "parts overlap", {"[0, *ends[:-1]]": "[0] * len(ends)"}, says="is in two parts"
    ),
    Program(
        "GP-1",
        "turned, not shuffled",
        {"random.Random(seed).shuffle(index)": "index = [(n + seed) % samples for n in index]"},
        says="in their order",
    ),
    Program("GP-2", "gradients that are none", {"p.grad is not None": "True"}, says="NoneType"),
    Program(
        "GP-3",
        "by device",
        """
        groups = {}
        for module in modules:
            groups.setdefault(_retrieve_device(module), []).append(module)
        return nn.ModuleList(map(_assemble_partition, groups.values())), list(groups)
        """,
        says="a device may have two parts",
    ),
    Program(
        "GP-4",
        "everything at once",
        "yield [(i, j) for i in range(num_batches) for j in range(num_partitions)]",
        says="has not done it before",
    ),
    Program(
        "GP-5",
        "all see the last",  # as a lambda in the loop does
        {
            "for i, j in schedule:\n    self.in_queues[j]": (
                "i, j = schedule[-1]\nfor _, part in schedule:\n    self.in_queues[part]"
            )
        },
        says="let each task keep its own i and j",
    ),
    Program(
        "GP-6",
        "the other way round",
        {"join(batches)": "join(batches[::-1])"},
        says="in the order they came in",
    ),
    Program(
        "GP-7",
        "without the mask",
        {"blocks = ": FORGETS, "BlockWithMask(block)": "Forgets(block)"},
        says="do not get the mask",
    ),
    Program(
        "GP-7",
        "copies",
        {"(block)": "(__import__('copy').deepcopy(block))"},
        says="weights of its own",
    ),
)
