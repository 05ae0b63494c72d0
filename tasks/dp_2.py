"""DP-2: average the weights."""

from helpers.grade import Mistake, Submission, Task, WorkFailed

TASK = Task(
    id="DP-2",
    title="average the weights",
    file="DP/weight_aggr/intro_DP_WA.py",
    function="average_weights",
    notebook="04",
    points=10,
    minutes=15,
    hints=(
        "Each rank has taken a step of its own, so the weights differ. You know the collective "
        "that adds what all ranks hold. What must stay the same object, because the optimizer "
        "holds it?",
        "A parameter wants gradients, so torch refuses to write into it: do it under "
        "torch.no_grad(). And `p = something` gives the name p to another tensor; it writes "
        "nothing into the model.",
        "Under torch.no_grad(), go over model.parameters(): all_reduce each p, then divide p by "
        "world_size, in place. (Faster, for later: join all weights into one flat tensor, send "
        "that once, and copy_ each part back.)",
    ),
)

RANKS = 4  # the lesson uses three: a 2 or a 3 that is written into the code shows
DTYPES = ("float32", "float64")
FROZEN = "frozen"  # wants no gradient, and is the same on every rank: averaged or not, both right
SPARE = "spare"  # is trained, but this step gave it no gradient


def make_model(seed, rank, dtype):
    """A small model after a step of its own: weights and gradients differ from rank to rank."""
    import torch

    alike = torch.Generator().manual_seed(seed)  # the same on every rank
    a, b, c = torch.randint(2, 9, (3,), generator=alike).tolist()
    shapes = {
        "embedding": (c, a),
        "weight": (a, b),
        "scale": (),
        FROZEN: (b,),
        SPARE: (a,),
        "bias": (b,),
        "head": (b, 2, c),
    }
    own = torch.Generator().manual_seed(seed + 1 + rank)
    model = torch.nn.Module()
    for name, shape in shapes.items():
        values = alike if name == FROZEN else own
        draw = [torch.randn(shape, generator=values, dtype=torch.float64) for _ in range(2)]
        weight, gradient = (tensor.to(getattr(torch, dtype)) for tensor in draw)
        parameter = torch.nn.Parameter(weight, requires_grad=name != FROZEN)
        parameter.grad = None if name in (FROZEN, SPARE) else gradient
        model.register_parameter(name, parameter)
    return model


def weights_of(model):
    return {name: p.detach() for name, p in model.named_parameters()}


def gradients_of(model):
    return {name: p.grad for name, p in model.named_parameters()}


def work(module, seed):
    """On every rank, beside the student's code. For each dtype: the weights and gradients after,
    and the names of the parameters that another object has replaced: that shows only here."""
    import torch.distributed as dist

    after = []
    for dtype in DTYPES:
        model = make_model(seed, dist.get_rank(), dtype)
        held = dict(model.named_parameters())  # as an optimizer holds them
        module.average_weights(model, dist.get_world_size())
        now = dict(model.named_parameters())
        replaced = [name for name, p in held.items() if now.get(name) is not p]
        after.append((weights_of(model), gradients_of(model), replaced))
    return after


def verify(submission: Submission) -> None:
    """Compare with the mean that one process computes. Raises Mistake or WorkFailed."""
    try:
        answers = submission.on_ranks(work, RANKS, submission.seed)
    except WorkFailed as failed:
        if failed.kind == "crash" and "leaf" in failed.sentence and "in-place" in failed.sentence:
            raise Mistake(
                "torch does not let a weight be written in place while it records gradients: "
                f"write under torch.no_grad(): {failed.sentence}"
            ) from None
        raise
    for number, dtype in enumerate(DTYPES):
        judge([answer[number] for answer in answers], submission.seed, dtype)


def judge(after, seed, dtype):
    """Compare weights and gradients of all ranks for one dtype. Raises Mistake."""
    from helpers.oracle import averaging_mistake, differences

    models = [make_model(seed, rank, dtype) for rank in range(RANKS)]
    for model, (_, gradients, replaced) in zip(models, after, strict=True):
        if replaced:
            raise Mistake(
                f"the parameter {replaced[0]!r} was replaced by a new one: the optimizer still "
                "holds the old one and would train that, so write the mean into the old one"
            )
        if differences(gradients_of(model), gradients, tolerance=0.0):
            raise Mistake(
                "the gradients have changed: this function averages weights, so it must write to "
                "the parameter p and leave p.grad alone"
            )
    before = [weights_of(model) for model in models]
    weights = [tensors for tensors, _, _ in after]
    trained = [name for name in before[0] if name != FROZEN]
    mistake = (
        copied_mistake(before, weights, trained)
        or left_out_mistake(before, weights, trained)
        or averaging_mistake(
            [{name: tensors[name] for name in trained} for tensors in before],
            [{name: tensors[name] for name in trained} for tensors in weights],
            what="weight",
            place="the parameter p",
        )
    )
    if mistake and values_are_right(before, weights):
        mistake = (
            "the means are right, and stand in the wrong parameters: give the parts of the flat "
            "tensor back in the order in which they were joined"
        )
    if mistake:
        raise Mistake(mistake)
    for own, now in zip(before, weights, strict=True):
        if differences({FROZEN: own[FROZEN]}, {FROZEN: now.get(FROZEN)}):
            raise Mistake(
                f"the parameter {FROZEN!r} is the same on all ranks, so its mean is what it was, "
                "and it has changed: treat it like every other parameter, or leave it alone"
            )


def copied_mistake(before, after, names):
    """Where every rank has the weights of one rank in place of the mean."""
    from helpers.oracle import differences

    for rank, own in enumerate(before):
        expected = {name: own[name] for name in names}
        if not any(differences(expected, {n: now.get(n) for n in names}) for now in after):
            return (
                f"every rank has the weights of rank {rank}: that is a broadcast, and what the "
                "others learned is lost; a mean needs an all_reduce"
            )
    return None


def left_out_mistake(before, after, names):
    """Where only the parameter without a gradient was left as it was."""
    from helpers.oracle import differences

    mean = {n: sum(own[n].double() for own in before).div(RANKS).to(before[0][n]) for n in names}
    wrong = {difference.name for now in after for difference in differences(mean, now)} - {FROZEN}
    left = not any(
        differences({SPARE: own[SPARE]}, {SPARE: now.get(SPARE)})
        for own, now in zip(before, after, strict=True)
    )
    if wrong != {SPARE} or not left:
        return None
    return (
        f"the parameter {SPARE!r} has no gradient in this step, and was left out: the weights are "
        "averaged, so do not look at p.grad"
    )


def values_are_right(before, after):
    """Whether each rank has the right numbers, in whatever order."""
    import torch

    from helpers.oracle import differences

    names = list(before[0])

    def in_order(weights):
        if any(weights.get(name) is None for name in names):
            return None
        return torch.cat([weights[name].flatten() for name in names]).sort().values

    mean = {n: sum(own[n].double() for own in before).div(RANKS).to(before[0][n]) for n in names}
    expected = {"all weights": in_order(mean)}
    return not any(differences(expected, {"all weights": in_order(now)}) for now in after)
