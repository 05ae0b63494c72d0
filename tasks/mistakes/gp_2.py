"""Wrong ways to do GP-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def averaging(of="p.grad", add="dist.all_reduce(mine)", then="mine /= dist.get_world_size()"):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        used = [p for p in model.parameters() if p.grad is not None]
        for p in used:
            mine = {of}
            {add}
            {then}
        """


MISTAKES = (
    PlantedMistake("the sum", averaging(then="pass"), says="is the sum over the ranks"),
    PlantedMistake("a copy", averaging(of="p.grad.clone()"), says="is still the rank's own"),
    PlantedMistake("alone", averaging(add="pass", then="pass"), says="is still the rank's own"),
    PlantedMistake(
        "twice", averaging(then="mine /= dist.get_world_size() ** 2"), says="was divided twice"
    ),
    PlantedMistake("by two", averaging(then="mine /= 2"), says="is not the mean over the ranks"),
    PlantedMistake(
        "weights too",
        averaging(then="mine /= dist.get_world_size(); p.data *= 0.9"),
        says="a weight has changed",
    ),
    PlantedMistake(
        "gradients that are none",
        "for p in model.parameters():\n    dist.all_reduce(p.grad)\n    p.grad.div_(3)",
        says="NoneType",
        alone=True,
    ),
)
ALSO_RIGHT = {
    "another loop": averaging(),
    "divided before": averaging(add="mine /= dist.get_world_size()", then="dist.all_reduce(mine)"),
}
