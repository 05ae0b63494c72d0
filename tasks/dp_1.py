"""DP-1: average the gradients."""

from helpers.grade import Mistake, Submission, Task, WorkFailed

TASK = Task(
    id="DP-1",
    title="average the gradients",
    file="DP/gradient_aggr/intro_DP_GA.py",
    function="average_gradients",
    notebook="03",
    points=10,
    minutes=15,
    hints=(
        "After backward, p.grad of each parameter holds this rank's gradient. Which collective "
        "gives every rank the sum of what all ranks hold?",
        "dist.all_reduce(tensor) puts the sum over all ranks into `tensor` itself, on every rank. "
        "How does a sum become a mean? And which parameters have no gradient to send?",
        "Go over model.parameters(). Skip a parameter whose grad is None. For each other one: "
        "all_reduce its grad, then divide the grad by world_size, in place. (Faster, for later: "
        "join all gradients into one flat tensor, and send that once.)",
    ),
)

RANKS = 4  # the lesson uses three: a 2 or a 3 that is written into the code shows
DTYPES = ("float32", "float64")
FROZEN = "frozen"  # stands between the others, and takes no part in the training


def make_model(seed, rank, dtype):
    """A small model with random weights and random gradients, different on every rank.

    In training the weights are alike on all ranks. Here they differ, so that a change shows.
    """
    import torch

    sizes = torch.Generator().manual_seed(seed)  # the same on every rank
    a, b, c = torch.randint(2, 9, (3,), generator=sizes).tolist()
    shapes = {
        "embedding": (c, a),
        "weight": (a, b),
        "scale": (),
        FROZEN: (b,),
        "bias": (b,),
        "head": (b, 2, c),
    }
    values = torch.Generator().manual_seed(seed + 1 + rank)
    model = torch.nn.Module()
    for name, shape in shapes.items():
        draw = [torch.randn(shape, generator=values, dtype=torch.float64) for _ in range(2)]
        weight, gradient = (tensor.to(getattr(torch, dtype)) for tensor in draw)
        parameter = torch.nn.Parameter(weight, requires_grad=name != FROZEN)
        parameter.grad = None if name == FROZEN else gradient
        model.register_parameter(name, parameter)
    return model


def gradients_of(model):
    return {name: p.grad for name, p in model.named_parameters()}


def weights_of(model):
    return {name: p.detach() for name, p in model.named_parameters()}


def work(module, seed):
    """On every rank, beside the student's code: for each dtype, gradients and weights after."""
    import torch.distributed as dist

    after = []
    for dtype in DTYPES:
        model = make_model(seed, dist.get_rank(), dtype)
        module.average_gradients(model, dist.get_world_size())
        after.append((gradients_of(model), weights_of(model)))
    return after


def verify(submission: Submission) -> None:
    """Compare with the mean that one process computes. Raises Mistake or WorkFailed."""
    try:
        answers = submission.on_ranks(work, RANKS, submission.seed)
    except WorkFailed as failed:
        if failed.kind == "crash" and "NoneType" in failed.sentence:
            raise Mistake(
                "a parameter that takes no part in the training has p.grad None, and must be "
                f"skipped: {failed.sentence}"
            ) from None
        raise
    for number, dtype in enumerate(DTYPES):
        judge([answer[number] for answer in answers], submission.seed, dtype)


def judge(after, seed, dtype):
    """Compare the gradients and weights of all ranks for one dtype. Raises Mistake."""
    from helpers.oracle import averaging_mistake, differences

    before = [make_model(seed, rank, dtype) for rank in range(RANKS)]
    for model, (_, weights) in zip(before, after, strict=True):
        if differences(weights_of(model), weights, tolerance=0.0):
            raise Mistake(
                "the weights have changed: this function averages gradients, so it must write to "
                "p.grad and leave the parameter p itself alone"
            )
    mistake = averaging_mistake(
        [gradients_of(model) for model in before], [gradients for gradients, _ in after]
    )
    if mistake:
        raise Mistake(mistake)
