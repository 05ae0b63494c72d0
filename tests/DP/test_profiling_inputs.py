"""The inputs of the profiling lab: five are one, and what cannot be read is said in a sentence."""

import pickle
import shutil
import sys

import h5py
import loading
import numpy as np
import profile_ddp
import pytest
import torch
from compiling import compiled
from devices import choose_device as choose

from helpers.ranks import Place
from tests.DP.test_profiling import flags as flags_of

SHAPE = ("--src-shape", 12, 2, 8, "--tgt-shape", 12, 3, 8)
ALONE = Place(0, 1, 0, 1)
FILES = ("hdf5", "pt", "safetensors", "memmap")


def flags(*arguments):
    return flags_of(*SHAPE, *arguments)


def data_of(*arguments, place=ALONE):
    return loading.make_data(flags(*arguments), place)


def equal(one, other):
    return len(one) == len(other) and all(
        torch.equal(a, b) for i in range(len(one)) for a, b in zip(one[i], other[i], strict=True)
    )


CASES = [(k, t) for k in FILES for t in ("float32", "float64", "float16")]
CASES += [("pt", "bfloat16"), ("safetensors", "bfloat16")]


@pytest.mark.parametrize("kind, dtype", CASES)
def test_every_file_gives_what_memory_gives(kind, dtype, tmp_path):
    memory = data_of("--dtype", dtype)
    found = data_of("--dtype", dtype, "--input", kind, "--data", tmp_path / "new" / "x")
    assert equal(memory, found) and found[0][0].dtype == getattr(torch, dtype)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["x"]  # nothing half written beside it


@pytest.mark.parametrize("kind", FILES)
def test_workers_read_the_same_after_their_rank_has_read_and_no_open_file_travels(kind, tmp_path):
    found = data_of("--input", kind, "--data", tmp_path / "x")
    first = found[0]
    loader = torch.utils.data.DataLoader(found, 4, num_workers=1)
    source, target = (torch.cat(parts) for parts in zip(*loader, strict=True))
    memory = data_of()
    for i in range(12):
        assert torch.equal(source[i], memory[i][0]) and torch.equal(target[i], memory[i][1])
    assert torch.equal(first[0], source[0]) and found.file is not None
    arrived = pickle.loads(pickle.dumps(found))  # as to a worker on Windows and macOS
    assert arrived.file is None and torch.equal(arrived[0][0], first[0])


def test_a_file_that_is_there_is_read_and_not_made_anew(tmp_path):
    path = tmp_path / "x"
    data_of("--hdf5", "--data", path)
    before = path.stat().st_mtime_ns, path.read_bytes()
    data_of("--hdf5", "--data", path, "--seed", 5)
    assert before == (path.stat().st_mtime_ns, path.read_bytes())


def test_only_the_first_rank_of_a_machine_makes_the_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        data_of("--hdf5", "--data", tmp_path / "x", place=Place(1, 2, 1, 2))
    assert not list(tmp_path.iterdir())


# --- wrong input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, target, sentence",
    [
        (
            ("src", (12, 2, 8)),
            ("tgt", (12, 9, 8)),
            r"of tgt in .* is \(9, 8\) float32, and \(3, 8\) float32 was asked for",
        ),
        (("src", (12, 2, 8)), ("labels", (3,)), "no 12 items of src and tgt .KeyError"),
        (("src", (11, 2, 8)), ("tgt", (12, 3, 8)), "no 12 items of src and tgt"),
    ],
)
def test_an_hdf5_file_of_something_else(source, target, sentence, tmp_path):
    with h5py.File(tmp_path / "x", "w") as file:
        for name, shape in (source, target):
            file[name] = np.zeros(shape, "f4")
    with pytest.raises(ValueError, match=sentence):
        data_of("--hdf5", "--data", tmp_path / "x")


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_of_no_such_kind_and_half_a_file(kind, tmp_path):
    path = tmp_path / "x"
    data_of("--input", kind, "--data", path)
    half = path.read_bytes()[: path.stat().st_size // 2]
    for content in (b"", b"no numbers", b"\x89HDF\r\n\x1a\nand then nothing", half):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"x is no {kind} file, or is damaged"):
            data_of("--input", kind, "--data", path)


def test_a_rank_with_no_data():
    options = flags()
    place = Place(12, 13, 12, 13)
    sentence = "12 item.* cannot be shared by 13 ranks: rank 12 has no data"
    with pytest.raises(ValueError, match=sentence):
        loading.make_loader(options, place, data_of(), torch.device("cpu"))


def test_local_rank_beyond_the_gpus():
    assert [choose(r, 2, "nccl") for r in (None, 0, "1")] == ["cuda:0", "cuda:0", "cuda:1"]
    assert [choose(r, 2, "gloo") for r in range(4)] == ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]
    assert choose(3, 0, "gloo") == choose(None, 0, "gloo") == "cpu"
    with pytest.raises(ValueError, match="LOCAL_RANK is 4, and this machine has 4 GPU"):
        choose(4, 4, "nccl")


@pytest.mark.parametrize(
    "gpus, place, sentence",
    [
        (0, Place(0, 2, 0, 2), "NCCL was asked for, and there is no GPU here"),
        (1, Place(0, 2, 0, 2), "NCCL needs a GPU for each rank, and there are 2 ranks and 1 GPU"),
        (1, Place(1, 2, 1, 1), "LOCAL_RANK is 1, and this machine has 1 GPU"),
    ],
)
def test_nccl_where_it_cannot_work(gpus, place, sentence, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    with pytest.raises(ValueError, match=sentence):
        profile_ddp.join(flags("--backend", "nccl"), place)


def test_without_a_compiler_there_is_one_line_and_the_model_as_it_was(monkeypatch, capsys):
    net = torch.nn.Linear(2, 2)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert compiled(net, torch.device("cpu")) is net
    assert capsys.readouterr().out.count("\n") == 1
    monkeypatch.setattr(torch, "compile", lambda model: ("compiled", model))
    monkeypatch.setenv("CXX", sys.executable)  # anything that is there
    assert compiled(net, torch.device("cpu"), pytest.fail) == ("compiled", net)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert compiled(net, torch.device("cuda"), pytest.fail)[0] == "compiled"  # that writes Triton
