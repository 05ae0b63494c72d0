"""What a rank under somebody else's launcher says when a message doesn't come."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from helpers.ranks.environment import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LAUNCHERS = ("SLURM_", "PALS_", "PMI_", "OMPI_", "LAB_", "MASTER_", "GLOO_", "TP_", "NCCL_")
PROGRAM = textwrap.dedent("""
    import argparse, os
    import torch, torch.distributed as dist
    from helpers.plain_errors import plain_errors
    from helpers.ranks import connect, disconnect, watch
    from helpers.ranks.script import add_rank_flags, place_from

    watch.SAY_AFTER_S = 0.8

    def deadlock(rank, other, x):
        dist.recv(x, src=other)  # deadlock

    def dies(rank, other, x):
        dist.barrier()
        if rank == 1:
            os._exit(3)
        dist.recv(x, src=1)  # dead

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
            err = process.communicate(timeout=300)[1]
            ended.append((process.returncode, err))
        return ended

    port = str(free_port())
    return start


def waits_told(err: str) -> list[str]:
    """Return what was told of waits, without how long they had lasted."""
    return re.findall(r"^\[ranks\] rank \d has waited \d+ s for (.*)$", err, re.MULTILINE)


@pytest.mark.long_for("0")
@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_deadlock_ends_in_a_sentence(started, checked):
    ends = started("deadlock", 9, LAB_CHECKED=checked)
    words = []
    for rank, (code, err) in enumerate(ends):
        here = f"it receives 4 float32 from rank {1 - rank} {at('deadlock', 'deadlock')}"
        assert code == 1
        lines = err.splitlines()
        if rank == 0:  # it tells for all, and that within 15 s
            assert "[ranks] deadlock: ranks 0 and 1 both receive first" in err
            assert "  Cure: let one of them send first\n" in err
        else:
            assert waits_told(err) == [f"rank 0: {here}"] and len(lines) == 2, err
        words.append(lines[-1])
    late = [
        f"error: no message came from rank {1 - rank} within 9 s: "
        f"rank {rank} receives 4 float32 from rank {1 - rank} {at('deadlock', 'deadlock')}"
        for rank in (0, 1)
    ]
    # The rank that gives up first breaks the other one's connection.
    broke = [f"error: the connection to rank {1 - rank} broke: " for rank in (0, 1)]
    assert any(word == told for word, told in zip(words, late, strict=True))
    for word, told, other in zip(words, late, broke, strict=True):
        assert word == told or word.startswith(other)


@pytest.mark.long_for("0")
@pytest.mark.parametrize("checked", ["0", "1"])
def test_a_rank_whose_partner_has_died(started, checked):
    (code, err), (other, _) = started("dies", LAB_CHECKED=checked)
    assert (code, other) == (1, 3)
    assert err == (
        "error: the connection to rank 1 broke: rank 0 receives 4 float32 from rank 1 "
        f"{at('dead', 'dies')}. That rank has ended, or the network between them is down: "
        "read what it said last\n"
    )
