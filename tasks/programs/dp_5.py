"""Programs for DP-5: wrong and right work. One body stands in both functions."""

from helpers.grade.task import Program

AVERAGE = """
if {called}:
    flat = torch.zeros_like(self.whole, device=self.mine.device)
    for p, view in zip(self.parameters, self.views(flat), strict=True):
        if p.grad is not None:
            view.copy_(p.grad)
            p.grad = None
    part = torch.empty_like(self.mine)
    with self.recorder.span("reduce-scatter", bytes=flat.nbytes):
        dist.reduce_scatter(part, list(flat.chunk(self.size)), op=dist.ReduceOp.{how})
    self.mine.grad = part{more}
"""
GATHER = """
else:
    with self.recorder.span("all-gather", bytes=self.bytes):
        dist.all_gather({into}, self.mine.data)
"""
# `average` finds gradients, or a whole that was never freed; `gather` a whole just allocated.
CALLED = "__import__('sys')._getframe().f_code.co_name == 'average'"


def body(how="AVG", more=" if self.mine.grad is None else self.mine.grad + part", into=None):
    into = into or "list(self.whole.chunk(self.size))"
    return AVERAGE.format(called=CALLED, how=how, more=more) + GATHER.format(into=into)


PROGRAMS = (
    Program("the sum", body(how="SUM"), says="the gradient is the sum over the ranks"),
    Program("not added up", body(more=""), says="a second average() forgets the first"),
    Program(
        "gathered into new tensors",
        body(into="[torch.empty_like(part) for part in self.whole.chunk(self.size)]"),
        says="must write into views of self.whole",
    ),
)

RIGHT = {
    "with narrow": body(
        into="[self.whole.narrow(0, r * len(self.mine), len(self.mine)) for r in range(self.size)]"
    ),
}
