"""EP-3: wrong and right work, as programs. One body stands in both functions."""

from helpers.grade.task import Program

BODY = """
given = dict(locals())
counts = given["counts"].double()
if "bias" in given:
    given["bias"] += given["rate"] * torch.sign({step})
    return
return len(counts) * ({share} * given["probabilities"].mean(0)).sum()
"""
SHARE, STEP = "counts / counts.sum()", "counts.mean() - counts"

PROGRAMS = (
    Program(
        "upside down",
        BODY.format(share=SHARE, step="counts - counts.mean()"),
        says="the bias moves the wrong way",
    ),
    Program(
        "by tokens",
        BODY.format(share="counts / len(given['probabilities'])", step=STEP),
        says="the shares add up to the choices of a token",
    ),
)

RIGHT = {
    "by the sum": BODY.format(share=SHARE, step="counts.sum() - len(counts) * counts"),
}
