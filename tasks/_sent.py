"""What leaves a rank: every message and collective, whichever function asked for it.

Objects, c10d's own functions, DTensors and calls of a group itself all end in the same operators of
torch, so that is where they are noted, and not at the functions of torch.distributed.
"""

import contextlib

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

FROM_ROOT, TO_ROOT = ("broadcast_", "scatter_"), ("reduce_", "gather_")


@contextlib.contextmanager
def noting_what_leaves():
    """While the body runs, list what this rank sends.

    Each is {"to": the global ranks that get it, "numbers", "bytes", "group": its name}. What a
    collective is given counts once, however many ranks get it.
    """
    found = []
    with _Noted(found):
        yield found


class _Noted(TorchDispatchMode):
    """Append to a list what each operator of torch.distributed sends."""

    def __init__(self, found):
        super().__init__()
        self.found = found

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # nothing is compiled here, and importing the compiler takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(t.__name__ == "DTensor" for t in types):  # importing it takes a second
            return NotImplemented  # it says itself which plain tensors it sends
        if func.namespace in ("c10d", "_c10d_functional"):
            named = zip((a.name for a in func._schema.arguments), args, strict=False)
            self._note(func._schema.name.partition("::")[2], dict(named) | (kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _note(self, name, given):
        group = given.get("process_group", given.get("group_name"))
        if group is None or name.startswith(("recv", "barrier", "monitored_barrier")):
            return
        if isinstance(group, str):
            group = _resolve_process_group(group)
        elif not isinstance(group, dist.ProcessGroup):
            group = dist.ProcessGroup.unbox(group)
        members, mine = dist.get_process_group_ranks(group), dist.get_rank(group)
        to = [rank for number, rank in enumerate(members) if number != mine]
        if name == "send":
            to = [members[given["dst"]]]
        elif name in TO_ROOT:
            to = [rank for rank in to if rank == members[given["root_rank"]]]
        elif name in FROM_ROOT and given["root_rank"] != mine:
            to = []
        if not to:
            return  # this rank only receives, or is alone
        parts = [v for k, v in given.items() if k.startswith("input") and "sizes" not in k]
        tensors = [t for t in tree_leaves(parts or given["tensors"]) if isinstance(t, torch.Tensor)]
        facts = {"to": to, "group": group.group_name}
        facts["numbers"] = sum(tensor.numel() for tensor in tensors)
        self.found.append(facts | {"bytes": sum(tensor.nbytes for tensor in tensors)})
