"""A script runs alike on ranks that are started by us, by hand, by torchrun, or as by srun.

Nobody outside of this machine can reach them, what a person does wrong is named, and a rank that
nobody watches says for whom it waits.
"""

import ipaddress
import os
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch.distributed as dist

from helpers.ranks import ConnectError, Place, run_script, supervisor
from helpers.ranks import store as meeting
from helpers.ranks.__main__ import main
from helpers.ranks.connect import agree
from helpers.ranks.store import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SCRIPT = """
import argparse, os, sys, psutil
import torch, torch.distributed as dist
from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect, watch
from helpers.ranks.script import add_run_flags, place_from

def meet(rank, other, x):
    dist.all_reduce(x)
    assert x[0].item() == 2
    dist.new_group([0, 1])
    family = [psutil.Process()]
    if "LAB_RANK" in os.environ:  # as we start it: its brothers, and what they are forked from
        above = family[0].parent()
        family = [above, *above.children()]
    found = [(each.pid, c) for each in family for c in each.net_connections(kind="inet")]
    here = [f"listens {pid} {c.laddr.ip}\\n" for pid, c in found if c.status == "LISTEN"]
    print(*here, sep="", flush=True)
    dist.barrier()

def fails(rank, other, x):
    if rank == 1:
        raise RuntimeError("as asked")  # fails

def deadlock(rank, other, x):
    dist.recv(x, src=other)  # deadlock

def dies(rank, other, x):
    dist.barrier()
    if rank == 1:
        os._exit(3)
    dist.recv(x, src=1)  # dead

def main():
    watch.SAY_AFTER_S = 0.8
    parser = argparse.ArgumentParser()
    add_run_flags(parser, ranks=2)
    parser.add_argument("--program", default="meet")
    options = parser.parse_args()
    place = place_from(options)
    connect(place, options.backend, options.timeout, quiet=True)
    globals()[options.program](place.rank, 1 - place.rank, torch.ones(4))
    disconnect()

if __name__ == "__main__":
    with plain_errors():
        main()
"""
OWN_GROUP = """
import time
for number in range(3):
    dist.init_process_group("gloo", {})
    meet(0, 1, torch.ones(4))
    dist.destroy_process_group()
    gone = f"{{__file__}}.{{number}}"  # or rank 1 could call the store that is about to end
    if os.environ["RANK"] == "0":
        open(gone, "w").close()
    while not os.path.exists(gone):
        time.sleep(0.01)
"""
ADDRESS = """f"tcp://localhost:{os.environ['MASTER_PORT']}",
        rank=int(os.environ["RANK"]), world_size=2"""
FOREIGN = ("SLURM_", "PALS_", "PMI_", "OMPI_", "LAB_", "MASTER_", "GLOO_", "TP_", "NCCL_")


def at(comment: str, function: str) -> str:
    """Return the words for the line of SCRIPT that ends in this comment."""
    lines = SCRIPT.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))
    return f"at line {number} of two.py, in {function}"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(SCRIPT)
    return path


def ended(script, *calls, port=None, variables=({}, {})):
    """Start a process for each call at once, as in as many terminals, and wait for all."""
    clean = {name: v for name, v in os.environ.items() if not name.startswith(FOREIGN)}
    clean["MASTER_PORT"] = str(port or free_port())

    def run(call, own):
        command = [sys.executable, *(str(script) if word == "SCRIPT" else word for word in call)]
        how = {"capture_output": True, "text": True, "timeout": 300}
        return subprocess.run(command, env=clean | own, **how)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls, variables))


def only_two_on_the_loopback(texts) -> None:
    said = [line.split()[-2:] for text in texts for line in text.splitlines() if "listens" in line]
    assert len({process for process, _ in said}) == 2
    assert all(ipaddress.ip_address(address).is_loopback for _, address in said), said


def test_a_script_that_fails(script, capfd, tmp_path):
    call = ["-n", "2", "--logs", str(tmp_path), str(script), "--program", "fails"]
    assert main(call) == 1
    said = f"rank 1 failed first {at('fails', 'fails')}: RuntimeError: as asked"
    assert said in capfd.readouterr().err
    assert (tmp_path / "out1.txt").exists()
    assert main(["-n", "2", "nowhere.py"]) == 2
    said = "error: the script nowhere.py does not exist: name a Python file\n"
    assert capfd.readouterr().err == said


ONE_STEP_LESS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
for step in range(2):
    if not (step and dist.get_rank() == 0):
        model(torch.ones(4)).sum().backward()
dist.destroy_process_group()
"""
KEEPS_THE_LOCK = """
import ctypes, os
if os.environ["RANK"] == "0":
    ctypes.PyDLL(None).sleep(3)
