"""Cheats and mistakes: each is refused, in every profile, with a sentence that names it."""

import asyncio
import copy
from inspect import isawaitable

import pytest
from cluster import PuzzleError, outcome, run
from lib import Activation, Weight, WeightGrad
from steps import data_parallel, finish, layers_of, load_all, reduce, share, there_and_back

LOOP = asyncio.new_event_loop()
PROFILES = ("bytes", "classic", "steps")


def own(m):
    there_and_back(m, share(m))


def update(m):
    m.update(0, m.grad_weights[0], m.weights[0], m.opt_states[0])


async def scatter(m):
    m.grad_weights[0] = await m.reduce_scatter(m.grad_weights[0], 0)


async def add_the_sum(m):
    for i in share(m):
        there_and_back(m, [i])
        for layer in layers_of(m):
            m.grad_weights[layer] += await m.all_reduce(m.grad_weights[layer], layer)


async def gather_two_steps(m):
    w, s, _, _, g = m.storage()
    w["p"], s["p"] = w[0].shard(m.rank, 2), s[0].shard(m.rank, 2)
    if m.rank == 1:
        w["p"], _ = m.update(0, g[0], w["p"], s["p"])
    await m.all_gather(w["p"], 0)


def go_back_with_other_samples(m):
    w, _, a, e, _ = m.storage()
    a["x"], a[0] = m.get_input_activation([0]), m.get_input_activation([1])
    a[1] = m.forward(0, a[0], w[0])
    a[2] = m.forward(1, a[1], w[1])
    e[1] = m.loss(a[2])
    _, e[0] = m.backward(1, a[1], e[1], w[1])
    m.backward(0, a["x"], e[0], w[0])


def go_back_with_an_activation(m):
    a = m.activations
    a[0] = m.get_input_activation(range(4))
    m.backward(0, a[0], m.forward(0, a[0], m.weights[0]), m.weights[0])


def use_another_run(m):
    other = run(data_parallel, 1, 2, 4)[0]
    m.update(0, other.grad_weights[0], m.weights[0], m.opt_states[0])


async def await_twice(m):
    started = m.all_reduce(m.empty_grad(0))
    await started
    await started


def loop(m):
    m.activations[0] = m.get_input_activation(range(4))
    while True:
        m.forward(0, m.activations[0], m.weights[0])


