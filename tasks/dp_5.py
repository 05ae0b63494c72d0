"""DP-5: average gradients into shards, and gather weights from them."""

import torch
import torch.distributed as dist

from helpers.trace import Recorder
from tasks._sent import noting_what_leaves

HINTS = (
    "average: make one flat tensor of all gradients, as long as `whole`. The constructor does the "
    "same with the weights: look at how it uses `self.views`. Which part of the flat tensor "
    "belongs to which rank?",
    "average: flat = torch.zeros_like(self.whole, device=self.mine.device); copy each p.grad that "
    "isn't None into its view of flat; reduce-scatter list(flat.chunk(self.size)) into "
    "torch.empty_like(self.mine), by AVG; that is mine.grad, or is added to it. gather: "
    "all_gather from self.mine.data into list(self.whole.chunk(self.size)).",
)
LESSON, MINUTES, RANKS = "sharding", 30, 3


def observe(module, case):
    rank, recorder = dist.get_rank(), Recorder(dist.get_rank())
    parameters = [torch.nn.Parameter(p.clone()) for p in case["parameters"]]
    shards = module.Shards(parameters, recorder, own_copy=True)
    found = {}
    for when, gradients in zip(("first", "second"), case["gradients"], strict=True):
        for p, gradient in zip(parameters, gradients[rank], strict=True):
            p.grad = None if gradient is None else gradient.clone()
        with noting_what_leaves() as sent:
            shards.average()
        mine = shards.mine.grad
        found[f"mine.grad after the {when} average()"] = None if mine is None else mine.clone()
    found["p.grad afterwards"] = [p.grad for p in parameters]
    found["average() sends"] = amount(sent, shards.whole.numel(), "the flat tensor")
    with torch.no_grad():
        shards.mine += 1 + rank
        shards.whole.zero_()
    with noting_what_leaves() as sent:
        shards.gather()
    found["parameters after gather()"] = [p.detach().clone() for p in parameters]
    found["gather() sends"] = amount(sent, shards.mine.numel(), "this rank's part")
    found["recorded"] = [(e.kind, e.info.get("bytes")) for e in recorder.trace().events]
    return found


def amount(sent, enough, what):
    """Say how much left the rank: a part that it reduces for itself stays, so less is enough."""
    numbers = sum(message["numbers"] for message in sent)
    return ("more than " if numbers > enough else "") + what if numbers else "nothing"


def cases():
    """Draw parameters whose number no rank count divides, with and without a missing gradient."""
    rows = 3 * int(torch.randint(1, 4, ())) + 1  # so 5 rows + 3 leaves a rest of 2

    def some(*shape):
        return torch.randint(-90, 90, shape).double()

    def gradients(unused):
        ranks = range(RANKS)
        return [[[some(rows, 5), None if unused else some(3)] for _ in ranks] for _ in range(2)]

    return [
        {"parameters": [some(rows, 5), some(3)], "gradients": gradients(unused), "name": name}
        for unused, name in ((False, ""), (True, "a parameter without a gradient"))
    ]


REDUCE = "dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)"
GATHER = "dist.all_gather(list(self.whole.chunk(self.size)), self.mine.data, group=self.group)"
SUM, COPY = "part if self.mine.grad is None else self.mine.grad + part", "view.copy_(p.grad)"
OWN = "self.whole.chunk(self.size)[self.rank].copy_(self.mine.data)"
MUTANTS = {
    ("ReduceOp.AVG", "ReduceOp.SUM"): f"the gradient is the sum over the ranks, {RANKS} times "
    "too large: dist.ReduceOp.AVG",
    (REDUCE, "part.copy_(parts[self.rank])"): "each rank has its own gradient: nothing was added "
    "up over the ranks",
    ("self.mine.grad = part if", "part /= self.size\nself.mine.grad = part if"): "the gradient is "
    "divided twice, by AVG and by you",
    (SUM, "part"): "a second average() forgets the first: add to mine.grad if there is one already",
    (f"self.mine.grad = {SUM}", "pass"): "average() leaves no mine.grad: assign to self.mine.grad "
    "itself, not to another name",
    (COPY, "pass"): "mine.grad is all zeros: a gradient is copied into its view, "
    "view.copy_(p.grad), for view = p.grad changes no tensor",
    (COPY, "view.copy_(p.data)"): "mine.grad is the mean of the weights: copy p.grad into the flat "
    "tensor, not p",
    ("self.mine.data", "self.mine.grad"): "gather() sends mine.grad: the weights are in "
    "self.mine.data",
    ("p.grad = None", "pass"): "the parameters keep their gradients: set p.grad to None, or "
    "nothing is saved",
    (REDUCE, "dist.all_reduce(flat, op=dist.ReduceOp.AVG)\npart = parts[0]"): "every rank has the "
    "part of rank 0",
    (GATHER, OWN): "gather() fills this rank's part only: the parameters need those of all ranks",
    ("self.whole.chunk", "self.whole.clone().chunk"): "gather() changes no parameter: all_gather "
    "must write into views of self.whole",
    (GATHER, f"self.whole.zero_()\n{OWN}\ndist.all_reduce(self.whole, group=self.group)"):
    "gather() sends more than this rank's part: each rank sends its own part, and no zeros",
    (('self.recorder.span("reduce-scatter", bytes=flat.nbytes)', "torch.no_grad()"),
     ('self.recorder.span("all-gather", bytes=self.bytes)', "torch.no_grad()")):
    "nothing is recorded: send inside self.recorder.span(…)",
}  # fmt: skip


STOPPED = {
    "assign a gradient of size": "mine.grad is the whole gradient: this rank keeps its part only"
}
