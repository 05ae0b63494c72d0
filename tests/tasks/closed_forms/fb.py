"""Few bits: blocks one by one, and sums of what the blocks stand for."""

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


CLOSED_FORMS = {"FB-1": there_and_back, "FB-4": summed}
