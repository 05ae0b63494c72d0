"""DP-5: the step of ZeRO-1."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="DP-5",
    title="take a step in which each rank updates its own part",
    file="DP/zero/zero1.py",
    function="Zero1.step",
    notebook="14",
    libraries=("torch._dynamo",),  # an optimizer needs it
    points=15,
    minutes=25,
    hints=(
        "Each unit of the model can average its gradients, so that this rank has its part, and can "
        "gather its weights from all ranks. In between stands the optimizer. In which order?",
        "Every unit: average(). Then the optimizer, once: it knows the parts of all units. Then "
        "every unit: gather().",
        "One loop over self.units that averages each; then one call of the optimizer's step; then "
        "one more loop that gathers each.",
    ),
)
RANKS, STEPS = 3, 3


def make(seed):
    import torch

    width = 5 + seed % 3
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(3))).double()


def loss_of(net, seed, rank, step):
    import torch

    draw = torch.Generator().manual_seed(seed + 10 * step + rank)
    x = torch.randn(4, net[0].in_features, generator=draw, dtype=torch.float64)
    return torch.tanh(net(x)).square().mean()


def adam(parameters):
    import torch

    return torch.optim.Adam(parameters, lr=1e-2)


def weights_of(net):
    return [p.detach() for p in net.parameters()]


def work(module, seed):
    """On a rank: the weights after some steps, and what was sent."""
    import torch.distributed as dist

    from helpers.trace import Recorder

    net, recorder = make(seed), Recorder(dist.get_rank())
    trainer = module.Zero1([[part] for part in net], adam, recorder)
    for step in range(STEPS):
        trainer.zero_grad()
        loss_of(net, seed, dist.get_rank(), step).backward()
        trainer.step()
    return weights_of(net), [e.kind for e in recorder.trace().events]


def truth(seed):
    """The weights after the same steps on one device."""
    net = make(seed)
    optimizer = adam(net.parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        (sum(loss_of(net, seed, rank, step) for rank in range(RANKS)) / RANKS).backward()
        optimizer.step()
    return weights_of(net)


def verify(submission: Submission) -> None:
    """The weights decide; what was sent says why. Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    right, first = truth(submission.seed), weights_of(make(submission.seed))
    for rank, (found, kinds) in enumerate(answers):
        units = len(found) // 2
        if all((a - b).abs().max() < 1e-10 for a, b in zip(found, right, strict=True)):
            continue
        count = {kind: kinds.count(kind) for kind in ("reduce-scatter", "all-gather")}
        if not count["reduce-scatter"]:
            raise Mistake("no unit averages its gradients: call unit.average() for each")
        if not count["all-gather"]:
            raise Mistake(
                f"rank {rank} has its own part updated, and the parts of the others are old: call "
                "unit.gather() for each unit"
            )
        if all((a - b).abs().max() < 1e-12 for a, b in zip(found, first, strict=True)):
            raise Mistake(
                "the weights have not changed: does the optimizer take its step, and after the "
                "gradients have been averaged?"
            )
        if count["all-gather"] < STEPS * units or count["reduce-scatter"] < STEPS * units:
            raise Mistake(f"a unit is left out: there are {units}, and {STEPS} steps gave {count}")
        if kinds.index("all-gather") < max(
            i for i, k in enumerate(kinds[: 2 * units]) if "red" in k
        ):
            raise Mistake("weights are gathered before all gradients are averaged")
        raise Mistake(
            f"the weights of rank {rank} are not those of one device: average first, then the "
            "optimizer's step, then gather"
        )
