"""GP-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("the sum", {"p.grad /= ranks": "pass"}, says="are the sum over the ranks"),
    Program("gradients that are none", {"p.grad is not None": "True"}, says="NoneType"),
)