# name, ranks, the words of the error, and what a rank does that has loaded all weights
CASES = [
    ("forged gradient", 1, "update of layer 0: the weight gradient of layer 0, "
     "for samples 0 to 3 was built by hand, and nobody has computed it",
     lambda m: m.grad_weights.update({0: WeightGrad(0, 2, range(4), 4)}), update),
    ("forged activation", 1, "forward of layer 1: the activation of layer 1, for samples 0 "
     "to 3 was built by hand",
     lambda m: m.forward(1, Activation(1, 2, range(4), 4), m.weights[1])),
    ("forged weight at the end", 1, "set_final_weight of layer 0: the weight of layer 0 "
     "was built by hand", lambda m: m.set_final_weight(0, Weight(0, 2, 1))),
    ("forged in a collective", 2, "rank 0, all_reduce: the weight gradient of layer 0, for "
     "samples 0 and 1 was built by hand",
     lambda m: m.all_reduce(WeightGrad(0, 2, share(m), 4), 0)),
    ("free collective", 1, "rank 0: its clock says ",
     lambda m: m.dist.all_reduce(m.rank, m.empty_grad(0), -1.0)),
    ("value of another rank", 2, "rank 1, forward of layer 0: the activation of layer "
     "0, for samples 0 to 3 lies on rank 0: send it with model.send and model.receive",
     lambda m: m.activations.update({0: m.get_input_activation(range(4))}),
     lambda m: m.rank and m.forward(0, m.dist.ranks[0].places[2][0], m.weights[0])),
    ("value of another run", 1, "belongs to another run", use_another_run),
    ("input twice", 1, "rank 0, get_input_activation: sample 1 is in the list twice",
     lambda m: m.get_input_activation([1, 1])),
    ("sample taken twice", 1, "sample 2 would count twice in the gradient of layer 1",
     lambda m: there_and_back(m, [0, 1, 2]), lambda m: there_and_back(m, [2, 3])),
    ("sum added to the rank's own", 2, "rank 1, add: sample 2 would count twice in the "
     "gradient of layer 0", add_the_sum),
    ("reduced twice", 2, "all_reduce of the weight gradient of layer 0, with what rank 1 "
     "brings: samples 0 to 3 would count twice in the gradient of layer 0", own, reduce, reduce),
    ("micro-batch forgotten", 2, "update of layer 0: samples 1 and 3 are missing in the "
     "gradient", lambda m: there_and_back(m, share(m)[:1]), reduce, finish),
    ("never reduced", 2, "rank 0, update of layer 0: samples 2 and 3 are missing in the "
     "gradient: add or reduce the gradients of all micro-batches and all ranks first", own, finish),
    ("old weight handed in", 1, "set_final_weight of layer 0: the weight of layer 0 is the "
     "old one, of step 0: hand in what update gave",
     own, update, lambda m: m.set_final_weight(0, m.weights[0])),
    ("update before the second micro-batch", 1, "forward of layer 0: the weight of layer 0 "
     "has been updated already: update comes last", own, finish, own),
    ("updated twice", 1, "update of layer 0: the weight of layer 0 has been updated already",
     own, finish, finish),
    ("one replica never updated", 2, "rank 1 has loaded layer 0 and handed in no new "
     "weight of it: its copy is stale", own, reduce, lambda m: m.rank or finish(m)),
    ("steps mixed in a gather", 2, "with what rank 1 brings: the weight of layer 0, shard 0 "
     "of 2 is of step 0, and the weight of layer 0, shard 1 of 2 of step 1",
     own, scatter, gather_two_steps),
    ("shard of the gradient for the whole weight", 2, "update of layer 0: the weight "
     "of layer 0 needs more than the weight gradient of layer 0, shard 1 of 2",
     own, scatter, update),
    ("state of another shard", 1, "the weight of layer 0, shard 0 of 2 and the "
     "optimizer state of layer 0, shard 1 of 2 are not the same part of it", own,
     lambda m: m.weights.update({0: m.weights[0].shard(0, 2)}),
     lambda m: m.opt_states.update({0: m.opt_states[0].shard(1, 2)}), update),
    ("forward with a shard", 1, "forward of layer 0: it needs the whole weight, and "
     "got the weight of layer 0, shard 0 of 2: gather it first",
     lambda m: m.forward(0, m.get_input_activation([0]), m.weights[0].shard(0, 2))),
    ("a layer skipped", 1, "forward of layer 1: it needs the activation of layer 1, and "
     "got the activation of layer 0",
     lambda m: m.forward(1, m.get_input_activation([0]), m.weights[1])),
    ("backward with other samples", 1, "backward of layer 0: the activation is for "
     "sample 0, and the gradient for sample 1: they must be the same", go_back_with_other_samples),
    ("activation in place of its gradient", 1, "backward of layer 0: it needs an "
     "activation gradient, and got the activation of layer 1", go_back_with_an_activation),
    ("loss of an early layer", 1, "loss: it needs the activation of layer 2, and got the "
     "activation of layer 0",
     lambda m: m.loss(m.get_input_activation([0]))),
    ("forgets a layer", 1, "no rank has handed in a new weight of layer 1: call "
     "set_final_weight after the update of every layer", own, lambda m: finish(m, [0])),
    ("forgets await", 1, "rank 0 never waited for what it had started: it is in "
     "all_reduce of the weight gradient of layer 0; write await before it",
     own, finish, lambda m: [m.all_reduce(m.empty_grad(0), 0)]),
    ("forgets await, and uses it", 1, "update of layer 0: it got a call that has not "
     "been awaited: write await before the call",
     lambda m: m.grad_weights.update({0: m.all_reduce(m.empty_grad(0), 0)}), update),
    ("awaits the same twice", 1, "rank 0 awaits the same thing twice: it is in "
     "all_reduce", await_twice),
    ("awaits what is not the cluster's", 2, "rank 0 awaits something that is not the "
     "cluster's", lambda m: asyncio.Future(loop=LOOP)),
    ("never ends", 1, "rank 0 has done 21,201 things, far more than a step", loop),
    ("sends to itself", 2, "rank 0, send: rank 0 is this rank itself",
     lambda m: m.send(m.rank, m.weights[0])),
    ("receives from outside", 2, "receive: there is no rank -1: they are 0 to 1",
     lambda m: m.receive(-1)),
    ("sends a number", 2, "send: it takes a value of the cluster, not a int",
     lambda m: m.send(1 - m.rank, 3)),
    ("sends what it has freed", 2, "rank 0 has no weights[0]: it was never put there, or is freed",
     lambda m: m.weights.clear(), lambda m: m.send(1 - m.rank, m.weights[0])),
    ("layer too many", 1, "load_weights: there is no layer 2: they are 0 to 1",
     lambda m: m.load_weights(2)),
    ("layer below zero", 1, "empty_grad: there is no layer -1: they are 0 to 1",
     lambda m: m.empty_grad(-1)),
    ("shard too many", 1, "load_weights: there is no shard 4 of 4",
     lambda m: m.load_weights(0, 4, 4)),
    ("sample too many", 1, "get_input_activation: there is no sample 4: the batch has "
     "samples 0 to 3", lambda m: m.get_input_activation([3, 4])),
    ("reduces a weight", 1, "all_reduce: it takes a weight gradient, and got the weight "
     "of layer 0", lambda m: m.all_reduce(m.weights[0], 0)),
    ("scatters a shard", 2, "reduce_scatter: it cuts the sum into shards, and the "
     "weight gradient of layer 0, shard", own, scatter, scatter),
    ("group without itself", 2, "rank 0 is not in the group [1] that it asks for",
     lambda m: m.group([1 - m.rank])),
]  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_refused(case, profile, refused):
    _, ranks, says, *actions = case

    async def step(m):
        load_all(m)
        for action in actions:
            done = action(m)
            if isawaitable(done):
                await done
        return m

    assert says in refused(step, ranks, 2, 4, profile=profile)


