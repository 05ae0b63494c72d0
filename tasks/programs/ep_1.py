"""EP-1: wrong and right work, as programs. One body stands in all three functions."""

from helpers.grade.task import Program

BODY = """
given = dict(locals())
if "x" in given:
    return given["link"].send(given["x"], given["give"], given["take"])
if "gradient" in given:
    {backward}
rows, counts, experts = given["rows"], given["counts"], given["experts"]
theirs = torch.empty_like(counts)
dist.all_to_all_single(theirs, counts)
theirs = theirs.view(self.ranks, -1)
give, take = counts.view(self.ranks, -1).sum(1).tolist(), theirs.sum(1).tolist()
arrived = {there}
numbers = torch.arange(theirs.shape[1]).repeat(self.ranks)
order = numbers.repeat_interleave(theirs.flatten()).argsort(stable=True)
{run}
"""
THERE = "AllToAll.apply(rows, give, take, self)"
BACKWARD = "return ctx.link.send(given['gradient'], ctx.take, ctx.give), None, None, None"
RUN = """
done = run_experts(experts, arrived[order], theirs.sum(0))
return AllToAll.apply(done[order.argsort()], take, give, self)
"""


def body(there=THERE, backward=BACKWARD, run=RUN):
    return BODY.format(there=there, backward=backward, run=run)


PROGRAMS = (
    Program(
        "by sender",
        body(run=RUN.replace("arrived[order]", "arrived").replace("[order.argsort()]", "")),
        says="the rows went to the wrong expert",
    ),
    Program(
        "past autograd",
        body(there="self.send(rows, give, take)"),
        says="no gradient comes back to the rows",
    ),
    Program(
        "the same splits backward",
        body(backward=BACKWARD.replace("ctx.take, ctx.give", "ctx.give, ctx.take")),
        says="plit",
        alone=True,
    ),
)

RIGHT = {
    "scattered back": body(
        run=RUN.replace(
            "return AllToAll.apply(done[order.argsort()]",
            "home = torch.empty_like(done).index_copy(0, order, done)\nreturn AllToAll.apply(home",
        )
    ),
}
