"""Programs for TP-7: wrong and right work."""

from helpers.grade.task import Program

BODY = """
largest = logits.detach().amax(-1)
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
shifted = logits - {largest}
total = {total}
mine = (targets >= first) & (targets < first + logits.shape[-1])
here = (targets - first).where(mine, 0)
own = shifted.gather(-1, here[:, None])[:, 0] * mine
return (total.log() - {target}).mean()
"""
RIGHT_LINES = {
    "largest": "largest[:, None]",
    "total": "Sum.apply(shifted.exp().sum(-1))",
    "target": "Sum.apply(own)",
}


def body(**other):
    return BODY.format(**RIGHT_LINES | other)


PROGRAMS = (
    Program("own sum", body(total="shifted.exp().sum(-1)"), says="the other ranks have tokens too"),
    Program("own target", body(target="own"), says="the target's logit is missing"),
    Program("not shifted", body(largest="0"), says="logits around 800"),
)

RIGHT = {"the same": body()}
