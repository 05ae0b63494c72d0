"""Every launcher's environment leads to the same facts; nonsense leads to one sentence."""

import pytest

from helpers.ranks.place import Place, PlaceError, find_place, usable_cores

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "10.0.0.7",
    "MASTER_PORT": "41000",
}
SLURM = {
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS_PER_NODE": "4",
    "SLURM_STEP_ID": "0",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_NODELIST": "node[03-04,9],gpu1",
}
OPENMPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}


def refusal(*args, **kwargs) -> str:
    with pytest.raises(PlaceError) as caught:
        find_place(*args, **kwargs)
    return str(caught.value)


def test_a_person_gives_the_rank():
    assert find_place("2", 3, {}) == Place(2, 3, 2, 3, "localhost", 29500, "by hand")


def test_a_person_may_set_address_and_port():
    place = find_place("2", 3, {"MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "40000"})
    assert (place.address, place.port) == ("10.0.0.7", 40000)


def test_one_process_alone_is_rank_0():
    assert find_place(None, None, {}) == Place(0, 1, 0, 1)


def test_torchrun():
    assert find_place(environ=TORCHRUN) == Place(5, 8, 1, 4, "10.0.0.7", 41000, "torchrun")


def test_slurm():
    place = find_place(environ=SLURM)
    assert (place.rank, place.world_size, place.local_rank, place.local_world_size) == (5, 8, 1, 4)
    assert (place.address, place.launcher) == ("node03", "Slurm")


def test_slurm_writes_tasks_per_node_in_two_ways():
    assert find_place(environ=SLURM | {"SLURM_NTASKS_PER_NODE": "4(x2)"}).local_world_size == 4


def test_two_slurm_jobs_on_one_machine_meet_at_different_ports():
    other = SLURM | {"SLURM_JOB_ID": "78"}
    assert find_place(environ=SLURM).port != find_place(environ=other).port
    assert find_place(environ=SLURM).port == find_place(environ=SLURM | {"SLURM_PROCID": "6"}).port


def test_a_shell_inside_a_slurm_allocation_is_not_a_rank():
    environ = {k: v for k, v in SLURM.items() if k != "SLURM_STEP_ID"}
    assert find_place("1", 2, environ).launcher == "by hand"


def test_mpi():
    place = find_place(environ=OPENMPI)
    assert (place.rank, place.world_size, place.local_rank, place.launcher) == (5, 8, 1, "MPI")


def test_mpich():
    place = find_place(environ={"PMI_RANK": "1", "PMI_SIZE": "2"})
    assert (place.rank, place.world_size, place.launcher) == (1, 2, "MPI")


def test_torchrun_below_slurm_wins():
    assert find_place(environ=SLURM | TORCHRUN).launcher == "torchrun"


@pytest.mark.parametrize("rank", ["3", "-1", "100"])
def test_a_rank_out_of_range(rank):
    said = refusal(rank, 3, {})
    assert said == (
        f"the rank must be a whole number from 0 to 2, because the world size is 3; it is {rank}"
    )


@pytest.mark.parametrize("rank", ["one", "1.5", ""])
def test_a_rank_that_is_no_number(rank):
    assert refusal(rank, 3, {}) == f"the rank must be a whole number, not {rank!r}"


def test_a_missing_rank():
    assert "python -m helpers.ranks -n 3 SCRIPT" in refusal(None, 3, {})


def test_a_world_size_below_one():
    assert refusal("0", 0, {}) == "the world size must be 1 or more, not 0"


def test_a_rank_that_contradicts_torchrun():
    assert "torchrun says that it is rank 5" in refusal("1", None, TORCHRUN)


def test_a_world_size_that_contradicts_torchrun():
    assert "torchrun started 8" in refusal(None, 3, TORCHRUN)


def test_a_port_that_is_none():
    assert refusal("0", 3, {"MASTER_PORT": "99999"}).startswith("MASTER_PORT must be a number")
    assert "not 'http'" in refusal("0", 3, {"MASTER_PORT": "http"})


def test_cores():
    assert usable_cores() >= 1
