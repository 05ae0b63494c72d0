"""DP-4: let a bucket of gradients leave while backward goes on."""

from itertools import takewhile

import torch
import torch.distributed as dist

from helpers.grade import Task
from helpers.trace import Recorder

TASK = Task(
    title="let each bucket of gradients leave as soon as it may",
    file="DP/ddp/buckets.py",
    function="Buckets.complete",
    lesson="buckets_and_overlap",
    kind="evidence",
    minutes=40,
    ranks=3,
    hints=(
        "Two things hold a bucket back: a gradient that is missing, and a bucket before it that "
        "has not left. One complete gradient may set several buckets free. Why must all ranks "
        "start their all-reduces in one order?",
        "Take the gradient into its bucket, and count down its `left` by one. Then look at "
        "self.buckets[self.next], and not at the bucket of p: as long as nothing is missing "
        "there, it leaves and self.next moves on.",
        "Look up the bucket of p in self.bucket_of, let it take p, and count its left down by 1. "
        "Then a loop: as long as there is a bucket number self.next, and its left is 0, it "
        "leaves, and self.next grows by 1.",
    ),
)


def observe(module, case):
    """On a rank, for each step: the gradients after averaging, how many buckets hadn't left when
    backward ended, the gradients whose bucket left without them, how many came while a bucket
    stayed that could have left, in which order they left, and how many all-reduces ended. When a
    bucket leaves can only be seen here; what one that leaves too early does to the mean is a matter
    of luck.

    case: the tied table, the layers between its two uses, and the samples of each step and rank.
    """
    table = torch.nn.Parameter(case["table"].clone())
    middle = torch.nn.Sequential(*(torch.nn.Linear(*w.shape) for w, _ in case["layers"]))
    with torch.no_grad():
        for layer, (weight, bias) in zip(middle, case["layers"], strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
    # The table comes last, so its bucket is the first; it is used first, so it is complete last.
    tied = torch.nn.ParameterDict({"table": table})
    model = torch.nn.ModuleDict({"middle": middle, "tied": tied})
    recorder = Recorder(dist.get_rank())
    size = (table.nbytes + middle[0].bias.nbytes) / 2**20  # of one layer, so that each is a bucket
    names = {p: name for name, p in model.named_parameters()}
    there = set()  # the parameters whose gradient is complete: noted before `complete` is called
    left, late = [], []  # the buckets that have left; the gradients that came with one held back

    def come(p):
        free = takewhile(lambda bucket: there.issuperset(bucket.parameters), averager.buckets)
        late.extend([names[p]] if len(left) < len(list(free)) else [])
        there.add(p)

    for p in names:
        p.register_post_accumulate_grad_hook(come)
    averager = module.Buckets(model, recorder, megabytes=size, first=size)
    leave, without = averager.leave, []

    def leave_noted(bucket):
        left.append(averager.buckets.index(bucket))
        without.extend(names[p] for p in bucket.parameters if p not in there)
        leave(bucket)

    averager.leave = leave_noted
    found = {}
    for step, samples in enumerate(case["samples"]):
        model.zero_grad()
        there.clear()
        for noted in (without, left, late):
            noted.clear()
        x = samples[dist.get_rank()]
        (torch.tanh(middle(x @ table)) @ table.T).square().mean().backward()
        waiting = len(averager.buckets) - averager.next
        averager.finish()
        found[f"step {step}"] = {
            "buckets that stay until finish()": waiting,
            "gradients whose bucket leaves without them": list(without),
            "gradients that come while a bucket stays that could leave": len(late),
            "buckets in the order in which they leave": list(left),
            "gradient": {name: p.grad.clone() for p, name in names.items()},
        }
    dist.barrier()
    reduced = [e for e in recorder.trace().events if e.kind == "all-reduce"]
    return found | {"all-reduces": len(reduced)}


LAYERS, STEPS = 3, 3
BUCKETS = LAYERS + 1  # one each, and one for the tied table


def cases(seed):
    """One model of three layers between a table that is tied, and samples to train it with."""
    draw = torch.Generator().manual_seed(seed)
    width = int(torch.randint(6, 9, (), generator=draw))

    def some(*shape):
        return torch.randn(shape, generator=draw)

    return [
        {
            "table": some(width, width),
            "layers": [(some(width, width) / width, some(width)) for _ in range(LAYERS)],
            "samples": [[some(4, width) for _ in range(TASK.ranks)] for _ in range(STEPS)],
        }
    ]


LOOP = "while self.next < len(self.buckets) and self.buckets[self.next].left == 0:"
MUTANTS = {
    ("bucket.take(p)", "pass"): "every gradient is still the rank's own: did its bucket take it?",
    ("while", "if"): f"step 0: when backward ends, 1 of {BUCKETS} buckets have left, and nothing "
    "is missing in any: one complete gradient may set several free, so look again after each that "
    "leaves",
    (LOOP, "while False:"): f"when backward ends, 0 of {BUCKETS} buckets have left: each waits for "
    "`finish`, and nothing overlaps with backward",
    (
        LOOP,
        "while not any(b.left for b in self.buckets) and self.next < len(self.buckets):",
    ): "all buckets leave when the last gradient is there, and nothing overlaps with backward: one "
    "leaves as soon as it and those before it are complete",
    (
        (LOOP, "if bucket.left == 0:"),
        ("self.leave(self.buckets[self.next])", "self.leave(bucket)"),
    ): "buckets leave in the order in which they become complete, which may differ from rank to "
    "rank: one that is complete waits for those before it, self.next",
}


def explain(case, seen):
    """Say what the facts say of a bucket that leaves again, too early, too late or out of turn."""
    total = BUCKETS * STEPS
    if seen[0]["all-reduces"] != total:
        return (
            f"{seen[0]['all-reduces']} all-reduces in {STEPS} steps, and {total} buckets: each "
            "leaves once; does self.next move on when one has left?"
        )
    every = [
        (f"{step}, rank {rank}", list(one[step].values()))
        for step in (f"step {n}" for n in range(STEPS))
        for rank, one in enumerate(seen)
    ]
    for at, (_, early, *_) in every:
        if early:
            return (
                f"{at}: a bucket leaves before the gradient of {early[0]} is there, and sends what "
                "was there before"
            )
    for at, (waiting, _, held, order, _) in every:
        if waiting:
            return (
                f"{at}: when backward ends, {BUCKETS - waiting} of {BUCKETS} buckets have left, "
                "and nothing is missing in any"
            )
        if held:
            return f"{at}: a bucket stays although it and those before it are complete"
        if order != sorted(order):
            return f"{at}: buckets leave in another order than their own"
    return None
