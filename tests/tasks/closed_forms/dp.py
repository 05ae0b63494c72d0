"""Data parallelism: the mean of what the ranks hold, in arithmetic, or the steps of one device."""

import torch


def mean(tensors):
    return (sum(t.double() for t in tensors) / len(tensors)).to(tensors[0].dtype)


def mean_of_gradients(case):
    return [
        {
            "weight": {name: weight for name, (weight, _) in own.items()},
            "gradient": {
                name: None if gradient is None else mean([rank[name][1] for rank in case])
                for name, (_, gradient) in own.items()
            },
        }
        for own in case
    ]


def mean_of_weights(case):
    return [
        {
            "weight": {name: mean([rank[name][0] for rank in case]) for name in own},
            "gradient": {name: gradient for name, (_, gradient) in own.items()},
            "replaced": [],
        }
        for own in case
    ]


def mean_of_each_column(case):
    (_, stages), ranks = case
    columns = [mean_of_gradients(ranks[stage::stages]) for stage in range(stages)]
    return [columns[rank % stages][rank // stages] for rank in range(len(ranks))]


def in_buckets(case):
    """All leave while backward goes on, each once and in turn, with the mean of the gradients."""
    steps = {}
    for step, samples in enumerate(case["samples"]):
        of_ranks = [tied_gradients(case, x) for x in samples]
        steps[f"step {step}"] = {
            "buckets that stay until finish()": 0,
            "gradients whose bucket leaves without them": [],
            "gradients that come while a bucket stays that could leave": 0,
            "buckets in the order in which they leave": [0, 1, 2, 3],
            "gradient": {name: mean([own[name] for own in of_ranks]) for name in of_ranks[0]},
        }
    return [steps | {"all-reduces": 4 * len(steps)} for _ in case["samples"][0]]


def tied_gradients(case, samples):
    table = case["table"].clone().requires_grad_()
    layers = [[tensor.clone().requires_grad_() for tensor in layer] for layer in case["layers"]]
    x = samples @ table
    for weight, bias in layers:
        x = torch.nn.functional.linear(x, weight, bias)
    (torch.tanh(x) @ table.T).square().mean().backward()
    return {"tied.table": table.grad} | {
        f"middle.{number}.{name}": tensor.grad
        for number, layer in enumerate(layers)
        for name, tensor in zip(("weight", "bias"), layer, strict=True)
    }


def in_shards(case):
    """Whole numbers, so a mean of three is exact but for its last digit."""
    shapes = [p.shape for p in case["parameters"]]
    length = -(-sum(shape.numel() for shape in shapes) // 3) * 3

    def flat(tensors):
        given = [torch.zeros(s) if t is None else t for t, s in zip(tensors, shapes, strict=True)]
        joined = torch.cat([tensor.double().flatten() for tensor in given])
        return torch.nn.functional.pad(joined, (0, length - len(joined)))

    first, second = (mean([flat(own) for own in of_ranks]) for of_ranks in case["gradients"])
    weights = flat(case["parameters"]) + torch.arange(3).repeat_interleave(length // 3) + 1
    parts = weights[: sum(s.numel() for s in shapes)].split([s.numel() for s in shapes])
    return [
        {
            "mine.grad after the first average()": first.chunk(3)[rank],
            "mine.grad after the second average()": (first + second).chunk(3)[rank],
            "p.grad afterwards": [None, None],
            "average() sends": "the flat tensor",
            "parameters after gather()": [p.view(s) for p, s in zip(parts, shapes, strict=True)],
            "gather() sends": "this rank's part",
            "recorded": [(kind, 8 * length) for kind in ("reduce-scatter",) * 2 + ("all-gather",)],
        }
        for rank in range(3)
    ]


def zero_3(case):
    """While a unit computes, it alone has its weights, and unit 0 if it is shared."""
    count = len(case["weights"])
    layers = [*range(count), *([0] if case["tied"] else [])]
    there = {}
    for what, order in ("forward", layers), ("backward", layers[::-1]):
        for n in order:
            key = f"unit {n} computes {what}"
            key += " again" * (key in there)
            there[key] = ", ".join(str(m) for m in sorted({n, *([0] if case["tied"] else [])}))
    return {
        "whose weights are there, and not freed yet": there | {"backward is over": ""},
        "average(), which super().complete(p) calls": [1] * count,
        "gather() of a unit that is whole": 0,
        "gather() more than once before each computation": [],
    }


WHOLE = "tests/DP/test_partition.py::"
WHOLE += "test_nothing_is_lost_and_nothing_is_read_twice_whatever_the_sizes"
ONE_DEVICE = "tests/DP/test_zero.py::test_each_stage_is_one_device"
SCORED = "tests/tasks/test_programs.py::test_right_work_passes_and_wrong_work_is_named"
CLOSED_FORMS = {
    "DP-1": mean_of_gradients,
    "DP-2": mean_of_weights,
    "DP-3": WHOLE,
    "DP-4": in_buckets,
    "DP-5": in_shards,
    "DP-6": ONE_DEVICE,
    "DP-7": zero_3,
    "DP-8": SCORED,  # its loss, beside that of local_sgd, which doesn't come from it
    "DP-PP-1": mean_of_each_column,
}
