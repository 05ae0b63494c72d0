"""What training costs: the library's count, and the best size found by halving an interval."""

import math

from helpers.cost import EXERCISE, ScalingLaw, flops, forward_peak, parameters, read_config


def counted_by_the_library(case):
    """It sums tensors by name, and the tests of `helpers.cost` hold it against real models."""
    model = read_config(case["config"])
    return {
        "parameters": parameters(model).total,
        "TFLOPs": flops(model).layer / 1e12,
        "GB": forward_peak(model).total / 1e9,
    }[case["number"]]


def lowest_loss(case):
    """Halve an interval of log N until one percent more parameters gain what more tokens would."""
    law = ScalingLaw(**case["law"]) if case["law"] else EXERCISE
    product = case["budget"] / 6
    low, high = 0.0, math.log(product)
    for _ in range(200):
        n = math.exp((low + high) / 2)
        step = 1e-4
        more, less = (law.loss(n * f, product / (n * f)) for f in (1 + step, 1 / (1 + step)))
        low, high = ((low + high) / 2, high) if more < less else (low, (low + high) / 2)
    return {"N": n, "D": product / n}


CLOSED_FORMS = {
    "CO-1": counted_by_the_library,
    "CO-2": lowest_loss,
    "CO-3": "tests/TP_cost/test_cost_script.py::test_a_layout_that_fits",
}
