"""DP-4: let a bucket of gradients leave while backward goes on."""

from helpers.grade import Task

TASK = Task(
    id="DP-4",
    title="let each bucket of gradients leave as soon as it may",
    file="DP/ddp/buckets.py",
    function="Buckets.complete",
    notebook="09",
    points=20,
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


def run(module, case):
    """On a rank, step by step: the gradients after averaging, how many buckets hadn't left when
    backward ended, the gradients whose bucket left without them, how many came while a bucket
    stayed that could have left, and whether they left in their order. When a bucket leaves can only
    be seen here; what one that leaves too early does to the mean is a matter of luck.

    case: the tied table, the layers between its two uses, and the samples of each step and rank.
    """
    from itertools import takewhile

    import torch
    import torch.distributed as dist

    from helpers.trace import Recorder

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
    steps = []
    for samples in case["samples"]:
        model.zero_grad()
        there.clear()
        for noted in (without, left, late):
            noted.clear()
        x = samples[dist.get_rank()]
        (torch.tanh(middle(x @ table)) @ table.T).square().mean().backward()
        waiting = len(averager.buckets) - averager.next
        averager.finish()
        gradients = {name: p.grad.clone() for p, name in names.items()}
        facts = {"gradient": gradients, "waiting": waiting, "without": list(without)}
        steps.append(facts | {"held back": len(late), "in order": left == sorted(left)})
    dist.barrier()
    reduced = [e for e in recorder.trace().events if e.kind == "all-reduce"]
    return {"steps": steps, "all-reduces": len(reduced)}
