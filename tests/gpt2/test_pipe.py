"""GPT-2 in a pipeline: the plain model's logits and gradients; and the rest of the lab."""

import threading

import pytest
import torch
from pipeline.model_parallel import GPT2LMHeadModelParallel, default_devices
from pipeline.partition import WithDevice
from pipeline.pipe import Pipe
from project.models import make_config, make_model
from torch import nn
from transformers import GPT2LMHeadModel
from wrong_input import WrongInput

from helpers.schedules import gpipe
from helpers.timeline import timeline
from helpers.trace import Recorder

pytestmark = pytest.mark.slow


@pytest.fixture
def both():
    config = make_config("tiny", 120, 32)
    plain, parallel = make_model(config), make_model(config, kind=GPT2LMHeadModelParallel)
    parallel.parallelize()
    yield plain, parallel
    parallel.deparallelize()


def masks(rows, length):
    left = torch.ones(rows, length, dtype=torch.long)
    left[1:, :4] = 0
    return {"none": None, "left": left, "right": left.flip(1)}


def test_one_seed_gives_the_plain_models_weights(both):
    plain, parallel = both
    assert list(plain.state_dict()) == list(parallel.state_dict())
    parallel._prepare_pipeline_parallel(2)
    assert list(plain.state_dict()) == list(parallel.state_dict())
    pairs = zip(plain.parameters(), parallel.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert isinstance(parallel, GPT2LMHeadModel)


@pytest.mark.parametrize("split_size", [None, 1, 3, 8])
@pytest.mark.parametrize("mask", ["none", "left", "right"])
def test_logits_and_gradients_are_the_plain_models(both, split_size, mask):
    plain, parallel = both
    if split_size:
        parallel._prepare_pipeline_parallel(split_size)
    ids = torch.randint(0, 120, (7, 12), generator=torch.Generator().manual_seed(0))
    attention = masks(7, 12)[mask]
    expected = plain(input_ids=ids, attention_mask=attention).logits
    found = parallel(input_ids=ids, attention_mask=attention).logits
    counts = 1 if attention is None else attention[..., None]
    torch.testing.assert_close(found * counts, expected * counts)
    (expected * counts).square().mean().backward()
    (found * counts).square().mean().backward()
    for (name, p), q in zip(plain.named_parameters(), parallel.parameters(), strict=True):
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-4, atol=1e-7, msg=name)


def test_threads_end_and_the_plain_way_is_back(both):
    _, parallel = both
    before = threading.active_count()
    parallel._prepare_pipeline_parallel(2)
    parallel._prepare_pipeline_parallel(4)  # a second one replaces the first
    assert threading.active_count() == before + 2
    parallel._finalize_pipeline_parallel()
    assert threading.active_count() == before and parallel.transformer.h_pp is None
    ids = torch.tensor([[5, 6, 7]])
    first = parallel(input_ids=ids[:, :2], use_cache=True)
    second = parallel(input_ids=ids[:, 2:], past_key_values=first.past_key_values, use_cache=True)
    torch.testing.assert_close(second.logits[:, -1], parallel(input_ids=ids).logits[:, -1])


def test_wrong_input(both):
    _, parallel = both
    fresh = make_model(parallel.config, kind=GPT2LMHeadModelParallel)
    with pytest.raises(WrongInput, match=r"call parallelize\(\) first"):
        fresh._prepare_pipeline_parallel(2)
    with pytest.raises(WrongInput, match="5 devices for 4 blocks"):
        fresh.parallelize(["cpu:0"] * 5)
    with pytest.raises(WrongInput, match="a split size of 0"):
        parallel._prepare_pipeline_parallel(0)
    parallel._prepare_pipeline_parallel(2)
    with pytest.raises(WrongInput, match="cannot take a cache"):
        parallel(input_ids=torch.tensor([[1]]), use_cache=True)
    with pytest.raises(WrongInput, match="cannot take inputs_embeds"):
        parallel(inputs_embeds=torch.zeros(1, 1, 128))
    assert len(default_devices()) >= 2


def test_the_trace_of_the_threads_is_that_order_and_opens_in_the_timeline(tmp_path):
    layers = [WithDevice(nn.Linear(4, 4), f"cpu:{part}") for part in range(3)]
    recorders = [Recorder(part) for part in range(3)]
    with Pipe(nn.Sequential(*layers), 2, recorders) as pipe:
        pipe(torch.randn(8, 4))
        trace = pipe.trace()
    assert trace.ranks == [0, 1, 2]
    for part, actions in enumerate(gpipe(3, 4).ranks):
        mine = [event for event in trace.events if event.rank == part]
        order = [(e.kind, e.info["stage"], e.info["micro_batch"]) for e in mine]
        assert order == [tuple(action) for action in actions if action.kind == "F"]
    assert timeline(trace).save(tmp_path / "pipe.html")
