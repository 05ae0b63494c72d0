"""What isn't public: each of it still does what the project needs, and nothing else is used."""

import ast
import functools
import inspect
import json
import platform
import subprocess
import sys
import threading
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from helpers import private
from helpers.ranks import launch

ROOT = Path(__file__).resolve().parents[2]
# What begins with "_" and is documented all the same, or is somebody's protocol.
PUBLIC = {"_exit", "_getframe", "_current_frames", "_asdict", "_replace"}
# What can't use helpers/private.py, or isn't ours to change: what it uses, and why it is there.
ELSEWHERE = {
    ("tools/install.py", "_base_executable"): "runs before anything is installed",
    ("notebooks/source/22_torchs_own_words.py", "_PipelineScheduleRuntime"): "shows torch's own",
    ("notebooks/source/22_torchs_own_words.py", "_load_csv"): "shows torch's own",
    ("tasks/_sent.py", "_resolve_process_group"): "judges what a rank sends",
    ("tasks/_sent.py", "_python_dispatch"): "judges what a rank sends",
    ("tasks/_sent.py", "_pytree"): "judges what a rank sends",
    ("tasks/_sent.py", "_schema"): "judges what a rank sends",
    ("tasks/cp_4.py", "_python_dispatch"): "counts what a rank computes",
    ("tasks/cp_4.py", "_overloadpacket"): "counts what a rank computes",
    ("tasks/_stages.py", "_cdata"): "judges what a rank keeps",
    ("tasks/ep_2.py", "_modules"): "judges what a rank averages",
}


# --- it does what it should ----------------------------------------------------------------------


def groups_made():
    before = private.groups_made()
    dist.new_group([0, 1])
    assert private.groups_made() == before + 1


def members_of_groups():
    assert private.members_of_groups()[dist.group.WORLD.group_name] == (0, 1)


def flight_record():
    dist.all_reduce(torch.ones(3))
    entries = json.loads(private.flight_record())["entries"]
    known = ("process_group", "collective_seq_id", "retired", "input_sizes", "input_dtypes")
    assert all(name in entries[-1] for name in known)
    assert any("all_reduce" in entry["profiling_name"] for entry in entries)


def flat():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    assert all(private.FLAT in name for name, _ in net.named_parameters())


def files_that_wait():
    assert all(Path(name).is_file() for name in private.files_that_wait())
    seen = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, gradient):
            seen.extend(frame.filename for frame in inspect.stack())
            return gradient

    x = torch.ones(1, requires_grad=True)
    for backward in (lambda y: y.backward(), lambda y: torch.autograd.grad(y, x)):
        seen.clear()
        backward(Looks.apply(x))
        assert set(seen) & set(private.files_that_wait())


def saved_tensors():
    y = torch.ones(4, requires_grad=True).exp()
    assert [kept.tolist() for kept in private.saved_tensors(y.grad_fn)] == [y.tolist()]


def replace_saved():
    y = torch.ones(4, requires_grad=True).exp()

    def gone(_):
        raise RuntimeError("released")

    private.replace_saved(y.grad_fn, lambda tensor: None, gone)
    with pytest.raises(RuntimeError, match="released"):
        y.sum().backward()


POSTPONED = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from helpers.private import postpone_the_compiler

postpone_the_compiler()
net = torch.nn.Linear(2, 1)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
split = DistributedDataParallel(net)
adam = torch.optim.AdamW(net.parameters(), lr=0.1)

def step(x):
    adam.zero_grad()
    y = split(x)
    y.backward(torch.ones_like(y))
    adam.step()

step(torch.ones(3, 2))
try:
    net(torch.ones(3, 2)).backward(torch.ones(2, 1))
    raise SystemExit("a gradient of another shape was taken")
except RuntimeError as error:
    assert "Mismatch in shape" in str(error)
