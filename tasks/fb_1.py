"""FB-1: put a matrix into blocks of eight bits that share a scale, and back."""

import torch

HINTS = (
    "tiles(x, block) has shape (R/r, r, C/c, c): the largest magnitude over dimensions 1 and 3 is "
    "one number for each block, and keepdim=True lets you divide by it. A block of zeros would "
    "divide by 0. For powers, take the exponent: log2, rounded up.",
    "largest = parts.abs().amax((1, 3), keepdim=True); scales = torch.where(largest > 0, largest "
    "/ to.largest, 1.0); with powers torch.exp2(torch.ceil(torch.log2(scales))); codes = "
    "whole(to.round(parts / scales), x.shape). Back: tiles of the codes, times scales[:, None, :, "
    "None].",
)
LESSON, MINUTES = "fewer_bits", 10
TOLERANCE = 1e-6
E4M3 = ("E4M3", 4, 3, 448.0, "float8_e4m3fn")
E5M2 = ("E5M2", 5, 2, 57344.0, "float8_e5m2")


def observe(module, case):
    name, *bits, largest, kind = case["format"]
    form = module.Format(name, *bits, largest, getattr(torch, kind))
    found = module.quantize(case["x"].clone(), case["block"], form, case["powers"])
    given = module.Blocks(case["codes"].to(torch.float8_e4m3fn), case["scales"], (2, 4))
    return {
        "codes": found.codes.float(),
        "the type of the codes": str(found.codes.dtype),
        "scales": found.scales,
        "restored from codes and scales that are given": module.restore(given),
        "there and back": module.restore(found),
    }


def cases():
    """Draw matrices whose blocks have very different sizes; in one of them a block is zero."""
    found = []
    for rows, columns, block, form in (
        (6, 16, (2, 4), E4M3), (4, 64, (1, 32), E4M3), (7, 10, (4, 4), E5M2)
    ):  # fmt: skip
        size = torch.exp2(torch.randint(-20, 20, (rows, columns)).float())
        x = torch.randn(rows, columns) * size.cumsum(0)
        x[: block[0], : block[1]] = 0
        x[0, -1] = -1e5
        codes = torch.randint(-8, 9, (4, 8)).float()
        scales = torch.exp2(torch.randint(-3, 4, (2, 2)).float())
        found.append({"x": x, "block": block, "format": form, "powers": rows == 4})
        found[-1] |= {"codes": codes, "scales": scales}
    return found


SCALES, BACK = "torch.where(largest > 0, largest / to.largest, 1.0)", "parts * found.scales"
UP, LARGEST = "torch.ceil(torch.log2(scales))", "parts.abs().amax((1, 3), keepdim=True)"
MUTANTS = {
    (LARGEST, "x.abs().max().expand(len(parts), 1, parts.shape[2], 1)"): "the whole matrix has "
    "one scale: take the largest magnitude of each block, over dimensions 1 and 3 of its tiles",
    ("scales[:, 0, :, 0]", "(parts.abs().amax(3) / to.largest)[:, 0]"): "each row of a block has "
    "a scale of its own: the largest runs over dimensions 1 and 3",
    ("parts.abs().amax", "parts.amax"): "the largest is a magnitude: without abs(), a large "
    "negative number is cut off",
    ("largest / to.largest, 1.0", "largest, 1.0"): "each block's largest number became 1, so most "
    "of the format's range is wasted: divide it by to.largest",
    (SCALES, "largest / to.largest"): "a block of zeros became NaN, 0/0: give it the scale 1",
    (UP, "torch.log2(scales)"): "powers=True changed nothing: the scale must be a power of two",
    (UP, "torch.floor(torch.log2(scales))"): "the power of two lies below the scale, so the "
    "largest numbers don't fit and are cut off: round the exponent up",
    (UP, "torch.round(torch.log2(scales))"): "the power of two is the nearest one, so in some "
    "blocks the largest numbers don't fit: round the exponent up",
    ("parts / scales", "parts * scales"): "quantize multiplies by the scale where it should divide",
    (BACK, "parts / found.scales"): "restore divides by the scale where it should multiply",
    (f"{BACK}[:, None, :, None]", "parts"): "restore returns the codes: each must be multiplied "
    "by the scale of its block",
}
