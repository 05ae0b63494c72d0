"""TP-6: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "no Copy",
        """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(x, self.weight)
            return Sum.apply(F.linear(x, self.weight))
        """,
        says="the gradient of x is this rank's own term alone",
        met="NVIDIA/Megatron-LM#7452: a norm's gradient isn't summed over its ranks",
    ),
    Program(
        "Copy and Sum",
        """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(Copy.apply(x), self.weight)
            return Sum.apply(F.linear(Copy.apply(x), self.weight))
        """,
        says="no Copy must add up their gradients",
    ),
    Program(
        "the sum goes backward too",
        """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(Copy.apply(x), self.weight)
            return Copy.apply(Sum.apply(F.linear(x, self.weight)))
        """,
        says="the gradient of weight is 3 times too large: it is added up over ranks that all",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "the part of rank 0",
        """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[0].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(Copy.apply(x), self.weight)
            return Sum.apply(F.linear(x, self.weight))
        """,
        says="rank 1: self.weight is the part of rank 0",
    ),
    Program(
        "no clone",
        """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank])
        else:
            x = given["x"]
            if self.dim == 0:
                return F.linear(Copy.apply(x), self.weight)
            return Sum.apply(F.linear(x, self.weight))
        """,
        says="the part shares its memory",
    ),
)

RIGHT = {
    "matmul": """
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())
        else:
            x = given["x"]
            if self.dim == 0:
                return Copy.apply(x) @ self.weight.t()
            return Sum.apply(x @ self.weight.t())
        """,
}
