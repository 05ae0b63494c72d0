"""Work in place of the solutions of EP: what the check must name, and what it must pass."""

PROGRAMS = {
    "EP-1": {
        "the same splits backward": ({"ctx.take, ctx.give": "ctx.give, ctx.take"}, "plit"),
        "the group by its place": {"counts, group=self.group": "counts, None, None, self.group"},
        "over all ranks, as lists":
            ({"dist.all_to_all_single(theirs, counts, group=self.group)":
                  "dist.all_to_all(list(theirs.chunk(self.ranks)), "
                  "list(counts.chunk(self.ranks)))"},
             "an all-to-all goes to the default group"),
        "over all ranks, by c10d's own function":
            ({"dist.all_to_all_single(theirs, counts, group=self.group)":
                  "dist.distributed_c10d.all_to_all_single(theirs, counts)"},
             "an all-to-all goes to the default group"),
        "the counts as lists":
            {"dist.all_to_all_single(theirs, counts, group=self.group)":
                 "dist.all_to_all(list(theirs.chunk(self.ranks)), list(counts.chunk(self.ranks)), "
                 "group=self.group)"}},
}  # fmt: skip
