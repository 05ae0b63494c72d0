"""TP-6: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "no Copy",
        {"Copy.apply(x)": "x"},
        says="the gradient of x is this rank's own term alone",
        met="NVIDIA/Megatron-LM#7452: a norm's gradient isn't summed over its ranks",
    ),
    Program(
        "the sum goes backward too",
        {"Sum.apply(F.linear(x, self.weight))": "Copy.apply(Sum.apply(F.linear(x, self.weight)))"},
        says="the gradient of weight is 3 times too large: it is added up over ranks that all",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "the part of rank 0", {"[rank]": "[0]"}, says="rank 1: self.weight is the part of rank 0"
    ),
)
