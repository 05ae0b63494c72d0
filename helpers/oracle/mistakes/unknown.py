"""No known mistake: the worst tensor, how many differ, and where in the model it begins."""

from helpers.oracle.case import Case
from helpers.oracle.compare import Difference


def unknown(case: Case) -> str | None:
    """One sentence with the worst tensor's numbers; None where nothing differs."""
    for kind, words, found in (
        ("gradients", "gradients", case.wrong),
        ("after", "weights after the step", case.wrong_weights),
        ("state", "tensors of the optimizer", case.differing("state")),
    ):
        if not found:
            continue
        rank, worst = max(found, key=lambda pair: _relative(pair[1]))
        names = list(getattr(case.expected, kind))
        if kind == "gradients":
            names = case.names
        wrong = {difference.name for _, difference in found}
        return (
            f"no known mistake explains it: {len(wrong)} of {len(names)} {words} differ, most of "
            f"all {worst.name!r}{case.on(rank)}, which {worst.text}{_where(names, wrong)}"
        )
    return None


def _relative(difference: Difference) -> float:
    return difference.error / difference.scale if difference.scale else float("inf")


def _where(names: list[str], wrong: set[str]) -> str:
    """Words for where in the model the wrong tensors begin or end, if they are all on one side."""
    places: dict[str, bool] = {}  # for each layer: whether anything in it is wrong
    for name in names:
        places[layer(name)] = places.get(layer(name), False) or name in wrong
    order, bad = list(places), list(places.values())
    count = sum(bad)
    if count == len(bad):
        return ""
    if count == 1:
        return f"; only {order[bad.index(True)]} is wrong: look at that layer"
    if all(bad[-count:]):
        return (
            f"; all of {_span(order[:-count])} is right, from {order[-count]} on they differ: look "
            "at the boundary between the two"
        )
    if all(bad[:count]):
        return (
            f"; {_span(order[:count])} differ, from {order[count]} on all is right: look at the "
            f"gradient that comes back from {order[count]}"
        )
    return ""


def span(names: list[str], chosen: list[str]) -> str:
    """Words for some of the tensors: "layers.0 to layers.3", or their names."""
    layers = list(dict.fromkeys(layer(name) for name in names))
    inside = list(dict.fromkeys(layer(name) for name in chosen))
    whole = all((name in chosen) == (layer(name) in inside) for name in names)
    start = layers.index(inside[0])
    if whole and layers[start : start + len(inside)] == inside:
        return _span(inside)
    return ", ".join(chosen[:4]) + (", …" if len(chosen) > 4 else "")


def _span(layers: list[str]) -> str:
    return layers[0] if len(layers) == 1 else f"{layers[0]} to {layers[-1]}"


def layer(name: str) -> str:
    """The layer of a tensor: "layers.0.weight" is in "layers.0", "head.bias" in "head"."""
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ".".join(parts[:-1]) or name
