"""What the pipeline tasks share: a small model in stages, a run of it that is looked at, a judge.

The outcome decides: the gradients by name, the loss, and what a second call adds. Where it is
wrong, the facts of the run say why: what went into each stage, and which gradient came back.
"""

import contextlib
import functools
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace

from helpers.grade import Mistake, WorkFailed

RANKS = 4  # the lessons use three: a 2 or a 3 that is written into the code shows


@dataclass(frozen=True)
class Call:
    """One call of the student's function: a batch of `micro_batches` times `rows` sequences."""

    micro_batches: int
    rows: int
    length: int

    def name(self, k):
        """Words for one micro-batch."""
        return "the batch" if self.micro_batches == 1 else f"micro-batch {k}"


@functools.cache
def stage_class():
    """The class of a stage; torch is imported when the first one is made."""
    import torch

    class Stage(torch.nn.Module):
        """One stage: ids (B, S) or x (B, S, dmodel) in, y (B, S, dmodel) or logits out."""

        def __init__(self, rank, dmodel, vocab_size, seed):
            super().__init__()
            self.config = SimpleNamespace(dmodel=dmodel, vocab_size=vocab_size)
            shapes = {"embedding": (vocab_size, dmodel)} if rank == 0 else {}
            shapes |= {"weight": (dmodel, dmodel), "bias": (dmodel,)}
            shapes |= {"head": (dmodel, vocab_size)} if rank == RANKS - 1 else {}
            values = torch.Generator().manual_seed(seed + rank)
            for name, shape in shapes.items():
                weight = 0.5 * torch.randn(shape, generator=values)
                self.register_parameter(name, torch.nn.Parameter(weight))

        def forward(self, x):
            x = self.embedding[x] if hasattr(self, "embedding") else x
            x = x + torch.tanh(x @ self.weight + self.bias)
            return x @ self.head if hasattr(self, "head") else x

    return Stage


def make_stage(seed, rank):
    """The stage of one rank, with random weights; sizes and weights follow from the seed."""
    return stage_class()(rank, 6 + seed % 4, 17 + seed % 5, RANKS * seed)


def whole_model(seed):
    """All stages one after the other: ids (B, S) -> logits (B, S, vocab_size)."""
    import torch

    stages = {f"stage{rank}": make_stage(seed, rank) for rank in range(RANKS)}
    return torch.nn.Sequential(OrderedDict(stages))


def batches(seed, calls):
    """The ids of each call, (micro_batches * rows, length); no two micro-batches are alike."""
    import torch

    values = torch.Generator().manual_seed(seed + 1)
    shapes = [(call.micro_batches * call.rows, call.length) for call in calls]
    return [torch.randint(17, shape, generator=values) for shape in shapes]


# --- on every rank, beside the student's code ----------------------------------------------------


class Held:
    """Stands for a tensor that a forward pass keeps for its backward pass."""

    def __init__(self, tensor):
        self.tensor = tensor


@contextlib.contextmanager
def watched(stage):
    """While the body runs, note every pass through `stage`: its input, and the gradient of its
    output; the order of the passes; and how many forward passes were kept at most."""
    import torch

    forward = stage.forward
    seen = {"inputs": [], "wants": [], "arrived": {}, "order": [], "kept": 0}
    kept = []  # for each pass the tensors that are still held

    def backward_begins(number, gradient):
        seen["order"].append(("B", number))
        seen["arrived"][number] = gradient.detach().clone()

    def watched_forward(x):
        number, held = len(kept), weakref.WeakSet()
        seen["inputs"].append(x.detach().clone())
        seen["wants"].append(x.requires_grad)
        seen["order"].append(("F", number))

        def pack(tensor):
            held.add(thing := Held(tensor))
            return thing

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda thing: thing.tensor):
            y = forward(x)
        kept.append(held)
        seen["kept"] = max(seen["kept"], sum(len(held) > 0 for held in kept))
        if y.requires_grad:
            y.register_hook(lambda gradient: backward_begins(number, gradient))
        return y

    stage.forward = watched_forward
    try:
        yield seen
    finally:
        del stage.forward


