"""A small model in stages, and a run of one stage that is watched: for the pipeline tasks."""

import contextlib
import weakref
from collections import Counter
from itertools import chain, zip_longest
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.grade.verify import same
from helpers.hang.monitor import the_monitor
from helpers.ranks import Place
from helpers.trace import Recorder
from tasks._sent import noting_what_leaves

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


def cases(seed, calls):
    """One model and the calls on it. calls: (micro-batches, sequences in each, their length)."""
    draw = torch.Generator().manual_seed(seed)
    dmodel, vocab_size = 6 + seed % 4, 17 + seed % 5
    inner = {"weight": (dmodel, dmodel), "bias": (dmodel,)}
    shapes = [dict(inner) for _ in range(RANKS)]
    shapes[0] = {"embedding": (vocab_size, dmodel), **inner}
    shapes[-1]["head"] = (dmodel, vocab_size)
    weights = [
        {name: 0.5 * torch.randn(shape, generator=draw) for name, shape in stage.items()}
        for stage in shapes
    ]
    ids = [torch.randint(17, (m * rows, length), generator=draw) for m, rows, length in calls]
    batches = [(m, batch) for (m, *_), batch in zip(calls, ids, strict=True)]
    return [{"vocab_size": vocab_size, "weights": weights, "calls": batches}]


def run_calls(run, case):
    """On every rank: call run(stage, ids, micro_batches, place, recorder) for each call of a case.

    The calls follow one another on one stage, and gradients are never thrown away.

    Returns:
        For each call what is right whatever the order: "gradients", "loss", to whom it sends as
        much as all outputs of a stage, or all their gradients, are, and the "spans", each with the
        input of the pass inside it; as "_seen" all that `watched` has.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    stage = Stage(case["weights"][rank], case["vocab_size"])
    place = Place(rank, world, rank, world)
    observed = {}
    for number, (micro_batches, ids) in enumerate(case["calls"]):
        recorder, before = Recorder(rank=rank), the_monitor().not_waited_for()
        with noting_what_leaves() as sent, watched(stage) as seen:
            loss = run(stage, ids, micro_batches, place, recorder)
        numbers, width = Counter(), stage.config.dmodel
        for message in sent:
            numbers.update(dict.fromkeys(message["to"], message["numbers"]))
        left = [o for o in the_monitor().not_waited_for() if o not in before]
        seen["not waited for"] = [(o.name, o.peer, o.place[1]) for o in left]
        spans = [
            f"{e.kind} of stage {e.info.get('stage')}, micro-batch {e.info.get('micro_batch')}"
            for e in recorder.trace().events
            if e.kind in ("F", "B")
        ]
        inputs = [seen["inputs"][number] for _, number in seen["order"]]
        if isinstance(loss, float | torch.Tensor):
            loss = torch.as_tensor(loss).detach().clone().squeeze()  # as exact as float32
        observed[f"call {number}"] = {
            "gradients": {
                n: p.grad if p.grad is None else p.grad.clone() for n, p in stage.named_parameters()
            },
            "loss": loss,
            "sends activations to": ", ".join(
                f"rank {peer}" for peer in range(world) if numbers[peer] >= ids.numel() * width
            ),
            "spans": dict(zip_longest(spans, inputs)),
            "_seen": seen,
        }
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

    order: the passes, [("F", 0), …], by the number of the forward pass. Of each, inputs, outputs,
    and whether the input wants a gradient; arrived: the gradient of its output, returned: of its
    input. kept: how many forward passes are kept at most. alive: how many tensors at the borders
    are, by kind.
    """
    forward, send = stage.forward, vars(dist.ProcessGroup)["send"]
    seen = {"inputs": [], "outputs": [], "wants": [], "arrived": {}, "returned": {}, "order": []}
    seen["kept"] = 0
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
        seen["outputs"].append(y.detach().clone())
        if x.requires_grad:
            x.register_hook(lambda g: seen["returned"].update({number: g.detach().clone()}))
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


# --- what the border between two stages tells -----------------------------------------------------


