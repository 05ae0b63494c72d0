"""Weights in a file: there and back, never half, never into another model."""

import errno
import os

import pytest
import torch

from simplellm.checkpoint import load_model, save_model
from tests.simplellm.small import small


def same(one, other):
    two = other.state_dict()
    return all(torch.equal(weight, two[name]) for name, weight in one.state_dict().items())


@pytest.mark.parametrize("shared", [False, True])
def test_there_and_back(tmp_path, shared):
    net, other = small(shared=shared), small(1, shared=shared).double()
    weight = other.model.embed_tokens.weight
    save_model(net, tmp_path / "new folder" / "net.safetensors")
    assert load_model(other, str(tmp_path / "new folder" / "net.safetensors")) is other
    assert same(net, other) and other.lm_head.weight.dtype == torch.float64  # it keeps its type
    assert weight is other.model.embed_tokens.weight  # loaded in place: an optimizer keeps working
    assert (other.lm_head.weight is weight) == shared


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"vocab_size": 60}, r"embed_tokens.weight is \(50, 24\) in the file and \(60, 24\) in"),
        ({"n_layers": 3}, r"layers.2.self_attn.q_proj.weight is missing in the file and \(24, 24"),
        ({"n_layers": 1}, r"model.layers.1.\S+ is \(.*\) in the file and missing in this model"),
    ],
    ids=str,
)
def test_the_checkpoint_of_another_model_changes_nothing(tmp_path, sizes, sentence):
    save_model(small(), tmp_path / "net")
    other, untouched = small(1, **sizes), small(1, **sizes)
    with pytest.raises(ValueError, match="is the checkpoint of another model: .*" + sentence):
        load_model(other, tmp_path / "net")
    assert same(other, untouched)


def test_what_is_no_checkpoint(tmp_path):
    file = tmp_path / "net"
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at .*net: write one with"):
        load_model(small(), file)
    save_model(small(), file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is not a whole safetensors checkpoint .* cut off"):
        load_model(small(), file)


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    net = small()
    save_model(net, tmp_path / "net")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    sentence = r"net \(.* MB\) was not written \(No space left .*\): make room"
    with pytest.raises(OSError, match=sentence):
        save_model(small(1), tmp_path / "net")
    assert [file.name for file in tmp_path.iterdir()] == ["net"]
    assert same(net, load_model(small(1), tmp_path / "net"))