def run_calls(run, seed, calls):
    """run(stage, ids, call, place, recorder) for each call, one after the other, on one stage;
    gradients are never thrown away. For each call: its loss, what was seen, and the gradients."""
    import torch
    import torch.distributed as dist

    from helpers.ranks import Place
    from helpers.trace import Recorder

    rank, world = dist.get_rank(), dist.get_world_size()
    stage = make_stage(seed, rank)
    place = Place(rank, world, rank, world)
    facts = []
    for call, ids in zip(calls, batches(seed, calls), strict=True):
        recorder = Recorder(rank=rank)
        with watched(stage) as seen:
            loss = run(stage, ids, call, place, recorder)
        events = [e for e in recorder.trace().events if e.kind in ("F", "B")]
        gradients = {
            f"stage{rank}.{name}": None if p.grad is None else p.grad.clone()
            for name, p in stage.named_parameters()
        }
        spans = [(e.kind, e.info.get("stage"), e.info.get("micro_batch")) for e in events]
        number = isinstance(loss, torch.Tensor) and loss.numel() == 1
        value = float(loss.detach()) if number else loss
        facts.append(seen | {"loss": value, "spans": spans, "gradients": gradients})
    return facts


# --- in the check's own process ------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """What is right for one call. inputs, arriving: [rank][micro-batch] -> tensor; step: one
    device's `helpers.oracle.Step`; strange: [i][j] -> the gradient of the logits of micro-batch i
    compared with the ids of j."""

    call: Call
    loss: float
    step: object
    inputs: list
    arriving: list
    strange: list


def truth_of(model, call, ids):
    """Take the call's batch through all stages in one process."""
    import torch

    from helpers.oracle import Part, Step
    from simplellm.losses import causalLLMLoss

    stages, weights = list(model), dict(model.named_parameters())
    vocabulary, parts = stages[0].config.vocab_size, ids.chunk(call.micro_batches)

    def loss_of(logits, target):
        return causalLLMLoss(logits, target, vocabulary)

    def part_of(part):
        found = torch.autograd.grad(loss_of(model(part), part), list(weights.values()))
        return Part(part.numel() - len(part), dict(zip(weights, found, strict=True)))

    inputs, arriving, strange = [[] for _ in stages], [[] for _ in stages], []
    for part in parts:
        x, outputs = part, []
        for rank, stage in enumerate(stages):
            inputs[rank].append(x.detach())
            outputs.append(stage(x))
            x = outputs[-1]
        own = [loss_of(outputs[-1], target) / call.micro_batches for target in parts]
        strange.append([torch.autograd.grad(loss, x, retain_graph=True)[0] for loss in own])
        mine = own[len(strange) - 1]
        for rank, gradient in enumerate(torch.autograd.grad(mine, outputs)):
            arriving[rank].append(gradient)
    with torch.no_grad():
        loss = float(loss_of(model(ids), ids))
    shares = tuple(map(part_of, parts))  # all of as many tokens
    mean = {name: sum(share.gradients[name] for share in shares) / len(parts) for name in weights}
    step = Step({name: p.detach() for name, p in weights.items()}, mean, {}, parts=shares)
    return Truth(call, loss, step, inputs, arriving, strange)


def answers_of(submission, work):
    """The facts of all ranks. What crashed or stood still is told in this task's words."""
    try:
        return submission.on_ranks(work, RANKS, submission.seed)
    except WorkFailed as failed:
        sentence = failed.sentence
        if failed.kind == "crash" and "NoneType" in sentence and "tensor" in sentence:
            raise Mistake(
                "what is sent is None: x.grad exists only where x.requires_grad_() was called "
                f"before stage(x), and after backward: {sentence}"
            ) from None
        rows, found, cure = failed.details.partition("  Cure: ")
        if failed.kind != "time-out" or not found:
            raise
        cure = cure.splitlines()[0]
        told = sentence.split(" (rank ")[0].split(f". {cure}")[0]
        if "both receive first" in told or "all receive first" in told:
            told = "deadlock: neighbours receive from each other, and neither has sent"
            cure = (
                "after each forward pass every rank but the last must send y to rank + 1, and "
                "after each backward pass every rank but the first x.grad to rank - 1"
            )
        places = "; ".join(row.strip() for row in rows.splitlines() if row.startswith("  rank "))
        raise Mistake(f"{told} ({places}). Cure: {cure}") from None


def judge_calls(answers, seed, calls):
    """Judge the outcome of all calls. Raises Mistake."""
    from helpers.oracle import Step, judge

    model = whole_model(seed)
    before = None  # the right gradients of all calls until now
    for number, (call, ids) in enumerate(zip(calls, batches(seed, calls), strict=True)):
        truth = truth_of(model, call, ids)
        facts = [answer[number] for answer in answers]
        found = gather_gradients(truth, facts)
        if before is not None:
            judge_addition(truth, before, found, facts)
        elif mistake := judge(truth.step, Step(truth.step.before, found, {})).mistake:
            raise Mistake(why(truth, facts) or mistake)
        judge_loss(truth, facts)
        for rank, fact in enumerate(facts):
            if mistake := passes_mistake(call, rank, fact):
                raise Mistake(mistake)
        before = total(before, truth.step.gradients) if before else truth.step.gradients


