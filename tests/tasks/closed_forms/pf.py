"""One process: who opens which file, a step without a scaler, a decoder without a mask."""

import torch


def once_in_each_process(case):
    who = {"rank": "file 1 of 1 opened", "worker": "file 2 of 2 opened"}
    return {name: {f"item {n}": text for n in range(3)} for name, text in who.items()}


def without_a_scaler(case):
    """The same steps; the scaler's factor, 2 to the 16th, is multiplied and divided by hand."""
    weights = {n: w.clone().requires_grad_() for n, w in case["weights"].items()}
    losses, half = [], case["dtype"] in ("bfloat16", "float16")
    for source, target in case["steps"]:
        with torch.autocast("cpu", source.dtype, enabled=half):
            y = torch.tanh(torch.nn.functional.linear(source, **weights))
        loss = (y.double() - target.double()).square().mean()
        losses.append(loss.item())
        found = torch.autograd.grad(loss * 2**16, list(weights.values()))
        for w, gradient in zip(weights.values(), found, strict=True):
            w.data -= 0.1 * gradient / 2**16
    return {
        "losses": losses,
        "losses with a graph": False,
        "the model computes in": f"torch.{case['dtype']}",
        "calls of the scaler": ["scale", "step", "update"] * (case["dtype"] == "float16"),
        "weights": {n: w.detach() for n, w in weights.items()},
        "marks": ["forward", "backward", "update"],
    }


def word_by_word(case):
    """Without a mask: place t is the last that a decoder reads which knows the places before t."""
    net = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    net.load_state_dict(case["weights"])
    source, target = case["source"], case["target"]
    known = torch.cat([torch.zeros_like(target[:, :1]), target], dim=1)
    with torch.no_grad():
        places = [net(source, known[:, : t + 1])[:, -1:] for t in range(target.shape[1])]
    return {"prediction": torch.cat(places, dim=1)}


CLOSED_FORMS = {"PF-3": once_in_each_process, "PF-4": without_a_scaler, "PF-5": word_by_word}
