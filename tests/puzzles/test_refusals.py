"""Cheats, mistakes and wrong input are refused in every profile, in a sentence that names them."""

import asyncio
from functools import partial
from inspect import isawaitable

import pytest
from cluster import Dist, Model, PuzzleError, outcome, run
from lib import Activation, WeightGrad
from steps import data_parallel, finish, layers_of, load_all, own, reduce, there_and_back
from utils import check, get_global_batch_list

from tests.said import said

LOOP, refused = asyncio.new_event_loop(), partial(said, error=PuzzleError)


def update(m):
    m.update(0, m.grad_weights[0], m.weights[0], m.opt_states[0])


async def scatter(m):
    m.grad_weights[0] = await m.reduce_scatter(m.grad_weights[0], 0)


async def add_the_sum(m):
    m.grad_weights[0] = m.grad_weights[0] + await m.all_reduce(m.grad_weights[0], 0)


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


# What a rank does that has loaded all weights of 2 layers, for 4 samples; ranks; the error's words.
CASES = {
    "forged activation": (
        1, "forward of layer 1: the activation of layer 1, for samples 0 to 3 was built by hand",
        lambda m: m.forward(1, Activation(1, 2, range(4), 4), m.weights[1])),
    "forged gradient": (
        1, "update of layer 0: the weight gradient of layer 0, for samples 0 to 3 was built by "
        "hand", lambda m: m.grad_weights.update({0: WeightGrad(0, 2, range(4), 4)}), update),
    "free collective": (
        1, "rank 0: its clock says ", lambda m: m.dist.all_reduce(m.rank, m.empty_grad(0), -1.0)),
    "value of another rank": (
        2, "rank 1, forward of layer 0: the activation of layer 0, for samples 0 to 3 lies on rank "
        "0: send it", lambda m: m.activations.update({0: m.get_input_activation(range(4))}),
        lambda m: m.rank and m.forward(0, m.dist.ranks[0].activations[0], m.weights[0])),
    "value of another run": (1, "belongs to another run", use_another_run),
    "reduced twice": (
        2, "all_reduce of the weight gradient of layer 0, with what rank 1 brings: samples 0 to 3 "
        "would count twice", own, reduce, reduce),
    "sum added to its own part": (
        2, "samples 2 and 3 would count twice in the gradient of layer 0", own, add_the_sum),
    "two collectives at once": (
        2, "rank 1 calls all_gather of the weight gradient of layer 0", own,
        lambda m: (m.all_gather if m.rank else m.all_reduce)(m.grad_weights[0], 0)),
    "stale copy": (
        2, "rank 1 has loaded layer 0 and handed in no new weight of it: its copy is stale", own,
        reduce, lambda m: m.rank or finish(m)),
    "first sample left out": (
        1, "sample 0 is missing in the gradient", lambda m: there_and_back(m, [1, 2, 3]), finish),
    "updated twice": (
        1, "the weight of layer 0 has been updated already", own, finish, finish),
    "shard of the gradient for the whole weight": (
        2, "the weight of layer 0 needs more than the weight gradient of layer 0, shard 1 of 2",
        own, scatter, update),
    "whole state for a shard": (
        1, "the weight of layer 0, shard 0 of 2 and the optimizer state of layer 0 are not the "
        "same part", own, lambda m: m.weights.update({0: m.weights[0].shard(0, 2)}), update),
    "loss of an early layer": (
        1, "loss: it needs the activation of layer 2, and got the activation of layer 0",
        lambda m: m.loss(m.get_input_activation([0]))),
    "forgets a layer": (
        1, "no rank has handed in a new weight of layer 1: call set_final_weight", own,
        lambda m: m.update_all([0])),
    "forgets await": (
        1, "rank 0 never waited for what it had started: it is in all_reduce of the weight gradient"
        " of layer 0; write await before it", own, finish,
        lambda m: [m.all_reduce(m.empty_grad(0), 0)]),
    "forgets await, and uses it": (
        1, "update of layer 0: it got a call that has not been awaited: write await before",
        lambda m: m.grad_weights.update({0: m.all_reduce(m.empty_grad(0), 0)}), update),
    "awaits the same twice": (
        1, "rank 0 awaits the same thing twice: it is in all_reduce", await_twice),
    "awaits what is not the cluster's": (
        2, "rank 0 awaits something that no method", lambda m: asyncio.Future(loop=LOOP)),
    "never ends": (1, "rank 0 has done 21,201 things, far more than a step needs", loop),
    "sends to itself": (
        2, "send: rank 0 is this rank itself", lambda m: m.send(m.rank, m.weights[0])),
    "receives from outside": (
        2, "receive: there is no rank -1: they are 0 to 1", lambda m: m.receive(-1)),
    "sends what it has freed": (
        2, "rank 0 has no weights[0]: it was never put there, or is freed",
        lambda m: m.weights.clear(), lambda m: m.send(1 - m.rank, m.weights[0])),
    "layer too many": (1, "there is no layer 2: they are 0 to 1", lambda m: m.load_weights(2)),
    "shard too many": (
        1, "load_weights: there is no shard 4 of 4", lambda m: m.load_weights(0, 4, 4)),
    "sample too many": (
        1, "there is no sample 4: they are 0 to 3", lambda m: m.get_input_activation([3, 4])),
    "reduces a weight": (
        1, "all_reduce: it needs a weight gradient, and got the weight of layer 0",
        lambda m: m.all_reduce(m.weights[0], 0)),
    "scatters a shard": (2, "reduce_scatter: it cuts the sum into shards", own, scatter, scatter),
    "group without itself": (2, "rank 0 is not in the group [1]", lambda m: m.group([1 - m.rank])),
}  # fmt: skip


