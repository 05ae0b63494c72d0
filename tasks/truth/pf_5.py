"""PF-5: what a decoder predicts, by what it reads and where it may look."""

import torch

TOLERANCE = 2e-5


def cases(seed):
    """Weights of a transformer, a source and a target."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        weights = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).state_dict()
        rows, places = torch.randint(2, 5, ()).item(), torch.randint(4, 8, ()).item()
        source, target = torch.randn(rows, 3, 8), torch.randn(rows, places, 8)
    return [{"weights": weights, "source": source, "target": target}]


def nothing(target):
    return torch.zeros_like(target[:, :1])


READS = {
    "": lambda target: torch.cat((nothing(target), target[:, :-1]), 1),
    "place t reads target[:, t], which it must predict: shift the target by one place": (
        lambda target: target
    ),
    "the target is shifted the wrong way: place t reads target[:, t + 1]": lambda target: torch.cat(
        (target[:, 1:], nothing(target)), 1
    ),
    "place 0 reads the last vector of the target: shift it, do not roll it round": (
        lambda target: target.roll(1, 1)
    ),
    "place 0 reads target[:, 0], which it must predict: read zeros there": lambda target: torch.cat(
        (target[:, :1], target[:, :-1]), 1
    ),
}
MASKS = {
    "": lambda later: later,
    "place t attends to later places, where it sees what it must predict: give a mask": (
        lambda later: None
    ),
    "the mask is the wrong way round: a place may look back, and not ahead": lambda later: later.T,
}


def truth(case, read=READS[""], mask=MASKS[""]):
    """The prediction, by what is read and the mask."""
    net = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    net.load_state_dict(case["weights"])
    places = case["target"].shape[1]
    later = torch.full((places, places), float("-inf")).triu(1)
    with torch.no_grad():
        return {
            "prediction": net(case["source"], read(case["target"]), tgt_mask=mask(later)),
        }


MISTAKES = {
    "; and ".join(filter(None, (one, other))): {"read": read, "mask": mask}
    for one, read in READS.items()
    for other, mask in MASKS.items()
    if one or other
}


def explain(case, seen):
    found, target = seen["prediction"], case["target"]
    if isinstance(found, str):
        return f"forward gives {found}, and must give a tensor"
    if found.shape != target.shape:
        shapes = tuple(target.shape), tuple(found.shape)
        return "for a target of shape {} the prediction has {}".format(*shapes)
    return "the prediction is of no known kind: zeros and target[:, :-1] go in, with a causal mask"
