"""Steps as students of the lab write them, with the lab's own names, driver and script."""

import asyncio
from typing import List  # noqa: UP035

import pytest
from lib import BLOCK_SIZE, BYTES_PER_ELEMENT, DATATYPE, HIDDEN_SIZE, Dist, Model
from utils import (
    get_model_theoretical_best_time,
    get_next_microbatch,
    get_training_stats,
    to_chrome_trace,
)


def train(loop, world_size, num_layers, global_batch_size, *more):
    """The `main` of the lab's files: (time, memory, rank), MFU in percent, models."""

    async def main():
        dist = Dist(world_size)
        models: List[Model] = [  # noqa: UP006
            Model(num_layers=num_layers, global_batch_size=global_batch_size, rank=i, dist=dist)
            for i in range(world_size)
        ]
        theoretical = get_model_theoretical_best_time(models[0])
        out = await asyncio.gather(*[loop(model, *more) for model in models])
        stats = get_training_stats(out)
        return stats, theoretical / stats[0] * 100, out

    return asyncio.run(main())


@pytest.fixture(autouse=True, params=["classic", "bytes"])
def profile(request, monkeypatch):
    monkeypatch.setenv("PUZZLES_PROFILE", request.param)
    return request.param


async def sharded_with_local_dicts(model, batch_size):
    """Shards kept in local containers, gradients summed with +=, `== None`."""
    weights, opt_states, acts, grads, grad_weights = model.storage()
    my_shards, my_grads = {}, [None] * model.num_layers
    for l in range(model.num_layers):  # noqa: E741
        my_shards[l], opt_states[l] = model.load_weights(
            l, shard=model.rank, num_shards=model.world_size
        )
    for mb in get_next_microbatch(
        model.global_batch_size, model.world_size, batch_size, model.rank
    ):
        acts[0] = model.get_input_activation(mb)
        for l in range(model.num_layers):  # noqa: E741
            weights[l] = await model.all_gather(my_shards[l], l)
            acts[l + 1] = model.forward(l, acts[l], weights[l])
            del weights[l]
        grads[model.num_layers] = model.loss(acts[model.num_layers])
        for l in range(model.num_layers - 1, -1, -1):  # noqa: E741
            weights[l] = await model.all_gather(my_shards[l], l)
            grad_weights[l], grads[l] = model.backward(l, acts[l], grads[l + 1], weights[l])
            del grads[l + 1], acts[l], weights[l]
            piece = await model.reduce_scatter(grad_weights[l], l)
            if my_grads[l] == None:  # noqa: E711
                my_grads[l] = piece
            else:
                my_grads[l] += piece
            del grad_weights[l]
    for l in range(model.num_layers):  # noqa: E741
        weights[l], grad_weights[l] = my_shards[l], my_grads[l]
        weights[l], opt_states[l] = model.update(l, grad_weights[l], weights[l], opt_states[l])
        model.set_final_weight(l, weights[l])
    return model


def test_sharded(profile, capsys):
    (time, memory, _), mfu, out = train(sharded_with_local_dicts, 32, 64, 256, 8)
    if profile == "classic":
        assert f"{time:.6f}" == "0.184362" and f"{mfu:.2f}" == "19.08"
    assert memory > 0 and to_chrome_trace(out)["traceEvents"]
    assert "Execution time" in capsys.readouterr().out


def test_constants():
    assert (HIDDEN_SIZE, BLOCK_SIZE, DATATYPE, BYTES_PER_ELEMENT) == (4096, 1024, "float16", 2)
