"""`train_script` and what is measured of it: as the script's own command would train."""

import pytest
import torch
from torch import nn

from helpers.lesson.scripts import distances, kept_for_backward, train_script

SCRIPT = """
from types import SimpleNamespace

import torch
from beside import RATE


def read_flags(arguments):
    return SimpleNamespace(steps=int(arguments[1]))


def train(options, place=None, device="here", say=print):
    say(0, 1.0)
    where = (place.rank, place.world_size, device) if place else device
    return [RATE] * options.steps, torch.ones(1).dtype, where
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "a_script_of_a_test.py").write_text(SCRIPT)
    (tmp_path / "lab" / "beside.py").write_text("RATE = 0.5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "lab/a_script_of_a_test.py"


def test_a_script_trains_on_one_device_and_on_ranks_and_prints_nothing(script, capsys):
    flags = ("--steps", "2")
    assert train_script(script, flags) == ([0.5, 0.5], torch.float32, "here")
    assert train_script(script, flags, dtype=torch.float64)[1] == torch.float64
    assert torch.get_default_dtype() == torch.float32
    ranks = train_script(script, flags, ranks=2, dtype=torch.float64)
    assert ranks == [([0.5, 0.5], torch.float64, (rank, 2, "cpu")) for rank in (0, 1)]
    assert capsys.readouterr().out == ""
    with pytest.raises(FileNotFoundError, match="no_script"):
        train_script("no_script.py")


def test_the_distance_of_each_tensor_is_its_largest():
    whole = {"a": torch.tensor([1.0, 2.0]), "b": torch.zeros(2), "c": torch.ones(1)}
    some = {"a": torch.tensor([1.5, -1.0]), "b": torch.zeros(2)}
    assert distances(some, whole) == {"a": 3.0, "b": 0.0}
    with pytest.raises(KeyError):
        distances(whole, some)


def test_what_forward_keeps_is_counted_once_and_without_weights():
    net, x = nn.Linear(4, 8, bias=False), torch.randn(2, 4, requires_grad=True)
    y, kept = kept_for_backward(lambda: net(x).square(), net)
    assert y.shape == (2, 8) and kept == x.nbytes + y.nbytes  # the input of each product
