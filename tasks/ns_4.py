"""NS-4: merge with a quorum, and with learners that are late."""

import random

import numpy as np

from helpers.grade import Task

TASK = Task(
    title="merge what learners deliver, with a quorum",
    file="DP/never_stops/rules.py",
    function="merge",
    lesson="training_never_stops",
    minutes=20,
    hints=(
        "Which deliveries may be merged, and which count for the quorum? DiLoCo's outer step "
        "(lesson 04) takes a gradient: what has to happen to the sign of a change?",
        "Keep those with version - base <= oldest; fewer than quorum: None. The gradient is minus "
        "the mean of their deltas, weighted by tokens. Nesterov uses the new velocity.",
        "velocity = momentum * velocity + gradient (a new array), and return weights - rate * "
        "(gradient + momentum * velocity), velocity.",
    ),
)


def observe(module, case):
    """Return what the work returns, and whether it has changed what it was given."""
    given = case["weights"].copy(), case["velocity"].copy()
    found = module.merge(**case)
    same = np.array_equal(given[0], case["weights"]) and np.array_equal(given[1], case["velocity"])
    seen = {"its arguments are as they were": same}
    if found is None:
        return {**seen, "merged": False}
    return {**seen, "merged": True, "weights": found[0], "velocity": found[1]}


def cases(seed):
    """All in time; one too late; too late for a quorum; just enough."""
    draw = random.Random(seed)
    return [
        _case(draw, behind=(0, 0, 0, 0), quorum=2),
        _case(draw, behind=(0, 2, 5, 1, 0), quorum=3),
        _case(draw, behind=(0, 7, 4, 9), quorum=2),
        _case(draw, behind=(1, 1), quorum=2),
    ]


def _case(draw, behind, quorum):
    drawn = np.random.default_rng(draw.randrange(10**6))
    version = draw.randint(10, 90)
    deliveries = {
        learner: {
            "base": version - late,
            "tokens": draw.randint(500, 4000),
            "delta": drawn.normal(size=5),
        }
        for learner, late in enumerate(behind)
    }
    return {
        "weights": drawn.normal(size=5),
        "velocity": drawn.normal(size=5),
        "deliveries": deliveries,
        "version": version,
        "quorum": quorum,
        "oldest": 2,
        "rate": draw.uniform(0.5, 0.9),
        "momentum": draw.uniform(0.5, 0.9),
    }


MUTANTS = {
    ('one["tokens"] / tokens * one["delta"]', 'one["delta"] / len(fresh)'): "every learner has the "
    "same weight: weight what each has changed by its tokens",
    ('if version - one["base"] <= oldest', ""): "deliveries that are too late were merged: leave "
    "out those more than `oldest` versions back",
    ("<= oldest", "< oldest"): "a delivery exactly `oldest` versions back was left out: it's still "
    "in time",
    ("len(fresh) < quorum", "len(deliveries) < quorum"): "deliveries that are too late count for "
    "the quorum: count those that may be merged",
    ("len(fresh) < quorum", "len(fresh) <= quorum"): "exactly a quorum isn't enough: merge with "
    "`quorum` learners or more",
    ("gradient = -sum(", "gradient = sum("): "the weights move away from where the learners went: "
    "a gradient is minus the change",
    ("(gradient + momentum * velocity)", "velocity"): "the step is the velocity, that of plain "
    "momentum: Nesterov takes the gradient plus momentum times the new velocity",
    ("momentum * velocity + gradient\n", "gradient\n"): "the velocity was forgotten: it begins at "
    "zero in every merge",
    ("weights - rate * (gradient + momentum * velocity)", "weights - gradient"): "the global "
    "weights became the learners' mean: take the outer step with rate and momentum",
    (
        "velocity = momentum * velocity + gradient",
        "velocity *= momentum\nvelocity += gradient",
    ): "the arrays that were passed were changed in place: return new ones",
}
