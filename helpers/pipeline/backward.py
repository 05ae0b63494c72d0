"""The backward pass: whole, or truly in two halves.

A backward pass computes two things: the gradient of the stage's input, which the stage before
waits for (I), and the gradients of its weights, which nobody waits for (W).

Autograd keeps a graph of what the forward pass did. Its nodes lie on the way from the output back
to the input (the trunk), or on a branch that ends in weights. `input_grad` runs the trunk alone,
and notes the gradient that arrives at each node from which a branch leaves. `weight_grad` starts
again at those nodes and runs the branches. So no work is done twice.

The first stage reads token numbers: they have no gradient, and there is no input to walk to. There
the trunk ends at the deepest operation, which for a language model is the embedding.

The idea of the two halves: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

# A weight that is only seen in another form is still the weight: x @ W.T holds a "TBackward0".
VIEWS = {
    f"{name}Backward0"
    for name in ("T", "Transpose", "Permute", "View", "Reshape", "Expand", "ToCopy", "Unsqueeze")
}
Gradients = tuple[torch.Tensor | None, ...]


@dataclass
class Branches:
    """What `input_grad` leaves for `weight_grad`.

    arrived: for each node where branches leave, the gradients that arrived there.
    weights: the leaves at the ends of those branches.
    """

    arrived: dict[Node, Gradients]
    weights: set[Node]


def whole(value: torch.Tensor, gradient: torch.Tensor) -> None:
    """B: add the gradients of all weights, and of the input, to their `.grad`.

    gradient: of the final loss with respect to `value`, in its shape.
    """
    if value.requires_grad:
        torch.autograd.backward(value, gradient)


def input_grad(
    value: torch.Tensor, gradient: torch.Tensor, x: torch.Tensor
) -> tuple[torch.Tensor | None, list[Branches]]:
    """I: the gradient of the stage's input x, and what is left to do for the weights.

    None where x has no gradient. No `.grad` is touched.
    """
    if not value.requires_grad:
        return None, []
    start = get_gradient_edge(value)
    nodes = _below(start.node)
    own = get_gradient_edge(x).node if x.requires_grad else None
    end = own if own in nodes else _deepest(nodes)
    trunk = _leading_to(end, nodes)
    groups = _branches(nodes, trunk)
    hooks = [
        node.register_prehook(partial(group.arrived.__setitem__, node))
        for group in groups
        for node in group.arrived
    ]
    try:
        arrived = _run_trunk(value, gradient, start, end, trunk)
    finally:
        for hook in hooks:
            hook.remove()
    for group in groups:
        if end in group.arrived:
            group.arrived[end] = arrived
    return (arrived[0] if end is own else None), groups


def weight_grad(groups: list[Branches]) -> None:
    """W: add the gradients of the weights to their `.grad`, from what `input_grad` left."""
    for group in groups:
        hooks = []
        if len(group.arrived) > 1:
            # One weight at two places: from the first the gradient also flows down the trunk to
            # the second. What arrived there is known: it takes the place of what flows in.
            for node, gradients in group.arrived.items():
                hooks.append(node.register_prehook(lambda _, known=gradients: known))
        starts = [
            (GradientEdge(node, number), gradient)
            for node, gradients in group.arrived.items()
            for number, gradient in enumerate(gradients)
            if gradient is not None
        ]
        edges, gradients = zip(*starts, strict=True)
        weights = [leaf.variable for leaf in group.weights]
        try:
            torch.autograd.backward(edges, gradients, retain_graph=True, inputs=weights)
        finally:
            for hook in hooks:
                hook.remove()


def _run_trunk(
    value: torch.Tensor, gradient: torch.Tensor, start: GradientEdge, end: Node, trunk: set[Node]
) -> Gradients:
    """Run the trunk from the value down to its end; the gradients that arrive at the end."""
    if end is start.node:
        numbers, found = [start.output_nr], (gradient,)
    else:
        numbers = sorted({n for node in trunk for child, n in node.next_functions if child is end})
        edges = [GradientEdge(end, number) for number in numbers]
        found = torch.autograd.grad(value, edges, gradient, retain_graph=True)
    by_number = dict(zip(numbers, found, strict=True))
    return tuple(by_number.get(number) for number in range(numbers[-1] + 1))


def _below(root: Node) -> dict[Node, None]:
    """All nodes of the graph, each after all those that it hands gradients to."""
    order: dict[Node, None] = {}
    seen, stack = {root}, [(root, iter(root.next_functions))]
    while stack:
        node, rest = stack[-1]
        for child, _ in rest:
            if child is not None and child not in seen:
                seen.add(child)
                stack.append((child, iter(child.next_functions)))
                break
        else:
            order[node] = None
            stack.pop()
    return order


def _children(node: Node) -> list[Node]:
    return [child for child, _ in node.next_functions if child is not None]


def _leading_to(end: Node, nodes: Iterable[Node]) -> set[Node]:
    """The nodes from which there is a way to `end`, itself among them."""
    trunk = {end}
    for node in nodes:
        if not trunk.isdisjoint(_children(node)):
            trunk.add(node)
    return trunk


def _deepest(nodes: dict[Node, None]) -> Node:
    """The operation that is furthest from the output; a weight, or a view of one, is none."""
    bare: set[Node] = set()
    for node in nodes:
        children = _children(node)
        if not children or (node.name() in VIEWS and children[0] in bare):
            bare.add(node)
    root = next(reversed(nodes))
    depth = {root: 0}
    for node in reversed(nodes):
        for child in _children(node):
            depth[child] = max(depth.get(child, 0), depth[node] + 1)
    return max((node for node in nodes if node not in bare), key=depth.__getitem__, default=root)


def _branches(nodes: dict[Node, None], trunk: set[Node]) -> list[Branches]:
    """The nodes of the trunk where branches leave; those that share a weight are together."""
    leaves: dict[Node, set[Node]] = {}  # of what is not on the trunk
    groups: list[Branches] = []
    for node in nodes:
        children = _children(node)
        mine = set().union(*(leaves[child] for child in children if child not in trunk))
        if node not in trunk:
            leaves[node] = mine or {node}
        elif mine:
            together = Branches({node: ()}, mine)
            for other in [group for group in groups if group.weights & mine]:
                groups.remove(other)
                together.arrived |= other.arrived
                together.weights |= other.weights
            groups.append(together)
    return groups
