"""Where the ranks meet: the address and the port at which rank 0 listens.

Every process derives both from what its launcher left, without asking any other.
"""

import contextlib
import random
import socket
import zlib
from collections.abc import Mapping
from pathlib import Path

from helpers.ranks.launchers import Counts, PlaceError, first_host, whole_number
from helpers.ranks.store import DEFAULT_ADDRESS, DEFAULT_PORT

# Below the ephemeral ports (Linux from 32768, others from 49152), so that another program hardly
# ever takes one before rank 0 listens.
PORTS = range(20000, 32768)
# The name of a job: all its processes derive the same port from it, and another job another one.
JOB_NAMES = ("SLURM_JOB_ID", "PMIX_NAMESPACE", "PBS_JOBID", "PALS_APID")
STEP = "SLURM_STEP_ID"  # two steps of a job may run at once; below mpirun each machine has its own


def rendezvous(environ: Mapping[str, str], counts: Counts) -> tuple[str, int]:
    """Return the address and port of rank 0: as set, or derived from what the launcher left.

    Raises:
        PlaceError: if the ranks are on several machines and nothing names the first one.
    """
    address = environ.get("MASTER_ADDR") or _known_host(environ, counts)
    if environ.get("MASTER_PORT") or counts.source in ("ranks", "env"):
        return address, port_of(environ)
    # Every process of a job must find the same port, and two jobs on one machine must not share
    # it, so it is a hash of the job's name.
    named = (*JOB_NAMES, STEP) if counts.source == "slurm" else JOB_NAMES
    job = " ".join(environ[name] for name in named if environ.get(name))
    return address, PORTS[zlib.crc32(job.encode()) % len(PORTS)] if job else DEFAULT_PORT


def port_of(environ: Mapping[str, str]) -> int:
    """Return MASTER_PORT, or torch's default port; raise PlaceError if it is not a port."""
    port = whole_number(environ.get("MASTER_PORT") or DEFAULT_PORT, "MASTER_PORT")
    if not 0 < port < 65536:
        raise PlaceError(f"MASTER_PORT must be a number from 1 to 65535, not {port}")
    return port


def free_port(host: str = "127.0.0.1") -> int:
    """Return an unused port, chosen at random.

    Args:
        host: the address on which it must be free; "" stands for every network.

    Raises:
        OSError: if no port is free.
    """
    chance = random.SystemRandom()  # leaves the state of the caller's generator alone
    for port in chance.sample(PORTS, 100):
        with contextlib.suppress(OSError):
            return _bound(host, port)
    return _bound(host, 0)  # any that the system has left


def _bound(host: str, port: int) -> int:
    """Return the port if it is free; port 0 takes any. Raises OSError if it is in use."""
    with socket.socket() as probe:
        if exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):  # Windows lets two have one
            probe.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        probe.bind((host, port))
        return probe.getsockname()[1]


def _known_host(environ: Mapping[str, str], counts: Counts) -> str:
    """Return the host of rank 0 if MASTER_ADDR does not name it."""
    here = counts.local_world_size
    if here == counts.world_size:
        return DEFAULT_ADDRESS
    if names := environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST"):
        if environ.get("SLURM_DISTRIBUTION") == "arbitrary":  # the list of nodes is sorted
            return _first_of_arbitrary(environ)
        return first_host(names)
    if counts.source not in ("mpi", "pals") or here is None:
        return DEFAULT_ADDRESS
    if host := _first_line(environ.get("PBS_NODEFILE")):
        return host
    raise PlaceError(
        f"{counts.name} started {counts.world_size} ranks, {here} of them here, and no variable "
        "says on which machine rank 0 is: set MASTER_ADDR to its name for every rank (mpirun -x "
        "MASTER_ADDR=NAME), or let --rank-source mpi ask MPI"
    )


def _first_of_arbitrary(environ: Mapping[str, str]) -> str:
    """Return the host of rank 0 under srun -m arbitrary, from the file of hosts it was given."""
    if host := _first_line(environ.get("SLURM_HOSTFILE")):
        return host
    raise PlaceError(
        "srun -m arbitrary takes the ranks' machines from the file SLURM_HOSTFILE, which cannot be "
        "read here: set MASTER_ADDR to its first line for every rank"
    )


def _first_line(path: str | None) -> str:
    """Return the first host of a file of hosts; an empty string if it can't be read."""
    try:
        return Path(path).read_text(encoding="utf-8").split()[0] if path else ""
    except (OSError, IndexError):
        return ""
