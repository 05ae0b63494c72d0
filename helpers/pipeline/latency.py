"""What a message costs between ranks that sleep: with it, a paced step is foretold."""

import statistics
import time

import torch
import torch.distributed as dist

ROUNDS = 5


def message_latency(pause: float = 0.04, rounds: int = ROUNDS, numbers: int = 1) -> float:
    """Seconds from the end of a rank's sleep until the next rank has its message.

    All ranks call it together; each gets the same answer: the median over `rounds` of the mean over
    one way from rank 0 to the last and back. Each rank sleeps `pause` seconds (as the actions of a
    `Pace` do) before it sends `numbers` float32: a processor that sleeps wakes late, on a virtual
    machine by a millisecond, and a message between ranks that are awake would not show it.

    Give it to `Pace.costs(latency=...)`. One rank alone: 0.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    buffer = torch.zeros(numbers)
    dist.barrier()
    found = []
    for _ in range(rounds if size > 1 else 0):
        begun = time.perf_counter()
        for step in (1, -1):  # down the line, then back up
            before, after = rank - step, rank + step
            if 0 <= before < size:
                dist.recv(buffer, before)
            if 0 <= after < size:
                time.sleep(pause)
                dist.send(buffer, after)
        messages = 2 * (size - 1)
        found.append((time.perf_counter() - begun) / messages - pause)
    answer = torch.tensor([statistics.median(found) if found else 0.0], dtype=torch.float64)
    dist.broadcast(answer, 0)  # only rank 0 saw the whole way
    return answer.item()