adam.load_state_dict(adam.state_dict())
assert not split._use_python_reducer
assert not {"torch._dynamo.config", "sympy"} & {*sys.modules}, "the compiler has been imported"
import torch._dynamo
assert torch._dynamo.utils.get_optimize_ddp_mode() == "ddp_optimizer"
assert torch._dynamo is sys.modules["torch._dynamo"]
torch.compile(step, backend="eager")(torch.ones(3, 2))
before = net.weight.clone()
step(torch.ones(3, 2))
assert not before.equal(net.weight)
"""


def postpone_the_compiler():
    command = [sys.executable, "-c", POSTPONED]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def after_each_operation():
    seen, x = [], torch.ones(2)
    with private.after_each_operation(seen.append):
        y = x + 1
    assert len(seen) == 1 and any(each is y for each in seen[0])
    assert any(each is x for each in seen[0])


ENDING = """
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
from helpers import private
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
ThreadPoolExecutor().submit(lambda: (time.sleep(0.3), print("executor")))
atexit.register(print, "handler")
private.wait_for_threads()
print("waited")
private.run_exit_handlers()
print("run")
"""


def wait_for_threads():
    command = [sys.executable, "-c", ENDING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["thread", "executor", "waited", "handler", "run"], done.stderr


def joined_by():
    stay, begun = threading.Event(), threading.Event()
    first = threading.Thread(target=stay.wait)
    first.start()
    second = threading.Thread(target=lambda: (begun.set(), first.join()))
    second.start()
    begun.wait()
    try:
        found = None
        while found is None and second.is_alive():  # until it has come to join()
            found = private.joined_by(sys._current_frames().get(second.ident))
        assert found == first.ident
        assert private.joined_by(sys._getframe()) is None
    finally:
        stay.set()
        second.join()


def cells_of():
    compiler = import_module("ipykernel.compiler").XCachingCompiler()
    name = compiler.cache("x = 1", 7)
    assert private.cells_of(SimpleNamespace(compile=compiler)) == {name: 7}
    assert private.cells_of(None) == {}


# By the name in helpers/private.py; what needs two ranks comes first.
ON_RANKS = {
    "groups_made": groups_made,
    "members_of_groups": members_of_groups,
    "flight_record": flight_record,
    "FLAT": flat,
}
HERE = {
    "files_that_wait": files_that_wait,
    "saved_tensors": saved_tensors,
    "replace_saved": replace_saved,
    "postpone_the_compiler": postpone_the_compiler,
    "after_each_operation": after_each_operation,
    "wait_for_threads": wait_for_threads,
    "run_exit_handlers": wait_for_threads,
    "joined_by": joined_by,
    "cells_of": cells_of,
}


@functools.cache
def trees() -> dict[str, ast.Module]:
    """The project's own code but for tests, by file."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()
    paths = [ROOT / name for name in listed] or sorted(ROOT.glob("[a-z]*/**/*.py"))
    names = {path: path.relative_to(ROOT).as_posix() for path in paths if path.is_file()}
    return {
        name: ast.parse(path.read_text(encoding="utf-8"))
        for path, name in names.items()
        if "tests/" not in name
    }


def users_of(name: str) -> list[str]:
    """The files that use a name of helpers/private.py."""
    return [
        file
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and ast.unparse(node) == f"private.{name}")
        or (isinstance(node, ast.ImportFrom) and node.module == "helpers.private")
        and any(alias.name == name for alias in node.names)
    ]


def tell(name: str, why: object) -> None:
    """Fail with what no longer works, and who needs it."""
    pytest.fail(
        f"helpers.private.{name} no longer works with torch {torch.__version__} and Python "
        f"{platform.python_version()}, and {', '.join(users_of(name))} need it: {why}"
    )


def test_every_name_is_tried_and_used():
    public = {
        name
        for name, value in vars(private).items()
        if not name.startswith("_") and getattr(value, "__module__", "helpers.private") == (
            "helpers.private"
        ) and not inspect.ismodule(value)
    }  # fmt: skip
    assert public == {*ON_RANKS, *HERE}
    for name in public:
        assert users_of(name), f"nobody uses helpers.private.{name} any more: delete it"


@pytest.mark.parametrize("name", HERE)
def test_it_does_what_it_should(name):
    try:
        HERE[name]()
    except Exception as error:
        tell(name, f"{type(error).__name__}: {error}")


def test_it_does_what_it_should_on_ranks():
    def each():
        for name, tried in ON_RANKS.items():
            try:
                tried()
            except Exception as error:
                return name, f"{type(error).__name__}: {error}"

    for failed in filter(None, launch(each, 2, quiet=True, checked=False)):
        tell(*failed)


# --- and nothing else is used --------------------------------------------------------------------


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in {"_", *PUBLIC}


def own_names(tree: ast.Module) -> set[str]:
    """What a file itself defines or sets."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    return found


def used_by(tree: ast.Module, packages: set[str]) -> set[str]:
    """The private names of others that a file asks for: attributes, imports, and getattr."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name, ctx=ast.Load()):
                found.add(name)
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                found.add(name)
            case ast.Import(names=names):
                found |= {part for each in names for part in each.name.split(".")}
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if module.partition(".")[0] not in packages:
                    found |= {*module.split("."), *(each.name for each in names)}
    return set(filter(is_private, found))


def test_nothing_else_that_is_not_public_is_used():
    files = trees()
    packages = {Path(name).parts[-2] for name in files if "/" in name}
    packages |= {Path(name).parts[0].removesuffix(".py") for name in files}
    ours = set().union(*map(own_names, files.values()))
    found = {
        (file, name)
        for file, tree in files.items()
        if file != "helpers/private.py"
        for name in used_by(tree, packages) - ours
    }
    known = {pair for pair in ELSEWHERE if pair[0] in files}
    assert len(files) > 300 and Counter(found - known) == Counter(), "move it to helpers/private.py"
    assert known <= found, "what is no longer used needs no exception"
