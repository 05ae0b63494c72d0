"""Experts: on ranks they are one device's, which a test of theirs shows; the balance by hand."""

import torch

ONE_DEVICE = "tests/EP/test_experts.py::test_ranks_are_one_device"


def balanced(case):
    p, counts = case["probabilities"], case["counts"].double()
    each = (len(counts) * counts / counts.sum() / len(p)).expand_as(p)  # the loss is linear in p
    return {
        "balance_loss": (each * p).sum(),
        "the gradient of the probabilities": each,
        "the bias after adjust_bias": case["bias"] - 0.01 * torch.sign(counts - counts.mean()),
    }


CLOSED_FORMS = {"EP-1": ONE_DEVICE, "EP-3": balanced}