def test_a_copy_is_the_value_itself():
    async def step(m):
        load_all(m)
        weight = m.storage()[0][0]
        before = m.memory()
        assert copy.deepcopy(weight) is copy.copy(weight) is weight
        assert copy.deepcopy([weight])[0] is weight and m.memory() == before
        return m

    run(step, 1, 2, 4)


def test_models_of_some_ranks_or_of_one_rank_twice():
    models = run(data_parallel, 2, 2, 4)
    with pytest.raises(PuzzleError, match="of all 2 ranks, each once: rank 1 missing"):
        outcome(models[:1])
    with pytest.raises(PuzzleError, match="each once: rank 0 missing"):
        outcome([models[1], models[1]])
    with pytest.raises(PuzzleError, match="belong to several clusters"):
        outcome([models[0], run(data_parallel, 2, 2, 4)[1]])


def test_weights_may_stay_in_shards_at_the_end_but_none_may_be_left_out(refused):
    async def step(m, left_out=None):
        w, s, _, _, g = m.storage()
        load_all(m)
        there_and_back(m, share(m))
        for i in layers_of(m):
            g[i] = await m.reduce_scatter(g[i], i)
            w[i, 0], s[i, 0] = w[i].shard(m.rank, 2), s[i].shard(m.rank, 2)
            new, _ = m.update(i, g[i], w[i, 0], s[i, 0])
            if (i, m.rank) != left_out:
                m.set_final_weight(i, new)
        return m

    outcome(run(step, 2, 2, 4, profile="classic"))
    assert refused(step, 2, 2, 4, (1, 0), profile="classic") == (
        "layer 1 is not complete: of its 2 shards, the ranks handed in shard 1"
    )


def test_classic_counts_only_storage_so_what_is_used_must_lie_there(refused):
    async def step(m):
        load_all(m)
        m.forward(0, m.get_input_activation(range(4)), m.weights[0])

    for profile in ("classic", "steps"):
        said = refused(step, profile=profile)
        assert "is in none of the five dictionaries of model.storage()" in said
