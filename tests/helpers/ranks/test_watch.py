"""What a rank under somebody else's launcher says when a message doesn't come."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from helpers.ranks.environment import free_port

ONE_SLEEPS = ("nobody_takes_it", "backward")  # rank 1, until rank 0 has ended
LAUNCHERS = ("SLURM_", "PALS_", "PMI_", "OMPI_", "LAB_", "MASTER_")
PROGRAM = textwrap.dedent("""
    import argparse, os, time
    import torch, torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from helpers.plain_errors import plain_errors
    from helpers.ranks import connect, disconnect, watch
    from helpers.ranks.script import add_rank_flags, place_from

    watch.SAY_AFTER_S = 0.8

    def late(rank):
        if rank == 1:
            time.sleep(2.4)

    def legal(rank, other, x):
        model = DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
        for _ in range(200):
            dist.all_reduce(x)  # quick
        late(rank)
        dist.all_reduce(x)  # collective
        if rank == 1:
            late(rank)
            dist.send(x, 0)
        else:
            work = dist.irecv(x, src=1)
            work.wait()  # message
        loss = model(x).sum()
        late(rank)
        loss.backward()  # native
        for _ in range(2):
            late(rank)
            dist.barrier()  # twice

    def deadlock(rank, other, x):
        dist.recv(x, src=other)  # deadlock

    def nobody_takes_it(rank, other, x):
        if rank == 1:
            time.sleep(600)
        else:
            dist.send(x, dst=1)  # nobody

    def backward(rank, other, x):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        loss = model(x).sum()
        if rank == 1:
            time.sleep(600)
        loss.backward()  # no gradient comes

    def dies(rank, other, x):
        dist.barrier()
        if rank == 1:
            os._exit(3)
        dist.recv(x, src=1)  # dead

    def nowhere(rank, other, x):
        if rank == 1:
            dist.irecv(x, src=-1)  # nowhere
        dist.barrier()

    def no_sentence(rank, other, x):
        dist.all_gather([x], x)  # wrong

    def bare(rank, other, x):
        dist.recv(x, src=other)

    def main():
        parser = argparse.ArgumentParser()
        add_rank_flags(parser, ranks=2)
        parser.add_argument("--program")
        options = parser.parse_args()
        place = place_from(options)
        connect(place, options.backend, options.timeout, quiet=True)
        globals()[options.program](place.rank, 1 - place.rank, torch.ones(4))
        disconnect()

    if __name__ == "__main__":
        with plain_errors():
            main()
