"""ZeRO-2: each rank also keeps the gradients of its own part only.

A unit is averaged as soon as its gradients are complete, in the middle of backward, and only this
rank's part stays. So each step may have one backward only: a second one would add to what has been
averaged. Section 5.2 of the paper.
"""

from zero1 import Zero1


class Zero2(Zero1):
    """Train a model of which every rank holds all weights, and its part of the rest."""

    def __init__(self, units, make_optimizer, recorder):
        super().__init__(units, make_optimizer, recorder)
        self.unit_of = {p: unit for unit in self.units for p in unit.parameters}
        self.restart()
        for p in self.unit_of:
            p.register_post_accumulate_grad_hook(self.complete)

    def restart(self):
        """All gradients of all units are missing."""
        self.missing = {unit: set(unit.parameters) for unit in self.units}

    def complete(self, p):
        """Autograd calls this with a parameter whose gradient is complete."""
        unit = self.unit_of[p]
        if p not in self.missing[unit]:
            raise RuntimeError(
                "a second backward before step(): its gradients would meet what was averaged "
                "already; call step() after each backward, or add the losses up before it"
            )
        self.missing[unit].remove(p)
        if not self.missing[unit]:
            unit.average()

    def step(self):
        """After backward: update this rank's parts, and share the new weights."""
        for unit in self.units:
            if self.missing[unit]:  # with a parameter that was not used
                unit.average()
        self.restart()
        self.optimizer.step()
        self.share_weights()

    def share_weights(self):
        """Leave the new weights on every rank."""
        for unit in self.units:
            unit.gather()
