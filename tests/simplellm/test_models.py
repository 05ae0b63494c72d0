"""The models that ship: small, whole, better from one to the next; and what continues from them."""

import runpy
import sys
from pathlib import Path

import pytest
import torch

from simplellm import models
from simplellm.checkpoint import save_model
from simplellm.generation import write_story
from simplellm.losses import causalLLMLoss
from simplellm.models import NAMES, facts, pretrained
from simplellm.options import OneDeviceFlags, make_stories, prepare

PRIMER = Path(__file__).resolve().parents[2] / "primer"
TINY = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


def flags(*given):
    return OneDeviceFlags("", batch_size=4).parse_args(given)


def test_each_is_better_than_the_one_before_and_its_loss_is_what_its_facts_say():
    assert sum((models.FOLDER / f"{name}.safetensors").stat().st_size for name in NAMES) < 5e6
    known = [facts(name) for name in NAMES]
    for before, after in zip(known, known[1:], strict=False):
        assert after["loss"] < before["loss"] and after["steps"] > before["steps"]
        assert after["right"] / after["sentences"] > before["right"] / before["sentences"]
    assert known[-1]["loss"] > 0.278  # the floor
    for name, about in zip(NAMES, known, strict=True):
        tokenizer, net = pretrained(name)
        assert net.max_seq == about["seq_l"]
        options = flags("--seq-l", "256", "--seed", "7")
        ids = next(iter(make_stories(options, tokenizer, quiet=True)))
        with torch.no_grad():
            loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size).item()
        assert loss == pytest.approx(about["loss"], rel=0.2)


def test_a_training_continues_from_a_file_of_its_own_size_only(tmp_path):
    file = tmp_path / "mine.safetensors"
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint at .*mine.safetensors"):
        prepare(flags("--from", str(file)), "cpu")
    other = prepare(flags(*TINY, "--seed", "3"), "cpu")[1]
    save_model(other, file)
    net = prepare(flags(*TINY, "--from", str(file)), "cpu")[1]
    assert torch.equal(net.lm_head.weight, other.lm_head.weight)
    with pytest.raises(ValueError, match="best.safetensors is the checkpoint of another model"):
        prepare(flags("--from", "best", "--dmodel", "32"), "cpu")
    for call in (lambda: pretrained("beast"), lambda: prepare(flags("--from", "beast"), "cpu")):
        with pytest.raises(ValueError, match='there is no model "beast": choose "early", "middle"'):
            call()


def test_the_command_that_trained_them(tmp_path, monkeypatch, capsys):
    command = ["train_models.py", *TINY, "--steps", "3", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    runpy.run_path(str(PRIMER / "train_models.py"), run_name="__main__")
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    assert [facts(name)["steps"] for name in NAMES] == [1, 2, 3]
    tokenizer, net = pretrained("best")
    assert net.max_seq == 16 and write_story(net, tokenizer, 1) == write_story(net, tokenizer, 1)
    assert facts("early")["loss"] == pytest.approx(7.09, abs=0.1)
