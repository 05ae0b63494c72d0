"""EP-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "by sender",
        {"arrived[by_expert]": "arrived", "done[by_expert.argsort()]": "done"},
        says="the rows went to the wrong expert",
    ),
    Program("the same splits backward", {"ctx.take, ctx.give": "ctx.give, ctx.take"}, says="plit"),
    Program(
        "over all ranks",
        {"counts, group=self.group": "counts"},
        says="an all-to-all goes to the default group",
    ),
)
