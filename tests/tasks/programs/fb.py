"""Work in place of the solutions of FB: what the check must name, and what it must pass."""

PROGRAMS = {
    "FB-1": {
        "the largest by max and min":
            {"parts.abs().amax((1, 3), keepdim=True)":
                 "torch.maximum(parts.amax((1, 3), True), -parts.amin((1, 3), True))"},
        "the exponent by frexp":
            {"torch.exp2(torch.ceil(torch.log2(scales)))":
                 "torch.exp2(torch.frexp(scales / (1 + 2**-23)).exponent.float())"}},
    "FB-4": {
        "one rank after the other":
            {"restore(parts).sum(0, keepdim=True)": "sum(restore(parts))[None]"},
        "a plain all-reduce":
            ({"parts = swap": "dist.all_reduce(x, group=group)\nreturn x\nparts = swap"},
             "bytes sent")},
}  # fmt: skip
