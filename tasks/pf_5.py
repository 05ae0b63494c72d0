"""PF-5: shift and mask the target of a decoder."""

import torch

HINTS = (
    "At place t the decoder reads one vector and attends to some places. Which vector of the "
    "target may it read there, and which places? What does it read at place 0, where nothing came "
    "before?",
    "Concatenate zeros like target[:, :1] and target[:, :-1] along dimension 1. Make the mask for "
    "target.shape[1] places. Call self.transformer with the source, the shifted target, and "
    "tgt_mask.",
)
LESSON, MINUTES = "where_time_goes", 20
PAGE = "DP/ddp/README.md"


def observe(module, case):
    size = module.Size(width=8, heads=2, layers=1, hidden=16, items=4)
    net = module.Forecaster(size).eval()
    net.transformer.load_state_dict(case["weights"])
    found = net(case["source"], case["target"])
    plain = found is None or isinstance(found, torch.Tensor)
    return {"prediction": found if plain else repr(found)[:60]}


TOLERANCE = 2e-5


def cases():
    weights = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).state_dict()
    rows, places = torch.randint(2, 5, ()).item(), torch.randint(4, 8, ()).item()
    source, target = torch.randn(rows, 3, 8), torch.randn(rows, places, 8)
    return [{"weights": weights, "source": source, "target": target}]


SHIFTED, MASKED = "torch.cat([start, target[:, :-1]], dim=1)", "tgt_mask=mask, tgt_is_causal=True"
READS = {
    (): "",
    (SHIFTED, "target"): "place t reads target[:, t], which it must predict: shift the target by "
    "one place",
    (SHIFTED, "torch.cat([target[:, 1:], start], dim=1)"): "the target is shifted the wrong way: "
    "place t reads target[:, t + 1]",
    (SHIFTED, "target.roll(1, 1)"): "place 0 reads the last vector of the target: shift it, do not "
    "roll it round",
    ("torch.zeros_like(target[:, :1])", "target[:, :1]"): "place 0 reads target[:, 0], which it "
    "must predict: read zeros there",
}
MASKS = {
    (): "",
    (MASKED, "tgt_mask=None"): "place t attends to later places, where it sees what it must "
    "predict: give a mask",
    (MASKED, "tgt_mask=mask.T"): "the mask is the wrong way round: a place may look back, and not "
    "ahead",
}
MUTANTS = {
    tuple(filter(None, (read, mask))): "; and ".join(filter(None, (one, other)))
    for read, one in READS.items()
    for mask, other in MASKS.items()
    if read or mask
}
