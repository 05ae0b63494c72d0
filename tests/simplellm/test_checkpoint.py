"""Weights in a file: there and back, never half, never into another model."""

import errno
import os

import pytest
import torch

from simplellm.checkpoint import load_model, save_model
from simplellm.llama import CausalLLama, LLama


def model(seed=0, **sizes):
    torch.manual_seed(seed)
    sizes = dict(vocab_size=50, dmodel=24, num_heads=4, n_layers=2, device="cpu") | sizes
    return LLama(CausalLLama, **sizes)


def same(one, other):
    two = other.state_dict()
    return all(torch.equal(weight, two[name]) for name, weight in one.state_dict().items())


@pytest.mark.parametrize("shared", [False, True])
def test_there_and_back(tmp_path, shared):
    net, other = model(shared=shared), model(seed=1, shared=shared)
    assert not same(net, other)
    save_model(net, tmp_path / "new folder" / "net.safetensors")
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)  # keeps working: loaded in place
    assert load_model(other, str(tmp_path / "new folder" / "net.safetensors")) is other
    assert same(net, other)
    assert optimizer.param_groups[0]["params"][0] is other.model.embed_tokens.weight
    assert (other.lm_head.weight is other.model.embed_tokens.weight) == shared


def test_the_model_keeps_its_type(tmp_path):
    save_model(model(), tmp_path / "net")
    net = load_model(model(1).double(), tmp_path / "net")
    assert net.lm_head.weight.dtype == torch.float64
    assert torch.equal(net.lm_head.weight, model().lm_head.weight.double())


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (
            {"vocab_size": 60},
            r"embed_tokens.weight is \(50, 24\) in the file and \(60, 24\) in this",
        ),
        (
            {"n_layers": 3},
            r"has no model.layers.2.self_attn.q_proj.weight, \(24, 24\) in this model",
        ),
        ({"n_layers": 1}, r"its model.layers.1.\S+weight, \(\d+(, \d+)?\), is not in this model"),
    ],
    ids=str,
)
def test_the_checkpoint_of_another_model_changes_nothing(tmp_path, sizes, sentence):
    save_model(model(), tmp_path / "net")
    other, untouched = model(1, **sizes), model(1, **sizes)
    with pytest.raises(ValueError, match="is the checkpoint of another model: .*" + sentence):
        load_model(other, tmp_path / "net")
    assert same(other, untouched)


@pytest.mark.parametrize("kept", [slice(0), slice(5), slice(-1), None])
def test_what_is_no_checkpoint(tmp_path, kept):
    file = tmp_path / "net"
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at .*net: write one with"):
        load_model(model(), file)
    with pytest.raises(OSError, match="cannot be read"):
        load_model(model(), tmp_path)
    save_model(model(), file)
    file.write_bytes(file.read_bytes()[kept] if kept else b"Once upon a time there was a story.")
    with pytest.raises(ValueError, match="is not a whole safetensors checkpoint .* cut off"):
        load_model(model(), file)


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    net = model()
    save_model(net, tmp_path / "net")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        OSError, match=r"net \(\d+\.\d MB\) was not written because the disk is full"
    ):
        save_model(model(1), tmp_path / "net")
    assert [file.name for file in tmp_path.iterdir()] == ["net"]
    assert same(net, load_model(model(1), tmp_path / "net"))


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="was not written because .*: check the folder"):
        save_model(model(), tmp_path / "file" / "net")
