"""Everything that the project uses of torch, Python and IPython although it isn't public.

Each function says why there is no public way, and who uses it. What stands here can change with any
release: the tests of those who use it try it, and tests/helpers/test_private.py what they wouldn't.
"""

import atexit
import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any

# --- torch.distributed ---------------------------------------------------------------------------


def groups_made() -> int:
    """Return how many process groups this process has, the default one included.

    torch puts this number into the name under which the members of a group meet, where they alone
    create it, and tells nobody (helpers.hang.calls, helpers.pipeline.transport).
    """
    from torch.distributed import distributed_c10d as c10d

    return len(c10d._world.pg_names)


def members_of_groups() -> dict[str, tuple[int, ...]]:
    """Return the ranks of each group that this process belongs to, by torch's name of the group.

    For collectives that start in C++ (helpers.hang.flight): the recorder knows a group by its name,
    and get_process_group_ranks wants the group itself.
    """
    from torch.distributed import distributed_c10d as c10d

    return {
        group.group_name: tuple(ranks)
        for group, ranks in c10d._world.pg_group_ranks.items()
        if isinstance(group, c10d.ProcessGroup)  # not one that this rank is no member of
    }


def flight_record() -> str:
    """Return what torch's flight recorder holds, as JSON (helpers.hang.flight).

    The documented ways write a file, of NCCL's alone, after a time-out.

    Raises:
        ImportError, AttributeError, RuntimeError: if this torch has no recorder.
    """
    from torch._C import _distributed_c10d

    return _distributed_c10d._dump_fr_trace_json()


@functools.cache
def files_that_wait() -> tuple[str, ...]:
    """Return the files of torch from which C++ waits for collectives that it has started.

    The backward pass, DDP, and functional collectives (helpers.hang.threads). Elsewhere, torch may
    write a file or call a service, which ends whatever the other ranks do. What C++ does can't be
    asked; only the line of Python above it is known.
    """
    import torch

    home = os.path.dirname(torch.__file__)
    parts = (
        ("autograd", "__init__.py"),
        ("autograd", "graph.py"),
        ("nn", "parallel", "distributed.py"),
        ("distributed", "utils.py"),
        ("distributed", "_functional_collectives.py"),
    )
    return tuple(os.path.join(home, *part) for part in parts)


# In the names of FSDP1's parameters, which have lost their own (helpers.oracle.record): whether it
# flattens them can't be asked.
FLAT = "_flat_param"


# --- torch: autograd and compiler ----------------------------------------------------------------

_RAW = "_raw_saved_"


def saved_tensors(node: Any) -> Iterator[Any]:
    """Yield what a node of the autograd graph keeps for its backward (helpers.pipeline).

    torch.autograd.graph.saved_tensors_hooks sees only what is saved from then on, and can't tell
    which node saves it; a node itself has these attributes, which the tutorials show.
    """
    import torch

    for name in _saved(type(node)):
        # A node written in Python says "saved_tensors", one of torch's own "_saved_self" and so on.
        value = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
        yield from (each for each in _several(value) if isinstance(each, torch.Tensor))


def replace_saved(node: Any, pack: Callable, unpack: Callable) -> None:
    """Replace what a node keeps by pack(tensor), and give its backward unpack(pack(tensor)).

    For the split backward (helpers.pipeline.split_backward), which frees memory between I and W.
    torch frees all of a graph or nothing.
    """
    for name in _saved(type(node)):
        for each in _several(getattr(node, _RAW + name)):
            try:
                each.register_hooks(pack, unpack)
            except RuntimeError:
                pass  # nothing is saved there, or a hook of the stage keeps it elsewhere


@functools.cache
def _saved(kind: type) -> tuple[str, ...]:
    """Return the names of the saved tensors of a kind of node."""
    return tuple(name.removeprefix(_RAW) for name in dir(kind) if name.startswith(_RAW))


def _several(value: Any) -> Iterable:
    return value if isinstance(value, tuple | list) else (value,)


_COMPILER, _SHAPES = "torch._dynamo", "torch.fx.experimental.symbolic_shapes"


