"""CP-4: one body stands in all three places."""

from helpers.grade.task import Program

BODY = """
from sys import _getframe
where = _getframe().f_code.co_qualname
if where == "block_gradients":
    p = (scores(q, k, mask) - log_sum).exp()
    ds = p * (gradient @ v.mT - {product}) / math.sqrt(q.shape[-1])
    return ds @ k, ds.mT @ q, p.mT @ gradient
if where == "Recomputed.forward":
    {keep}
if where == "Recomputed.backward":
    q, k, v, *rest = ctx.saved_tensors
    {again}
    product = (gradient * attention).sum(-1, keepdim=True)
    return *block_gradients(q, k, v, ctx.mask_of(), log_sum, product, gradient), None
"""
RIGHT_LINES = {
    "product": "product",
    "keep": "ctx.save_for_backward(q, k, v, attention, log_sum)",
    "again": "attention, log_sum = rest",
}


def body(**other):
    return BODY.format(**RIGHT_LINES | other)


PROGRAMS = (
    Program("no product", body(product="0"), says="- product is missing"),
    Program(
        "scores kept",
        body(
            keep="ctx.p = (scores(q, k, mask_of()) - log_sum).exp(); "
            "ctx.save_for_backward(q, k, v, attention, log_sum)"
        ),
        says="numbers kept",
    ),
    Program(
        "all of it again",
        body(
            keep="ctx.save_for_backward(q, k, v)",
            again="attention, log_sum = finish(partial(q, k, v, ctx.mask_of()))",
        ),
        says="the scores are computed twice",
    ),
)

RIGHT = {"the same": body()}
