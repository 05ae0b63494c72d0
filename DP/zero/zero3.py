"""ZeRO-3, torch's fully sharded data parallel: each rank also keeps its own weights only.

A unit's weights are gathered just before it computes, forward or backward, and freed just after. So
the weights travel twice and the gradients once. Section 5.3 of the paper.
"""

import warnings

from zero2 import Zero2

# Token ids, which the embedding's unit is given, have no gradient: its hook needs none.
warnings.filterwarnings("ignore", "Full backward hook is firing")


class Zero3(Zero2):
    """Train a model of which every rank holds its part of everything, and one unit's weights."""

    own_copy = True

    def __init__(self, units, make_optimizer, recorder):
        super().__init__(units, make_optimizer, recorder)
        for shards, modules in zip(self.units, units, strict=True):
            self.add_hooks(shards, modules)
            shards.free()

    def add_hooks(self, shards, modules):
        """Have the modules of one unit gather its weights before they compute, and free them after.

        Before forward and before backward: `shards.gather()`, unless `shards.is_whole`. After
        forward: `shards.free()`. The exception is a unit of several modules, which share a weight:
        it stays from the first module's forward until its gradients are complete.
        """

        # BEGIN SOLUTION DP-7
        def need(*_):
            if not shards.is_whole:
                shards.gather()

        for module in modules:
            module.register_forward_pre_hook(need)
            module.register_full_backward_pre_hook(need)
            if len(modules) == 1:
                module.register_forward_hook(lambda *_: shards.free())
        # END SOLUTION

    def complete(self, p):
        """Do what ZeRO-2 does with a complete gradient; free the unit's weights after its last."""
        # BEGIN SOLUTION DP-7
        super().complete(p)
        unit = self.unit_of[p]
        if not self.missing[unit]:
            unit.free()
        # END SOLUTION

    def share_weights(self):
        """Share nothing yet: the next forward gathers what has changed."""
        for unit in self.units:
            unit.free()