@pytest.mark.parametrize("profile", ["bytes", "classic"])
@pytest.mark.parametrize(("ranks", "says", "actions"), [(a, b, c) for a, b, *c in CASES.values()],
                         ids=CASES)  # fmt: skip
def test_refused(ranks, says, actions, profile):
    async def step(m):
        load_all(m)
        for action in actions:
            done = action(m)
            if isawaitable(done):
                await done
        return m

    assert says in refused(lambda: outcome(run(step, ranks, 2, 4, profile=profile)))


def test_classic_counts_only_storage_so_what_is_used_must_lie_there():
    async def step(m):
        load_all(m)
        m.forward(0, m.get_input_activation(range(4)), m.weights[0])

    for profile in ("classic", "steps"):
        words = refused(run, step, 1, 2, 4, profile=profile)
        assert "none of the five dictionaries of model.storage" in words


def test_weights_may_stay_in_shards_at_the_end_but_none_may_be_left_out():
    async def step(m, left_out=None):
        w, s, _, _, g = m.storage()
        load_all(m)
        own(m)
        for i in layers_of(m):
            g[i] = await m.reduce_scatter(g[i], i)
            w[i, 0], s[i, 0] = w[i].shard(m.rank, 2), s[i].shard(m.rank, 2)
            new, _ = m.update(i, g[i], w[i, 0], s[i, 0])
            if (i, m.rank) != left_out:
                m.set_final_weight(i, new)
        return m

    outcome(run(step, 2, 2, 4, profile="classic"))
    words = refused(lambda: outcome(run(step, 2, 2, 4, (1, 0), profile="classic")))
    assert "layer 1 is not complete: of its 2 shards, the ranks handed in shard 1" in words


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: run(lambda m: m, 1, 2, 4), "rank 0: the step returned a Model: write it as"),
        (lambda: Model(2, Dist(2)), "there is no rank 2: they are 0 to 1"),
        (lambda: get_global_batch_list(10, 4), "cannot be divided into micro-batches of 4"),
        (lambda: Model(1, Model(0, Dist(2), 2, 4).dist, 3, 4), "rank 1 has 3 layers and 4 samples, "
         "rank 0 2 and 4: give all the same"),
        (lambda: Model(0, run(data_parallel, 1, 2, 4)[0].dist, 2, 4), "rank 0 of this Dist has"),
        (lambda: check([]), "there are no models to check"),
        (lambda: check([None]), "the step of rank 0 returned a NoneType, not its model"),
        (lambda: check(run(data_parallel, 2, 2, 4)[:1]), "of all 2 ranks, each once: rank 1 miss"),
        (lambda: check([run(data_parallel, 1, 2, 4)[0] for _ in range(2)]), "to several clusters"),
    ],
)  # fmt: skip
def test_arguments(call, says):
    assert says in refused(call)
