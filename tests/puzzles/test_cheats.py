"""Cheats and mistakes: each is refused, in every profile, with a sentence that names it."""

import copy
import pickle

import pytest
from cluster import Dist, Model, outcome, run
from cluster.errors import Doubled, Forged, Frozen, Misplaced, Missing, Stale, WrongShard
from lib import Activation, Weight, WeightGrad
from steps import data_parallel, finish, layers_of, load_all, share, there_and_back

PROFILES = ("bytes", "classic", "steps")


def put(model, place, key, value):
    """Into storage where the profile asks for it."""
    model.storage()[place][key] = value
    return value


async def forged_gradient(m):
    load_all(m)
    grads = m.storage()[4]
    for i in layers_of(m):
        grads[i] = WeightGrad(i, m.num_layers, range(4), 4)


async def forged_activation(m):
    load_all(m)
    m.forward(1, Activation(1, 2, range(4), 4), m.storage()[0][1])


async def forged_weight_at_the_end(m):
    for i in layers_of(m):
        m.set_final_weight(i, Weight(i, m.num_layers, 1))


async def forged_in_a_collective(m):
    await m.all_reduce(WeightGrad(0, 2, share(m), 4), 0)


async def sample_taken_twice(m):
    load_all(m)
    there_and_back(m, [0, 1, 2])
    there_and_back(m, [2, 3])


async def reduced_gradient_added_to_the_local_one(m):
    load_all(m)
    for i in share(m):
        there_and_back(m, [i])
        grads = m.storage()[4]
        for layer in layers_of(m):
            grads[layer] += await m.all_reduce(grads[layer], layer)


async def reduced_twice(m):
    load_all(m)
    there_and_back(m, share(m))
    grad = put(m, 4, 0, await m.all_reduce(m.storage()[4][0], 0))
    await m.all_reduce(grad, 0)


async def all_ranks_take_the_same_samples(m):
    load_all(m)
    there_and_back(m, [0, 1])
    await m.all_reduce(m.storage()[4][0], 0)


async def micro_batch_forgotten(m):
    load_all(m)
    there_and_back(m, share(m)[:1])
    grads = m.storage()[4]
    for i in layers_of(m):
        grads[i] = await m.all_reduce(grads[i], i)
    finish(m)


async def never_reduced(m):
    load_all(m)
    there_and_back(m, share(m))
    finish(m)


async def old_weight_handed_in(m):
    load_all(m)
    there_and_back(m, range(4))
    w, s, _, _, g = m.storage()
    for i in layers_of(m):
        m.update(i, g[i], w[i], s[i])
        m.set_final_weight(i, w[i])


async def update_before_the_second_micro_batch(m):
    load_all(m)
    there_and_back(m, range(4))
    finish(m)
    there_and_back(m, range(4))


async def updated_twice(m):
    load_all(m)
    there_and_back(m, range(4))
    finish(m)
    finish(m)


async def one_replica_never_updated(m):
    load_all(m)
    there_and_back(m, share(m))
    grads = m.storage()[4]
    for i in layers_of(m):
        grads[i] = await m.all_reduce(grads[i], i)
    if m.rank == 0:
        finish(m)
    return m


async def steps_mixed_in_a_gather(m):
    load_all(m)
    there_and_back(m, range(4) if m.rank == 0 else [])
    w, s, _, _, g = m.storage()
    g[0] = await m.reduce_scatter(g[0], 0)
    piece = put(m, 0, "p", w[0].shard(m.rank, 2))
    state = put(m, 1, "p", s[0].shard(m.rank, 2))
    if m.rank == 1:
        piece, _ = m.update(0, g[0], piece, state)
    await m.all_gather(piece, 0)


async def shard_of_the_gradient_for_the_whole_weight(m):
    load_all(m)
    there_and_back(m, share(m))
    w, s, _, _, g = m.storage()
    g[0] = await m.reduce_scatter(g[0], 0)
    m.update(0, g[0], w[0], s[0])