def total(before, gradients, factor=1.0):
    """factor * before + gradients, by name."""
    return {name: factor * before[name] + gradients[name] for name in gradients}


def gather_gradients(truth, facts):
    """The gradients of all stages by name, in one device's order."""
    from helpers.oracle import Step, gather

    steps = [Step({}, fact["gradients"], {}) for fact in facts]
    return gather(steps, list(truth.step.before)).gradients


def judge_addition(truth, before, found, facts):
    """Whether this call's gradients were added to those before it. Raises Mistake."""
    right, m = truth.step.gradients, truth.call.micro_batches
    if is_same_set(total(before, right), found):
        return
    if is_same_set(right, found):
        raise Mistake(
            "a second call without zero_grad() throws away the gradients of the first: backward() "
            "adds to p.grad by itself, and several waves before one update need that"
        )
    if m > 1 and is_same_set(total(before, right, 1 / m), found):
        raise Mistake(
            "the gradients that were there before the call were divided too: divide the loss of "
            "each micro-batch by micro_batches, and leave p.grad to backward()"
        )
    cause = why(truth, facts) or (
        "the gradients of the first have changed; backward() adds to p.grad by itself, so leave "
        "p.grad to it"
    )
    raise Mistake(f"the first call is right, and in a second one without zero_grad() {cause}")


def judge_loss(truth, facts):
    """The loss on the last rank, None elsewhere. Raises Mistake."""
    for rank, fact in enumerate(facts[:-1]):
        if fact["loss"] is not None:
            raise Mistake(f"rank {rank} gives {fact['loss']!r}: only the last rank has a loss")
    loss, m = facts[-1]["loss"], truth.call.micro_batches
    if not isinstance(loss, float):
        raise Mistake(f"the last rank gives {loss!r}, and must give the loss: is there a return?")
    if abs(loss - truth.loss) <= 1e-5 * truth.loss:
        return
    known = {m: "the sum over the micro-batches: give their mean", 1 / m: "divided twice"}
    for factor, words in known.items():
        if abs(loss - truth.loss * factor) <= 1e-5 * truth.loss * factor:
            raise Mistake(
                f"the gradients are right, and the loss that the last rank gives is {words}"
            )
    raise Mistake(
        f"the gradients are right, and the last rank gives the loss {loss:.4f} where the batch's "
        f"mean loss is {truth.loss:.4f}: is it that of all micro-batches?"
    )


def why(truth, facts):
    """What the run shows of the cause: the first wrong thing on its way, or None."""
    for rank, fact in enumerate(facts):
        if mistake := forward_mistake(truth, rank, fact):
            return mistake
    for rank in reversed(range(RANKS)):
        if mistake := backward_mistake(truth, rank, facts[rank]):
            return mistake
    return None


def micro_batches_of(truth, rank, fact):
    """Which micro-batch each forward pass of a rank was of; None for one that is unknown."""
    right = truth.inputs[rank]
    return [next((k for k, x in enumerate(right) if is_same(x, y)), None) for y in fact["inputs"]]


def forward_mistake(truth, rank, fact):
    """What went into the stage of one rank, where it is wrong."""
    m, name = truth.call.micro_batches, truth.call.name
    found = micro_batches_of(truth, rank, fact)
    if mistake := passes_mistake(truth.call, rank, fact):
        return mistake
    for k, micro_batch in enumerate(found):
        if micro_batch is None and rank == 0:
            return "stage(x) on rank 0 gets something else than the ids of " + name(k)
        if micro_batch is None:
            return (
                f"stage(x) on rank {rank} gets something else than rank {rank - 1} has computed "
                f"for {name(k)}: give it the tensor that recv has filled"
            )
    twice = [k for k in range(m) if found.count(k) > 1]
    if twice:
        missing = next(k for k in range(m) if k not in found)
        return (
            f"{name(twice[0])} goes through rank {rank} {found.count(twice[0])} times, and "
            f"{name(missing)} never: look at the index"
        )
    if rank > 0 and not all(fact["wants"]):
        return (
            f"x on rank {rank} does not ask for a gradient: call x.requires_grad_() before "
            "stage(x), for the stage before needs x.grad"
        )
    return None


def passes_mistake(call, rank, fact):
    """Where not each micro-batch goes through the stage once."""
    count, m = len(fact["inputs"]), call.micro_batches
    if count == m:
        return None
    times = f"{count} time{'s' * (count != 1)}"
    each = "the batch goes" if m == 1 else f"each of the {m} micro-batches goes"
    return f"rank {rank} calls stage(x) {times}: {each} through it once"


