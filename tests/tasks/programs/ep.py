"""Work in place of the solutions of EP: what the check must name, and what it must pass."""

from tests.tasks.planted import Program

PROGRAMS = (
    Program(
        "EP-1",
        "the same splits backward",
        {"ctx.take, ctx.give": "ctx.give, ctx.take"},
        says="plit",
    ),
    Program(
        "EP-1",
        "the group by its place",
        {"counts, group=self.group": "counts, None, None, self.group"},
    ),
    Program(
        "EP-1",
        "over all ranks, as lists",
        {
            "dist.all_to_all_single(theirs, counts, group=self.group)": (
                "dist.all_to_all(list(theirs.chunk(self.ranks)), list(counts.chunk(self.ranks)))"
            )
        },
        says="an all-to-all goes to the default group",
    ),
    Program(
        "EP-1",
        "over all ranks, by c10d's own function",
        {
            "dist.all_to_all_single(theirs, counts, group=self.group)": (
                "dist.distributed_c10d.all_to_all_single(theirs, counts)"
            )
        },
        says="an all-to-all goes to the default group",
    ),
    Program(
        "EP-1",
        "the counts as lists",
        {
            "dist.all_to_all_single(theirs, counts, group=self.group)": (
                "dist.all_to_all(list(theirs.chunk(self.ranks)), list(counts.chunk(self.ranks)), "
                "group=self.group)"
            )
        },
    ),
)