"""


def test_what_a_script_leaves_holds_nobody_up_and_who_is_silent_is_named(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "less.py").write_text(ONE_STEP_LESS)
    said = run_script(tmp_path / "less.py", 2).failure.sentence
    assert "rank 0 left early" in said and "line 7 of less.py" in said
    monkeypatch.setattr(supervisor, "NOTE_S", 0.5)
    (tmp_path / "lock.py").write_text(KEEPS_THE_LOCK)
    assert run_script(tmp_path / "lock.py", 2).ok
    assert "Where each rank stands:\n  rank 0 did not answer" in capsys.readouterr().out


def test_a_script_that_ends_itself_or_is_not_python(tmp_path, capsys):
    texts = {
        "import atexit, sys\natexit.register(print, 'hi')\nsys.exit(0)": "",
        "import sys\nsys.exit(3)": "with exit status 3",
    }
    for text, said in (texts | {"\n\nfor rank in range(2)\n": "line 3 of ends.py: "}).items():
        (tmp_path / "ends.py").write_text(text)
        report = run_script(tmp_path / "ends.py", 1)
        assert report.ok if not said else said in report.failure.sentence
    assert capsys.readouterr().out == "hi\n"


@pytest.mark.parametrize(("own", "checked"), [("", True), ("", False), (ADDRESS, True)])
def test_every_process_of_a_script_with_worlds_of_its_own_listens_on_the_loopback(
    own, checked, script
):
    script.write_text(SCRIPT[: SCRIPT.index("if __name__")] + OWN_GROUP.format(own))
    report = run_script(script, 2, timeout=60, quiet=True, checked=checked)
    assert not report.failure, report.failure
    only_two_on_the_loopback(report.texts)


BY_TORCHRUN = "-m torch.distributed.run --standalone --nproc-per-node=2 SCRIPT".split()


@pytest.mark.parametrize(
    "calls", [[["SCRIPT", "0"], ["SCRIPT", "1"]], [BY_TORCHRUN]], ids=["person", "torchrun"]
)
def test_ranks_that_somebody_else_starts_listen_on_the_loopback(calls, script):
    """torchrun itself listens on every network; its ranks do not."""
    processes = ended(script, *calls)
    assert not any(process.returncode for process in processes), processes
    only_two_on_the_loopback(process.stdout for process in processes)


def test_a_port_in_use(script):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (zero,) = ended(script, ["SCRIPT", "0"], port=port)
    assert zero.returncode == 1
    assert f"error: port {port} is in use by another program" in zero.stderr
    assert "MASTER_PORT" in zero.stderr


@pytest.mark.long
def test_a_rank_that_never_comes(script):
    (zero,) = ended(script, ["SCRIPT", "0", "--timeout", "4"])
    assert "rank 0 waits for rank 1" in zero.stdout
    assert zero.stderr == "error: after 4 s rank 1 did not come\n"
    (one,) = ended(script, ["SCRIPT", "1", "--timeout", "4"])
    assert "waits for rank 0 at localhost" in one.stdout
    assert "but nothing listens there: start rank 0 too" in one.stderr


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({}, "after 0 s rank 1 did not come"),
        ({"came/0": "abc"}, "rank 0 was started twice: give each process a rank of its own, from"),
        ({"mistake": "rank 1 says so"}, "^rank 1 says so$"),
        ({"terms": "3 gloo 1"}, "the ranks disagree about the world size: rank 1 has 3 and rank 0"),
        ({"terms": "2 nccl 1"}, "the ranks disagree about the backend: rank 1 takes nccl and rank"),
    ],
)
def test_a_mistake_is_left_for_all(there, said, monkeypatch, capsys):
    monkeypatch.setattr(meeting, "SAY_AFTER_S", 0.0)
    store = dist.HashStore()
    for name, value in there.items():
        store.set(name, value)
    begun = time.monotonic()
    with pytest.raises(ConnectError, match=said) as caught:
        agree(store, Place(0, 2, 0, 2), "gloo", timeout=0.1)
    assert time.monotonic() - begun > 0.9, "rank 0 stays until the others have read it"
    waited = capsys.readouterr().out
    assert waited == ("" if there else "[ranks] rank 0 waits for rank 1\n")
    assert store.get("mistake").decode() == str(caught.value)  # a late rank reads it


def as_srun_does(script, program: str, checked: str, timeout: int):
    """Return the exit status of each of two ranks, and what it wrote to stderr."""
    common = {"STEP_NUM_TASKS": 2, "STEP_ID": 0, "STEP_TASKS_PER_NODE": 2, "JOB_ID": os.getpid()}
    each = [common | {"PROCID": rank, "LOCALID": rank} for rank in range(2)]
    own = [{f"SLURM_{k}": str(n) for k, n in e.items()} | {"LAB_CHECKED": checked} for e in each]
    call = ["SCRIPT", "--program", program, "--timeout", str(timeout)]
    return [(p.returncode, p.stderr) for p in ended(script, call, call, variables=own)]


@pytest.mark.long_for("0")
@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_deadlock_ends_in_a_sentence(checked, script):
    ends = as_srun_does(script, "deadlock", checked, 9)
    late = []
    for rank, (code, err) in enumerate(ends):
        here = f"receives 4 float32 from rank {1 - rank} {at('deadlock', 'deadlock')}"
        *lines, last = err.splitlines()
        assert code == 1
        # The rank that gives up first breaks the other one's connection.
        told = f"error: no message came from rank {1 - rank} within 9 s: rank {rank} {here}"
        assert last == told or last.startswith(f"error: the connection to rank {1 - rank} broke: ")
        late.append(last == told)
        if rank == 0:  # it tells for all, and that within 15 s
            assert err.count("[ranks] deadlock: ranks 0 and 1 both receive first") == 1
            assert "  Cure: let one of them send first\n" in err
        else:
            waits = re.findall(r"^\[ranks\] rank 1 has waited \d+ s for (.*)$", err, re.MULTILINE)
            assert waits == [f"rank 0: it {here}"] and len(lines) == 1, err
    assert any(late)


@pytest.mark.long_for("0")
@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_rank_whose_partner_has_died(checked, script):
    (code, err), (other, _) = as_srun_does(script, "dies", checked, 60)
    assert (code, other) == (1, 3)
    assert err == (
        "error: the connection to rank 1 broke: rank 0 receives 4 float32 from rank 1 "
        f"{at('dead', 'dies')}. That rank has ended, or the network between them is down: "
        "read what it said last\n"
    )