def backward_mistake(truth, rank, fact):
    """Which gradient the output of one rank's stage got, where it is wrong."""
    from helpers.oracle import common_factor

    m, name, last = truth.call.micro_batches, truth.call.name, rank == RANKS - 1
    order = micro_batches_of(truth, rank, fact)
    arrived = {order[number]: gradient for number, gradient in fact["arrived"].items()}
    missing = [k for k in order if k not in arrived]
    if missing:
        return f"rank {rank} never goes backward through {name(missing[0])}"
    right = truth.arriving[rank]
    factor = common_factor(dict(enumerate(right)), arrived)
    if factor is not None and abs(factor - 1) < 1e-4:
        return None
    if last and factor is not None and m > 1:
        if abs(factor / m - 1) < 1e-4:
            return (
                f"every gradient is {m} times too large: the losses of {m} micro-batches were "
                "summed, and the batch's loss is their mean; divide each by micro_batches"
            )
        if abs(factor * m - 1) < 1e-4:
            return f"every gradient is {m} times too small: the loss was divided twice"
    if factor:
        return (
            f"the gradient that rank {rank} goes backward with is {factor:.4g} times what it "
            "should be"
        )
    for k in order:
        if is_same(right[k], arrived[k]):
            continue
        return wrong_gradient(truth, rank, k, arrived[k])
    return None


def wrong_gradient(truth, rank, k, gradient):
    """Words for one gradient that is not what the output of micro-batch k needs."""
    import torch

    name, m, after = truth.call.name, truth.call.micro_batches, rank + 1
    what = f"rank {rank} goes backward through {name(k)} with"
    if after == RANKS:
        for j in range(m):
            if is_same(truth.strange[k][j], gradient):
                return f"the loss of {name(k)} is computed with the ids of {name(j)}"
        return f"the loss of {name(k)} on the last rank is not causalLLMLoss of its own logits"
    for j in range(m):
        if j != k and is_same(truth.arriving[rank][j], gradient):
            return (
                f"{what} the gradient of {name(j)}: rank {after} sends the gradients in the order "
                "of its backward passes, and they must be taken in that order"
            )
        if is_same(truth.arriving[after][j], gradient):
            return f"{what} what rank {after} itself got: rank {after} must send its x.grad back"
        if is_same(truth.inputs[after][j], gradient):
            return f"{what} what went forward: rank {after} must send x.grad back, not x"
    for value, words in ((1, "ones"), (0, "zeros")):
        if torch.equal(gradient, torch.full_like(gradient, value)):
            return f"{what} {words}: it needs the gradient that rank {after} sends back"
    return f"{what} something else than the x.grad of rank {after}"


def is_same(one, other):
    """Whether two tensors agree, up to rounding."""
    from helpers.oracle import differences

    return not differences({"": one}, {"": other})


def is_same_set(expected, found):
    """Whether all tensors agree, by name."""
    from helpers.oracle import differences

    return not differences(expected, found)


# --- the order, where it is part of the task -----------------------------------------------------


def order_of(truth, rank, fact):
    """The passes of one rank as they were: [("F", micro-batch), …]."""
    numbers = micro_batches_of(truth, rank, fact)
    return [(kind, numbers[number]) for kind, number in fact["order"]]


def judge_spans(truth, rank, fact):
    """Whether the recorder was told of each pass, by its right name. Raises Mistake."""
    right = [(kind, rank, k) for kind, k in order_of(truth, rank, fact)]
    spans = fact["spans"]
    if spans == right:
        return
    for kind in "FB":
        count = sum(span[0] == kind for span in spans)
        if count != truth.call.micro_batches:
            raise Mistake(
                f"the recorder of rank {rank} has {count} spans {kind}, and there are "
                f"{truth.call.micro_batches} micro-batches: put each pass into "
                f'recorder.span("{kind}", stage=rank, micro_batch=k)'
            )
    place = next(i for i, (one, other) in enumerate(zip(spans, right, strict=True)) if one != other)
    kind, stage, k = spans[place]
    raise Mistake(
        f"the recorder of rank {rank} has {kind} of stage {stage}, micro-batch {k}, where the "
        f"rank did {right[place][0]} of stage {rank}, micro-batch {right[place][2]}: give each "
        "span the stage and micro-batch of the pass inside it"
    )


def in_letters(order):
    """[("F", 0), ("B", 0)] -> "F0 B0"."""
    return " ".join(f"{kind}{k}" for kind, k in order)
