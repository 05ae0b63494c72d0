"""Wrong input gets one sentence: what was wrong, where, what to do."""

import pytest
from cluster import Dist, Model, PuzzleError, outcome, run
from cluster.errors import NeverEnds
from part2 import part2_training_loop
from part3 import part3_training_loop
from part4 import part4_training_loop
from steps import data_parallel
from utils import check, get_global_batch_list, get_next_microbatch


def test_a_loop_that_asks_nothing_of_the_cluster_is_stopped():
    async def only_loops(m):
        while True:
            pass

    with pytest.raises(NeverEnds, match="the step did not end within 0.3 s"):
        run(only_loops, 2, 2, 4, seconds=0.3)


def test_an_error_of_the_step_itself_comes_through():
    async def step(m):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(step, 2, 2, 4)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: run(lambda m: m, 1, 2, 4), "rank 0: the step gave a Model where a coroutine was"),
        (lambda: Dist(0), "Dist(0): a cluster has 1 rank or more, a whole number"),
        (lambda: Dist(2, "fast"), "'fast': choose bytes, classic, measured or steps"),
        (lambda: Dist(2, "classic", "tpu"), "there is no machine 'tpu': choose h100, or give the"),
        (lambda: Dist(10**6, "classic"), "machine h100 joins at most 65536 ranks"),
        (lambda: Model(2, Dist(2)), "there is no rank 2 in a cluster of 2: they are 0 to 1"),
        (lambda: Model(0, Dist(2), 0), "num_layers is a whole number from 1 on, not 0"),
        (lambda: Model(0, type("Free", (Dist,), {})(1)), "dist must be a Dist, not a Free"),
        (lambda: list(get_next_microbatch(10, 4, 2, 0)), "a batch of 10 samples cannot be divided "
         "by 4 ranks: some samples would be left out"),
        (lambda: list(get_next_microbatch(8, 4, 0, 0)), "batch_size must be a whole number, 1 or"),
        (lambda: get_global_batch_list(10, 4), "a batch of 10 samples cannot be divided into "
         "micro-batches of 4"),
        (lambda: Model(1, Model(0, Dist(2), 2, 4).dist, 3, 4), "rank 1 has 3 layers and 4 samples, "
         "and rank 0 2 and 4: give all the same"),
        (lambda: Model(0, run(data_parallel, 1, 2, 4)[0].dist, 2, 4), "rank 0 of this Dist has "
         "worked already"),
        (lambda: check([]), "there are no models to check"),
        (lambda: check([None]), "the step of rank 0 returned nothing"),
    ],
)  # fmt: skip
def test_arguments(call, says):
    with pytest.raises(PuzzleError) as caught:
        call()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON file"),
        ("{}", "has no field 'matrix': a Calculon system file has matrix, mem1, mem2, networks"),
        ('{"matrix": {"tflops": 1, "gflops_efficiency": 3}}', "is not in the form of a Calculon"),
        ('{"matrix": {"tflops": 1, "gflops_efficiency": {"float16": [[0, 0]]}}}', "in the form of"),
    ],
)  # fmt: skip
def test_machine_file(text, says, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(text)
    with pytest.raises(PuzzleError) as caught:
        Dist(2, "classic", str(path))
    assert says in str(caught.value)


def test_profile_from_the_environment(monkeypatch):
    assert Dist(1).profile.name == Dist(1, "honest").profile.name == "bytes"
    monkeypatch.setenv("PUZZLES_PROFILE", "classic")
    assert Dist(1).profile.name == "classic"
    monkeypatch.setenv("PUZZLES_PROFILE", "quick")
    with pytest.raises(PuzzleError, match="there is no profile 'quick'"):
        Dist(1)


def test_freed_is_a_key_error_too():
    async def step(m):
        weights = m.storage()[0]
        try:
            weights[5]
        except KeyError:
            weights[5], _ = m.load_weights(1)
        assert weights.get(6) is None and 5 in weights and weights.pop(7, 8) == 8
        weights.update({6: weights[5]})
        weights |= {7: weights[5]}
        assert weights.setdefault(6) is weights[5] and weights.popitem()[0] == 7
        assert weights.copy() == {5: weights[5], 6: weights[5]}
        return m

    run(step, 1, 2, 4)


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_world_size_and_more_ranks_than_layers(ranks, profile):
    assert outcome(run(part2_training_loop, ranks, 3, 8, profile=profile)).time > 0
    for step in (part3_training_loop, part4_training_loop):
        assert outcome(run(step, ranks, 3, 8, 2, profile=profile)).time > 0
