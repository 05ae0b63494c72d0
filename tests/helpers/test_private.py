"""What isn't public of torch, Python and IPython, and what helpers/private.py expects of it.

More of it the tests of those show who use it: hangs that are told, the backward pass in two halves.
"""

import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from helpers import private
from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

ROOT = Path(__file__).resolve().parents[2]


def flat():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    return [name for name, _ in net.named_parameters()]


def test_parameters_that_fsdp1_has_flattened_are_known_by_their_names():
    for names in launch(flat, 2, quiet=True, checked=False):
        assert names and all(private.FLAT in name for name in names)


def test_every_file_that_waits_is_there():
    assert all(Path(name).is_file() for name in private.files_that_wait())


def test_a_rank_that_a_call_names_is_seen_before_torch_looks_at_it(monkeypatch):
    from torch.distributed import distributed_c10d as c10d

    monkeypatch.setattr(c10d, "_canonicalize_group_rank", lambda *asked: asked)
    seen = []
    private.watch_named_ranks(lambda *asked: seen.append(asked))
    assert c10d._canonicalize_group_rank("group", 1, None, return_global=True)[1] == 1
    assert seen == [("group", 1, None)]
    for function in (
        c10d.isend,
        c10d.irecv,
        c10d.broadcast,
        c10d.reduce,
        c10d.gather,
        c10d.scatter,
    ):
        source = inspect.getsource(inspect.unwrap(function))
        assert "_canonicalize_group_rank(" in source, f"{function.__name__} goes another way"
    assert "_canonicalize_group_rank(" in inspect.getsource(c10d.P2POp)


def recorded():
    import torch.distributed as dist

    work = dist.all_reduce(torch.ones(8), async_op=True)
    facts = json.loads(private.flight_record())["entries"][-1]
    work.wait()
    return facts, private.members_of_groups(), private.groups_made()


def test_torchs_recorder_says_what_a_rank_has_started():
    for facts, members, groups in launch(recorded, 2, quiet=True, checked=False):
        assert facts["process_group"][0] in members and [*members.values()] == [(0, 1)]
        assert facts["profiling_name"].endswith(":all_reduce") and facts["input_sizes"] == [[8]]
        assert facts["collective_seq_id"] == 1 and not facts["is_p2p"] and "retired" in facts
        assert facts["input_dtypes"] == ["Float"] and groups == 1


FORKED = """
import atexit, multiprocessing, os, threading, time, weakref
from multiprocessing import forkserver
from helpers import private

private.stop_fork_server()  # there is none yet
multiprocessing.get_context("forkserver").set_forkserver_preload([])
forkserver.ensure_running()
pid = forkserver._forkserver._forkserver_pid
private.stop_fork_server()
assert not os.path.exists(f"/proc/{pid}")
atexit.register(print, "forgotten")
class Kept: pass
kept = [Kept(), Kept()]
weakref.finalize(kept[0], print, "forgotten too")
private.forget_exit_handlers()
weakref.finalize(kept[1], print, "finalizer")
atexit.register(print, "handler")
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
private.wait_for_threads()
private.run_exit_handlers()
print("end", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux only")
def test_the_end_of_a_rank_and_of_the_server_that_it_was_forked_from():
    command = [sys.executable, "-c", FORKED]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.split() == ["thread", "handler", "finalizer", "end"], run.stderr


def test_the_cells_of_a_notebook_have_their_numbers():
    compiler = import_module("ipykernel.compiler").XCachingCompiler()
    name = compiler.cache("x = 1", 7)
    assert private.cells_of(SimpleNamespace(compile=compiler)) == {name: 7}
    assert private.cells_of(None) == {}


# --- and nothing else is used --------------------------------------------------------------------
