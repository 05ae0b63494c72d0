"""ZeRO-3: each rank also keeps the weights of its own part only.

Just before a unit computes, forward or backward, its weights are gathered; just after, they are
let go. It sends half as much again as data parallelism: the weights twice, the gradients once. This
is what torch calls fully sharded data parallel. Section 5.3 of the paper.
"""

from zero2 import Zero2


class Zero3(Zero2):
    """Trains a model whose every rank holds its part of everything, and one unit's weights."""

    own_copy = True

    def __init__(self, units, make_optimizer, recorder):
        super().__init__(units, make_optimizer, recorder)
        for shards, modules in zip(self.units, units, strict=True):
            # Where two modules share a weight, it stays from the first forward to the backward.
            last = len(modules) == 1
            for module in modules:
                module.register_forward_pre_hook(lambda *_, s=shards: self.need(s))
                module.register_full_backward_pre_hook(lambda *_, s=shards: self.need(s))
                if last:
                    module.register_forward_hook(lambda *_, s=shards: s.free())
            shards.free()

    def need(self, shards):
        if not shards.is_whole:
            shards.gather()

    def complete(self, p):
        unit = self.unit_of[p]
        super().complete(p)
        if not self.missing[unit]:
            unit.free()

    def hand_round(self):
        for unit in self.units:
            unit.free()  # the next forward gathers what has changed
