"""A step is recorded from a training that knows nothing of it, in a process or of two scripts."""

import pytest
import torch

from helpers.clone import ROOT
from helpers.oracle import judge
from helpers.oracle.__main__ import compare_scripts, main
from helpers.oracle.record import CannotRecord, recording
from helpers.ranks import RankFailed, launch
from tests.said import said

pytestmark = pytest.mark.ranks


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def train(net, steps=3, parts=2, clear=True, kind=torch.optim.SGD):
    optimizer = kind(net.parameters(), lr=0.1)
    for step in range(steps):
        if clear:
            optimizer.zero_grad()
        for part in range(parts):
            x = torch.randn(5, 3, generator=torch.Generator().manual_seed(10 * step + part))
            (net(x).square().mean() / parts).backward()
        optimizer.step()
    return steps


def test_a_step_with_its_micro_batches_and_the_weights_before_and_after():
    net = model()
    wrapped = net
    for name in ("_orig_mod", "net", "module"):
        wrapped = torch.nn.ModuleDict({name: wrapped})
    wrapped.forward = net.forward
    with recording(at=1) as seen:
        net[0](torch.ones(1, 3))  # a part that is called alone is no model yet
        train(wrapped)
    step = seen.step()
    assert len(step.parts) == 2 and judge(step, [step]).ok
    assert [*step.gradients] == [f"net.{name}" for name, _ in net.named_parameters()]
    for name, gradient in step.gradients.items():
        total = sum(part.gradients[name] for part in step.parts) / 2
        assert torch.allclose(gradient, total, atol=1e-6)
        assert torch.allclose(step.before[name] - 0.1 * gradient, step.after[name], atol=1e-6)


def test_the_last_step_and_a_training_that_is_stopped():
    with recording(at=2) as seen:
        train(model())
    assert seen.step().after
    ended = False
    with recording(at=0, stop=True) as early:
        ended = train(model(), steps=50)
    assert not ended and early.step().after


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_the_first_step_is_made_again_by_an_optimizer_of_the_same_kind(kind):
    with recording() as seen:
        train(model(), kind=kind)
    step = seen.step()
    assert step.optimizer == kind.__name__ and judge(step, [step]).ok
    weights = {n: torch.nn.Parameter(w.clone()) for n, w in step.before.items()}
    for name, weight in weights.items():
        weight.grad = step.gradients[name].clone()
    step.make_optimizer(list(weights.values())).step()
    torch.testing.assert_close({n: w.data for n, w in weights.items()}, dict(step.after))


def test_of_two_groups_no_optimizer_is_made_again():
    net = model()
    with recording() as seen:
        groups = [{"params": net[0].parameters(), "lr": 0.5}, {"params": net[2].parameters()}]
        net(torch.ones(2, 3)).sum().backward()
        torch.optim.SGD(groups, lr=0.1).step()
    step = seen.step()
    assert step.make_optimizer is None and step.optimizer == "" and step.after


def test_what_is_left_over_is_not_what_a_backward_added():
    with recording() as first:
        train(model(), clear=False)
    with recording(at=1) as seen:
        train(model(), clear=False)
    assert not seen.step().parts
    added = sum(each["0.weight"] for each in seen.backwards)
    left = first.gradients["0.weight"]
    assert torch.allclose(left + added, seen.gradients["0.weight"], atol=1e-6)


def of_flat_tensors():
    from torch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(torch.nn.Linear(3, 3), device_id=torch.device("cpu"))
    with recording():
        train(net)


@pytest.mark.slow
def test_the_flat_tensors_of_fsdp1_are_refused():
    with pytest.raises(RankFailed, match="FSDP1 keeps its parameters in flat tensors without"):
        launch(of_flat_tensors, 2, quiet=True)


def test_what_cannot_be_recorded_is_said():
    with recording(at=7) as seen:
        train(model())
    assert "ended after 3 calls" in said(seen.step, error=CannotRecord)
    with pytest.raises(CannotRecord, match=r"2 were \(Linear, Linear\)"), recording():
        one, two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
        two(one(torch.ones(3))).backward()
        torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1).step()


PAIR = [str(ROOT / "forensics" / "theirs" / name) for name in ("alone.py", "fsdp2.py")]


@pytest.mark.long
def test_a_hugging_face_model_under_fsdp2_is_right_at_both_steps():
    assert compare_scripts(*PAIR, ranks=2).ok
    assert compare_scripts(*PAIR, ranks=2, at=1).ok


@pytest.mark.slow
def test_a_layer_that_was_forgotten_is_named(capsys):
    assert main([*PAIR, "--ranks", "2", "--both=--model plain"]) == 0
    flags = "--both=--model plain --forget half"
    assert main([*PAIR, "--ranks", "2", flags]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "First to differ: the gradient of layers.1." in told
    assert "only in layers.1, and all else is right: every rank still has its own" in told


@pytest.mark.slow
def test_what_cannot_be_compared_is_said(tmp_path, capsys):
    for name, script, words in (
        ("empty.py", "", "ended after 0 calls of optimizer.step()"),
        ("raises.py", "raise ValueError('no data')", "no data"),
        ("nowhere.py", None, "there is no script"),
    ):
        if script is not None:
            (tmp_path / name).write_text(script)
        assert main([str(tmp_path / name), PAIR[1]]) == 2
        assert words in capsys.readouterr().err