""")


def at(comment: str, function: str) -> str:
    """Return the words for the line of PROGRAM that ends in this comment."""
    lines = PROGRAM.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))
    return f"at line {number} of two.py, in {function}"


@pytest.fixture
def started(tmp_path):
    """Starts two ranks as srun does; returns the exit status and the errors of each."""
    path = tmp_path / "two.py"
    path.write_text(PROGRAM)

    def start(program: str, timeout: float = 60, **variables: str) -> list[tuple[int, str]]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
        processes = []
        for rank in range(2):
            step = {"PROCID": rank, "STEP_NUM_TASKS": 2, "LOCALID": rank, "STEP_ID": 0}
            step |= {"STEP_TASKS_PER_NODE": 2, "JOB_ID": os.getpid()}
            slurm = {f"SLURM_{name}": str(value) for name, value in step.items()}
            processes.append(
                subprocess.Popen(
                    [sys.executable, path, "--program", program, "--timeout", str(timeout)],
                    env=clean | slurm | {"MASTER_PORT": port} | variables,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        ended = []
        for process in processes:
            if ended and program in ONE_SLEEPS:
                process.kill()
            err = process.communicate(timeout=300)[1]
            ended.append((process.returncode, err))
        return ended

    port = str(free_port())
    return start


def waits_told(err: str) -> list[str]:
    """Return what was told of waits, without how long they had lasted."""
    return re.findall(r"^\[ranks\] rank \d has waited \d+ s for (.*)$", err, re.MULTILINE)


def test_a_long_wait_is_told_once_and_the_program_goes_on(started):
    (code, err), (other_code, other_err) = started("legal")
    assert (code, other_code, other_err) == (0, 0, "")
    told = waits_told(err)
    assert told[0] == (
        f"rank 1: it calls all_reduce of 4 float32 (SUM) {at('collective', 'legal')}"
    )
    assert told[1] == f"rank 1: it receives 4 float32 from rank 1 (irecv) {at('message', 'legal')}"
    if sys.platform.startswith("linux"):  # elsewhere nobody knows whether a thread computes
        assert told.pop(2) == f"another rank, inside torch, {at('native', 'legal')}"
    # At the same line again: only what lasts twice as long.
    assert told[2:] == [f"rank 1: it calls barrier {at('twice', 'legal')}"]
    assert len(err.splitlines()) == 4


@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_deadlock_ends_in_a_sentence(started, checked):
    ends = started("deadlock", 9, LAB_CHECKED=checked)
    words = []
    for rank, (code, err) in enumerate(ends):
        here = f"it receives 4 float32 from rank {1 - rank} {at('deadlock', 'deadlock')}"
        assert code == 1
        assert waits_told(err) == [f"rank {1 - rank}: {here}"]
        assert len(err.splitlines()) == 2, err
        words.append(err.splitlines()[1])
    late = [
        f"error: no message came from rank {1 - rank} within 9 s: "
        f"rank {rank} receives 4 float32 from rank {1 - rank} {at('deadlock', 'deadlock')}. Where "
        "it may be a deadlock, python -m helpers.ranks finds and explains it on one machine"
        for rank in (0, 1)
    ]
    # The rank that gives up first breaks the other one's connection.
    broke = [f"error: the connection to rank {1 - rank} broke: " for rank in (0, 1)]
    assert any(word == told for word, told in zip(words, late, strict=True))
    for word, told, other in zip(words, late, broke, strict=True):
        assert word == told or word.startswith(other)


def test_a_send_that_nobody_takes(started):
    code, err = started("nobody_takes_it", 9)[0]
    assert code == 1
    assert err.splitlines()[-1].startswith(
        "error: rank 1 took no message within 9 s: "
        f"rank 0 sends 4 float32 to rank 1 {at('nobody', 'nobody_takes_it')}. "
    )
    assert len(err.splitlines()) == 2


def test_a_backward_pass_that_waits(started):
    code, err = started("backward", 9)[0]
    assert code == 1
    assert err.splitlines()[-1].startswith(
        "error: no message came from another rank within 9 s: "
        f"rank 0 waits inside torch {at('no gradient comes', 'backward')}. "
    )


@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_rank_whose_partner_has_died(started, checked):
    (code, err), (other, _) = started("dies", LAB_CHECKED=checked)
    assert (code, other) == (1, 3)
    assert err == (
        "error: the connection to rank 1 broke: rank 0 receives 4 float32 from rank 1 "
        f"{at('dead', 'dies')}. That rank has ended, or the network between them is down: "
        "read what it said last\n"
    )


def test_a_rank_that_does_not_exist(started):
    _, (code, err) = started("nowhere", 9)
    told = (
        "rank 1 receives from rank -1, but the ranks are 0 to 1: name one of these "
        f"{at('nowhere', 'nowhere')}"
    )
    assert f"[ranks] {told}\n" in err
    assert f"error: {told}\n" in err


def test_another_error_of_torch_keeps_its_traceback(started):
    for rank, (code, err) in enumerate(started("no_sentence")):
        assert code == 1
        assert f"[rank{rank}]: Traceback (most recent call last):\n" in err
        assert "[ranks]" not in err


def test_a_traceback_that_is_shown_ends_in_the_sentence(started):
    for rank, (_, err) in enumerate(started("bare", 9, LAB_TRACEBACK="1")):
        assert f"[rank{rank}]: Traceback (most recent call last):\n" in err
        assert re.match(
            rf"\[ranks\] (no message came from rank {1 - rank} within 9 s|the connection to rank )",
            err.splitlines()[-1],
        )
