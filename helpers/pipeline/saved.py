"""What autograd keeps of a forward pass: how many bytes, and how to let go of a part of it.

Each node of autograd's graph keeps the tensors that its backward needs (torch calls them saved
tensors). After I, most nodes have done all that they will ever do; only those that W runs through
are needed again. Qi et al. (arXiv 2401.10241, table 1) count on that: M_B bytes from F until I, and
M_W, which is less, from I until W.
"""

import functools
from collections.abc import Iterable, Iterator

import torch
from torch.autograd.graph import Node

RAW = "_raw_saved_"


def saved_bytes(nodes: Iterable[Node], stage: torch.nn.Module) -> int:
    """Bytes that the nodes keep. The stage's weights do not count, and what is kept twice once."""
    weights = {p.untyped_storage().data_ptr() for p in stage.parameters()}
    found = {}
    for node in nodes:
        for tensor in _tensors(node):
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return sum(size for place, size in found.items() if place not in weights)


def forget(nodes: Iterable[Node]) -> None:
    """Let go of what the nodes keep. They cannot be run again: who tries is told so by torch."""
    for node in nodes:
        for name in _names(type(node)):
            raw = getattr(node, RAW + name)
            for each in raw if isinstance(raw, (tuple, list)) else (raw,):
                try:
                    each.register_hooks(_let_go, _gone)
                except RuntimeError:
                    pass  # nothing is kept there, or a hook of the stage's own keeps it elsewhere


def _let_go(_: torch.Tensor) -> None:
    """Keep nothing in place of the tensor."""


def _gone(_: None) -> torch.Tensor:
    raise RuntimeError("this part of the graph was let go after I: only W may follow")


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    """The saved tensors of a kind of node, by name."""
    return tuple(name.removeprefix(RAW) for name in dir(kind) if name.startswith(RAW))


def _tensors(node: Node) -> Iterator[torch.Tensor]:
    for name in _names(type(node)):
        # A node that Python wrote says "saved_tensors", one of torch's own "_saved_self" and so on.
        value = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, torch.Tensor):
                yield each
