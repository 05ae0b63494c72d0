"""The backward pass: in one piece, or truly in two halves.

A backward pass computes two things: the gradient of the stage's input, which the stage before
waits for (I), and the gradients of its weights, which nobody waits for (W).

Autograd keeps a graph of what the forward pass did. Its nodes lie on the way from the output back
to the input (the trunk), or on a branch that ends in weights. `input_grad` runs the trunk alone,
and notes the gradient that arrives at each node from which a branch leaves. `weight_grad` starts
again at those nodes and runs the branches. So no work is done twice, and what the rest of the trunk
has saved for its own backward is released in between.

The first stage reads token ids, which have no gradient, so there is no input to walk to. There the
trunk ends at the deepest operation, which for a language model is the embedding.

The two halves are from Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241; the paper
writes B for what we call I.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from helpers import private

# A view of a weight is still the weight: x @ W.T holds a "TBackward0".
VIEWS = {
    f"{name}Backward0"
    for name in ("T", "Transpose", "Permute", "View", "Reshape", "Expand", "ToCopy", "Unsqueeze")
}
Gradients = tuple[torch.Tensor | None, ...]
Graph = dict[Node, list[Node]]  # each node with its children; a node comes after all of them


@dataclass
class Branches:
    """What `input_grad` leaves for `weight_grad`.

    arrived: for each node where branches leave the trunk, the gradients that arrived there.
    weights: the leaves at the ends of those branches.
    nodes: all nodes that W runs through.
    """

    arrived: dict[Node, Gradients]
    weights: set[Node]
    nodes: set[Node]


def full_backward(y: torch.Tensor, gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor | None:
    """Run B: add the gradients of all weights to their `.grad` and return that of the input.

    y: the output of the stage. gradient: of the loss with respect to y, in its shape. x: the input.
    Returns None if x needs no gradient.
    """
    if y.requires_grad:
        torch.autograd.backward(y, gradient)
    return x.grad


def input_grad(
    y: torch.Tensor, gradient: torch.Tensor, x: torch.Tensor
) -> tuple[torch.Tensor | None, list[Branches]]:
    """Run I: return the gradient of the stage's input x, and what is left to do for the weights.

    The gradient is None if x needs none. No `.grad` is touched.
    """
    if not y.requires_grad:
        return None, []
    start = get_gradient_edge(y)
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
        arrived = _run_trunk(y, gradient, start, end, trunk)
    finally:
        for hook in hooks:
            hook.remove()
    for group in groups:
        if end in group.arrived:
            group.arrived[end] = arrived
    release(trunk.difference(*(group.nodes for group in groups)))
    return (arrived[0] if end is own else None), groups


def weight_grad(groups: list[Branches]) -> None:
    """Run W: add the gradients of the weights to their `.grad`, from what `input_grad` left."""
    for group in groups:
        hooks = []
        if len(group.arrived) > 1:
            # One weight is used in two places: from the first, the gradient also flows down the
            # trunk to the second. We know what arrived there, and put it in place of what flows in.
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
    y: torch.Tensor, gradient: torch.Tensor, start: GradientEdge, end: Node, trunk: set[Node]
) -> Gradients:
    """Run the trunk from the output down to its end; return the gradients that arrive there."""
    if end is start.node:
        numbers, found = [start.output_nr], (gradient,)
    else:
        numbers = sorted({n for node in trunk for child, n in node.next_functions if child is end})
        edges = [GradientEdge(end, number) for number in numbers]
        found = torch.autograd.grad(y, edges, gradient, retain_graph=True)
    by_number = dict(zip(numbers, found, strict=True))
    return tuple(by_number.get(number) for number in range(numbers[-1] + 1))


def nodes_below(root: Node) -> Graph:
    """Return all nodes of the graph with their children, each node after its children."""
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
    """Return the nodes from which a path leads to `end`, including `end` itself."""
    trunk = {end}
    for node, children in graph.items():
        if not trunk.isdisjoint(children):
            trunk.add(node)
    return trunk


def _deepest(graph: Graph) -> Node:
    """Return the operation furthest from the output; weights and views of them don't count."""
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
    """Return the branches of the trunk; those that share a weight are in one group."""
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
    """Return the leaves and all nodes of the branches that leave the trunk at a node."""
    leaves, nodes = set(), {node}
    ahead = [child for child in graph[node] if child not in trunk]
    while ahead:
        child = ahead.pop()
        nodes.add(child)
        ahead += graph[child]
        if not graph[child]:
            leaves.add(child)
    return leaves, nodes


# --- what the graph saves ------------------------------------------------------------------------
#
# Each node keeps the tensors that its backward needs; torch calls them saved tensors. After I, most
# nodes are done for good, and only those that W runs through are needed again. Qi et al. (table 1)
# count on it: M_B bytes from F until I, and M_W, which is less, from I until W.


def saved_bytes(nodes: Iterable[Node], stage: torch.nn.Module) -> int:
    """Return the bytes that the nodes save, without the weights of the stage.

    A storage that several nodes save counts once.
    """
    weights = {p.untyped_storage().data_ptr() for p in stage.parameters()}
    found = {}
    for node in nodes:
        for tensor in private.saved_tensors(node):
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return sum(size for place, size in found.items() if place not in weights)


def release(nodes: Iterable[Node]) -> None:
    """Release what the nodes save. They can't be run again; torch raises an error if you try."""
    for node in nodes:
        private.replace_saved(node, _keep_nothing, _released)


def _keep_nothing(_: torch.Tensor) -> None:
    """Keep nothing in place of the tensor."""


def _released(_: None) -> torch.Tensor:
    raise RuntimeError("this part of the graph was released after I: only W may follow")
