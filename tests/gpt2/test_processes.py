"""Who starts ranks: where the input was wrong, rank 0's sentence is not cut off by another rank."""

import sys
import time

from project.processes import run_ranks


def refuses(rank):
    if rank == 0:
        time.sleep(0.5)
        print("error: said by rank 0", file=sys.stderr, flush=True)
    sys.exit(2)


def test_rank_0_has_time_to_say_its_sentence(capfd):
    assert run_ranks(refuses, [(0,), (1,)]) == 2
    assert "said by rank 0" in capfd.readouterr().err