def explain(case, seen):
    """Name the first wrong tensor on the way forward, then on the way back; None if there is none.

    Each stage is held against its neighbors alone: what came in against what was computed there.
    """
    for number, (m, ids) in enumerate(case["calls"]):
        stages = [rank[f"call {number}"]["_seen"] for rank in seen]
        forward = (_forward(stages, rank, ids.chunk(m)) for rank in range(RANKS))
        back = (_back(stages, rank, m) for rank in reversed(range(RANKS)))
        if sentence := next(filter(None, chain(forward, back)), None):
            return sentence
        *others, loss = (rank[f"call {number}"]["loss"] for rank in seen)
        if others != [None] * len(others):
            return "a rank that isn't the last one returns a loss: only the last rank has one"
        if not isinstance(loss, torch.Tensor):
            return f"the last rank returns {loss!r}, and must return the loss: is there a return?"
    return None


def _named(k, m):
    return "the batch" if m == 1 else f"micro-batch {k}"


def _sources(stages, rank):
    """Of each forward pass of a rank, the pass of the rank before that its input comes from."""
    before = stages[rank - 1]["outputs"]
    return [_find(before, x) for x in stages[rank]["inputs"]]


def _find(tensors, one):
    return next((n for n, each in enumerate(tensors) if same(each, one)), None)


def _forward(stages, rank, parts):
    fact, m = stages[rank], len(parts)
    if (count := len(fact["inputs"])) != m:
        each = "the batch goes" if m == 1 else f"each of the {m} micro-batches goes"
        return f"rank {rank} calls stage(x) {count} times: {each} through it once"
    from_ = _sources(stages, rank) if rank else [_find(parts, x) for x in fact["inputs"]]
    for n, k in enumerate(from_):
        if k is None:
            before, cure = (
                (f"rank {rank - 1} has computed for", ": give it the tensor that recv has filled")
                if rank
                else ("the ids of", "")
            )
            return f"stage(x) on rank {rank} gets something else than {before} {_named(n, m)}{cure}"
        if k in from_[:n]:
            return f"{_named(k, m)} goes through rank {rank} more than once: look at the index"
    if rank and not all(fact["wants"]):
        return (
            f"x on rank {rank} does not ask for a gradient: call x.requires_grad_() before "
            "stage(x), for the stage before needs x.grad"
        )
    return None


def _back(stages, rank, m):
    fact = stages[rank]
    for n in range(m):
        if n not in fact["arrived"]:
            return f"rank {rank} never goes backward through {_named(n, m)}"
    if rank == RANKS - 1:
        return None
    after, of = stages[rank + 1], _sources(stages, rank + 1)
    for place, n in enumerate(of):
        gradient = fact["arrived"][n]
        if same(after["returned"].get(place), gradient):
            continue
        what = f"rank {rank} goes backward through {_named(n, m)} with"
        if (other := _find([after["returned"].get(p) for p in range(m)], gradient)) is not None:
            return (
                f"{what} the gradient of {_named(of[other], m)}: rank {rank + 1} sends "
                "gradients in the order of its backward passes, so take them in that order"
            )
        for value, words in ((1, "ones"), (0, "zeros")):
            if bool((gradient == value).all()):
                return f"{what} {words}: it needs the gradient that rank {rank + 1} sends back"
        return f"{what} something else than the x.grad of rank {rank + 1}: send that back"
    return None


def stopped(sentence):
    """Say in a pipeline's words what torch says of a message without a tensor."""
    if "NoneType" in sentence and "tensor" in sentence:
        return (
            "what is sent is None: x.grad exists only where x.requires_grad_() was called before "
            f"stage(x), and after backward: {sentence}"
        )
    return None


def stuck(waits):
    """Say what to send, where two ranks wait for each other's message."""
    receives = {rank: peer for rank, operation, peer in waits if operation in ("recv", "irecv")}
    for rank, peer in receives.items():
        if receives.get(peer) == rank:
            return (
                f"deadlock: ranks {rank} and {peer} both receive first, and neither has sent: "
                "after each forward pass every rank but the last must send y to rank + 1, and "
                "after each backward pass every rank but the first x.grad to rank - 1"
            )
    return None
