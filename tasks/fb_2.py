"""FB-2: a loss scale that finds itself."""

import random

import torch

from helpers.grade import Task

TASK = Task(
    title="a loss scale that finds itself",
    file="primer/few_bits/loss_scale.py",
    function="LossScale.step",
    lesson="fewer_bits",
    minutes=15,
    hints=(
        "Which three things may happen to the scale in a step, and what counts the good steps? Go "
        "through five steps on paper, with patience 2 and infinite gradients in the fourth.",
        "Divide first, in place. One infinite or undefined number in any gradient spoils the step: "
        "isfinite() is False for inf and for nan. Then nothing may be updated.",
        "for gradient in gradients: gradient /= self.scale. If not all are finite: halve the "
        "scale, self.good = 0, return False. Else optimizer.step(), self.good += 1, and if it's "
        "self.patience: double the scale, self.good = 0. Return True.",
    ),
)


def observe(module, case):
    """After each step: whether it was taken, the scale, the weights and the gradients."""
    weights = [torch.nn.Parameter(weight.clone()) for weight in case["weights"]]
    extra = torch.nn.Parameter(torch.ones(2))  # of a layer that took no part: no gradient
    groups = [{"params": [weights[0], extra]}, {"params": [weights[1]]}]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    scale = module.LossScale(case["scale"], case["patience"])
    found = {key: [] for key in ("taken", "scale", "weights", "finite gradients")}
    for gradients in case["gradients"]:
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
        found["taken"].append(bool(scale.step(optimizer)))
        found["scale"].append(float(scale.scale))
        found["weights"].append([w.detach().clone() for w in weights])
        finite = [w.grad for w in weights if w.grad.isfinite().all()]
        found["finite gradients"].append(finite)
    return found


def cases(seed):
    """Draw a run: good steps, and steps in which one number is infinite, or isn't a number."""
    draw, chosen = torch.Generator().manual_seed(seed), random.Random(seed)
    patience = chosen.randint(3, 5)
    run = [*"g" * (patience - 1), "inf", *"g" * (2 * patience + 1), "nan", "inf", "g", "last"]

    def gradients(kind):
        found = [torch.randint(-99, 100, (n,), generator=draw).float() for n in (3, 4)]
        if kind == "last":
            found[1][2] = -torch.inf
        elif kind != "g":
            found[0][1] = float(kind)
        return found

    weights = [torch.randint(-9, 10, (n,), generator=draw).float() for n in (3, 4)]
    run += ["g"] * (patience + 1)
    scale = 2.0 ** chosen.randint(4, 12)
    return [
        {
            "weights": weights,
            "scale": scale,
            "patience": patience,
            "gradients": [gradients(kind) for kind in run],
        }
    ]


FINITE = "all(gradient.isfinite().all() for gradient in gradients)"
MUTANTS = {
    ("gradient /= self.scale", "pass"): "the weights moved by the scaled gradients: divide each by "
    "self.scale before the step",
    ("gradient /= self.scale", "gradient *= self.scale"): "the gradients were multiplied by the "
    "scale: they are those of the scaled loss, so divide",
    ("return False", "optimizer.step()\nreturn False"): "a step was taken with a gradient that is "
    "infinite or not a number: every weight that it reaches is lost",
    (FINITE, "gradients[0].isfinite().all()"): "only the first gradient is looked at: one infinite "
    "number anywhere spoils the step",
    (FINITE, "not any(gradient.isinf().any() for gradient in gradients)"): "a gradient that is nan "
    "counts as good: isfinite() is False for both, inf and nan",
    (FINITE, "not any(gradient.isnan().any() for gradient in gradients)"): "a gradient that is "
    "infinite counts as good: isfinite() is False for both, inf and nan",
    ("self.scale /= 2", "pass"): "the scale doesn't fall after a bad step, so the next one "
    "overflows as well: halve it",
    ("self.scale *= 2", "pass"): "the scale never grows: after `patience` good steps in a row it "
    "doubles",
    ("self.good == self.patience", "True"): "the scale grows after every good step: count them, up "
    "to `patience`",
    ("self.good = 0\n    return False", "return False"): "good steps before a bad one still count: "
    "after a bad step the counting starts again",
    (
        ("self.good == self.patience", "self.good >= self.patience"),
        ("self.scale *= 2\n    self.good = 0", "self.scale *= 2"),
    ): "after the first `patience` good steps the scale doubles in every step: start counting "
    "again",
    ("return True", "pass"): "the step says nothing of what it did: return True where it was taken",
}
