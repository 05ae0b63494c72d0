"""DP-PP-1: average the gradients of each stage over its copies in all pipelines."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="DP-PP-1",
    title="average the gradients within each stage",
    file="DP_PP/intro_DP_PP.py",
    function="average_gradients",
    notebook="08",
    points=10,
    minutes=15,
    hints=(
        "Two ranks hold the same stage, one in each pipeline; the others hold other layers, whose "
        "gradients mean something else. What does an all_reduce need, so that it goes over these "
        "two alone? And by how many must the sum be divided?",
        "Every collective of torch.distributed takes group=…; left out, it goes over all ranks. "
        "dist.get_world_size(group) is the number of ranks in the group.",
        "As in DP-1, with dist.all_reduce(p.grad, group=group) for each p of stage.parameters(), "
        "and then a division by dist.get_world_size(group), in place.",
    ),
)

RANKS = 4
# Two pipelines of two stages, then four of one: a 2 that is written into the code shows.
LAYOUTS = ((2, 2), (4, 1))
DTYPES = ("float32", "float64")


def make_stage(seed, rank, dtype):
    """A stage with random weights and gradients. All stages have the same shapes here, so that an
    average over the wrong ranks gives wrong numbers, and not a crash."""
    import torch

    sizes = torch.Generator().manual_seed(seed)  # the same on every rank
    a, b, c = torch.randint(2, 9, (3,), generator=sizes).tolist()
    values = torch.Generator().manual_seed(seed + 1 + rank)
    stage = torch.nn.Module()
    for name, shape in {"weight": (a, b), "scale": (), "bias": (b,), "head": (b, 2, c)}.items():
        draw = [torch.randn(shape, generator=values, dtype=torch.float64) for _ in range(2)]
        weight, gradient = (tensor.to(getattr(torch, dtype)) for tensor in draw)
        parameter = torch.nn.Parameter(weight)
        parameter.grad = gradient
        stage.register_parameter(name, parameter)
    return stage


def gradients_of(stage):
    return {name: p.grad for name, p in stage.named_parameters()}


def weights_of(stage):
    return {name: p.detach() for name, p in stage.named_parameters()}


def work(module, seed):
    """On every rank, beside the student's code: for each layout and dtype, gradients and weights
    after."""
    import torch.distributed as dist

    from helpers.grid import Grid, make_groups

    after = []
    for dp, pp in LAYOUTS:
        group = make_groups(Grid(dp=dp, pp=pp)).dp
        for dtype in DTYPES:
            stage = make_stage(seed, dist.get_rank(), dtype)
            module.average_gradients(stage, group)
            after.append((gradients_of(stage), weights_of(stage)))
    return after


def verify(submission: Submission) -> None:
    """Compare with the mean of each stage that one process computes. Raises Mistake."""
    from helpers.grid import Grid

    answers = submission.on_ranks(work, RANKS, submission.seed)
    cases = [(Grid(dp=dp, pp=pp), dtype) for dp, pp in LAYOUTS for dtype in DTYPES]
    for number, (grid, dtype) in enumerate(cases):
        judge([answer[number] for answer in answers], grid, submission.seed, dtype)


def judge(after, grid, seed, dtype):
    """Compare the gradients and weights of all ranks for one layout and dtype. Raises Mistake."""
    from helpers.oracle import averaging_mistake, differences, explain

    stages = [make_stage(seed, rank, dtype) for rank in range(RANKS)]
    for stage, (_, weights) in zip(stages, after, strict=True):
        if differences(weights_of(stage), weights, tolerance=0.0):
            raise Mistake(
                "the weights have changed: this function averages gradients, so it must write to "
                "p.grad and leave the parameter p itself alone"
            )
    before = [gradients_of(stage) for stage in stages]
    groups = [grid.group(rank, "dp") for rank in range(RANKS)]
    found = [gradients for gradients, _ in after]
    wrong = [
        rank
        for rank in range(RANKS)
        if differences(added(before, groups[rank], 1 / grid.dp), found[rank])
    ]
    if not wrong:
        return
    known = {
        sentence: together([added(before, ranks, factor) for ranks in where])
        for sentence, where, factor in known_mistakes(groups, grid.dp)
    }
    if sentence := explain(together(found), known):
        raise Mistake(sentence)
    if len(wrong) < RANKS:
        right = [rank for rank in range(RANKS) if rank not in wrong]
        raise Mistake(
            f"only {listed(right)} the mean of the stage, and {listed(wrong)} not: each of the "
            "ranks that hold a stage needs it, in every pipeline, so take all_reduce on all of them"
        )
    group = groups[0]
    raise Mistake(
        averaging_mistake([before[rank] for rank in group], [found[rank] for rank in group])
        or f"on rank {wrong[0]} the gradients are not the mean over its group, {groups[wrong[0]]}"
    )


def known_mistakes(groups, dp):
    """(sentence, for each rank the ranks whose gradients are added up, the factor)."""
    own, everyone = [(rank,) for rank in range(RANKS)], [range(RANKS)] * RANKS
    return [
        (
            f"the gradients are the sum over the {dp} ranks of the group: divide by "
            "dist.get_world_size(group) after the all_reduce",
            groups,
            1,
        ),
        (
            "every rank still has its own gradients: the mean was never written back into p.grad "
            "(assigning to a loop variable changes no tensor; use copy_, or divide in place)",
            own,
            1,
        ),
        (
            "every rank has its own gradients divided: nothing was communicated, the all_reduce "
            "is missing",
            own,
            1 / dp,
        ),
        (
            f"the average goes over all {RANKS} ranks, and mixes gradients of different stages: "
            "give all_reduce group=group",
            everyone,
            1 / RANKS,
        ),
        (
            f"the sum goes over all {RANKS} ranks, and mixes gradients of different stages: give "
            "all_reduce group=group",
            everyone,
            1 / dp,
        ),
        (
            f"the sum goes over all {RANKS} ranks, and is not divided: give all_reduce "
            "group=group, and divide by dist.get_world_size(group)",
            everyone,
            1,
        ),
        (
            f"the sum over the group of {dp} is divided by {RANKS}: divide once, by "
            "dist.get_world_size(group), not by dist.get_world_size()",
            groups,
            1 / RANKS,
        ),
        (
            f"the sum over the group of {dp} is divided by 2, as with the lesson's two pipelines: "
            "ask dist.get_world_size(group)",
            groups,
            1 / 2,
        ),
        ("the gradients are divided twice: do it once", groups, 1 / dp**2),
    ]


def added(before, ranks, factor):
    """The sum of the gradients of these ranks times a factor, by name, as one device adds them."""
    return {
        name: (factor * sum(before[rank][name].double() for rank in ranks)).to(tensor.dtype)
        for name, tensor in before[0].items()
    }


def together(ranks):
    """The tensors of all ranks in one dict."""
    return {f"{n} on rank {r}": t for r, tensors in enumerate(ranks) for n, t in tensors.items()}


def listed(ranks):
    """[1] -> "rank 1 has"; [1, 2] -> "ranks 1 and 2 have"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]} has"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]} have"
