"""NCCL where each rank has a GPU of its own, gloo elsewhere, and the reason in words."""

import pytest

from helpers.ranks import Place, connect, disconnect
from helpers.ranks.connect import BackendError, choose_backend
from helpers.ranks.environment import free_port

pytestmark = pytest.mark.ranks


def place(ranks: int) -> Place:
    return Place(0, ranks, 0, ranks)


@pytest.mark.parametrize(
    ("ranks", "gpus", "nccl", "backend", "why"),
    [
        (3, 0, True, "gloo", "there is no GPU here"),
        (3, 3, False, "gloo", "no NCCL"),
        (3, 1, True, "gloo", "a GPU for each rank, and there are 3 ranks and 1 GPU here"),
        (2, 2, True, "nccl", "each rank has a GPU of its own"),
        (1, 1, True, "nccl", "each rank has a GPU of its own"),
    ],
)
def test_auto(ranks, gpus, nccl, backend, why):
    choice = choose_backend("auto", place(ranks), gpus, nccl)
    assert choice.backend == backend
    assert why in choice.why


@pytest.mark.parametrize(
    ("request_", "gpus", "nccl", "sentence"),
    [
        (
            "nccl",
            0,
            True,
            "NCCL was asked for, and there is no GPU here \\(lessons see none\\): use --ba",
        ),
        ("nccl", 2, False, "this build of torch has no NCCL: use --backend gloo"),
        ("nccl", 1, True, "NCCL needs a GPU for each rank, and there are 2 ranks and 1 GPU here"),
        ("mpi", 0, True, "the backend must be one of auto, gloo, nccl, not 'mpi'"),
    ],
)
def test_refused(request_, gpus, nccl, sentence):
    with pytest.raises(BackendError, match=sentence):
        choose_backend(request_, place(2), gpus, nccl)


@pytest.mark.parametrize("quiet", [None, True])
def test_rank_0_says_what_was_chosen_unless_it_is_to_be_quiet(quiet, capsys):
    connect(
        Place(0, 1, 0, 1, port=free_port()), "gloo", **({} if quiet is None else {"quiet": quiet})
    )
    disconnect()
    assert ("ranks over gloo" in capsys.readouterr().out) == (quiet is None)
