"""The mistakes of lesson 23, as small changes to the trainer, and the teacher's key.

Each variant is (old, new, tensors, ranks): text of the trainer, what takes its place, and the right
answers: tensors as a pattern of names ("*" means all of them), and the ranks that do it wrong. One
case has two mistakes that cancel, and one has none.
"""


class Mistake:
    def __init__(self, name: str, level: int, because: str, *variants: tuple):
        self.name, self.level, self.because, self.variants = name, level, because, variants


def planted(old: str, new: str, tensors: str = "*", ranks: tuple[int, ...] = (0, 1, 2, 3)) -> tuple:
    """Return a variant; unless told, all tensors are wrong, on all ranks."""
    return old, new, tensors, ranks


_SUM = """        on_both = [p.grad for name, p in self.parameters.items() if "experts" not in name]
"""
_ROW = """        together(on_both, lambda flat: dist.all_reduce(flat, group=self.row))
"""
_COLUMN = """        every = [p.grad for p in self.parameters.values()]
        together(every, lambda flat: dist.all_reduce(flat, group=self.column))
"""
_UNTIL_SUM = (
    """        return count

    def add_up(self):
        \"\"\"Add up the gradients: over the halves what both hold, then over the replicas.\"\"\"
"""
    + _SUM
    + _ROW
    + _COLUMN
)
_STEP = """            optimizer.step()
        schedule.step()
        with recorder.span("broadcast"):
            rank.spread()
"""
_KEYS = "k = alone.rotate(alone.split_heads(self.k(x)), positions)"
_QUERIES = "q = alone.rotate(alone.split_heads(self.q(x)), positions)"


def _norms(word):
    new = f"""        on_both = [
            p.grad
            for name, p in self.parameters.items()
            if "experts" not in name and "{word}" not in name
        ]
"""
    return planted(_SUM, new, f"*{word}*")


def _group(word):
    return planted(
        _SUM + _ROW,
        f"""        named = self.parameters.items()
        apart = [p.grad for name, p in named if "{word}" in name]
        together(apart, lambda flat: dist.all_reduce(flat, group=self.column))
        on_both = [p.grad for name, p in named if "experts" not in name and "{word}" not in name]
"""
        + _ROW,
        f"*{word}*",
    )


def _router(word):
    new = f"""        named = self.parameters.items()
        gates = [p.grad for name, p in named if "{word}" in name]
        together(gates, lambda flat: dist.all_reduce(flat, group=self.row))
"""
    return planted(_SUM, new + _SUM, f"*{word}*")


def _weights(word):
    new = f"""        named = self.parameters.items()
        every = [p.grad for name, p in named if "{word}" not in name]
        together(every, lambda flat: dist.all_reduce(flat, group=self.column))
        others = [p.data for name, p in named if "{word}" in name]
        together(others, lambda flat: dist.all_reduce(flat.div_(2), group=self.column))
"""
    return planted(_COLUMN, new, f"*{word}*")


