"""TP-6: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(Copy.apply(x), self.weight)
            return Sum.apply(F.linear(x, self.weight))
        """

PROGRAMS = (
    Program(
        "no Copy",
        BODY.replace("Copy.apply(x)", "x"),
        says="the gradient of x is this rank's own term alone",
        met="NVIDIA/Megatron-LM#7452: a norm's gradient isn't summed over its ranks",
    ),
    Program(
        "Copy and Sum",
        BODY.replace("linear(x", "linear(Copy.apply(x)"),
        says="no Copy must add up their gradients",
    ),
    Program(
        "the sum goes backward too",
        BODY.replace(
            "Sum.apply(F.linear(x, self.weight", "Copy.apply(Sum.apply(F.linear(x, self.weight)"
        ),
        says="the gradient of weight is 3 times too large: it is added up over ranks that all",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "the part of rank 0",
        BODY.replace("[rank", "[0"),
        says="rank 1: self.weight is the part of rank 0",
    ),
    Program(
        "no clone",
        BODY.replace(".clone()", ""),
        says="the part shares its memory",
    ),
)

RIGHT = {
    "matmul": BODY.replace(
        "F.linear(Copy.apply(x), self.weight", "Copy.apply(x) @ self.weight.t("
    ).replace("F.linear(x, self.weight", "x @ self.weight.t("),
}
