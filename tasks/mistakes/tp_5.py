"""Wrong ways to do TP-5, each to be caught with words of its own; and right ways, to be passed.

One body stands in both places, and finds out where it is.
"""

from helpers.grade import PlantedMistake

WEIGHT = "nn.Parameter(whole.weight.detach().chunk(ranks, dim)[rank].clone())"


def layer(
    weight=WEIGHT,
    outputs="F.linear(Copy.apply(x), self.weight)",
    inputs="Sum.apply(F.linear(x, self.weight))",
):
    # `whole`, `dim`, `rank` and `ranks` are the arguments of __init__; x is that of forward.
    return f"""
        given = dict(locals())
        if "whole" in given:
            whole, dim = given["whole"], given["dim"]
            rank, ranks = given["rank"], given["ranks"]
            self.weight = {weight}
        else:
            x = given["x"]
            return {outputs} if self.dim == 0 else {inputs}
        """


MISTAKES = (
    PlantedMistake(
        "no Copy",
        layer(outputs="F.linear(x, self.weight)"),
        says="the gradient of x is this rank's own term alone",
    ),
    PlantedMistake(
        "no Sum",
        layer(inputs="F.linear(x, self.weight)"),
        says="the output is this rank's own term: the others are missing",
    ),
    PlantedMistake(
        "Copy at the end",
        layer(outputs="Copy.apply(F.linear(x, self.weight))"),
        says="dim 0 (some outputs), rank 0: the gradient of weight is wrong",
    ),
    PlantedMistake(
        "Copy and Sum",
        layer(inputs="Sum.apply(F.linear(Copy.apply(x), self.weight))"),
        says="dim 1 (some inputs), rank 0: the gradient of x is wrong, and y is right",
    ),
    PlantedMistake(
        "the sum goes backward too",
        layer(inputs="Copy.apply(Sum.apply(F.linear(x, self.weight)))"),
        says="the gradient of weight is 3 times too large: it is added up over ranks that all",
    ),
    PlantedMistake(
        "Sum of the outputs",
        layer(outputs="Sum.apply(F.linear(Copy.apply(x), self.weight))"),
        says="the outputs of the ranks are added up: each rank keeps its own",
    ),
    PlantedMistake(
        "without autograd",
        layer(inputs="all_reduced(F.linear(x, self.weight).detach())"),
        says="no gradient comes to weight: autograd must see every operation",
    ),
    PlantedMistake(
        "the other dimension",
        layer(weight=WEIGHT.replace("dim", "1 - dim")),
        says="self.weight is cut along the other dimension; torch keeps (out, in)",
    ),
    PlantedMistake(
        "the whole weight",
        layer(weight="nn.Parameter(whole.weight.detach().clone())"),
        says="self.weight is the whole weight: each rank keeps a part",
    ),
    PlantedMistake(
        "the part of rank 0",
        layer(weight=WEIGHT.replace("[rank]", "[0]")),
        says="rank 1: self.weight is the part of rank 0",
    ),
    PlantedMistake(
        "no parameter",
        layer(weight="whole.weight.detach().chunk(ranks, dim)[rank].clone()"),
        says="self.weight must be an nn.Parameter, or no optimizer finds it; it is a Tensor",
    ),
    PlantedMistake(
        "no clone", layer(weight=WEIGHT.replace(".clone()", "")), says="the part shares its memory"
    ),
    PlantedMistake(
        "drawn anew",
        layer(weight="nn.Parameter(torch.randn_like(whole.weight.chunk(ranks, dim)[rank]))"),
        says="is not part 0 of 3",
    ),
)

ALSO_RIGHT = {
    "matmul": layer(
        outputs="Copy.apply(x) @ self.weight.t()", inputs="Sum.apply(x @ self.weight.t())"
    ),
    "narrow": layer(
        weight="nn.Parameter(whole.weight.detach().narrow(dim, rank * "
        "(whole.weight.shape[dim] // ranks), whole.weight.shape[dim] // ranks).clone())"
    ),
}
