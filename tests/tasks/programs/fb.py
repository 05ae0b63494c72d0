"""Work in place of the solutions of FB: what the check must name, and what it must pass."""

PROGRAMS = {
    "FB-1": {
        "the largest by max and min":
            {"parts.abs().amax((1, 3), keepdim=True)":
                 "torch.maximum(parts.amax((1, 3), True), -parts.amin((1, 3), True))"},
        "the exponent by frexp":
            {"torch.exp2(torch.ceil(torch.log2(scales)))":
                 "torch.exp2(torch.frexp(scales / (1 + 2**-23)).exponent.float())"}},
    "FB-2": {
        "finite, by a sum": {"gradient.isfinite().all()": "gradient.sum().isfinite()"},
        "the optimizer is asked first":
            ({"for gradient in gradients:": "optimizer.step()\nfor gradient in gradients:"},
             "weights, number")},
    "FB-3": {
        "by what the blocks stand for":
            {"terms * left[:, number, None] * right[:, number]":
                 "(a.codes[:, part].float() * left[:, number, None]) @ "
                 "(b.codes[:, part].float() * right[:, number, None]).T"}},
    "FB-4": {
        "one rank after the other":
            {"restore(parts).sum(0, keepdim=True)": "sum(restore(parts))[None]"},
        "a plain all-reduce":
            ({"parts = swap": "dist.all_reduce(x, group=group)\nreturn x\nparts = swap"},
             "bytes sent")},
}  # fmt: skip
