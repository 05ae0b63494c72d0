"""Work in place of the solutions of CP: what the check must name, and what it must pass."""

from tests.tasks.planted import Program

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
    Program(
        "CP-2",
        "a message more, for which nobody waits",
        {"if step < ring.size - 1:\n        arrived": "if True:\n        arrived"},
        says="messages started: 4 in place of 3",
    ),
    Program(
        "CP-3",
        "off by one",
        {"2 * ranks - 1 - rank": "2 * ranks - rank"},
        says="count from 0, so the last chunk is 2 * ranks - 1",
    ),
    Program(
        "CP-3",
        "the next half, by counting",
        """
        each = len(equal_chunks(length, 2 * ranks)[0])
        mine = torch.arange(rank * each, (rank + 1) * each)
        return torch.cat((mine, mine + length // 2))
        """,
        says="mirror image",
    ),
    Program(
        "CP-3",
        "chunks of other sizes",
        {"equal_chunks(length, 2 * ranks)": "torch.arange(length).tensor_split(2 * ranks)"},
        says="let equal_chunks cut 2 * ranks of them",
    ),
    Program("CP-1", "no Partial", "return one.o + other.o", says="must return a Partial"),
    Program(
        "CP-4",
        "scores kept",
        {"ctx.save_for": "ctx.p = (scores(q, k, mask_of()) - log_sum).exp()\nctx.save_for"},
        says="such as the weights P, grows with the square",
    ),
    Program(
        "CP-4",
        "all computed again",
        {
            "(q, k, v, attention, log_sum)": "(q, k, v)",
            "*saved, log_sum = ctx.saved_tensors": "saved = ctx.saved_tensors",
            "q, k, v, attention, gradient = wide(*saved, gradient)": (
                "q, k, v, gradient = wide(*saved, gradient)\n"
                "attention, log_sum = finish(partial(q, k, v, ctx.mask_of()))"
            ),
        },
        says="backward computes 7 products, and 5 are enough",
    ),
)
