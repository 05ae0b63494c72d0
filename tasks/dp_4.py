"""DP-4: let a bucket of gradients leave while backward goes on."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="DP-4",
    title="let each bucket of gradients leave as soon as it may",
    file="DP/ddp/buckets.py",
    function="complete",
    notebook="13",
    points=20,
    minutes=40,
    hints=(
        "Two things keep a bucket: a gradient that is missing, and a bucket before it that has not "
        "left. One complete gradient may set several buckets free. Why must all ranks start their "
        "all-reduces in one order?",
        "Take the gradient into its bucket, and count that one less is missing. Then look at "
        "self.buckets[self.next], and not at the bucket of p: as long as nothing is missing there, "
        "it leaves and self.next moves on.",
        "Look up the bucket of p in self.bucket_of, let it take p, and count one less in its left. "
        "Then a loop: as long as there is a bucket number self.next, and its left is 0, it leaves, "
        "and self.next grows by 1.",
    ),
)
RANKS, STEPS = 3, 3


def work(module, seed):
    """On a rank: gradients before and after averaging, and when each bucket left, step by step."""
    import torch
    import torch.distributed as dist

    from helpers.trace import Recorder

    torch.manual_seed(seed)
    rank, width = dist.get_rank(), 6 + seed % 3
    table = torch.nn.Parameter(torch.randn(width, width))  # tied: it is used first and last
    middle = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(3)))
    tied = torch.nn.ParameterDict({"table": table})  # the last one: its bucket is the first
    model = torch.nn.ModuleDict({"middle": middle, "tied": tied})
    recorder = Recorder(rank)
    size = 4 * (width * width + width) / 2**20  # of one layer, so that each is a bucket
    averager = module.Buckets(model, recorder, megabytes=size, first=size)
    steps = []
    for step in range(STEPS):
        model.zero_grad()
        x = torch.randn(4, width, generator=torch.Generator().manual_seed(100 * step + rank))
        loss = (torch.tanh(middle(x @ table)) @ table.T).square().mean()
        own = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        loss.backward()
        left = averager.next
        count = len(averager.buckets)
        averager.finish()
        names = [n for n, _ in model.named_parameters()]
        mine = dict(zip(names, own, strict=True))
        found = {n: p.grad.clone() for n, p in model.named_parameters()}
        steps.append((mine, found, left, count))
    dist.barrier()
    return steps, [e.name for e in recorder.trace().events if e.kind == "all-reduce"]


def verify(submission: Submission) -> None:
    """The mean first, then when it began. Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    names = answers[0][1]
    total = sum(count for _, _, _, count in answers[0][0])
    if len(names) != total:
        raise Mistake(
            f"{len(names)} all-reduces in {STEPS} steps, and {total} buckets: each leaves once; "
            "does self.next move on when one has left?"
        )
    for step in range(STEPS):
        judge_mean([steps[step] for steps, _ in answers], step)
    for step in range(STEPS):
        _, _, left, count = answers[0][0][step]
        if left < count:
            raise Mistake(
                f"step {step}: when backward ends, {left} of {count} buckets have left, and "
                "nothing is missing in any: one complete gradient may set several free, so look "
                "again after each that leaves"
            )


def judge_mean(ranks, step):
    """Whether every rank has the mean of all ranks' gradients. Raises Mistake."""
    for name in ranks[0][0]:
        mean = sum(mine[name] for mine, *_ in ranks) / RANKS
        for rank, (mine, found, *_) in enumerate(ranks):
            if (found[name] - mean).abs().max() <= 1e-5 * mean.abs().max():
                continue
            where = f"step {step}, rank {rank}: the gradient of {name}"
            if (found[name] - mine[name]).abs().max() < 1e-9:
                raise Mistake(f"{where} is still the rank's own: did its bucket take it?")
            raise Mistake(
                f"{where} is not the mean of the ranks': a bucket that leaves before its last "
                "gradient is there sends what was there before"
            )
