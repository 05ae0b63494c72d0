"""What the project uses of torch, Python and IPython although it isn't public: by whom, and why.

It can change with any release: the tests of its users fail then.
"""

import atexit
import functools
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

FLAT = "_flat_param"  # of FSDP1 (helpers.oracle.record): whether it flattens can't be asked


# --- torch.distributed ---------------------------------------------------------------------------


def groups_made() -> int:
    """Return how many process groups this process has, the default one included.

    For helpers.hang.monitor, helpers.pipeline.transport: members that alone create a group meet
    under a name with this number.
    """
    from torch.distributed import distributed_c10d as c10d

    return len(c10d._world.pg_names)


def members_of_groups() -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group that this process belongs to, by torch's name of the group.

    For helpers.hang.flight: get_process_group_ranks wants the group, and the recorder has its name.
    """
    from torch.distributed import distributed_c10d as c10d

    return {
        group.group_name: tuple(ranks)
        for group, ranks in c10d._world.pg_group_ranks.items()
        if isinstance(group, c10d.ProcessGroup)  # not one that this rank is no member of
    }


def flight_record() -> str:
    """Return what torch's flight recorder holds, as JSON.

    For helpers.hang.flight. The documented ways write a file, of NCCL's alone, after a time-out.
    Raises ImportError, AttributeError or RuntimeError if this torch has no recorder.
    """
    from torch._C import _distributed_c10d

    return _distributed_c10d._dump_fr_trace_json()


def watch_named_ranks(check: Callable[[Any, int | None, int | None], None]) -> None:
    """Call check(group, rank, rank within the group) for each rank that a call names.

    For helpers.hang.monitor: gloo waits for a rank that isn't there. There is no hook, but every
    function of torch.distributed that names another rank asks this one for its number.
    """
    from torch.distributed import distributed_c10d as c10d

    own = c10d._canonicalize_group_rank

    def numbered(group, global_rank=None, group_rank=None, return_global=False):
        check(group, global_rank, group_rank)
        return own(group, global_rank, group_rank, return_global)

    c10d._canonicalize_group_rank = numbered


@functools.cache
def files_that_wait() -> tuple[str, ...]:
    """Return the files of torch from which C++ waits for collectives that it has started.

    For helpers.hang.places: the backward pass, DDP and functional collectives. What C++ does can't
    be asked; only the line of Python above it is known.
    """
    import torch

    files = ("autograd/__init__.py", "autograd/graph.py", "nn/parallel/distributed.py")
    files += ("distributed/utils.py", "distributed/_functional_collectives.py")
    return tuple(os.path.join(os.path.dirname(torch.__file__), *each.split("/")) for each in files)


# --- torch: autograd -----------------------------------------------------------------------------

_RAW = "_raw_saved_"


def saved_tensors(node: Any) -> Iterator[Any]:
    """Yield what a node of the autograd graph keeps for its backward.

    For helpers.pipeline. torch.autograd.graph.saved_tensors_hooks sees only what is saved from then
    on, and can't tell which node saves it.
    """
    import torch

    for name in _saved(type(node)):
        # A node written in Python says "saved_tensors", one of torch's own "_saved_self" and so on.
        value = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
        yield from (each for each in _several(value) if isinstance(each, torch.Tensor))


def replace_saved(node: Any, pack: Callable, unpack: Callable) -> None:
    """Replace what a node keeps by pack(tensor), and give its backward unpack(pack(tensor)).

    For helpers.pipeline.split_backward: torch frees all of a graph or nothing.
    """
    for name in _saved(type(node)):
        for each in _several(getattr(node, _RAW + name)):
            with suppress(RuntimeError):  # nothing is saved there, or a hook keeps it elsewhere
                each.register_hooks(pack, unpack)


@functools.cache
def _saved(kind: type) -> tuple[str, ...]:
    return tuple(name.removeprefix(_RAW) for name in dir(kind) if name.startswith(_RAW))


def _several(value: Any) -> Iterable:
    return value if isinstance(value, tuple | list) else (value,)


def after_each_operation(note: Callable[[list], None]) -> Any:
    """Return a context in which note(tensors) follows each operation of torch.

    For DP/zero/memory.py: public hooks see modules and what's saved for backward, but not what a
    step holds in between. tensors: what the operation took and what it made.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class After(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            note([t for t in tree_leaves((args, kwargs, made)) if isinstance(t, torch.Tensor)])
            return made

    return After()


# --- Python: the end of a rank (helpers.ranks.worker), and of what it was forked from ------------


def end_as_python_does() -> None:
    """Wait for every thread that isn't a daemon, and run what was registered with atexit.

    Python does so only when it ends; any of them may still send a message.
    """
    threading._shutdown()
    atexit._run_exitfuncs()


def forget_exit_handlers() -> None:
    """Forget what was registered with atexit, and as weakref.finalize: it's the fork server's.

    Public is only to unregister a function that one knows; finalize registers with atexit once.
    """
    atexit._clear()
    for finalizer in weakref.finalize._registry:
        finalizer.atexit = False
    weakref.finalize._registered_with_atexit = False


def stop_fork_server() -> None:
    """End the process that ranks are forked from (helpers.ranks.pool): else it ends with ours."""
    forkserver = sys.modules.get("multiprocessing.forkserver")
    server = forkserver and forkserver._forkserver
    if server and server._forkserver_pid is not None:
        os.kill(server._forkserver_pid, signal.SIGKILL)  # it would wait for what a rank has left
        with suppress(FileNotFoundError):  # at the end of Python its socket has gone already
            server._stop()


def cells_of(shell: Any) -> dict[str, int]:
    """Return the numbers of a notebook's cells by the names of their files (helpers.ranks.start).

    ipykernel compiles a cell under a name of its own, and tells which only in this table.
    """
    return getattr(getattr(shell, "compile", None), "_filename_map", {})
