"""Tensor parallel: one device for the loss; for the others, tests that compare with it already."""

import torch

BY_MPI = "tests/TP/test_mpi_lab.py::test_the_commands_that_students_know"
ONE_DEVICE = "tests/test_parity.py::test_a_script_is_one_device"


def of_all_logits(case):
    logits = case["logits"].clone().requires_grad_()
    loss = torch.nn.functional.cross_entropy(logits, case["targets"])
    loss.backward()
    return [
        {
            "loss": loss.detach(),
            "the gradient of the logits": part,
            "less was sent than the logits": True,
        }
        for part in logits.grad.chunk(3, -1)
    ]


CLOSED_FORMS = {
    "TP-2": BY_MPI,
    "TP-3": BY_MPI,
    "TP-5": ONE_DEVICE,
    "TP-6": ONE_DEVICE,
    "TP-7": of_all_logits,
}