class _Postponed(ModuleType):
    """What stands for a module of torch's compiler, or for a part of it, until somebody uses it."""

    def __getattr__(self, name: str) -> Any:
        # inspect asks every module for __file__; for __path__ asks who imports a part of it.
        if name.startswith("__") and (name, self.__name__) != ("__path__", _COMPILER):
            raise AttributeError(name)
        return getattr(_imported(self.__name__), name)


def _imported(name: str) -> ModuleType:
    for stand_in in (_SHAPES, _COMPILER)[: 1 + (name != _SHAPES)]:  # the compiler imports both
        if type(sys.modules.get(stand_in)) is _Postponed:
            sys.modules.pop(stand_in, None)
    return importlib.import_module(name)


def postpone_the_compiler() -> None:
    """Let torch's compiler be imported where it's used (helpers.ranks, helpers.lesson).

    An optimizer and DDP import it, which takes as long as all of torch, only to tell it what it
    mustn't compile; a backward pass that is given a gradient imports its symbolic shapes, and SymPy
    with them, to compare two tuples. Until something else needs them, a few answers are enough.
    Nothing public keeps torch from importing them.
    """
    if _COMPILER in sys.modules:
        return
    stand_in = sys.modules[_COMPILER] = _Postponed(_COMPILER)
    stand_in.trace_rules, stand_in.utils = rules, utils = (
        _Postponed(f"{_COMPILER}.trace_rules"), _Postponed(f"{_COMPILER}.utils")
    )  # fmt: skip
    stand_in.graph_break = lambda *reason, **options: None
    rules.clear_lru_cache = lambda: None  # asked by init_process_group
    utils.get_optimize_ddp_mode = lambda: "ddp_optimizer"

    def disable(function: Callable, recursive: bool = True, **options: Any) -> Callable:
        real: Callable | None = None

        def plain(*args: Any, **kwargs: Any) -> Any:
            nonlocal real
            if sys.modules.get(_COMPILER) is stand_in:
                return function(*args, **kwargs)
            real = real or _imported(_COMPILER).disable(function, recursive, **options)
            return real(*args, **kwargs)

        return plain

    stand_in.disable = disable

    def sym_eq(x: Any, y: Any) -> Any:
        if all(type(size) is int for size in (*x, *y)):
            return tuple(x) == tuple(y)
        return _imported(_SHAPES).sym_eq(x, y)

    def expect_true(fact: Any, skip: int = 0) -> bool:
        return fact if type(fact) is bool else _imported(_SHAPES).expect_true(fact, skip)

    package = sys.modules.get(_SHAPES.rpartition(".")[0])  # torch has loaded it, where it is loaded
    if package and _SHAPES not in sys.modules:
        shapes = sys.modules[_SHAPES] = package.symbolic_shapes = _Postponed(_SHAPES)
        shapes.sym_eq, shapes.expect_true = sym_eq, expect_true


def after_each_operation(note: Callable[[list], None]) -> Any:
    """Return a context in which note(tensors) follows each operation of torch (DP/zero/memory.py).

    tensors: what the operation took and what it made. Public hooks see modules and what's saved for
    backward, but not what a step holds in between.
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


# --- Python --------------------------------------------------------------------------------------


def wait_for_threads() -> None:
    """Wait for every thread that isn't a daemon, as at exit; executors join theirs in it too.

    For the end of a rank (helpers.ranks.worker), which must still answer where it stands meanwhile.
    Python does it only when the interpreter ends.
    """
    threading._shutdown()


def run_exit_handlers() -> None:
    """Run what was registered with atexit; the handlers are gone afterward (helpers.ranks.worker).

    They may still send a message, and Python runs them only when the interpreter ends.
    """
    atexit._run_exitfuncs()


def joined_by(frame: FrameType | None) -> int | None:
    """Return the thread that this frame joins without a timeout, or None (helpers.hang.threads).

    A thread doesn't say what it waits for; the local variables of Thread.join do.
    """
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        if frame.f_code is threading.Thread.join.__code__ and frame.f_locals["timeout"] is None:
            return frame.f_locals["self"].ident
        frame = frame.f_back
    return None


# --- IPython -------------------------------------------------------------------------------------


def cells_of(shell: Any) -> dict[str, int]:
    """Return the numbers of a notebook's cells by the names of their files (helpers.ranks.start).

    ipykernel compiles a cell under a name of its own, and tells which only in this table.
    """
    return getattr(getattr(shell, "compile", None), "_filename_map", {})
