"""Wrong input gets one sentence: what was wrong, where, what to do."""

import pytest
from cluster import Dist, Model, PuzzleError, outcome, run
from part2 import part2_training_loop
from part3 import part3_training_loop
from part4 import part4_training_loop
from steps import data_parallel
from utils import check, get_global_batch_list, get_next_microbatch


def test_an_error_of_the_step_itself_comes_through():
    async def step(m):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(step, 2, 2, 4)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: run(lambda m: m, 1, 2, 4), "rank 0: the step returned a Model where a"),
        (lambda: Dist(0), "Dist: world_size must be a whole number, 1 or more, not 0"),
        (lambda: Dist(2, "fast"), "'fast': choose bytes, classic, measured or steps"),
        (lambda: Model(2, Dist(2)), "there is no rank 2: they are 0 to 1"),
        (lambda: Model(0, Dist(2), 0), "num_layers must be a whole number, 1 or more, not 0"),
        (lambda: list(get_next_microbatch(10, 4, 2, 0)), "a batch of 10 samples cannot be divided "
         "into 4 ranks: some would be left out"),
        (lambda: list(get_next_microbatch(8, 4, 0, 0)), "batch_size must be a whole number, 1 or"),
        (lambda: get_global_batch_list(10, 4), "a batch of 10 samples cannot be divided into "
         "micro-batches of 4"),
        (lambda: Model(1, Model(0, Dist(2), 2, 4).dist, 3, 4), "rank 1 has 3 layers and 4 samples, "
         "and rank 0 2 and 4: give all the same"),
        (lambda: Model(0, run(data_parallel, 1, 2, 4)[0].dist, 2, 4), "rank 0 of this Dist has "
         "a model already"),
        (lambda: check([]), "there are no models to check"),
        (lambda: check([None]), "the step of rank 0 returned a NoneType, not its model"),
    ],
)  # fmt: skip
def test_arguments(call, says):
    with pytest.raises(PuzzleError) as caught:
        call()
    assert says in str(caught.value)


def test_profile_from_the_environment(monkeypatch):
    assert Dist(1).profile.name == "bytes"
    monkeypatch.setenv("PUZZLES_PROFILE", "classic")
    assert Dist(1).profile.name == "classic"
    monkeypatch.setenv("PUZZLES_PROFILE", "quick")
    with pytest.raises(PuzzleError, match="there is no profile 'quick'"):
        Dist(1)


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_world_size_and_more_ranks_than_layers(ranks, profile):
    assert outcome(run(part2_training_loop, ranks, 3, 8, profile=profile)).time > 0
    for step in (part3_training_loop, part4_training_loop):
        assert outcome(run(step, ranks, 3, 8, 2, profile=profile)).time > 0
