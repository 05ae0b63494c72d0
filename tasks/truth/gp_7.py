"""GP-7: the logits of the plain GPT-2, and the facts of a pipeline that holds its blocks."""

import torch

from helpers.grade.verify import same
from tasks import _gp  # noqa: F401

TOLERANCE = 1e-4


def plain_model():
    from project.models import make_config, make_model

    return make_model(make_config("tiny", 50, 16))


def cases(seed):
    """Weights of a small GPT-2, ids, and a mask that pads the first row."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = plain_model()
        for p in model.parameters():
            p.data += 0.05 * torch.randn(p.shape)
        rows, length = torch.randint(4, 7, ()).item(), torch.randint(8, 12, ()).item()
        ids, padded = torch.randint(0, 50, (rows, length)), torch.randint(2, 5, ()).item()
    mask = torch.ones_like(ids)
    mask[0, :padded] = 0
    return [
        {
            "weights": model.state_dict(),
            "input_ids": ids,
            "attention_mask": mask,
            "split_size": 3,
            "padded": padded,
        }
    ]


def truth(case):
    model = plain_model()
    model.load_state_dict(case["weights"])
    with torch.no_grad():
        logits = model(input_ids=case["input_ids"], attention_mask=case["attention_mask"]).logits
    logits[0, : case["padded"]] = 0
    return {
        "parts": [2, 2],
        "split size": case["split_size"],
        "names": sorted(case["weights"]),
        "shares the weights": True,
        "logits": logits,
    }


def explain(case, seen):
    if seen == "no pipe":
        return "there is no pipe afterwards: keep it by self._hold(pipe)"
    if isinstance(seen, str):
        return f"a batch does not get through ({seen}): BlockWithMask takes a pair"
    right = truth(case)
    if seen["parts"] != right["parts"]:
        return (
            f"4 blocks on 2 devices make parts of {seen['parts']}, and should of [2, 2]: mark each "
            "block with its own device"
        )
    if seen["split size"] != right["split size"]:
        return f"the split size is {seen['split size']}, and {case['split_size']} was asked for"
    if seen["names"] != right["names"]:
        return "the weights have other names now: self._hold keeps the pipe beside them"
    if not seen["shares the weights"]:
        return "the pipe has weights of its own: take the blocks themselves, and no copies"
    found, plain = seen["logits"], right["logits"]
    if found.shape != plain.shape:
        return f"the logits are {tuple(found.shape)}, and must be {tuple(plain.shape)}"
    if not same(plain[1:], found[1:], TOLERANCE):
        return "the logits are not the plain model's: does each block come once, in order?"
    return "the row with padding has other logits: the blocks do not get the mask"