async def state_of_another_shard(m):
    load_all(m)
    there_and_back(m, range(4))
    w, s, _, _, g = m.storage()
    w["p"], _ = m.load_weights(0, 0, 2)
    _, s["p"] = m.load_weights(0, 1, 2)
    m.update(0, g[0], w["p"], s["p"])


async def forward_with_a_shard(m):
    w = m.storage()[0]
    w[0], _ = m.load_weights(0, m.rank, 2)
    m.forward(0, put(m, 2, 0, m.get_input_activation([0])), w[0])


async def a_layer_skipped(m):
    load_all(m)
    w, _, a, _, _ = m.storage()
    a[0] = m.get_input_activation(range(4))
    m.forward(1, a[0], w[1])


async def backward_with_other_samples(m):
    load_all(m)
    w, _, a, e, _ = m.storage()
    a["x"] = m.get_input_activation([0])
    a[0] = m.get_input_activation([1])
    a[1] = m.forward(0, a[0], w[0])
    a[2] = m.forward(1, a[1], w[1])
    e[1] = m.loss(a[2])
    _, e[0] = m.backward(1, a[1], e[1], w[1])
    m.backward(0, a["x"], e[0], w[0])


async def loss_of_an_early_layer(m):
    load_all(m)
    w, _, a, _, _ = m.storage()
    a[0] = m.get_input_activation(range(4))
    m.loss(put(m, 2, 1, m.forward(0, a[0], w[0])))


async def activation_in_place_of_its_gradient(m):
    load_all(m)
    w, _, a, _, _ = m.storage()
    a[0] = m.get_input_activation(range(4))
    a[1] = m.forward(0, a[0], w[0])
    m.backward(0, a[0], a[1], w[0])


async def attribute_changed(m):
    load_all(m)
    there_and_back(m, [0])
    m.storage()[4][0].samples = frozenset(range(4))


async def clock_turned_back(m):
    load_all(m)
    m.time = 0.0


async def final_weights_written(m):
    load_all(m)
    m.final_weights[0] = m.storage()[0][0]


async def free_collective(m):
    await m.dist.all_reduce(m.rank, m.empty_grad(0), -1.0)


async def number_stolen(m):
    load_all(m)
    there_and_back(m, [0])
    real = m.storage()[4][0]
    fake = WeightGrad(0, 2, range(4), 4)
    fake._rank, fake._number = real._rank, real._number
    m.update(0, fake, m.storage()[0][0], m.storage()[1][0])


async def pickled(m):
    load_all(m)
    pickle.dumps(m.storage()[0][0])


async def input_twice(m):
    m.get_input_activation([1, 1])


