"""Work in place of the solutions of CP: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "CP-4",
        "einsum",
        {
            "gradient @ v.mT": 'torch.einsum("...sd,...kd->...sk", gradient, v)',
            "ds @ k, ds.mT @ q, p.mT @ gradient": (
                'torch.einsum("...sk,...kd->...sd", ds, k), '
                'torch.einsum("...sk,...sd->...kd", ds, q), '
                'torch.einsum("...sk,...sd->...kd", p, gradient)'
            ),
            "(gradient * attention).sum(-1, keepdim=True)": (
                'torch.einsum("...d,...d->...", gradient, attention)[..., None]'
            ),
        },
    ),
    Program("CP-1", "not safe", {"shift(m)": "m"}, says="-inf minus -inf"),
    Program("CP-1", "no Partial", "return one.o + other.o", says="must return a Partial"),
    Program(
        "CP-2",
        "the wrong way",
        {"ring.rank - step": "ring.rank + step"},
        says="the masks go around the wrong way",
    ),
    Program(
        "CP-2",
        "waits first",
        {"ring.pass_on(k, v)": "ring.pass_on(k, v)()", "arrived()": "arrived"},
        says="waits for the next keys before it has computed",
    ),
    Program("CP-3", "the next half", {"2 * ranks - 1 - rank": "rank + ranks"}, says="mirror image"),
    Program("CP-4", "no product", {" - product": ""}, says="- product is missing"),
    Program(
        "CP-4",
        "scores kept",
        {"ctx.save_for": "ctx.p = (scores(q, k, mask_of()) - log_sum).exp()\nctx.save_for"},
        says="numbers kept",
    ),
)
