"""FB-3: a linear layer with its three products in eight bits."""

import torch

from helpers.grade import Task

TASK = Task(
    title="a linear layer with forward and backward in eight bits",
    file="primer/few_bits/linear.py",
    function="product",
    also=("Linear8.forward", "Linear8.backward"),
    lesson="fewer_bits",
    minutes=20,
    hints=(
        "Do FB-1 first, it's needed here. Then write down the three products with their shapes. "
        "Over which dimension does each of them sum? The blocks of both factors lie along it.",
        "In product, a.spread() and b.spread() have a row for each row of a and b and a column for "
        "each 128 columns: multiply the codes of 128 columns, in float32, then the scales. "
        "Backward, dx = g W sums over the features out: its factors are g and W^T. dW = g^T x sums "
        "over the tokens: g^T and x^T.",
        "total += (a.codes[:, part].float() @ b.codes[:, part].float().T) * left[:, number, None] "
        "* right[:, number]. Backward: product(quantize(gradient, ROW), quantize(weight.T, "
        "SQUARE)) and product(quantize(gradient.T, ROW), quantize(x.T, ROW)).",
    ),
)

TOLERANCE = 1e-5  # sums of 128 terms in another order


def observe(module, case):
    """A product of given blocks, and a layer's result and gradients."""
    eight = torch.float8_e4m3fn
    a = module.Blocks(case["a"].to(eight), case["a scales"], (1, 128))
    b = module.Blocks(case["b"].to(eight), case["b scales"], (128, 128))
    x, weight = (case[key].clone().requires_grad_() for key in ("x", "weight"))
    y = module.Linear8.apply(x, weight)
    y.backward(case["gradient"])
    return {
        "product": module.product(a, b),
        "y": y.detach().clone(),
        "the gradient of x": x.grad,
        "the gradient of the weight": weight.grad,
    }


def cases(seed):
    """Draw a layer whose features and tokens differ much in size, and blocks for a product."""
    draw = torch.Generator().manual_seed(seed)
    tokens, inputs, outputs = (
        int(n) for n in torch.randint(1, 3, (3,), generator=draw) * 128 + torch.tensor([8, 40, 72])
    )

    def some(rows, columns):
        size = torch.exp2(torch.randint(-3, 4, (rows, 1), generator=draw).float())
        size = size * torch.exp2(torch.randint(-3, 4, (1, columns), generator=draw).float())
        return torch.randn(rows, columns, generator=draw) * size

    def scales(rows, columns):
        return torch.exp2(torch.randint(-4, 5, (rows, columns), generator=draw).float())

    return [
        {
            "x": some(tokens, inputs),
            "weight": some(outputs, inputs),
            "gradient": some(tokens, outputs),
            "a": torch.randint(-8, 9, (3, 300), generator=draw).float(),
            "b": torch.randint(-8, 9, (130, 300), generator=draw).float(),
            "a scales": scales(3, 3),
            "b scales": scales(2, 3),
        }
    ]


LEFT, RIGHT = " * left[:, number, None]", " * right[:, number]"
FORWARD = "product(quantize(x, ROW), quantize(weight, SQUARE))"
OF_X = "product(quantize(gradient, ROW), quantize(weight.T, SQUARE))"
OF_WEIGHT = "product(quantize(gradient.T, ROW), quantize(x.T, ROW))"
MUTANTS = {
    ((LEFT, " * left[:, 0, None]"), (RIGHT, " * right[:, 0]")): "the scales of the first 128 "
    "columns are used for all: each part of the sum has its own",
    (RIGHT, ""): "the product lacks the scales of its second factor",
    (LEFT, ""): "the product lacks the scales of its first factor",
    ("total +=", "total ="): "only the last 128 columns are left: add the parts up",
    ("total += terms", "total = total.bfloat16().float() + terms"): "the sum is kept in bf16, and "
    "each part is rounded as it's added: add in float32",
    (FORWARD, "x @ weight.T"): "forward multiplies in 32 bits: quantize both factors",
    (
        (FORWARD, "x @ restore(quantize(weight, SQUARE)).T"),
        ("ctx.save_for_backward", "from blocks import restore\nctx.save_for_backward"),
    ): "forward leaves x in 32 bits",
    (
        (FORWARD, "product(quantize(x, ROW), quantize(weight, ROW))"),
        (OF_X, "product(quantize(gradient, ROW), quantize(weight.T, ROW))"),
    ): "the weights have a scale for each row of 128: blocks of SQUARE let W and W^T share them",
    (OF_X, "gradient @ weight"): "the gradient of x is computed in 32 bits: quantize both factors",
    (OF_WEIGHT, "gradient.T @ x"): "the gradient of the weight is computed in 32 bits: quantize "
    "both factors",
    (OF_WEIGHT, "product(quantize(gradient.T, SQUARE), quantize(x.T, SQUARE))"): "x^T and the "
    "gradient's have blocks of 128 x 128 in the gradient of the weight: a row each, as forward",
}
