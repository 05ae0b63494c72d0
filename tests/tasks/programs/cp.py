"""Work in place of the solutions of CP: what the check must name, and what it must pass."""

PROGRAMS = {
    "CP-1": {
        "no Partial": ("return one.o + other.o", "must return a Partial")},
    "CP-2": {
        "a message more, for which nobody waits":
            ({"if step < ring.size - 1:\n        arrived": "if True:\n        arrived"},
             "messages started: 4 in place of 3")},
    "CP-3": {
        "off by one":
            ({"2 * ranks - 1 - rank": "2 * ranks - rank"},
             "count from 0, so the last chunk is 2 * ranks - 1"),
        "the next half, by counting": ("""
        each = len(equal_chunks(length, 2 * ranks)[0])
        mine = torch.arange(rank * each, (rank + 1) * each)
        return torch.cat((mine, mine + length // 2))
        """, "mirror image"),
        "chunks of other sizes":
            ({"equal_chunks(length, 2 * ranks)": "torch.arange(length).tensor_split(2 * ranks)"},
             "let equal_chunks cut 2 * ranks of them")},
    "CP-4": {
        "einsum":
            {"gradient @ v.mT": 'torch.einsum("...sd,...kd->...sk", gradient, v)',
             "ds @ k, ds.mT @ q, p.mT @ gradient":
                 'torch.einsum("...sk,...kd->...sd", ds, k), '
                 'torch.einsum("...sk,...sd->...kd", ds, q), '
                 'torch.einsum("...sk,...sd->...kd", p, gradient)',
             "(gradient * attention).sum(-1, keepdim=True)":
                 'torch.einsum("...d,...d->...", gradient, attention)[..., None]'},
        "scores kept":
            ({"ctx.save_for": "ctx.p = (scores(q, k, mask_of()) - log_sum).exp()\nctx.save_for"},
             "such as the weights P, grows with the square"),
        "all computed again":
            ({"(q, k, v, attention, log_sum)": "(q, k, v)",
              "*saved, log_sum = ctx.saved_tensors": "saved = ctx.saved_tensors",
              "q, k, v, attention, gradient = wide(*saved, gradient)":
                  "q, k, v, gradient = wide(*saved, gradient)\n"
                  "attention, log_sum = finish(partial(q, k, v, ctx.mask_of()))"},
             "backward computes 7 products, and 5 are enough")},
}  # fmt: skip
