"""Problems 2.1, 2.2: a pipe cuts where the device changes, and its parts are the plain model.

cd gpt2
python -m pytest -l -v -k "a4_2_1"
python -m pytest -l -v -k "a4_2_2"
"""

import threading

import pytest
import torch
from pipeline.partition import WithDevice, _split_module
from pipeline.pipe import Pipe, _clock_cycles
from torch import nn
from wrong_input import WrongInput

TWO = ("cuda:0", "cuda:1") if torch.cuda.device_count() > 1 else ("cpu:0", "cpu:1")


def layers(devices=TWO):
    """Four layers; the first two on one device, and the last two on another."""
    torch.manual_seed(0)
    four = [nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 5), nn.Sigmoid()]
    where = [devices[0], devices[0], devices[-1], devices[-1]]
    pairs = zip(four, where, strict=True)
    return nn.Sequential(*(WithDevice(layer.to(device), device) for layer, device in pairs))


@pytest.mark.parametrize(("batches", "parts"), [(6, 2), (3, 3), (1, 4), (4, 1), (2, 5)])
def test_a4_2_1_each_micro_batch_goes_through_part_after_part(batches, parts):
    cycles = [sorted(cycle) for cycle in _clock_cycles(batches, parts)]
    assert len(cycles) == batches + parts - 1
    assert sorted(sum(cycles, [])) == [(i, j) for i in range(batches) for j in range(parts)]
    assert all(i + j == when for when, cycle in enumerate(cycles) for i, j in cycle)


def test_a4_2_1_a_new_part_begins_where_the_device_changes():
    marked = [WithDevice(nn.Linear(2, 2), name) for name in "cpu:0 cpu:0 cpu:1 cpu:0".split()]
    where_they_are = [nn.ReLU(), nn.Linear(2, 2, device="meta")]  # of a layer without a mark
    parts, devices = _split_module(nn.Sequential(*marked, *where_they_are))
    assert [len(part) for part in parts] == [2, 1, 1, 1, 1]
    assert [str(device) for device in devices] == ["cpu:0", "cpu:1", "cpu:0", "cpu", "meta"]
    assert parts[0][1] is marked[1].module and isinstance(parts, nn.ModuleList)


def test_wrong_input_of_a4_2_1_and_a4_2_2():
    both = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, device="meta"))
    for module, size, says in (
        (nn.ModuleList([nn.Linear(2, 2)]), 1, "made of an nn.Sequential, not of a ModuleList"),
        (nn.Sequential(), 1, "empty"),
        (nn.Sequential(both), 1, "parameters on cpu and meta: put all of a layer on one device"),
        (layers(), 0, "a split size of 0"),
        (layers(), 1.5, "a split size of 1.5"),
    ):
        with pytest.raises(WrongInput, match=says):
            Pipe(module, size)
    with Pipe(layers()) as pipe, pytest.raises(WrongInput, match="without samples"):
        pipe(torch.randn(0, 3))


@pytest.mark.parametrize("batch_size", [1, 16, 33])
@pytest.mark.parametrize("split_size", [1, 2, 5, 64])
def test_a4_2_2_outputs_and_gradients_are_the_plain_models(batch_size, split_size):
    plain, x = layers(("cpu",)), torch.randn(batch_size, 3)
    with Pipe(layers(), split_size) as pipe:
        expected, found = plain(x), pipe(x.to(TWO[0])).cpu()
        torch.testing.assert_close(found, expected)
        expected.square().sum().backward()
        found.square().sum().backward()
        pairs = zip(plain.parameters(), pipe.parameters(), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(other.grad.cpu(), one.grad)


def test_a4_2_2_workers_take_the_grad_mode_of_their_caller():
    modes = []
    notes = nn.Identity()
    notes.register_forward_hook(lambda *_: modes.append(torch.is_grad_enabled()))
    with Pipe(nn.Sequential(WithDevice(notes, TWO[0]))) as pipe:
        pipe(torch.randn(2, 3))
        with torch.no_grad():
            pipe(torch.randn(1, 3))
    assert modes == [True, True, False]


def test_a4_2_2_threads_end():
    before = threading.active_count()
    with Pipe(layers()) as pipe:
        assert threading.active_count() == before + 2
        pipe(torch.randn(2, 3, device=TWO[0]))
    assert threading.active_count() == before
    with pytest.raises(WrongInput, match="closed"):
        pipe(torch.randn(2, 3))
    pipe = Pipe(layers())
    del pipe
    assert threading.active_count() == before


def test_a4_2_2_an_error_in_a_worker_comes_out_and_the_pipe_goes_on():
    with Pipe(layers()) as pipe:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            pipe(torch.randn(4, 7, device=TWO[0]))
        assert pipe(torch.randn(4, 3, device=TWO[0])).shape == (4, 5)
