"""What a person says about a rank, alone and beside what a launcher says."""

import pytest

from helpers.ranks import Place, PlaceError, find_place, usable_cores

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "10.0.0.7",
    "MASTER_PORT": "41000",
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
