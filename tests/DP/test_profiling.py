"""The profiling lab: DDP is one device, the data is shared out, and traces say what happened."""

import subprocess
import sys
from pathlib import Path

import loading
import profile_ddp as script
import profile_flags
import pytest
import torch
import transformer

from helpers.ranks import Place, find_place, launch
from helpers.trace import Trace, in_lanes, shares

pytestmark = pytest.mark.ranks

FOLDER = Path(__file__).resolve().parents[2] / "DP/ddp"
RANKS = 2


def flags(*arguments):
    return profile_flags.read_flags("", [str(a) for a in ("--epochs", 1, *arguments)])


def prepared(*arguments):
    """What training takes on one device."""
    return script.prepare(flags(*arguments), Place(0, 1, 0, 1), torch.device("cpu"))


TINY = ("--src-shape", 64, 2, 16, "--tgt-shape", 64, 5, 16, "--batch_size", 8)


def sgd_step(arguments):
    """On a rank: its items, its weights before and after a step of SGD, and what it dropped."""
    place = find_place()
    options = flags(*arguments)
    training = script.prepare(options, place, torch.device("cpu"))
    dropped = torch.rand(3)  # what dropout would draw next
    training.net.eval()
    before = {name: w.clone() for name, w in training.net.state_dict().items()}
    optimizer = torch.optim.SGD(training.model.parameters(), lr=0.5)
    source, target = next(iter(training.loader))
    script.train_step(
        training.model, optimizer, training.scaler, source, target, options.shapes.torch_dtype
    )
    return list(training.loader.sampler), before, training.net.state_dict(), dropped


@pytest.fixture(scope="module")
def ranks():
    return launch(sgd_step, RANKS, (TINY,), quiet=True)


def test_a_step_of_ddp_is_a_step_of_one_device(ranks):
    training = prepared(*TINY)
    net, data = training.net.eval(), training.loader.dataset
    for name, weight in net.state_dict().items():
        assert torch.equal(weight, ranks[0][1][name]), name
    items = [i for part, *_ in ranks for i in part[:8]]
    source, target = (torch.stack(x) for x in zip(*(data[i] for i in items), strict=True))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    script.train_step(net, optimizer, training.scaler, source, target, torch.float32)
    moved = 0.0
    for name, weight in net.state_dict().items():
        moved = max(moved, (weight - ranks[0][1][name]).abs().max().item())
        for rank in ranks:
            assert (weight - rank[2][name]).abs().max() < 1e-6, name
    assert moved > 1e-3  # so that the lines above say something


def test_each_item_is_read_by_one_rank_and_each_rank_drops_others(ranks):
    parts = [part for part, *_ in ranks]
    assert sorted(sum(parts, [])) == list(range(64))
    assert not torch.equal(ranks[0][3], ranks[1][3])


def test_items_that_are_left_over_wait_for_another_epoch():
    def part(rank, epoch):
        options = flags("--src-shape", 7, 1, 16, "--batch-size", 2)
        data = loading.make_data(options, Place(0, 1, 0, 1))
        place = Place(rank, 3, rank, 3)
        loader = loading.make_loader(options, place, data, torch.device("cpu"))
        loader.sampler.set_epoch(epoch)
        return list(loader.sampler)

    epochs = [[part(rank, epoch) for rank in range(3)] for epoch in range(4)]
    for parts in epochs:
        assert [len(p) for p in parts] == [2, 2, 2]
        assert len(set(sum(parts, []))) == 6
    assert {i for parts in epochs for p in parts for i in p} == set(range(7))
    assert epochs[0] != epochs[1]


def test_the_model_has_the_parameters_of_the_closed_form():
    for size, count in transformer.SIZES.items():
        with torch.device("meta"):
            net = transformer.Forecaster(count)
        found = sum(p.numel() for p in net.parameters())
        assert found == transformer.count_parameters(count.width, count.layers, count.hidden), size
    assert found == 44_140_544
    shapes = flags("--size", "lab").shapes
    assert (shapes.src, shapes.tgt) == ((2048, 1, 512), (2048, 20, 512))


