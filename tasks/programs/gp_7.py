"""GP-7: wrong work."""

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
        "without the mask",
        {"blocks = ": FORGETS, "BlockWithMask(block)": "Forgets(block)"},
        says="do not get the mask",
    ),
    Program(
        "copies",
        {"(block)": "(__import__('copy').deepcopy(block))"},
        says="weights of its own",
    ),
)
