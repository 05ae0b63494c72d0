"""What a person says about a rank, alone and beside what a launcher says."""

import pytest

from helpers.ranks import Place, PlaceError, find_place

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "10.0.0.7",
    "MASTER_PORT": "41000",
}


def test_a_person_gives_the_rank():
    assert find_place("2", 3, {}) == Place(2, 3, 2, 3, "localhost", 29500, "by hand")


def test_a_person_may_set_address_and_port():
    place = find_place("2", 3, {"MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "40000"})
    assert (place.address, place.port) == ("10.0.0.7", 40000)


def test_one_process_alone_is_rank_0():
    assert find_place(None, None, {}) == Place(0, 1, 0, 1)


RANGE = "the rank must be a whole number from 0 to 2, because the world size is 3; it is "


@pytest.mark.parametrize(
    ("rank", "size", "environ", "said"),
    [
        ("3", 3, {}, RANGE + "3"),
        ("-1", 3, {}, RANGE + "-1"),
        ("1", 1, {}, "the rank must be 0, because the world size is 1; it is 1"),
        ("one", 3, {}, "the rank must be a whole number, not 'one'"),
        ("", 3, {}, "the rank must be a whole number, not ''"),
        (None, 3, {}, "python -m helpers.ranks -n 3 SCRIPT"),
        ("0", 0, {}, "the world size must be 1 or more, not 0"),
        ("1", None, TORCHRUN, "torchrun says that it is rank 5"),
        (None, 3, TORCHRUN, "torchrun started 8"),
        ("0", 3, {"MASTER_PORT": "99999"}, "MASTER_PORT must be a number"),
        ("0", 3, {"MASTER_PORT": "http"}, "not 'http'"),
    ],
)
def test_what_cannot_be_is_one_sentence(rank, size, environ, said):
    with pytest.raises(PlaceError) as caught:
        find_place(rank, size, environ)
    assert said in str(caught.value) and "\n" not in str(caught.value)
