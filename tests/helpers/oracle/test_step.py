"""One device's step, and what a rank keeps of its own."""

import pickle

import pytest
import torch

from helpers.oracle import between, one_step, snapshot

from .simulated import adam, backward, loss_of, make_batches, make_model, sgd

LENGTHS = (3, 9, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_is_that_of_the_mean_over_all_tokens(dtype):
    model = make_model(dtype=dtype)
    batches = make_batches(LENGTHS)
    step = one_step(model, loss_of, batches, sgd)
    loss = sum(
        torch.nn.functional.cross_entropy(model(ids[:-1]), ids[1:], reduction="sum")
        for ids in batches
    ) / sum(LENGTHS)
    loss.backward()
    for name, p in model.named_parameters():
        if p.grad is None:
            assert step.gradients[name] is None
            assert torch.equal(step.after[name], step.before[name])
            continue
        assert step.gradients[name].dtype == dtype
        assert torch.allclose(step.gradients[name], p.grad, rtol=0, atol=1e-6)
        assert torch.equal(step.after[name], step.before[name] - 0.5 * step.gradients[name])
    assert [part.tokens for part in step.parts] == list(LENGTHS)


def test_the_model_is_left_alone():
    model = make_model()
    before = snapshot(model)
    one_step(model, loss_of, make_batches(LENGTHS), sgd)
    after = snapshot(model)
    assert all(torch.equal(t, after.weights[n]) for n, t in before.weights.items())
    assert set(after.gradients.values()) == {None}


def test_a_tied_parameter_is_one_tensor_with_all_its_names():
    step = one_step(make_model(tied=True), loss_of, make_batches(LENGTHS), sgd)
    assert step.ties == {"embed.weight": ("embed.weight", "head.weight")}
    assert "head.weight" not in step.gradients and "head.weight" not in step.after


def test_a_loss_alone_counts_as_one_token():
    step = one_step(make_model(), lambda m, ids: loss_of(m, ids)[0], make_batches((2, 8)), sgd)
    assert [part.tokens for part in step.parts] == [1, 1]


@pytest.mark.parametrize(
    ("loss_of", "words"),
    [
        (lambda m, b: (m.head.weight.sum(), 0), "micro-batch 0 has 0 tokens: loss_of must give"),
        (lambda m, b: (m.head.weight.sum() * float("nan"), 3), "the loss of micro-batch 0 is nan"),
        (lambda m, b: (m.head.weight[0, :2], 3), "loss_of must give one finite number"),
    ],
)
def test_wrong_losses_are_one_sentence(loss_of, words):
    with pytest.raises(ValueError) as caught:
        one_step(make_model(), loss_of, make_batches((2,)), sgd)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_no_micro_batches():
    with pytest.raises(ValueError, match="^one_step got no micro-batches: give at least one$"):
        one_step(make_model(), loss_of, [], sgd)


def test_a_snapshot_is_a_copy_and_can_be_sent():
    model = make_model()
    optimizer = adam(list(model.parameters()))
    before = pickle.loads(pickle.dumps(snapshot(model)))
    backward(make_batches(LENGTHS), model, lambda tokens: 1.0)
    optimizer.step()
    after = snapshot(model)
    step = pickle.loads(pickle.dumps(between(before, after)))
    assert not torch.equal(step.before["head.weight"], step.after["head.weight"])
    assert torch.equal(step.gradients["head.weight"], model.head.weight.grad)
    kept = step.gradients["head.weight"].clone()
    model.head.weight.grad.zero_()
    assert torch.equal(after.gradients["head.weight"], kept)