MISTAKES = {
    "summed": Mistake(
        "the gradients of the micro-batches are summed, not averaged",
        1,
        "The losses are divided by the tokens of one micro-batch. AdamW divides by the size of the "
        "gradients, so only clipping and the norm in the log feel the factor.",
        planted("        return count\n", "        return count / len(parts)\n"),
    ),
    "padding": Mistake(
        "padding is counted among the tokens",
        1,
        "Every gradient is too small, by the share of the padding in this batch.",
        planted(
            "count = sum((self.targets(seed, part) != alone.PAD).sum() for part in parts)",
            "count = sum(torch.tensor(self.targets(seed, part).numel()) for part in parts)",
        ),
    ),
    "schedule": Mistake(
        "the learning rate's schedule is a step ahead of the optimizer",
        1,
        "The schedule is stepped before the optimizer, so the first rate of the warm-up is never "
        "used. All gradients are right: only the rate in the log shows it.",
        planted(
            """        norm, rate = rank.clip(), optimizer.param_groups[0]["lr"]
        with recorder.span("update"):
            optimizer.step()
        schedule.step()
""",
            """        schedule.step()
        norm, rate = rank.clip(), optimizer.param_groups[0]["lr"]
        with recorder.span("update"):
            optimizer.step()
""",
        ),
    ),
    "overlap": Mistake(
        "the replicas' parts of the batch overlap",
        1,
        "One replica begins one micro-batch away from the other: one counts twice, and one never.",
        planted(
            "return parts[self.replica * each : (self.replica + 1) * each]",
            "return parts[self.replica : self.replica + each]",
            ranks=(2, 3),
        ),
        planted(
            "return parts[self.replica * each : (self.replica + 1) * each]",
            "first = (self.replica + 1) * (each - 1)\n        return parts[first : first + each]",
            ranks=(0, 1),
        ),
    ),
    "group": Mistake(
        "an all-reduce goes over the wrong group",
        2,
        "They are added up over the replicas twice, and never over the halves, each of which has "
        "a term of its own.",
        *map(_group, ("router", "embed")),
    ),
    "clip": Mistake(
        "each rank clips by the norm of what it holds",
        2,
        "The two halves hold different experts, find different norms, and scale the weights that "
        "both hold by different factors. They drift apart.",
        planted("        dist.all_reduce(square[True], group=self.row)\n", ""),
    ),
    "norm": Mistake(
        "the gradient of a normalization isn't added up over the halves",
        2,
        "A normalization works on the tokens of its own half, so each half has one term of its "
        "gradient.",
        *map(_norms, ("norm", "norm1", "norm2", "layers.0.norm", "layers.1.norm")),
    ),
    "router": Mistake(
        "the router's gradient is added up twice",
        2,
        "The router is whole on both halves, so the sum over the halves already includes it.",
        *map(_router, ("router", "layers.0.mlp.router", "layers.1.mlp.router")),
    ),
    "cancel": Mistake(
        "two mistakes cancel",
        2,
        "Each replica divides by half of the tokens, so all of its gradients are twice too large, "
        "and then the replicas take the mean, not the sum. The step is right, until somebody "
        "corrects one of the two, or adds a third replica.",
        planted(
            _UNTIL_SUM,
            _UNTIL_SUM.replace("return count", "return count / 2").replace(
                "group=self.column", "dist.ReduceOp.AVG, self.column"
            ),
        ),
    ),
    "weights": Mistake(
        "weights are averaged over the replicas where gradients were meant",
        3,
        "Those weights are equal on both replicas, so averaging them changes nothing. Each is then "
        "updated by its owner's own gradient, and broadcast. The replicas agree, on weights that "
        "have learned from half of the data.",
        *map(_weights, ("experts", "attention", "layers.1")),
    ),
    "stale": Mistake(
        "a replica holds weights that are one step old",
        3,
        "The weights are sent before they are updated, so what a replica doesn't own is one step "
        "behind.",
        planted(
            '        with recorder.span("update"):\n' + _STEP,
            """        with recorder.span("broadcast"):
            rank.spread()
        with recorder.span("update"):
            optimizer.step()
        schedule.step()
""",
        ),
    ),
    "dropout": Mistake(
        "all ranks draw the same dropout",
        3,
        "The masks belong to places in a micro-batch, not to stories: all ranks and all steps have "
        "the same ones.",
        planted(
            "keeps = [alone.mask_of(seed, numbers, layer) for layer in range(alone.LAYERS)]",
            """places, layers = range(len(numbers)), range(alone.LAYERS)
        keeps = [alone.mask_of(seed, places, layer) for layer in layers]""",
        ),
    ),
    "rope": Mistake(
        "rotary positions start again at the second half",
        3,
        "Within a half all distances are right; between the halves they are off by half a story.",
        planted(_KEYS, _KEYS.replace("positions", "torch.arange(length)"), ranks=(1, 3)),
        planted(_QUERIES, _QUERIES.replace("positions", "torch.arange(length)"), ranks=(1, 3)),
    ),
    "none": Mistake(
        "nothing is wrong",
        3,
        "Every station of the chain equals one device's, at both steps. What looks suspicious in "
        "the script changes nothing.",
        planted("        return count\n", "        return count\n"),
    ),
}

# The one that the lesson itself solves, as case 0.
EXAMPLE = Mistake(
    "gradients of the step before are left over",
    1,
    "The optimizer of a replica holds only the weights that it owns, so its zero_grad() clears "
    "only their gradients. The others are added up from step to step.",
    planted("        rank.model.zero_grad()\n", "        optimizer.zero_grad()\n"),
)

# Rewritings that change nothing, so that comparing two cases doesn't show the mistake.
HARMLESS = tuple(
    {
        "        dist.all_reduce(count)\n": "        dist.all_reduce(count, group=self.row)\n"
        "        dist.all_reduce(count, group=self.column)\n",
        "        norm = (square[True] + square[False]).sqrt()\n": "        norm = "
        "sum(square.values()).sqrt()\n",
        "positions = torch.arange(length) + self.half * length": "positions = torch.arange(2 * "
        "length)[-length:] if self.half else torch.arange(length)",
        "        dist.all_reduce(total)\n": "        dist.all_reduce(total, group=rank.column)\n"
        "        dist.all_reduce(total, group=rank.row)\n",
        "return x.chunk(2, dim=1)[self.half].contiguous()": "length = x.shape[1] // 2\n"
        "        return x[:, self.half * length : (self.half + 1) * length].contiguous()",
        'square["experts" in name] += p.grad.float().square().sum()': 'square["experts" in name] '
        "+= p.grad.float().norm() ** 2",
        "mine = gate * self.experts[str(self.half)](x)\n"
        "        return reduce_scatter(mine, self.row, dim=1)": "return "
        "reduce_scatter(self.experts[str(self.half)](x) * gate, self.row, dim=1)",
        "self.owner = {name: n % 2 for n, name in enumerate(self.parameters)}": "half = "
        "len(self.parameters) // 2\n"
        "        self.owner = {name: int(n > half) for n, name in enumerate(self.parameters)}",
        "(losses.sum() / tokens).backward()": "losses.sum().div(tokens).backward()",
        "p.grad *= min(1.0, alone.CLIP / (norm.item() + 1e-6))": "p.grad.mul_(min(alone.CLIP / "
        "(norm.item() + 1e-6), 1.0))",
    }.items()
)
