"""Count ranks in two ways, and say what it costs where they are. Task LA-1.

python -m helpers.ranks -n 3 jobs/count_ranks.py
jobs/mpi.sh jobs/count_ranks.py
"""

import os
import platform

from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect, find_place

# Of each launcher the variables with the rank, the world size, and the local rank; the innermost
# launcher, which started last, comes first.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),  # Open MPI
    ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
# torchrun always sets this one too. Without it, RANK may be left over from another job.
SET_BY_TORCHRUN = "TORCHELASTIC_RUN_ID"


def from_environment(environ):
    """Return the rank, the world size and the local rank, from the variables alone.

    Believe the first of LAUNCHERS whose rank and world size are both there; if one of them is
    missing, nothing of that launcher counts. If it leaves no local rank, all ranks are on one
    machine. If no launcher is there, this process is alone: 0, 1, 0.

    But anybody can set RANK and WORLD_SIZE, and they stay in a terminal when the job is over. If
    SET_BY_TORCHRUN isn't there, they count only as long as no other launcher of the list says
    another rank or another world size.

    Args:
        environ: names and values, both text, as in os.environ.

    Raises:
        ValueError: for a rank that the world size doesn't allow, or a RANK that another launcher
            contradicts; the message names the variable with the rank.
    """
    # BEGIN SOLUTION LA-1
    found = []
    for rank_name, size_name, local_name in LAUNCHERS:
        if rank_name in environ and size_name in environ:
            rank, world_size = int(environ[rank_name]), int(environ[size_name])
            if not found and not 0 <= rank < world_size:
                raise ValueError(f"{rank_name}={rank} does not fit {size_name}={world_size}")
            found.append((rank_name, rank, world_size, int(environ.get(local_name, rank))))
    if not found:
        return 0, 1, 0
    name, rank, world_size, local_rank = found[0]
    if name == "RANK" and SET_BY_TORCHRUN not in environ:
        for other, *says, _ in found[1:]:
            if says != [rank, world_size]:
                raise ValueError(f"RANK={rank} of {world_size}, but {other} says {says}: unset it")
    return rank, world_size, local_rank
    # END SOLUTION


def from_hosts(hosts, rank):
    """The local rank, the local size, the machine, the number of machines: from host names alone.

    hosts: on which host each rank is, one name for each rank, in the order of the ranks.
    rank: the rank to tell it of.

    Local ranks count from 0 in the order of the ranks; so do machines, in the order of their first
    rank. Ranks of one machine need not stand side by side, and machines may have unequal numbers.
    """
    here = hosts[rank]
    machines = list(dict.fromkeys(hosts))
    before = [host for host in hosts[:rank] if host == here]
    return len(before), hosts.count(here), machines.index(here), len(machines)


def ring_seconds(hosts, size, inside, between):
    """The seconds of a ring all-reduce of `size` bytes, from where the ranks are.

    hosts: on which host each rank is. inside, between: the Link between two ranks of one host, and
    the cable of each host; `link.seconds(bytes)` is the time of one message.

    In each of 2 (n - 1) steps every rank sends one part of n to the next rank, and the last rank to
    the first. A step ends when the slowest message has come. Messages that leave one host in one
    step share its cable, as if they were one message.
    """
    ranks = len(hosts)
    part = size / ranks
    hops = [(host, hosts[(rank + 1) % ranks]) for rank, host in enumerate(hosts)]
    leaving = [here for here, there in hops if here != there]
    times = [between.seconds(part * leaving.count(host)) for host in leaving]
    if any(here == there for here, there in hops):
        times.append(inside.seconds(part))
    return 2 * (ranks - 1) * max(times)


def main():
    import torch.distributed as dist

    rank, world_size, local_rank = from_environment(os.environ)
    print(f"the environment: rank {rank} of {world_size}, local rank {local_rank}")
    connect(find_place(), quiet=True)
    hosts = [""] * dist.get_world_size()
    dist.all_gather_object(hosts, platform.node())
    local, count, node, nodes = from_hosts(hosts, dist.get_rank())
    print(f"the host names: local rank {local} of {count}, on machine {node} of {nodes}")
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
