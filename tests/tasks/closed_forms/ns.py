"""Training that never stops: sums by hand, in another order and another form."""

import numpy as np

BETAS, RATE, EPSILON = (0.9, 0.99), 3e-3, 1e-8


def healed(case):
    """Adam's means after n more steps in closed form: powers of the betas."""
    alive = [[p for p in each if p not in case["dead"]] for each in case["lists"]]
    asked = []
    for each, left in zip(case["lists"], alive, strict=True):
        asked += each[: each.index(left[0]) + 1] if left else each
        if left:
            break
    else:
        return {"asked": asked, "raised": "Gone"}
    weights, step = case["state"]["weights"], case["step"]
    means = [mean for mean, _ in case["missed"]]
    moments = [case["state"]["first"], case["state"]["second"]]
    for n in range(1, len(means) + 1):
        moments = [
            beta**n * case["state"][name]
            + (1 - beta) * sum(beta ** (n - 1 - i) * means[i] ** power for i in range(n))
            for name, beta, power in zip(("first", "second"), BETAS, (1, 2), strict=True)
        ]
        first, second = (m / (1 - b ** (step + n)) for m, b in zip(moments, BETAS, strict=True))
        weights = weights - RATE * first / (np.sqrt(second) + EPSILON)
    places = {
        replica: place + sum(counted.count(replica) for _, counted in case["missed"])
        for replica, place in case["places"].items()
    }
    state = {"weights": weights, "first": moments[0], "second": moments[1]}
    return {"asked": asked, **state, "step": step + len(means), "places": places}


CLOSED_FORMS = {"NS-2": healed}
