"""Flags, devices, learning rates, files of weights and models that ship do what they say."""

import argparse
import errno
import os
from importlib import metadata

import pytest
import torch

import simplellm
from simplellm.checkpoint import load_model, save_model
from simplellm.devices import pick, say_once
from simplellm.losses import causalLLMLoss
from simplellm.models import NAMES, facts, pretrained
from simplellm.options import OneDeviceFlags, TrainingFlags, make_optimizer, make_stories, prepare
from tests.simplellm.small import small

TINY = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


def flags(*given):
    return OneDeviceFlags("", batch_size=4).parse_args(given)


# --- flags ---------------------------------------------------------------------------------------


def test_a_size_is_where_every_number_comes_from_that_is_not_given():
    names = "tokenizer dmodel heads layers seq_l lr steps world batch_size threads like_ranks seed"
    found = [flags("--size", size) for size in ("story", "laptop", "lab")]
    assert [" ".join(str(getattr(each, name)) for name in names.split()) for each in found] == [
        "stories-small 64 4 2 128 0.01 600 small 4 1 1 0",
        "stories-small 64 4 6 128 0.004 50 small 4 1 1 0",
        "stories-4096 288 6 6 256 0.0008 5000 large 4 1 1 0",
    ]
    given = flags("--layers", "0", "--steps", "0")
    assert (given.layers, given.steps, given.dmodel, given.optimizer) == (0, 0, 64, "adam")


def test_windows_that_memory_cannot_hold_at_one_time_are_refused():
    parser = TrainingFlags("", 4, micro_batches=2, stages=3)
    with pytest.raises(ValueError, match="500,000,000 windows of 128 .* need more than 307,200 GB"):
        prepare(parser.parse_args(["--batch-size", "1000000000"]), "cpu")


# --- optimizer -----------------------------------------------------------------------------------


def rates(schedule, steps, state=None):
    """Return the learning rate of each step, and the optimizer's state."""
    how = argparse.Namespace(optimizer="sgd", lr=0.1, steps=100, lr_schedule=schedule)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer, found = make_optimizer(how, [weight]), []
    if state:
        optimizer.load_state_dict(state)
    for _ in range(steps):
        before = weight.detach().clone()
        weight.grad = torch.ones(2)
        optimizer.step()
        found.append((before - weight)[0].item())
    return found, optimizer.state_dict()


def test_the_rate_rises_stays_and_falls_and_a_continued_run_goes_on():
    found, _ = rates("decay", 100)
    rise = [0.1 * n / 20 for n in range(1, 21)]
    fall = [0.002 + 0.098 * (99 - n) / 59 for n in range(41, 100)]
    assert found == pytest.approx([*rise, *[0.1] * 21, *fall], abs=1e-6)
    first, state = rates("decay", 30)
    assert first + rates("decay", 70, state)[0] == pytest.approx(found, abs=1e-6)
    assert rates("constant", 9)[0] == pytest.approx([0.1] * 9)


# --- device --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "given"),
    [(0, False, "auto", "cpu"), (2, False, None, "cuda"), (0, True, "auto", "cpu")]
    + [(0, True, "mps", "mps"), (2, False, "cuda:1", "cuda:1"), (2, False, "cpu", "cpu")]
    + [(0, True, "cuda", "cpu"), (2, False, "mps", "cpu")],
)
def test_what_is_there_is_given_and_what_is_not_becomes_the_cpu_and_is_said_once(
    monkeypatch, capsys, cuda, mps, asked, given
):
    say_once.cache_clear()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert pick(asked) == pick(asked) == torch.device(given)
    told = f"simplellm: there is no {asked} device here, so the CPU is used instead.\n"
    assert capsys.readouterr().err == (told if asked in ("cuda", "mps") and given == "cpu" else "")
    with pytest.raises(ValueError, match="'gpu' is not a device: use 'auto', 'cpu'"):
        pick("gpu")
    if cuda:
        with pytest.raises(ValueError, match="no device cuda:2: this machine has 2 GPUs, numbered"):
            pick("cuda:2")


def test_the_least_version(monkeypatch):
    for version, fits in {"2.6.0": 1, "2.10.0a0+git": 1, "3.0": 1, "2.5.1": 0, "1.13": 0}.items():
        monkeypatch.setattr(metadata, "version", lambda _, version=version: version)
        if fits:
            simplellm.check_torch()
        else:
            with pytest.raises(ImportError, match=f"2.6 or newer and found {version} for the Py"):
                simplellm.check_torch()


# --- weights in files ----------------------------------------------------------------------------


def same(one, other):
    two = other.state_dict()
    return all(torch.equal(weight, two[name]) for name, weight in one.state_dict().items())


@pytest.mark.parametrize("shared", [False, True])
def test_weights_there_and_back(tmp_path, shared):
    net, other = small(shared=shared), small(1, shared=shared).double()
    weight = other.model.embed_tokens.weight
    save_model(net, tmp_path / "new folder" / "net.safetensors")
    assert load_model(other, str(tmp_path / "new folder" / "net.safetensors")) is other
    assert same(net, other) and other.lm_head.weight.dtype == torch.float64  # it keeps its type
    assert weight is other.model.embed_tokens.weight  # loaded in place: an optimizer keeps working
    assert (other.lm_head.weight is weight) == shared


def test_what_is_no_checkpoint_or_that_of_another_model_changes_nothing(tmp_path, monkeypatch):
    file, net = tmp_path / "net", small()
    with pytest.raises(FileNotFoundError, match="there is no checkpoint at .*net: write one with"):
        load_model(net, file)
    save_model(net, file)
    for sizes, sentence in (
        ({"vocab_size": 60}, r"embed_tokens.weight is \(50, 24\) in the file and \(60, 24\) in"),
        ({"n_layers": 3}, r"layers.2.self_attn.q_proj.weight is missing in the file and \(24, 24"),
        ({"n_layers": 1}, r"model.layers.1.\S+ is \(.*\) in the file and missing in this model"),
    ):
        other = small(1, **sizes)
        with pytest.raises(ValueError, match=f"is the checkpoint of another model: .*{sentence}"):
            load_model(other, file)
        assert same(other, small(1, **sizes))

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match=r"net \(.* MB\) was not written \(No space .*\): make"):
            save_model(small(1), file)
    assert [file.name for file in tmp_path.iterdir()] == ["net"]
    assert same(net, load_model(small(1), file))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is not a whole safetensors checkpoint .* cut off"):
        load_model(net, file)


@pytest.mark.parametrize("name", NAMES)
def test_a_models_loss_is_what_its_facts_say(name):
    tokenizer, net = pretrained(name)
    options = flags("--seq-l", "256", "--seed", "7")
    ids = next(iter(make_stories(options, tokenizer, quiet=True)))
    with torch.no_grad():
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size).item()
    assert loss == pytest.approx(facts(name)["loss"], rel=0.2)


def test_a_training_continues_from_a_file_of_its_own_size_only(tmp_path):
    file = tmp_path / "mine.safetensors"
    other = prepare(flags(*TINY, "--seed", "3"), "cpu")[1]
    save_model(other, file)
    assert same(other, prepare(flags(*TINY, "--from", str(file)), "cpu")[1])
    with pytest.raises(ValueError, match="best.safetensors is the checkpoint of another model"):
        prepare(flags("--from", "best", "--dmodel", "32"), "cpu")
