"""The truth of a pipeline's step, and the rules that name a mistake from the facts of a run.

The outcome decides: the gradients by name, the loss, and what a second call adds. Where it's wrong,
what each stage has seen says why: what went in, and which gradient came back. The oracle's rules
for gradients lie underneath.
"""

from collections import OrderedDict
from dataclasses import dataclass

import torch

from helpers.grade.verify import common_factor, same
from helpers.hang.operation import RECEIVES
from helpers.oracle import Step, judge, one_step
from simplellm.losses import causalLLMLoss
from tasks._stages import RANKS, Stage


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


@dataclass(frozen=True)
class Call:
    """What is right in one call.

    inputs, arriving: [rank][micro-batch], the input and the gradient of the output. strange:
    [i][j], the gradient of the logits of micro-batch i compared with the ids of j.
    """

    micro_batches: int
    loss: float
    step: Step
    inputs: list
    arriving: list
    strange: list

    def name(self, k):
        return "the batch" if self.micro_batches == 1 else f"micro-batch {k}"


def calls_of(case):
    """Take the batch of each call through all stages in one process."""
    vocab_size = case["vocab_size"]
    stages = [Stage(weights, vocab_size) for weights in case["weights"]]
    model = torch.nn.Sequential(OrderedDict((f"stage{r}", s) for r, s in enumerate(stages)))

    def step_of(parts):
        def loss_of(model, part):
            return causalLLMLoss(model(part), part, vocab_size), part.numel() - len(part)

        return one_step(model, loss_of, parts, lambda ps: torch.optim.SGD(ps, lr=1.0))

    for m, ids in case["calls"]:
        parts, inputs, arriving, strange = ids.chunk(m), [], [], []
        for k, part in enumerate(parts):
            passed = [part]
            for stage in stages:
                passed.append(stage(passed[-1]))
            logits = passed[-1]
            losses = [causalLLMLoss(logits, target, vocab_size) / m for target in parts]
            grad = torch.autograd.grad
            strange.append([grad(loss, logits, retain_graph=True)[0] for loss in losses])
            arriving.append(grad(losses[k], passed[1:]))
            inputs.append([x.detach() for x in passed[:-1]])
        with torch.no_grad():
            loss = float(causalLLMLoss(model(ids), ids, vocab_size))
        by_rank = [list(zip(*tensors, strict=True)) for tensors in (inputs, arriving)]
        yield Call(m, loss, step_of(parts), *by_rank, strange)


def mistake(case, seen, rules=()):
    """Say what is wrong with the calls of a case, in a sentence; None if nothing is.

    rules: what else the task asks for, once the outcome is right: functions of a Call and of what
    was seen on each rank, which return a sentence or None.
    """
    calls = list(zip(calls_of(case), zip(*seen, strict=True), strict=True))
    before = None  # the right gradients of all calls until now
    for call, facts in calls:
        if sentence := _outcome(call, before, facts):
            return sentence
        right = call.step.gradients
        before = _total(before, right) if before else right
    found = (rule(call, facts) for call, facts in calls for rule in rules)
    return next(filter(None, found), None)


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
    receives = {rank: peer for rank, operation, peer in waits if operation in RECEIVES}
    for rank, peer in sorted(receives.items()):
        if receives.get(peer) == rank:
            return (
                f"deadlock: ranks {rank} and {peer} both receive first, and neither has sent: "
                "after each forward pass every rank but the last must send y to rank + 1, and "
                "after each backward pass every rank but the first x.grad to rank - 1"
            )
    return None


# --- the outcome ---------------------------------------------------------------------------------


def _outcome(call, before, facts):
    found = {name: g for fact in facts for name, g in fact["gradients"].items()}
    if before is not None:
        wrong = _addition(call, before, found, facts)
    else:
        wrong = judge(call.step, Step(call.step.before, found, {})).mistake
        wrong = wrong and (_why(call, facts) or wrong)
    passes = (_passes(call, rank, fact) for rank, fact in enumerate(facts))
    return wrong or _loss(call, facts) or next(filter(None, passes), None)


def _total(before, gradients, factor=1.0):
    return {name: factor * before[name] + gradients[name] for name in gradients}


def _addition(call, before, found, facts):
    """Whether the gradients of a second call were added to those of the first."""
    right, m = call.step.gradients, call.micro_batches
    if same(_total(before, right), found):
        return None
    if same(right, found):
        return (
            "a second call without zero_grad() throws away the gradients of the first: backward() "
            "adds to p.grad by itself, and gradient accumulation needs that"
        )
    if m > 1 and same(_total(before, right, 1 / m), found):
        return (
            "the gradients that were there before the call were divided too: divide the loss of "
            "each micro-batch by micro_batches, and leave p.grad to backward()"
        )
    cause = _why(call, facts) or (
        "the gradients of the first have changed; backward() adds to p.grad by itself, so leave "
        "p.grad to it"
    )
    return f"the first call is right, and in a second one without zero_grad() {cause}"


def _loss(call, facts):
    """The loss on the last rank, None elsewhere."""
    for rank, fact in enumerate(facts[:-1]):
        if fact["loss"] is not None:
            return f"rank {rank} gives {fact['loss']!r}: only the last rank has a loss"
    loss, m = facts[-1]["loss"], call.micro_batches
    if not isinstance(loss, float):
        return f"the last rank gives {loss!r}, and must give the loss: is there a return?"
    if same(call.loss, loss, 1e-5):
        return None
    for factor, words in (
        (m, "the sum over the micro-batches: give their mean"),
        (1 / m, "divided twice"),
    ):
        if same(call.loss * factor, loss, 1e-5):
            return f"the gradients are right, and the loss that the last rank gives is {words}"
    return (
        f"the gradients are right, and the last rank gives the loss {loss:.4f} where the batch's "
        f"mean loss is {call.loss:.4f}: is it that of all micro-batches?"
    )


