"""Wrong input gets one sentence: what was wrong, where, what to do."""

import pytest
from cluster import Dist, Model, PuzzleError, outcome, run
from cluster.errors import Freed, Misplaced, Missing, NeverEnds, WrongShard
from steps import data_parallel, load_all, there_and_back
from utils import check, get_global_batch_list, get_next_microbatch


async def never_ends(m):
    load_all(m)
    m.storage()[2][0] = m.get_input_activation(range(4))
    while True:
        m.forward(0, m.storage()[2][0], m.storage()[0][0])


async def only_loops(m):
    while True:
        pass


async def returns_nothing(m):
    await data_parallel(m)


async def forgets_a_layer(m):
    await data_parallel(m)
    m._books.finals.pop(1)  # as if set_final_weight had not been called
    m._books.loaded.discard(1)
    return m


async def sends_to_itself(m):
    await m.send(m.rank, m.get_input_activation([0]))


async def receives_from_outside(m):
    await m.receive(-1)


async def sends_a_number(m):
    await m.send(1 - m.rank, 3)


async def sends_what_it_has_freed(m):
    acts = m.storage()[2]
    acts[3] = m.get_input_activation([0])
    del acts[3]
    await m.send(1 - m.rank, acts[3])


async def forgets_await(m):
    await data_parallel(m)
    m.all_reduce(m.empty_grad(0), 0)
    return m


async def forgets_await_and_uses(m):
    load_all(m)
    there_and_back(m, range(4))
    m.storage()[4][0] = m.all_reduce(m.storage()[4][0], 0)


async def layer_too_many(m):
    m.load_weights(2)


async def shard_too_many(m):
    m.load_weights(0, 4, 4)


async def sample_too_many(m):
    m.get_input_activation([3, 4])


async def reduces_a_weight(m):
    load_all(m)
    await m.all_reduce(m.storage()[0][0], 0)


async def scatters_a_shard(m):
    grad = await m.reduce_scatter(m.empty_grad(0), 0)
    await m.reduce_scatter(grad, 0)


async def group_without_itself(m):
    m.group([1 - m.rank])


CASES = [
    (never_ends, 1, NeverEnds, "rank 0 has done 21,201 things, far more than a step"),
    (returns_nothing, 2, Missing, "the step of rank 0 returned nothing: end it with `return"),
    (forgets_a_layer, 1, Missing, "no rank has handed in a new weight of layer 1: call "
     "set_final_weight after the update of every layer"),
    (sends_to_itself, 2, Misplaced, "rank 0, send: dest is 0, this rank itself"),
    (receives_from_outside, 2, Misplaced, "receive: there is no rank -1: source must be 0 to 1"),
    (sends_a_number, 2, Misplaced, "send: it takes a value of the cluster, not a int"),
    (sends_what_it_has_freed, 2, Freed, "rank 0 uses activations[3], which it has freed"),
    (forgets_await, 1, Missing, "rank 0 never waited for what it had started: it is in all_reduce "
     "of the weight gradient of layer 0; write await before it"),
    (forgets_await_and_uses, 1, Misplaced, "grad_weights[0] takes values of the cluster, not a "
     "call that has not been awaited: write await before the call"),
    (layer_too_many, 1, Misplaced, "load_weights: there is no layer 2: they are 0 to 1"),
    (shard_too_many, 1, WrongShard, "load_weights: there is no shard 4 of 4"),
    (sample_too_many, 1, Misplaced, "get_input_activation: there is no sample 4: the batch has "
     "samples 0 to 3"),
    (reduces_a_weight, 1, Misplaced, "all_reduce: it takes a weight gradient, and got the weight "
     "of layer 0"),
    (scatters_a_shard, 2, WrongShard, "reduce_scatter: it cuts the sum into shards, and the "
     "weight gradient of layer 0, shard"),
    (group_without_itself, 2, Misplaced, "rank 0 is not in the group [1] that it asks for"),
]  # fmt: skip


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
@pytest.mark.parametrize(
    ("step", "ranks", "kind", "says"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_sentence(step, ranks, kind, says, profile, refused):
    assert says in refused(step, ranks, 2, 4, kind=kind, profile=profile)


def test_a_loop_that_asks_nothing_of_the_cluster_is_stopped():
    with pytest.raises(NeverEnds, match="the step did not end within 0.3 s"):
        run(only_loops, 2, 2, 4, seconds=0.3)


def test_an_error_of_the_step_itself_comes_through():
    async def step(m):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(step, 2, 2, 4)


def test_step_without_async():
    def step(m):
        return m

    with pytest.raises(Misplaced, match="rank 0: the step gave a Model where a coroutine was"):
        run(step, 1, 2, 4)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Dist(0), "Dist(0): a cluster has 1 rank or more, a whole number"),
        (lambda: Dist(2, "fast"), "'fast': choose bytes, classic, measured or steps"),
        (lambda: Dist(2, "classic", "tpu"), "there is no machine 'tpu': choose h100, or give the"),
        (lambda: Dist(10**6, "classic"), "machine h100 joins at most 65536 ranks"),
        (lambda: Model(2, Dist(2)), "there is no rank 2 in a cluster of 2: they are 0 to 1"),
        (lambda: Model(0, Dist(2), 0), "num_layers is a whole number from 1 on, not 0"),
        (lambda: Model(0, "dist"), "dist must be a Dist, not a str"),
        (lambda: list(get_next_microbatch(10, 4, 2, 0)), "a batch of 10 samples cannot be divided "
         "by 4 ranks: some samples would be left out"),
        (lambda: list(get_next_microbatch(8, 4, 0, 0)), "batch_size must be a whole number, 1 or"),
        (lambda: get_global_batch_list(10, 4), "a batch of 10 samples cannot be divided into "
         "micro-batches of 4"),
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


def test_models_that_do_not_fit_together():
    dist = Dist(2)
    Model(0, dist, 2, 4)
    with pytest.raises(PuzzleError, match="rank 1 has 3 layers and 4 samples, and rank 0 2 and 4"):
        Model(1, dist, 3, 4)


def test_a_second_run_on_the_same_dist():
    models = run(data_parallel, 1, 2, 4)
    with pytest.raises(PuzzleError, match="rank 0 of this Dist has worked already"):
        Model(0, models[0].dist, 2, 4)


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


def test_every_world_size_and_more_ranks_than_layers():
    import part2
    import part3
    import part4

    for ranks in (1, 2, 3, 4, 8):
        for profile in ("bytes", "classic", "steps"):
            assert outcome(run(part2.part2_training_loop, ranks, 3, 8, profile=profile)).time > 0
            assert outcome(run(part3.part3_training_loop, ranks, 3, 8, 2, profile=profile)).time > 0
            assert outcome(run(part4.part4_training_loop, ranks, 3, 8, 2, profile=profile)).time > 0
