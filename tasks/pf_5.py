"""PF-5: a decoder that does not see what it predicts."""

from helpers.grade import Task

TASK = Task(
    id="PF-5",
    title="shift and mask the target of a decoder",
    file="DP/ddp/transformer.py",
    function="Forecaster.forward",
    notebook="10",
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


def run(module, case):
    """What the work's Forecaster predicts with given weights, or what came in its place.

    case: {"weights": of its transformer, "source", "target"}.
    """
    import torch

    size = module.Size(width=8, heads=2, layers=1, hidden=16, items=4)
    net = module.Forecaster(size).eval()
    net.transformer.load_state_dict(case["weights"])
    found = net(case["source"], case["target"])
    return {"prediction": found if isinstance(found, torch.Tensor) else repr(found)[:60]}
