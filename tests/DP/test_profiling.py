"""In the profiling lab DDP is one device, five inputs are one, and traces say what happened."""

import pickle
import subprocess
import sys
from pathlib import Path

import inputs
import profile_ddp as script
import profile_flags
import pytest
import torch
import transformer

from helpers.ranks import Place, find_place, launch
from helpers.trace import Trace, in_lanes, shares

pytestmark = pytest.mark.ranks

FOLDER = Path(__file__).resolve().parents[2] / "DP/ddp"
CPU, ALONE = torch.device("cpu"), Place(0, 1, 0, 1)
TINY = "--src-shape 64 2 16 --tgt-shape 64 5 16 --batch_size 8".split()


def flags(*arguments):
    return profile_flags.read_flags("", ["--epochs", "1", *map(str, arguments)])


def prepared(*arguments, place=ALONE):
    return script.prepare(flags(*TINY, *arguments), place, CPU, lambda line: None)


def sgd_step(model, batch):
    """The weights before a step of SGD without dropout, and after it."""
    net = getattr(model.eval(), "module", model)
    before = {name: weight.clone() for name, weight in net.state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    script.train_step(model, optimizer, scaler, *batch, torch.float32)
    return before, net.state_dict()


def ranks_step():
    """On a rank: its items, weights before and after a step, what it drops, learning rates."""
    place, rates = find_place(), []
    for rule in ("none", "sqrt", "linear"):
        *_, adam = prepared("--lr-rule", rule, "--lr", 0.01, place=place)
        rates.append(adam.param_groups[0]["lr"] / 0.01)
    loader, _, model, _ = prepared(place=place)
    dropped = torch.rand(3)
    return list(loader.sampler), *sgd_step(model, next(iter(loader))), dropped, rates


def test_a_step_of_ddp_is_a_step_of_one_device_and_each_rank_drops_others():
    parts, befores, afters, dropped, rates = zip(*launch(ranks_step, 2, quiet=True), strict=True)
    assert rates[0] == rates[1] == pytest.approx([1, 2**0.5, 2])
    assert sorted(sum(parts, [])) == list(range(64)) and not torch.equal(*dropped)
    loader, _, model, _ = prepared()
    items = [loader.dataset[i] for part in parts for i in part[:8]]
    before, after = sgd_step(model, [torch.stack(x) for x in zip(*items, strict=True)])
    torch.testing.assert_close([before, before], [*befores], rtol=0, atol=0)
    assert max((after[name] - before[name]).abs().max() for name in after) > 1e-3
    torch.testing.assert_close([after, after], [*afters], rtol=0, atol=1e-6)


def test_the_lab_has_the_homeworks_shapes_and_torchs_own_transformer():
    shapes = flags("--size", "lab").shapes
    assert (shapes.src, shapes.tgt, shapes.dtype) == ((2048, 1, 512), (2048, 20, 512), "float32")
    assert flags().shapes.src[-1] < 512
    with torch.device("meta"):
        net = transformer.Forecaster(transformer.SIZES["lab"]).transformer
    assert sum(p.numel() for p in net.parameters()) == 44_140_544
    assert type(net) is torch.nn.Transformer and net.batch_first


def test_items_that_are_left_over_wait_for_another_epoch():
    options, seen = flags("--src-shape", 7, 1, 16, "--batch-size", 2), set()
    data = inputs.make_data(options, ALONE)
    for epoch in range(4):
        loaders = [inputs.make_loader(options, Place(r, 3, r, 3), data, CPU) for r in range(3)]
        for loader in loaders:
            loader.sampler.set_epoch(epoch)
        parts = [list(loader.sampler) for loader in loaders]
        assert [len(part) for part in parts] == [2, 2, 2] and len({*sum(parts, [])}) == 6
        seen |= {*sum(parts, [])}
    assert seen == set(range(7))
    with pytest.raises(ValueError, match="7 item.* cannot be shared by 13 ranks: rank 7 has no"):
        inputs.make_loader(options, Place(12, 13, 12, 13), data, CPU)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_each_type_of_numbers_trains_with_weights_that_are_not_half(dtype):
    options = flags(*TINY, "--dtype", dtype, "--epochs", 2)
    before = [p.clone() for p in prepared("--dtype", dtype)[2].parameters()]
    losses, model = script.train(options, ALONE, CPU)
    assert all(0 < loss < 3 for loss in losses)
    wide = torch.float64 if dtype == "float64" else torch.float32
    assert {p.dtype for p in model.parameters()} == {wide}
    moved = [(p - q).abs().max() for p, q in zip(before, model.parameters(), strict=True)]
    assert all(0 < m < 0.1 for m in moved)


@pytest.mark.slow
def test_two_ranks_under_torchrun_leave_traces_with_three_lanes_and_tables(tmp_path):
    torchrun = "-m torch.distributed.run --standalone --nproc-per-node 2".split()
    more = "--rank-source env --profile --epochs 2 --hdf5 --data data/x.h5 --workers 1".split()
    command = [sys.executable, *torchrun, FOLDER / "profile_ddp.py", *TINY, *more]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("epoch 0: loss") == 1 == ended.stdout.count("MB of gradients")
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["x.h5"]
    traces = tmp_path / "traces"  # where it says, if nobody does
    names = [f"cpu-hdf5-{rank}-of-2.{end}" for rank in range(2) for end in ("json", "txt")]
    assert sorted(path.name for path in traces.iterdir()) == names
    lines = (traces / names[1]).read_text().splitlines()
    assert lines[0].startswith("sorted by cpu_time_total") and len(lines) > 20
    trace = Trace.load_all(traces)
    assert trace.ranks == [0, 1]
    assert [e.kind for e in trace.events].count("step") == 4  # each: wait, warm up, keep two
    kinds = {"input": {"input"}, "communication": {"all-reduce"}, "compute": {"F", "B", "update"}}
    for rank, found in shares(trace).items():
        four = (found.computing, found.communication, found.input, found.idle)
        assert sum(four) == pytest.approx(1) and min(four) >= 0 < min(found.computing, found.input)
        for lane, those in kinds.items():
            assert {e.kind for e in in_lanes(trace).events_of(rank, lane)} == those


# --- five inputs -------------------------------------------------------------------------------

FILES = ("hdf5", "pt", "safetensors", "memmap")
CASES = [(kind, dtype) for kind in FILES for dtype in ("float32", "float64", "float16")]
CASES += [("pt", "bfloat16"), ("safetensors", "bfloat16")]


def data_of(*arguments, place=ALONE):
    small = "--src-shape 12 2 8 --tgt-shape 12 3 8".split()
    return inputs.make_data(flags(*small, *arguments), place)


@pytest.mark.parametrize("kind, dtype", CASES)
def test_every_file_has_what_memory_has_and_no_open_file_travels(kind, dtype, tmp_path):
    how = "--dtype", dtype, "--input", kind, "--data", tmp_path / "new" / "x"
    memory, found = data_of("--dtype", dtype), data_of(*how)
    assert len(memory) == len(found) == 12 and found[0][0].dtype == getattr(torch, dtype)
    arrived = pickle.loads(pickle.dumps(found))  # as to a worker on Windows and macOS
    assert found.file is not None and arrived.file is None
    for i in range(12):
        for data in (found, arrived):
            assert all(torch.equal(a, b) for a, b in zip(memory[i], data[i], strict=True))
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["x"]  # nothing half written beside it


def test_a_file_that_is_there_is_read_and_only_the_first_rank_of_a_machine_makes_one(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(FileNotFoundError):
        data_of("--hdf5", "--data", path, place=Place(1, 2, 1, 2))
    data_of("--hdf5", "--data", path, place=Place(2, 4, 0, 2))  # of the second machine
    before = path.read_bytes()
    data_of("--hdf5", "--data", path, "--seed", 5)
    assert before == path.read_bytes()


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_something_else_or_of_another_kind_and_half_a_file(kind, tmp_path):
    path = tmp_path / "x"
    data_of("--input", kind, "--data", path)
    with pytest.raises(ValueError, match=r"is \(3, 8\) float32, and \(9, 8\) float32 was asked"):
        data_of("--input", kind, "--data", path, "--tgt-shape", 12, 9, 8)
    more = "--src-shape", 13, 2, 8, "--tgt-shape", 13, 3, 8
    with pytest.raises(ValueError, match="no 13 items of src and tgt"):
        data_of("--input", kind, "--data", path, *more)
    half = path.read_bytes()[: path.stat().st_size // 2]
    for content in (b"", b"no numbers", b"\x89HDF\r\n\x1a\nand then nothing", half):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"x is no {kind} file, or is damaged"):
            data_of("--input", kind, "--data", path)


def test_without_a_compiler_there_is_one_line_and_the_model_as_it_was(monkeypatch, capsys):
    net = torch.nn.Linear(2, 2)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert script.compiled(net, CPU) is net and capsys.readouterr().out.count("\n") == 1
    monkeypatch.setenv("CXX", sys.executable)  # anything that is there
    assert script.compiled(net, CPU, pytest.fail) is not net