# --- the cause: the first wrong thing on the way -------------------------------------------------


def _why(call, facts):
    for rank, fact in enumerate(facts):
        if sentence := _forward(call, rank, fact):
            return sentence
    for rank in reversed(range(RANKS)):
        if sentence := _backward(call, rank, facts[rank]):
            return sentence
    return None


def _numbers(call, rank, fact):
    """Which micro-batch each forward pass of a rank was of; None for one that is unknown."""
    right = call.inputs[rank]
    return [next((k for k, x in enumerate(right) if same(x, y)), None) for y in fact["inputs"]]


def _passes(call, rank, fact):
    """Whether each micro-batch went through the stage once."""
    count, m = len(fact["inputs"]), call.micro_batches
    if count == m:
        return None
    times = f"{count} time{'s' * (count != 1)}"
    each = "the batch goes" if m == 1 else f"each of the {m} micro-batches goes"
    return f"rank {rank} calls stage(x) {times}: {each} through it once"


def _forward(call, rank, fact):
    """What went into the stage of one rank, where it is wrong."""
    if sentence := _passes(call, rank, fact):
        return sentence
    found = _numbers(call, rank, fact)
    for k, micro_batch in enumerate(found):
        if micro_batch is None and rank == 0:
            return f"stage(x) on rank 0 gets something else than the ids of {call.name(k)}"
        if micro_batch is None:
            return (
                f"stage(x) on rank {rank} gets something else than rank {rank - 1} has computed "
                f"for {call.name(k)}: give it the tensor that recv has filled"
            )
    twice = [k for k in found if found.count(k) > 1]
    if twice:
        missing = next(k for k in range(call.micro_batches) if k not in found)
        return (
            f"{call.name(min(twice))} goes through rank {rank} {found.count(min(twice))} times, "
            f"and {call.name(missing)} never: look at the index"
        )
    if rank > 0 and not all(fact["wants"]):
        return (
            f"x on rank {rank} does not ask for a gradient: call x.requires_grad_() before "
            "stage(x), for the stage before needs x.grad"
        )
    return None


def _backward(call, rank, fact):
    """Which gradient the output of one rank's stage got, where it is wrong."""
    m, order = call.micro_batches, _numbers(call, rank, fact)
    arrived = {order[number]: gradient for number, gradient in fact["arrived"].items()}
    missing = [k for k in order if k not in arrived]
    if missing:
        return f"rank {rank} never goes backward through {call.name(missing[0])}"
    right = call.arriving[rank]
    wrong = [k for k in order if not same(right[k], arrived[k])]
    if not wrong:
        return None
    factor = common_factor(dict(enumerate(right)), {k: arrived[k] for k in range(m)})
    if factor and rank == RANKS - 1 and m > 1:
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
    return _wrong_gradient(call, rank, wrong[0], arrived[wrong[0]])


def _wrong_gradient(call, rank, k, gradient):
    """Say what a gradient is that isn't the one which the output of micro-batch k needs."""
    name, others, after = call.name, range(call.micro_batches), rank + 1
    if after == RANKS:
        for j in others:
            if same(call.strange[k][j], gradient):
                return f"the loss of {name(k)} is computed with the ids of {name(j)}"
        return f"the loss of {name(k)} on the last rank is not causalLLMLoss of its own logits"
    what = f"rank {rank} goes backward through {name(k)} with"
    for j in others:
        if same(call.arriving[rank][j], gradient):
            return (
                f"{what} the gradient of {name(j)}: rank {after} sends the gradients in the order "
                "of its backward passes, and they must be taken in that order"
            )
        if same(call.arriving[after][j], gradient):
            return f"{what} what rank {after} itself got: rank {after} must send its x.grad back"
        if same(call.inputs[after][j], gradient):
            return f"{what} what went forward: rank {after} must send x.grad back, not x"
    for value, words in ((1, "ones"), (0, "zeros")):
        if bool((gradient == value).all()):
            return f"{what} {words}: it needs the gradient that rank {after} sends back"
    return f"{what} something else than the x.grad of rank {after}"


# --- the order, where it is part of the task -----------------------------------------------------


def order_of(call, rank, fact):
    """The passes of one rank as they were: [("F", micro-batch), …]."""
    numbers = _numbers(call, rank, fact)
    return [(kind, numbers[number]) for kind, number in fact["order"]]


def spans(call, facts):
    """Whether the recorder was told of each pass, by its right name."""
    for rank, fact in enumerate(facts):
        right = [(kind, rank, k) for kind, k in order_of(call, rank, fact)]
        for kind in "FB":
            count = sum(span[0] == kind for span in fact["spans"])
            if count != call.micro_batches:
                return (
                    f"the recorder of rank {rank} has {count} spans {kind}, and there are "
                    f"{call.micro_batches} micro-batches: put each pass into "
                    f'recorder.span("{kind}", stage=rank, micro_batch=k)'
                )
        for (kind, stage, k), did in zip(fact["spans"], right, strict=True):
            if (kind, stage, k) != did:
                return (
                    f"the recorder of rank {rank} has {kind} of stage {stage}, micro-batch {k}, "
                    f"where the rank did {did[0]} of stage {rank}, micro-batch {did[2]}: give each "
                    "span the stage and micro-batch of the pass inside it"
                )
    return None


def in_letters(order):
    """[("F", 0), ("B", 0)] -> "F0 B0"."""
    return " ".join(f"{kind}{k}" for kind, k in order)
