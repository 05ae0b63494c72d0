"""A small model in stages, and a run of one stage that is watched: for the pipeline tasks."""

import contextlib
import weakref
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.hang.monitor import the_monitor
from helpers.ranks import Place
from helpers.trace import Recorder

RANKS = 4  # the lessons use three: a 2 or a 3 that is written into the code shows


class Stage(torch.nn.Module):
    """One stage: ids (B, S) or x (B, S, dmodel) in, y (B, S, dmodel) or logits out."""

    def __init__(self, weights, vocab_size):
        super().__init__()
        self.config = SimpleNamespace(dmodel=len(weights["weight"]), vocab_size=vocab_size)
        for name, weight in weights.items():
            self.register_parameter(name, torch.nn.Parameter(weight.clone()))

    def forward(self, x):
        x = self.embedding[x] if hasattr(self, "embedding") else x
        x = x + torch.tanh(x @ self.weight + self.bias)
        return x @ self.head if hasattr(self, "head") else x


def run_calls(run, case):
    """On every rank: call run(stage, ids, micro_batches, place, recorder) for each call of a case.

    The calls follow one another on one stage, and gradients are never thrown away.

    Returns:
        For each call its loss, the gradients after it, and what `watched` has seen.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    stage = Stage(case["weights"][rank], case["vocab_size"])
    place = Place(rank, world, rank, world)
    observed = []
    for micro_batches, ids in case["calls"]:
        recorder, before = Recorder(rank=rank), the_monitor().not_waited_for()
        with watched(stage) as seen:
            loss = run(stage, ids, micro_batches, place, recorder)
        number = isinstance(loss, torch.Tensor) and loss.numel() == 1
        seen["loss"] = float(loss.detach()) if number else loss
        seen["gradients"] = {
            f"stage{rank}.{name}": None if p.grad is None else p.grad.clone()
            for name, p in stage.named_parameters()
        }
        seen["spans"] = [
            (e.kind, e.info.get("stage"), e.info.get("micro_batch"))
            for e in recorder.trace().events
            if e.kind in ("F", "B")
        ]
        left = [o for o in the_monitor().not_waited_for() if o not in before]
        seen["not waited for"] = [(o.name, o.peer, o.place[1]) for o in left]
        observed.append(seen)
    return observed


class Held:
    """Stands for a tensor that a forward pass keeps for its backward pass."""

    def __init__(self, tensor):
        self.tensor = tensor


class Alive:
    """How many tensors of one kind are alive at one time, at most; by bytes, and those of one.

    A view or a detached tensor keeps the storage of all of it alive, and so does a message.
    """

    def __init__(self):
        self.storages, self.one, self.most = {}, 1, 0.0

    def add(self, tensor):
        storage = tensor.untyped_storage()
        self.one = max(self.one, tensor.nbytes)
        self.storages[storage._cdata] = StorageWeakRef(storage), storage.nbytes()

    def look(self):
        alive = sum(size for storage, size in list(self.storages.values()) if not storage.expired())
        self.most = max(self.most, alive / self.one)


@contextlib.contextmanager
def watched(stage):
    """While the body runs, note every pass through `stage` and every message.

    inputs, wants: of each pass the input, and whether it asks for a gradient; arrived: the gradient
    of its output. order: the passes. kept: how many forward passes are kept at most. alive: how
    many tensors at the borders are, by kind.
    """
    forward, send = stage.forward, vars(dist.ProcessGroup)["send"]
    seen = {"inputs": [], "wants": [], "arrived": {}, "order": [], "kept": 0}
    saved = []  # for each pass the tensors that are still held
    alive = {}

    def note(kind, tensor):
        alive.setdefault(kind, Alive()).add(tensor)
        for one in list(alive.values()):  # a thread of the work may send meanwhile
            one.look()

    def backward_begins(number, gradient):
        note("gradient", gradient)
        seen["order"].append(("B", number))
        seen["arrived"][number] = gradient.detach().clone()

    def watched_forward(x):
        number, held = len(saved), weakref.WeakSet()
        if x.is_floating_point():
            note("x", x)
        seen["inputs"].append(x.detach().clone())
        seen["wants"].append(x.requires_grad)
        seen["order"].append(("F", number))

        def pack(tensor):
            held.add(thing := Held(tensor))
            return thing

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda thing: thing.tensor):
            y = forward(x)
        saved.append(held)
        seen["kept"] = max(seen["kept"], sum(len(held) > 0 for held in saved))
        note("y", y)
        if y.requires_grad:
            y.register_hook(lambda gradient: backward_begins(number, gradient))
        return y

    def watched_send(group, tensors, to, *others):
        note(f"sent to {to}", tensors[0])
        return send(group, tensors, to, *others)

    stage.forward, dist.ProcessGroup.send = watched_forward, watched_send
    try:
        yield seen
    finally:
        dist.ProcessGroup.send = send
        del stage.forward
        seen["alive"] = {kind: one.most for kind, one in alive.items()}
