"""A small model in stages that notes its own passes: for the pipeline tasks."""

import random
import weakref
from types import SimpleNamespace

import torch
import torch.distributed as dist

from helpers.check import same
from helpers.hang.monitor import the_monitor
from helpers.ranks import Place
from helpers.trace import Recorder

RANKS = 4  # the lessons use three: a 2 or a 3 that is written into the code shows


class Stage(torch.nn.Module):
    """ids (B, S) or x (B, S, dmodel) in, y (B, S, dmodel) or logits out.

    seen: the order of passes; of each its input and output, the gradient that came to the output,
    and the one that was left at the input; how many outputs were alive at most, and of how many
    the graph was, when another one came back.
    """

    def __init__(self, weights, vocab_size):
        super().__init__()
        self.config = SimpleNamespace(dmodel=len(weights["weight"]), vocab_size=vocab_size)
        for name, weight in weights.items():
            self.register_parameter(name, torch.nn.Parameter(weight.clone()))

    def begin(self):
        self.seen = {"order": [], "x": [], "y": [], "came": {}, "left": {}, "asks": True, "kept": 0}
        self.seen["graphs"] = 0
        self.alive = weakref.WeakSet()
        return self.seen

    def forward(self, x):
        seen, number = self.seen, len(self.seen["x"])
        y = self.embedding[x] if hasattr(self, "embedding") else x
        inner = torch.tanh(y @ self.weight + self.bias)
        y = y + inner
        y = y @ self.head if hasattr(self, "head") else y
        y.number, y.inner = number, inner.grad_fn
        self.alive.add(y)
        seen["order"].append(f"F{number}")
        seen["x"].append(x.detach().clone())
        seen["y"].append(y.detach().clone())
        seen["kept"] = max(seen["kept"], len(self.alive))

        def came(gradient):
            back = [one for one in list(self.alive) if one.number in seen["came"]]
            seen["graphs"] = max(seen["graphs"], sum(map(has_graph, back)))
            seen["order"].append(f"B{number}")
            seen["came"][number] = gradient.clone()

        y.register_hook(came)
        if x.requires_grad:
            x.register_hook(lambda gradient: seen["left"].update({number: gradient.clone()}))
        elif not hasattr(self, "embedding"):
            seen["asks"] = False
        return y


def has_graph(y):
    """Whether what backward needs is still kept: backward frees it."""
    try:
        return y.inner._saved_result is not None
    except RuntimeError:
        return False


def cases(calls):
    """One model and the calls on it. calls: (micro-batches, sequences in each, their length)."""
    dmodel, vocab_size = random.randint(6, 9), random.randint(17, 21)
    shapes = [{"weight": (dmodel, dmodel), "bias": (dmodel,)} for _ in range(RANKS)]
    shapes[0]["embedding"], shapes[-1]["head"] = (vocab_size, dmodel), (dmodel, vocab_size)
    weights = [
        {name: 0.5 * torch.randn(shape) for name, shape in stage.items()} for stage in shapes
    ]
    ids = [(m, torch.randint(17, (m * rows, length))) for m, rows, length in calls]
    return [{"vocab_size": vocab_size, "weights": weights, "calls": ids}]


def observe(run, case):
    """On every rank: call run(stage, ids, micro_batches, place, recorder) on one stage, twice."""
    rank, world = dist.get_rank(), dist.get_world_size()
    stage, observed = Stage(case["weights"][rank], case["vocab_size"]), {}
    for number, (micro_batches, ids) in enumerate(case["calls"]):
        recorder, before, seen = Recorder(rank=rank), the_monitor().not_waited_for(), stage.begin()
        loss = run(stage, ids, micro_batches, Place(rank, world, rank, world), recorder)
        late = [one for one in the_monitor().not_waited_for() if one not in before]
        spans = [event for event in recorder.trace().events if event.kind in ("F", "B")]
        observed[f"call {number}"] = {
            "gradients": {
                n: p.grad if p.grad is None else p.grad.clone() for n, p in stage.named_parameters()
            },
            "loss": torch.as_tensor(loss).detach().squeeze() if loss is not None else None,
            "spans": sorted(f"{one.kind}{one.info.get('micro_batch')}" for one in spans),
            "_seen": seen | {"late": [(one.name, one.peer, one.place[1]) for one in late]},
        }
    return observed


def explain(case, seen):
    """Name the first wrong tensor on the way forward, then on the way back; None if there's none.

    Each stage is held against its neighbors alone: what came in against what was computed there.
    """
    for number, (m, ids) in enumerate(case["calls"]):
        stages = [rank[f"call {number}"]["_seen"] for rank in seen]
        of, source = [], list(ids.chunk(m))
        for rank, one in enumerate(stages):
            if len(one["x"]) != m:
                return f"rank {rank} calls stage(x) {len(one['x'])} times, and it takes {m}"
            of.append([find(source, x) for x in one["x"]])
            for n, k in enumerate(of[rank]):
                if k is None:
                    before = f"rank {rank - 1} has computed for" if rank else "the ids of"
                    cure = ": give it the tensor that recv has filled" if rank else ""
                    return (
                        f"stage(x) on rank {rank} gets something else than {before} "
                        f"{named(n, m)}{cure}"
                    )
                if k in of[rank][:n]:
                    return f"{named(k, m)} goes through rank {rank} more than once"
            if not one["asks"]:
                return (
                    f"x on rank {rank} does not ask for a gradient: call x.requires_grad_() before "
                    "stage(x), for the stage before needs x.grad"
                )
            source = one["y"]
        back = (wrong_gradient(stages, of, rank, m) for rank in reversed(range(RANKS)))
        if sentence := next(filter(None, back), None):
            return sentence
        *others, loss = (rank[f"call {number}"]["loss"] for rank in seen)
        if others != [None] * len(others):
            return "a rank that isn't the last one returns a loss: only the last rank has one"
        if loss is None:
            return "the last rank returns no loss: is there a return?"


def wrong_gradient(stages, of, rank, m):
    """Say where a rank goes backward with another gradient than the next rank has left."""
    came = stages[rank]["came"]
    for n in range(m):
        if n not in came:
            return f"rank {rank} never goes backward through {named(n, m)}"
    if rank == RANKS - 1:
        return None
    left = {k: stages[rank + 1]["left"].get(n) for n, k in enumerate(of[rank + 1])}
    for k, gradient in left.items():
        if not same(gradient, came[k]):
            what = "something else than"
            if (other := find([left[j] for j in range(m)], came[k])) is not None:
                what = f"the gradient of {named(other, m)}, and not"
            for value, words in ((1, "ones"), (0, "zeros")):
                what = f"{words}, and not" if (came[k] == value).all() else what
            return (
                f"rank {rank} goes backward through {named(k, m)} with {what} the x.grad of rank "
                f"{rank + 1}: send and receive in the order of its backward passes"
            )


def named(k, m):
    return "the batch" if m == 1 else f"micro-batch {k}"


def find(tensors, one):
    return next((n for n, each in enumerate(tensors) if same(each, one)), None)


STOPPED = {
    "NoneType.*tensor|tensor.*NoneType": "x.grad exists only where x.requires_grad_() was called "
    "before stage(x)"
}


def stuck(waits):
    receives = {rank: peer for rank, operation, peer in waits if operation in ("recv", "irecv")}
    for rank, peer in receives.items():
        if receives.get(peer) == rank:
            return (
                f"deadlock: ranks {rank} and {peer} both receive first, and neither has sent: "
                "after each forward pass every rank but the last must send y to rank + 1, and "
                "after each backward pass every rank but the first x.grad to rank - 1"
            )
