"""Few bits: blocks one by one, torch's GradScaler, and sums of what the blocks stand for."""

import math

import torch

LARGEST = {"E4M3": 448.0, "E5M2": 57344.0}
TYPES = {"E4M3": torch.float8_e4m3fn, "E5M2": torch.float8_e5m2}


def in_blocks(x, block, form="E4M3", powers=False):
    """Codes, scales and the numbers they stand for, one block after the other."""
    codes, back = torch.zeros_like(x), torch.zeros_like(x)
    scales = torch.zeros(math.ceil(x.shape[0] / block[0]), math.ceil(x.shape[1] / block[1]))
    for i in range(scales.shape[0]):
        for j in range(scales.shape[1]):
            at = slice(i * block[0], (i + 1) * block[0]), slice(j * block[1], (j + 1) * block[1])
            scale = x[at].abs().max().item() / LARGEST[form] or 1.0
            if powers:
                scale = 2.0 ** math.ceil(math.log2(scale))
            scales[i, j] = scale
            kept = (x[at] / scales[i, j]).clamp(-LARGEST[form], LARGEST[form])
            codes[at] = kept.to(TYPES[form]).float()
            back[at] = codes[at] * scales[i, j]
    return codes, scales, back


def there_and_back(case):
    codes, scales, back = in_blocks(case["x"], case["block"], case["format"][0], case["powers"])
    given = case["scales"].repeat_interleave(2, 0).repeat_interleave(4, 1)
    return {
        "codes": codes,
        "the type of the codes": str(TYPES[case["format"][0]]),
        "scales": scales,
        "restored from codes and scales that are given": case["codes"] * given,
        "there and back": back,
    }


def by_grad_scaler(case):
    """What torch's own scaler does with the same gradients."""
    weights = [torch.nn.Parameter(weight.clone()) for weight in case["weights"]]
    optimizer = torch.optim.SGD(weights, lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=case["scale"], growth_interval=case["patience"])
    found = {key: [] for key in ("taken", "scale", "weights", "finite gradients")}
    for gradients in case["gradients"]:
        scaler.scale(torch.zeros(()))  # it wants to have scaled a loss
        before = [w.detach().clone() for w in weights]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
        scaler.unscale_(optimizer)
        found["finite gradients"].append([w.grad for w in weights if w.grad.isfinite().all()])
        scaler.step(optimizer)
        scaler.update()
        found["scale"].append(scaler.get_scale())
        found["weights"].append([w.detach().clone() for w in weights])
        found["taken"].append(any((w != b).any() for w, b in zip(weights, before, strict=True)))
    return found


def dense(x, block):
    return in_blocks(x, block)[2].double()


def layer(case):
    x, weight, gradient = case["x"], case["weight"], case["gradient"]
    row, square = (1, 128), (128, 128)
    a = case["a scales"].repeat_interleave(128, 1)[:, :300].double() * case["a"]
    b = case["b scales"].repeat_interleave(128, 0).repeat_interleave(128, 1)[:130, :300].double()
    return {
        "product": (a @ (b * case["b"]).T).float(),
        "y": (dense(x, row) @ dense(weight, square).T).float(),
        "the gradient of x": (dense(gradient, row) @ dense(weight.T, square).T).float(),
        "the gradient of the weight": (dense(gradient.T, row) @ dense(x.T, row).T).float(),
    }


def summed(case):
    ranks, length = len(case["x"]), len(case["x"][0])
    part = math.ceil(length / (128 * ranks)) * 128
    rows = [
        torch.nn.functional.pad(x, (0, ranks * part - length)).view(ranks, -1) for x in case["x"]
    ]
    total = sum(in_blocks(row, (1, 128))[2] for row in rows)
    found = in_blocks(total, (1, 128))[2].flatten()[:length]
    sent = (ranks * part + part) * (1 + 4 / 128)  # all rows to their ranks, and one sum to all
    one = {"bytes sent": int(sent), "the sum": found, "all ranks have the same": True}
    return [one] * ranks


CLOSED_FORMS = {"FB-1": there_and_back, "FB-2": by_grad_scaler, "FB-3": layer, "FB-4": summed}
