"""Where rank 0 listens while all ranks find each other."""

import contextlib
import random
import socket
import zlib
from collections.abc import Mapping
from pathlib import Path

from helpers.ranks.launchers import Counts, PlaceError, whole
from helpers.ranks.slurm import first_host

DEFAULT_ADDRESS = "localhost"
DEFAULT_PORT = 29500
# Below the ports that a system hands out by itself (Linux from 32768, others from 49152): hardly
# anybody takes one of these before rank 0 listens.
PORTS = range(20000, 32768)
# What names a job: with it all its processes work out one port, and another job another one.
JOB_NAMES = ("SLURM_JOB_ID", "PMIX_NAMESPACE", "PBS_JOBID", "PALS_APID")


def rendezvous(environ: Mapping[str, str], counts: Counts) -> tuple[str, int]:
    """Address and port of rank 0: as set, else what the launcher lets us work out.

    Raises PlaceError where the ranks are on several machines and nothing names the first one.
    """
    address = environ.get("MASTER_ADDR") or _known_host(environ, counts)
    if environ.get("MASTER_PORT") or counts.source in ("ranks", "env"):
        return address, port_of(environ)
    # Every process of one job must find the same port, and two jobs on one machine must not
    # share it: so it is computed from the name of the job.
    job = "".join(environ.get(name, "") for name in JOB_NAMES)
    return address, PORTS[zlib.crc32(job.encode()) % len(PORTS)] if job else DEFAULT_PORT


def port_of(environ: Mapping[str, str]) -> int:
    """MASTER_PORT, or torch's usual port.  Raises PlaceError where it is no port."""
    port = whole(environ.get("MASTER_PORT") or DEFAULT_PORT, "MASTER_PORT")
    if not 0 < port < 65536:
        raise PlaceError(f"MASTER_PORT must be a number from 1 to 65535, not {port}")
    return port


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody uses, chosen by chance.  host: "" for every network it has.

    Raises OSError where none can be had.
    """
    chance = random.SystemRandom()  # it leaves the caller's own random numbers alone
    for port in chance.sample(PORTS, 100):
        with contextlib.suppress(OSError):
            return _bound(host, port)
    return _bound(host, 0)  # any that the system has left


def _bound(host: str, port: int) -> int:
    """The port, if it can be had."""
    with socket.socket() as probe:
        if exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):  # Windows lets two have one
            probe.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        probe.bind((host, port))
        return probe.getsockname()[1]


def _known_host(environ: Mapping[str, str], counts: Counts) -> str:
    """The host of rank 0, where MASTER_ADDR does not name it."""
    here = counts.local_world_size
    if here == counts.world_size:
        return DEFAULT_ADDRESS
    if names := environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST"):
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


def _first_line(path: str | None) -> str:
    """The first host of a PBS node file; an empty string where there is none to read."""
    try:
        return Path(path).read_text(encoding="utf-8").split()[0] if path else ""
    except (OSError, IndexError):
        return ""
