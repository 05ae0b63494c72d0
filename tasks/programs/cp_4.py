"""CP-4: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("no product", {" - product": ""}, says="- product is missing"),
    Program(
        "scores kept",
        {"ctx.save_for": "ctx.p = (scores(q, k, mask_of()) - log_sum).exp()\nctx.save_for"},
        says="numbers kept",
    ),
)
