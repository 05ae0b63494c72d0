"""TP-5: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the sum goes backward too",
        {"return gradient ": "return all_reduced(gradient) "},
        says="the gradient is 3 times too large",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
)
