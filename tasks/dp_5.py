"""DP-5: the two halves of an all-reduce, on parameters in shards."""

from helpers.grade import Task

TASK = Task(
    id="DP-5",
    title="average gradients into shards, and gather weights from them",
    file="DP/zero/shards.py",
    function="Shards.average",
    also=("Shards.gather",),
    notebook="11",
    points=20,
    minutes=30,
    ranks=3,
    hints=(
        "average: make one flat tensor of all gradients, as long as `whole`. The constructor does "
        "the same with the weights: look at how it uses `self.views`. Which part of the flat "
        "tensor belongs to which rank?",
        "dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG): part is an empty tensor like "
        "self.mine, and parts are the chunks of the flat tensor, one for each rank. "
        "dist.all_gather(parts, part) is the other way around, and chunks of self.whole are views "
        "of it.",
        "average: flat = torch.zeros_like(self.whole, device=self.mine.device); copy each p.grad "
        "that isn't None into its view of flat; reduce-scatter list(flat.chunk(self.size)); then "
        "self.mine.grad = part, or the sum with the gradient that is there. gather: all_gather "
        "from self.mine.data into list(self.whole.chunk(self.size)).",
    ),
)


def run(module, case):
    """On a rank: what its shards hold after two averages, and after a gather of changed parts.

    case: parameters (tensors), and for each of two averages and each rank their gradients.
    """
    import torch
    import torch.distributed as dist

    from helpers.trace import Recorder

    rank, recorder = dist.get_rank(), Recorder(dist.get_rank())
    parameters = [torch.nn.Parameter(p.clone()) for p in case["parameters"]]
    shards = module.Shards(parameters, recorder, own_copy=True)
    found = {}
    for when, gradients in zip(("first", "second"), case["gradients"], strict=True):
        for p, gradient in zip(parameters, gradients[rank], strict=True):
            p.grad = None if gradient is None else gradient.clone()
        shards.average()
        mine = shards.mine.grad
        found[f"mine.grad after the {when} average()"] = None if mine is None else mine.clone()
    found["p.grad afterwards"] = [p.grad for p in parameters]
    with torch.no_grad():
        shards.mine += 1 + rank
        shards.whole.zero_()
    shards.gather()
    found["parameters after gather()"] = [p.detach().clone() for p in parameters]
    found["sent"] = [(e.kind, e.info.get("bytes")) for e in recorder.trace().events]
    return found
