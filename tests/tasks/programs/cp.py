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
}  # fmt: skip
