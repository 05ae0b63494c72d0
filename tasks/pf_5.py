"""PF-5: a decoder that does not see what it predicts."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-5",
    title="shift and mask the target of a decoder",
    file="DP/ddp/transformer.py",
    function="forward",
    notebook="13",
    points=10,
    minutes=20,
    hints=(
        "At place t the decoder reads one vector and attends to some places. Which vector of the "
        "target may it read there, and which places? What does it read at place 0, where nothing "
        "came before?",
        "Put one vector of zeros in front of the target, and leave its last vector away. The mask "
        "is a T x T matrix with -inf where a place must not look.",
        "Concatenate zeros like target[:, :1] and target[:, :-1] along dimension 1. Make the mask "
        "for target.shape[1] places. Call self.transformer with the source, the shifted target, "
        "and tgt_mask.",
    ),
)


def work(module, seed):
    """The student's prediction, and those of eight ways to do it, by the same weights."""
    import torch

    torch.manual_seed(seed)
    size = module.Size(width=8, heads=2, layers=1, hidden=16, items=4)
    net = module.Forecaster(size).eval()
    source, target = torch.randn(3, 2, 8), torch.randn(3, 5, 8)
    found = net(source, target)
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
    known = {
        (r, m): net.transformer(source, shifted, tgt_mask=mask)
        for r, shifted in read.items()
        for m, mask in masks.items()
    }
    shape = tuple(found.shape) if isinstance(found, torch.Tensor) else None
    same = [
        key for key, answer in known.items() if shape == (3, 5, 8) and close(torch, found, answer)
    ]
    return shape, same, repr(found)[:60]


def close(torch, a, b):
    return bool(torch.allclose(a, b, atol=1e-5))


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
    ((shape, same, text),) = submission.on_ranks(work, 1, submission.seed)
    if shape is None:
        raise Mistake(f"forward gives {text}, and must give a tensor")
    if shape != (3, 5, 8):
        raise Mistake(f"for a target of shape (3, 5, 8) the prediction has {shape}")
    if ("one place later", "mask") in same:
        return
    if not same:
        raise Mistake(
            "the prediction is of no known kind: zeros and target[:, :-1] go in, with a causal mask"
        )
    read, mask = same[0]
    said = [WHY[word] for word in (read, mask) if word in WHY]
    raise Mistake("; and ".join(said))
