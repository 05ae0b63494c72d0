"""DP-4: let each bucket of gradients leave as soon as it may."""

from itertools import takewhile

import torch
import torch.distributed as dist

from helpers.trace import Recorder

HINTS = (
    "Two things hold a bucket back: a gradient that is missing, and a bucket before it that has "
    "not left. One complete gradient may set several buckets free. Why must all ranks start their "
    "all-reduces in one order?",
    "Look up the bucket of p in self.bucket_of, let it take p, and count its left down by 1. Then "
    "a loop: as long as there is a bucket number self.next (not that of p), and its left is 0, it "
    "leaves, and self.next grows by 1.",
)
LESSON, MINUTES, RANKS = "buckets_and_overlap", 40, 3
LAYERS, STEPS = 3, 3
BUCKETS = LAYERS + 1  # one each, and one for the tied table


def observe(module, case):
    """For each step: the mean gradients, which buckets left without whom, and which stayed.

    When a bucket leaves can only be seen here; what one that leaves too early does to the mean is a
    matter of luck.
    """
    table = torch.nn.Parameter(case["table"].clone())
    middle = torch.nn.Sequential(*(torch.nn.Linear(*w.shape) for w, _ in case["layers"]))
    for layer, (weight, bias) in zip(middle, case["layers"], strict=True):
        layer.load_state_dict({"weight": weight, "bias": bias})
    # The table comes last, so its bucket is the first; it is used first, so it is complete last.
    tied = torch.nn.ParameterDict({"table": table})
    model = torch.nn.ModuleDict({"middle": middle, "tied": tied})
    recorder = Recorder(dist.get_rank())
    size = (table.nbytes + middle[0].bias.nbytes) / 2**20  # of one layer, so that each is a bucket
    names = {p: name for name, p in model.named_parameters()}
    there = set()  # the parameters whose gradient is complete: noted before `complete` is called
    left, late, without = [], [], []  # the buckets that have left; gradients, see below

    def come(p):
        free = takewhile(lambda bucket: there.issuperset(bucket.parameters), averager.buckets)
        late.extend([names[p]] if len(left) < len(list(free)) else [])
        there.add(p)

    for p in names:
        p.register_post_accumulate_grad_hook(come)
    averager = module.Buckets(model, recorder, megabytes=size, first=size)
    leave = averager.leave

    def leave_noted(bucket):
        left.append(averager.buckets.index(bucket))
        without.extend(names[p] for p in bucket.parameters if p not in there)
        leave(bucket)

    averager.leave = leave_noted
    found = {}
    for step, samples in enumerate(case["samples"]):
        model.zero_grad()
        for noted in (there, without, left, late):
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
    return found | {"all-reduces": sum(e.kind == "all-reduce" for e in recorder.trace().events)}


def cases():
    width = int(torch.randint(6, 9, ()))
    layers = [(torch.randn(width, width) / width, torch.randn(width)) for _ in range(LAYERS)]
    samples = [[torch.randn(4, width) for _ in range(RANKS)] for _ in range(STEPS)]
    return [{"table": torch.randn(width, width), "layers": layers, "samples": samples}]


LOOP = "while self.next < len(self.buckets) and self.buckets[self.next].left == 0:"
WHEN, MISSING = "when backward ends, {} of 4 buckets have left", "and nothing is missing in any"
MUTANTS = {
    ("bucket.take(p)", "pass"): "every gradient is still the rank's own: did its bucket take it?",
    ("while", "if"): f"step 0: {WHEN.format(1)}, {MISSING}: one complete gradient may set several "
    "free, so look again after each that leaves",
    (LOOP, "while False:"): f"{WHEN.format(0)}: each waits for `finish`, and nothing overlaps with "
    "backward",
    (LOOP, "while not any(b.left for b in self.buckets) and self.next < len(self.buckets):"):
    "all buckets leave when the last gradient is there, and nothing overlaps with backward: one "
    "leaves as soon as it and those before it are complete",
    ((LOOP, "if bucket.left == 0:"), ("self.leave(self.buckets[self.next])", "self.leave(bucket)")):
    "buckets leave in the order in which they become complete, which may differ from rank to rank: "
    "one that is complete waits for those before it, self.next",
}  # fmt: skip


def explain(case, seen):
    total, reduced = BUCKETS * STEPS, seen[0]["all-reduces"]
    if reduced != total:
        return (
            f"{reduced} all-reduces in {STEPS} steps, and {total} buckets: each leaves once; does "
            "self.next move on when one has left?"
        )
    steps = [f"step {n}" for n in range(STEPS)]
    every = [(f"{step}, rank {rank}", one[step]) for step in steps for rank, one in enumerate(seen)]
    for at, facts in every:
        waiting, early, held, order, _ = facts.values()
        rules = {
            f"a bucket leaves before the gradient of {early[:1]} is there": early,
            f"{WHEN.format(BUCKETS - waiting)}, {MISSING}": waiting,
            "a bucket stays although it and those before it are complete": held,
            "buckets leave in another order than their own": order != sorted(order),
        }
        for sentence, broken in rules.items():
            if broken:
                return f"{at}: {sentence}"