def test_each_epoch_has_its_own_order():
    training, orders = prepared(*TINY), []
    options = flags(*TINY, "--epochs", 2)
    script.train(
        options,
        training,
        torch.device("cpu"),
        lambda *_: orders.append(list(training.loader.sampler)),
    )
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_each_type_of_numbers_trains_with_weights_that_are_not_half(dtype):
    options = flags(*TINY, "--dtype", dtype)
    training = script.prepare(options, Place(0, 1, 0, 1), torch.device("cpu"))
    before = [p.clone() for p in training.net.parameters()]
    (loss,) = script.train(options, training, torch.device("cpu"), lambda *_: None)
    wide = torch.float64 if dtype == "float64" else torch.float32
    assert 0 < loss < 3 and {p.dtype for p in training.net.parameters()} == {wide}
    moved = [(p - q).abs().max() for p, q in zip(before, training.net.parameters(), strict=True)]
    assert all(0 < m < 0.1 for m in moved)


@pytest.mark.parametrize("rule, factor", [("none", 1), ("sqrt", 2), ("linear", 4)])
def test_the_learning_rate_follows_the_rule(rule, factor):
    options = flags(*TINY, "--lr-rule", rule, "--lr", 0.01)
    training = script.prepare(options, Place(1, 4, 1, 4), torch.device("cpu"))
    assert training.optimizer.param_groups[0]["lr"] == pytest.approx(0.01 * factor)


# --- the profiler ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """What the script leaves under torchrun, with data in a file that must first be made."""
    folder = tmp_path_factory.mktemp("profiled")
    torchrun = "-m torch.distributed.run --standalone --nproc-per-node 2".split()
    more = "--rank-source env --profile --epochs 2 --hdf5 --data data/x.h5 --workers 1".split()
    ended = subprocess.run(
        [sys.executable, *torchrun, FOLDER / "profile_ddp.py", *map(str, TINY), *more],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("epoch 0: loss") == 1
    return folder / "traces"  # where it says, if nobody does


@pytest.mark.slow
def test_each_rank_leaves_a_trace_and_a_table(traces):
    names = [f"cpu-hdf5-{rank}-of-2.{end}" for rank in range(2) for end in ("json", "txt")]
    assert sorted(path.name for path in traces.iterdir()) == names
    assert [p.name for p in (traces.parent / "data").iterdir()] == ["x.h5"]
    lines = (traces / names[1]).read_text().splitlines()
    assert lines[0].startswith("sorted by cpu_time_total")
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    column = lines[2].split("  ")
    column = [c.strip() for c in column if c.strip()].index("CPU total")
    totals = []
    for line in lines[4:-3]:
        cell = [c.strip() for c in line.split("  ") if c.strip()][column]
        number = cell.rstrip("mus")
        totals.append(float(number) * units[cell[len(number) :] or "s"])
    assert len(totals) > 20 and totals == sorted(totals, reverse=True)


@pytest.mark.slow
def test_the_traces_of_two_ranks_are_a_timeline_with_three_lanes(traces):
    trace = Trace.load_all(traces)
    steps = [e for e in trace.events if e.kind == "step"]
    assert trace.ranks == [0, 1] and len(steps) == 4  # two of each rank: wait, warm up, keep two
    for found in shares(trace).values():
        four = (found.computing, found.communication, found.input, found.idle)
        assert sum(four) == pytest.approx(1) and min(four) >= 0
        assert found.computing > 0 and found.input > 0
    lanes = in_lanes(trace)
    for rank in (0, 1):
        kinds = {lane: {e.kind for e in lanes.events_of(rank, lane)} for lane in trace_lanes(lanes)}
        assert kinds["input"] == {"input"} and kinds["communication"] == {"all-reduce"}
        assert kinds["compute"] == {"F", "B", "update"}
        marks = [e for e in trace.events_of(rank) if e.kind == "update" and not e.name]
        drawn = [e for e in lanes.events_of(rank) if e.kind == "update"]
        assert len(marks) == 2  # drawn in pieces, where a message alone went on under the mark
        assert {e.name for e in drawn} == {""}  # and "Optimizer.step", inside of it, isn't


def trace_lanes(trace):
    return {e.lane for e in trace.events}