CASES = [
    (forged_gradient, 1, Forged, "rank 0, grad_weights[0] = …: the weight gradient of layer 0, for "
     "samples 0 to 3 was built by hand, and nobody has computed it"),
    (forged_activation, 1, Forged, "forward of layer 1: the activation of layer 1, for samples 0 "
     "to 3 was built by hand"),
    (forged_weight_at_the_end, 1, Forged, "set_final_weight of layer 0: the weight of layer 0 was "
     "built by hand"),
    (forged_in_a_collective, 2, Forged, "rank 0, all_reduce: the weight gradient of layer 0, for "
     "samples 0 and 1 was built by hand"),
    (sample_taken_twice, 1, Doubled, "sample 2 would count twice in the gradient of layer 1"),
    (reduced_gradient_added_to_the_local_one, 2, Doubled, "rank 1, add: sample 2 would count twice "
     "in the gradient of layer 0"),
    (reduced_twice, 2, Doubled, "all_reduce of the weight gradient of layer 0, with what rank 1 "
     "brings: samples 0 to 3 would count twice"),
    (all_ranks_take_the_same_samples, 2, Doubled, "with what rank 1 brings: samples 0 and 1 would "
     "count twice in the gradient of layer 0"),
    (micro_batch_forgotten, 2, Missing, "update of layer 0: samples 1 and 3 are missing in the "
     "gradient"),
    (never_reduced, 2, Missing, "rank 0, update of layer 0: samples 2 and 3 are missing in the "
     "gradient: add or reduce the gradients of all micro-batches and all ranks first"),
    (old_weight_handed_in, 1, Stale, "set_final_weight of layer 0: the weight of layer 0 is the "
     "old one, of step 0: hand in what update gave"),
    (update_before_the_second_micro_batch, 1, Stale, "forward of layer 0: the weight of layer 0 "
     "has been updated already: update comes last"),
    (updated_twice, 1, Stale, "update of layer 0: the weight of layer 0 has been updated already"),
    (one_replica_never_updated, 2, Missing, "rank 1 has loaded layer 0 and handed in no new weight "
     "of it: its copy is stale"),
    (steps_mixed_in_a_gather, 2, Stale, "with what rank 1 brings: the weight of layer 0, shard 0 "
     "of 2 is of step 0, and the weight of layer 0, shard 1 of 2 of step 1"),
    (shard_of_the_gradient_for_the_whole_weight, 2, WrongShard, "update of layer 0: the weight of "
     "layer 0 needs more than the weight gradient of layer 0, shard 1 of 2"),
    (state_of_another_shard, 1, WrongShard, "the weight of layer 0, shard 0 of 2 and the optimizer "
     "state of layer 0, shard 1 of 2 are not the same part of it"),
    (forward_with_a_shard, 2, WrongShard, "forward of layer 0: it needs the whole weight, and got "
     "the weight of layer 0, shard 0 of 2: gather it first"),
    (a_layer_skipped, 1, Misplaced, "forward of layer 1: it needs the activation of layer 1, and "
     "got that of layer 0"),
    (backward_with_other_samples, 1, Misplaced, "backward of layer 0: the activation is for sample "
     "0, and the gradient for sample 1: they must be the same"),
    (loss_of_an_early_layer, 1, Misplaced, "loss: it needs the activation of layer 2, after the "
     "last layer, and got the activation of layer 1"),
    (activation_in_place_of_its_gradient, 1, Misplaced, "backward of layer 0: it needs an "
     "activation gradient, and got the activation of layer 1"),
    (attribute_changed, 1, Frozen, "the weight gradient of layer 0, for sample 0 cannot be "
     "changed: a value says what was computed"),
    (clock_turned_back, 1, Frozen, "rank 0: model.time is written by the cluster, not by a step"),
    (free_collective, 1, Misplaced, "rank 0: its clock says 0, not -1"),
    (number_stolen, 1, Missing, "update of layer 0: samples 1 to 3 are missing"),
    (pickled, 1, Forged, "cannot be stored outside of the cluster"),
    (input_twice, 1, Doubled, "rank 0, get_input_activation: sample 1 is in the list twice"),
]  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("step", "ranks", "kind", "says"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_refused(step, ranks, kind, says, profile, refused):
    assert says in refused(step, ranks, 2, 4, kind=kind, profile=profile)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_right_passes(profile):
    assert outcome(run(data_parallel, 2, 2, 4, 1, profile=profile)).time > 0


def test_final_weights_can_only_be_read():
    with pytest.raises(TypeError):
        run(final_weights_written, 1, 2, 4)


def test_value_of_another_rank(refused):
    shared = {}

    async def step(m):
        load_all(m)
        if m.rank == 0:
            shared["x"] = m.get_input_activation(range(4))
        else:
            m.forward(0, shared["x"], m.storage()[0][0])
        return m

    sentence = refused(step, 2, 2, 4, kind=Misplaced, profile="bytes")
    assert sentence == (
        "rank 1, forward of layer 0: the activation of layer 0, for samples 0 to 3 lies on rank 0: "
        "send it with model.send and model.receive"
    )


def test_value_of_another_run(refused):
    kept = []

    async def keeps(m):
        load_all(m)
        there_and_back(m, range(4))
        kept.append(dict(m.storage()[4]))
        return m

    run(keeps, 1, 2, 4)

    async def uses(m):
        load_all(m)
        m.update(0, kept[0][0], m.storage()[0][0], m.storage()[1][0])

    assert "belongs to another run" in refused(uses, kind=Forged)


def test_a_copy_is_the_value_itself():
    async def step(m):
        load_all(m)
        weight = m.storage()[0][0]
        before = m.memory()
        assert copy.deepcopy(weight) is copy.copy(weight) is weight
        assert copy.deepcopy([weight])[0] is weight and m.memory() == before
        return m

    run(step, 1, 2, 4)


def test_what_a_step_puts_over_the_model_changes_nothing():
    plain = outcome(run(data_parallel, 2, 2, 4))

    async def step(m):
        await data_parallel(m)
        m.memory = lambda: 0
        m.log.clear()
        m.storage = lambda: ({},) * 5
        return m

    assert outcome(run(step, 2, 2, 4)) == plain


def test_a_model_of_another_class_is_measured_by_its_books():
    class Fast(Model):
        time = 0.0
        log = ()

        def memory(self):
            return 0

    dist = Dist(1)
    from cluster.driver import drive

    found = outcome(drive(dist, [data_parallel(Fast(0, dist, 2, 4))], None))
    assert found == outcome(run(data_parallel, 1, 2, 4))


def test_models_of_some_ranks_or_of_one_rank_twice():
    models = run(data_parallel, 2, 2, 4)
    with pytest.raises(Missing, match="give the models of all 2 ranks, each once: rank 1 missing"):
        outcome(models[:1])
    with pytest.raises(Missing, match="each once: rank 0 missing"):
        outcome([models[1], models[1]])
    with pytest.raises(Forged, match="belong to several clusters"):
        outcome([models[0], run(data_parallel, 2, 2, 4)[1]])


def test_a_dist_of_another_class():
    class Free(Dist):
        pass

    with pytest.raises(Misplaced, match="dist must be a Dist, not a Free"):
        Model(0, Free(1))


def test_shards_left_out_at_the_end(refused):
    async def step(m):
        w, s, _, _, g = m.storage()
        for i in layers_of(m):
            w[i], s[i] = m.load_weights(i)
        there_and_back(m, share(m))
        for i in layers_of(m):
            g[i] = await m.reduce_scatter(g[i], i)
            w[i, 0], s[i, 0] = w[i].shard(m.rank, 2), s[i].shard(m.rank, 2)
            new, _ = m.update(i, g[i], w[i, 0], s[i, 0])
            if (i, m.rank) != (1, 0):
                m.set_final_weight(i, new)
        return m

    assert refused(step, 2, kind=Missing, profile="classic") == (
        "layer 1 is not complete: of its 2 shards, the ranks handed in shard 1"
    )


def test_weights_may_stay_in_shards_at_the_end():
    async def step(m):
        w, s, _, _, g = m.storage()
        load_all(m)
        there_and_back(m, share(m))
        for i in layers_of(m):
            g[i] = await m.reduce_scatter(g[i], i)
            w[i, 0], s[i, 0] = w[i].shard(m.rank, 2), s[i].shard(m.rank, 2)
            m.set_final_weight(i, m.update(i, g[i], w[i, 0], s[i, 0])[0])
        return m

    outcome(run(step, 2, 2, 4, profile="classic"))


def test_classic_counts_only_storage_so_what_is_used_must_lie_there(refused):
    async def step(m):
        load_all(m)
        x = m.get_input_activation(range(4))
        m.forward(0, x, m.storage()[0][0])

    for profile in ("classic", "steps"):
        assert "is in none of the five dictionaries of model.storage()" in refused(
            step, kind=Missing, profile=profile
        )
