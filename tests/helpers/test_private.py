"""What isn't public: nothing but helpers/private.py uses it, and all of that is needed.

That a function still does what it should, the tests of those show who use it: hangs that are told,
the end of a rank, the backward pass in two halves. Here stands what they wouldn't notice.
"""

import ast
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from helpers import private
from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[2]
# What begins with "_" and is documented all the same, or is somebody's protocol.
PUBLIC = {"_exit", "_getframe", "_current_frames", "_asdict", "_replace"}
# What can't use helpers/private.py, or isn't ours to change: what it uses, and why it is there.
ELSEWHERE = {
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


def flat():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    return [name for name, _ in net.named_parameters()]


def test_parameters_that_fsdp1_has_flattened_are_known_by_their_names():
    for names in launch(flat, 2, quiet=True, checked=False):
        assert names and all(private.FLAT in name for name in names)


def test_every_file_that_waits_is_there():
    assert all(Path(name).is_file() for name in private.files_that_wait())


def test_what_an_operation_takes_and_makes_is_noted():
    seen, x = [], torch.ones(2)
    with private.after_each_operation(seen.append):
        y = x + 1
    assert len(seen) == 1 and any(each is y for each in seen[0])
    assert any(each is x for each in seen[0])


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


def test_the_compiler_is_imported_where_it_is_used():
    command = [sys.executable, "-c", POSTPONED]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_cells_of_a_notebook_have_their_numbers():
    compiler = import_module("ipykernel.compiler").XCachingCompiler()
    name = compiler.cache("x = 1", 7)
    assert private.cells_of(SimpleNamespace(compile=compiler)) == {name: 7}
    assert private.cells_of(None) == {}


# --- and nothing else is used --------------------------------------------------------------------


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


def asked_for(tree: ast.Module, packages: set[str]) -> set[str]:
    """What a file asks for that isn't its own: attributes, getattr, and imports.

    Of what it imports from our own packages, only what comes from helpers/private.py.
    """
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
                if module == private.__name__ or module.partition(".")[0] not in packages:
                    found |= {*module.split("."), *(each.name for each in names)}
    return found


def test_nothing_else_that_is_not_public_is_used_and_all_of_it_is_needed():
    files = trees()
    packages = {Path(name).parts[-2] for name in files if "/" in name}
    packages |= {Path(name).parts[0].removesuffix(".py") for name in files}
    ours = set().union(*map(own_names, files.values()))
    asked = {file: asked_for(tree, packages) for file, tree in files.items()}
    del asked["helpers/private.py"]
    found = {(file, name) for file in asked for name in filter(is_private, asked[file] - ours)}
    known = {pair for pair in ELSEWHERE if pair[0] in files}
    assert len(files) > 300 and Counter(found - known) == Counter(), "move it to helpers/private.py"
    assert known <= found, "what is no longer used needs no exception"
    offered = own_names(files["helpers/private.py"]) & vars(private).keys()
    unused = {name for name in offered if name[0] != "_"} - set().union(*asked.values())
    assert unused == set(), "nobody uses it any more: delete it"
