"""DP-4: let a bucket of gradients leave while backward goes on."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="DP-4",
    title="let each bucket of gradients leave as soon as it may",
    file="DP/ddp/buckets.py",
    function="Buckets.complete",
    notebook="13",
    points=20,
    minutes=40,
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
RANKS, STEPS = 3, 3


def make_model(seed):
    """Three layers between a table that is tied: it is used first and last."""
    import torch

    width = 6 + seed % 3
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        table = torch.nn.Parameter(torch.randn(width, width))
        middle = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(3)))
    tied = torch.nn.ParameterDict({"table": table})  # the last one: its bucket is the first
    return torch.nn.ModuleDict({"middle": middle, "tied": tied})


def loss_of(model, rank, step):
    """The loss of a rank's own samples in one step."""
    import torch

    table = model["tied"]["table"]
    own = torch.Generator().manual_seed(100 * step + rank)
    x = torch.randn(4, len(table), generator=own)
    return (torch.tanh(model["middle"](x @ table)) @ table.T).square().mean()


def work(module, seed):
    """On a rank, step by step: gradients after averaging, how many buckets had left when backward
    ended, and the gradients whose bucket had left without them. When a bucket leaves can only be
    seen here; what one that leaves too early does to the mean is a matter of luck."""
    import torch.distributed as dist

    from helpers.trace import Recorder

    model, rank = make_model(seed), dist.get_rank()
    recorder, width = Recorder(rank), len(model["tied"]["table"])
    size = 4 * (width * width + width) / 2**20  # of one layer, so that each is a bucket
    names = {p: name for name, p in model.named_parameters()}
    there = set()  # the parameters whose gradient is complete: noted before `complete` is called
    for p in names:
        p.register_post_accumulate_grad_hook(there.add)
    averager = module.Buckets(model, recorder, megabytes=size, first=size)
    leave, without = averager.leave, []

    def leave_noted(bucket):
        without.extend(names[p] for p in bucket.parameters if p not in there)
        leave(bucket)

    averager.leave = leave_noted
    steps = []
    for step in range(STEPS):
        model.zero_grad()
        there.clear()
        without.clear()
        loss_of(model, rank, step).backward()
        left = averager.next
        count = len(averager.buckets)
        averager.finish()
        found = {name: p.grad.clone() for p, name in names.items()}
        steps.append((found, left, count, list(without)))
    dist.barrier()
    return steps, [e.name for e in recorder.trace().events if e.kind == "all-reduce"]


def verify(submission: Submission) -> None:
    """The mean first, then when it began. Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    names = answers[0][1]
    total = sum(count for _, _, count, _ in answers[0][0])
    if len(names) != total:
        raise Mistake(
            f"{len(names)} all-reduces in {STEPS} steps, and {total} buckets: each leaves once; "
            "does self.next move on when one has left?"
        )
    for rank, (steps, _) in enumerate(answers):
        for step, (*_, without) in enumerate(steps):
            if without:
                raise Mistake(
                    f"step {step}, rank {rank}: a bucket leaves before the gradient of "
                    f"{without[0]} is there, and sends what was there before"
                )
    for step in range(STEPS):
        judge_mean([steps[step][0] for steps, _ in answers], submission.seed, step)
    for step in range(STEPS):
        _, left, count, _ = answers[0][0][step]
        if left < count:
            raise Mistake(
                f"step {step}: when backward ends, {left} of {count} buckets have left, and "
                "nothing is missing in any: one complete gradient may set several free, so look "
                "again after each that leaves"
            )


def gradients_of(seed, step):
    """Of each rank: the gradients of its own loss, by name."""
    import torch

    model = make_model(seed)
    names, weights = zip(*model.named_parameters(), strict=True)
    losses = [loss_of(model, rank, step) for rank in range(RANKS)]
    return [dict(zip(names, torch.autograd.grad(loss, weights), strict=True)) for loss in losses]


def judge_mean(ranks, seed, step):
    """Whether every rank has the mean of all ranks' gradients. Raises Mistake."""
    own = gradients_of(seed, step)
    for name in own[0]:
        mean = sum(mine[name] for mine in own) / RANKS
        for rank, (mine, found) in enumerate(zip(own, ranks, strict=True)):
            if (found[name] - mean).abs().max() <= 1e-5 * mean.abs().max():
                continue
            where = f"step {step}, rank {rank}: the gradient of {name}"
            if (found[name] - mine[name]).abs().max() < 1e-9:
                raise Mistake(f"{where} is still the rank's own: did its bucket take it?")
            raise Mistake(f"{where} is not the mean of the ranks'")
