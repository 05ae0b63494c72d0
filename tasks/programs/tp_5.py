"""Programs for TP-5: one body stands in all four places."""

from helpers.grade.task import Program

BODY = """
given = dict(locals())
from sys import _getframe
operator = _getframe().f_code.co_qualname
if operator == "Copy.forward":
    return {copy}
if operator == "Copy.backward":
    return {copy_back}
if operator == "Sum.forward":
    return {sum}
return {sum_back}
"""
RIGHT_LINES = {
    "copy": "given['x'].view_as(given['x'])",
    "copy_back": "all_reduced(given['gradient'])",
    "sum": "all_reduced(given['x'])",
    "sum_back": "given['gradient']",
}


def body(**other):
    return BODY.format(**RIGHT_LINES | other)


PROGRAMS = (
    Program("no sum backward", body(copy_back="given['gradient']"), says="must be added up"),
    Program(
        "the sum goes backward too",
        body(sum_back="all_reduced(given['gradient'])"),
        says="the gradient is 3 times too large",
        met="microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too",
    ),
    Program(
        "the other way round",
        body(copy="all_reduced(given['x'])", copy_back="given['gradient']"),
        says="it is the wrong way round",
    ),
)

RIGHT = {"with clone": body(copy="given['x'].clone()", sum_back="given['gradient'].clone()")}
