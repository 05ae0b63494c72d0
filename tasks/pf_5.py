"""PF-5: a decoder that does not see what it predicts."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-5",
    title="shift and mask the target of a decoder",
    file="DP/ddp/transformer.py",
    function="Forecaster.forward",
    notebook="13",
    points=10,
    minutes=20,
    hints=(
        "At place t the decoder reads one vector and attends to some places. Which vector of the "
        "target may it read there, and which places? What does it read at place 0, where nothing "
        "came before?",
        "Put one vector of zeros in front of the target, and leave out its last vector. The mask "
        "is a T x T matrix with -inf where a place must not look.",
        "Concatenate zeros like target[:, :1] and target[:, :-1] along dimension 1. Make the mask "
        "for target.shape[1] places. Call self.transformer with the source, the shifted target, "
        "and tgt_mask.",
    ),
)


SIZE = {"width": 8, "heads": 2, "layers": 1, "hidden": 16, "items": 4}
SHAPE = (3, 5, 8)  # of the target, and so of the prediction


def inputs(seed):
    """Source and target."""
    import torch

    values = torch.Generator().manual_seed(seed)
    return torch.randn(3, 2, 8, generator=values), torch.randn(SHAPE, generator=values)


def transformer(seed):
    """The weights, drawn by the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()


def work(module, seed):
    """The student's prediction, or what came in its place."""
    import torch

    net = module.Forecaster(module.Size(**SIZE)).eval()
    net.transformer.load_state_dict(transformer(seed).state_dict())
    found = net(*inputs(seed))
    return found.detach() if isinstance(found, torch.Tensor) else repr(found)[:60]


def known_answers(seed):
    """{(what is read, mask): the prediction by the same weights}."""
    import torch

    net, (source, target) = transformer(seed), inputs(seed)
    later = torch.full((5, 5), float("-inf")).triu(1)
    nothing = torch.zeros(3, 1, 8)
    read = {
        "one place later": torch.cat((nothing, target), 1)[:, :5],
        "as it is": target,
        "one place sooner": torch.cat((target, nothing), 1)[:, 1:],
        "round": target.roll(1, 1),
        "the first one twice": torch.cat((target[:, :1], target), 1)[:, :5],
    }
    masks = {"mask": later, "no mask": None, "mask the wrong way": later.T}
    with torch.no_grad():
        return {
            (r, m): net(source, shifted, tgt_mask=mask)
            for r, shifted in read.items()
            for m, mask in masks.items()
        }


WHY = {
    "as it is": "place t reads target[:, t], which it must predict: shift the target by one place",
    "one place sooner": "the target is shifted the wrong way: place t reads target[:, t + 1]",
    "round": "place 0 reads the last vector of the target: shift it, do not roll it round",
    "the first one twice": "place 0 reads target[:, 0], which it must predict: read zeros there",
    "no mask": "place t attends to later places, where it sees what it must predict: give a mask",
    "mask the wrong way": "the mask is the wrong way round: a place may look back, and not ahead",
}


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (found,) = submission.on_ranks(work, 1, submission.seed)
    if isinstance(found, str):
        raise Mistake(f"forward gives {found}, and must give a tensor")
    if tuple(found.shape) != SHAPE:
        raise Mistake(f"for a target of shape {SHAPE} the prediction has {tuple(found.shape)}")
    answers = known_answers(submission.seed)
    same = [key for key, right in answers.items() if bool(((found - right).abs() <= 2e-5).all())]
    if ("one place later", "mask") in same:
        return
    if not same:
        raise Mistake(
            "the prediction is of no known kind: zeros and target[:, :-1] go in, with a causal mask"
        )
    read, mask = same[0]
    said = [WHY[word] for word in (read, mask) if word in WHY]
    raise Mistake("; and ".join(said))
