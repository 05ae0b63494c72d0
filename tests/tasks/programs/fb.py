"""Work in place of the solutions of FB: what the check must name, and what it must pass."""

from tests.tasks.planted import Program

PROGRAMS = (
    Program(
        "FB-1",
        "the largest by max and min",
        {
            "parts.abs().amax((1, 3), keepdim=True)": (
                "torch.maximum(parts.amax((1, 3), True), -parts.amin((1, 3), True))"
            )
        },
    ),
    Program(
        "FB-1",
        "the exponent by frexp",
        {
            "torch.exp2(torch.ceil(torch.log2(scales)))": (
                "torch.exp2(torch.frexp(scales / (1 + 2**-23)).exponent.float())"
            )
        },
    ),
    Program("FB-2", "finite, by a sum", {"gradient.isfinite().all()": "gradient.sum().isfinite()"}),
    Program(
        "FB-2",
        "the optimizer is asked first",
        {"for gradient in gradients:": "optimizer.step()\nfor gradient in gradients:"},
        says="weights, number",
    ),
    Program(
        "FB-3",
        "by what the blocks stand for",
        {
            "terms * left[:, number, None] * right[:, number]": (
                "(a.codes[:, part].float() * left[:, number, None]) @ "
                "(b.codes[:, part].float() * right[:, number, None]).T"
            )
        },
    ),
    Program(
        "FB-4",
        "one rank after the other",
        {"restore(parts).sum(0, keepdim=True)": "sum(restore(parts))[None]"},
    ),
    Program(
        "FB-4",
        "a plain all-reduce",
        {"parts = swap": "dist.all_reduce(x, group=group)\nreturn x\nparts = swap"},
        says="bytes sent",
    ),
)
