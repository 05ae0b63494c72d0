"""The backward pass: whole, or truly in two halves.

A backward pass computes two things: the gradient of the stage's input, which the stage before
waits for (I), and the gradients of its weights, which nobody waits for (W).

Autograd keeps a graph of what the forward pass did. Its nodes lie on the way from the output back
to the input (the trunk), or on a branch that ends in weights. `input_grad` runs the trunk alone,
and notes the gradient that arrives at each node from which a branch leaves. `weight_grad` starts
again at those nodes and runs the branches. So no work is done twice. What the rest of the trunk has
kept for its own backward is let go in between.

The first stage reads token numbers: they have no gradient, and there is no input to walk to. There
the trunk ends at the deepest operation, which for a language model is the embedding.

The idea of the two halves: Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from helpers.pipeline.saved import forget

# A weight that is only seen in another form is still the weight: x @ W.T holds a "TBackward0".
VIEWS = {
    f"{name}Backward0"
    for name in ("T", "Transpose", "Permute", "View", "Reshape", "Expand", "ToCopy", "Unsqueeze")
}
Gradients = tuple[torch.Tensor | None, ...]
Graph = dict[Node, list[Node]]  # each node with its children; a node comes after all of them


@dataclass
class Branches:
    """What `input_grad` leaves for `weight_grad`.

    arrived: for each node where branches leave, the gradients that arrived there.
    weights: the leaves at the ends of those branches.
    nodes: all that W runs through.
    """

    arrived: dict[Node, Gradients]
    weights: set[Node]
    nodes: set[Node]


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
    graph = nodes_below(start.node)
    own = get_gradient_edge(x).node if x.requires_grad else None
    end = own if own in graph else _deepest(graph)
    trunk = _leading_to(end, graph)
    groups = _branches(graph, trunk)
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
    forget(trunk.difference(*(group.nodes for group in groups)))
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


def nodes_below(root: Node) -> Graph:
    """All nodes of the graph with their children; each after those that it hands gradients to."""
    order: Graph = {}
    mine = _children(root)
    seen, stack = {root}, [(root, mine, iter(mine))]
    while stack:
        node, children, rest = stack[-1]
        for child in rest:
            if child not in seen:
                seen.add(child)
                mine = _children(child)
                stack.append((child, mine, iter(mine)))
                break
        else:
            order[node] = children
            stack.pop()
    return order


def _children(node: Node) -> list[Node]:
    return [child for child, _ in node.next_functions if child is not None]


def _leading_to(end: Node, graph: Graph) -> set[Node]:
    """The nodes from which there is a way to `end`, itself among them."""
    trunk = {end}
    for node, children in graph.items():
        if not trunk.isdisjoint(children):
            trunk.add(node)
    return trunk


def _deepest(graph: Graph) -> Node:
    """The operation that is furthest from the output; a weight, or a view of one, is none."""
    bare: set[Node] = set()
    for node, children in graph.items():
        if not children or (node.name() in VIEWS and children[0] in bare):
            bare.add(node)
    root = next(reversed(graph))
    depth = {root: 0}
    for node in reversed(graph):
        for child in graph[node]:
            depth[child] = max(depth.get(child, 0), depth[node] + 1)
    return max((node for node in graph if node not in bare), key=depth.__getitem__, default=root)


def _branches(graph: Graph, trunk: set[Node]) -> list[Branches]:
    """The nodes of the trunk where branches leave; those that share a weight are together."""
    groups: list[Branches] = []
    owner: dict[Node, Branches] = {}  # of each weight
    for node in (node for node in graph if node in trunk):
        leaves, nodes = _branch(node, graph, trunk)
        if not leaves:
            continue
        together = Branches({node: ()}, leaves, nodes)
        for other in {id(owner[leaf]): owner[leaf] for leaf in leaves if leaf in owner}.values():
            groups.remove(other)
            together.arrived |= other.arrived
            together.weights |= other.weights
            together.nodes |= other.nodes | trunk  # the gradient flows on between the two places
        owner.update(dict.fromkeys(together.weights, together))
        groups.append(together)
    return groups


def _branch(node: Node, graph: Graph, trunk: set[Node]) -> tuple[set[Node], set[Node]]:
    """The ends of the branches that leave the trunk at a node, and all nodes of them."""
    leaves, nodes = set(), {node}
    ahead = [child for child in graph[node] if child not in trunk]
    while ahead:
        child = ahead.pop()
        nodes.add(child)
        ahead += graph[child]
        if not graph[child]:
            leaves.add(child)
    return leaves, nodes
