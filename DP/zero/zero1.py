"""ZeRO-1: each rank keeps the optimizer's state of its own part only.

Each rank updates one part of the weights and gathers the other parts from the other ranks. The
communication volume stays that of plain data parallelism, because an all-reduce is a reduce-scatter
followed by an all-gather. Rajbhandari et al. 2020, arXiv 1910.02054, section 5.1.
"""

from shards import Shards


class Zero1:
    """Train a model of which every rank holds all weights and gradients.

    units: lists of modules whose parameters travel together.
    make_optimizer: returns the optimizer of a list of parameters.
    group: the ranks that hold these weights; None means all.
    """

    own_copy = False

    def __init__(self, units, make_optimizer, recorder, group=None):
        self.units = [Shards(parameters_of(u), recorder, self.own_copy, group) for u in units]
        self.optimizer = make_optimizer([unit.mine for unit in self.units])

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        """After backward: update this rank's parts, and leave the new weights on every rank."""
        # BEGIN SOLUTION DP-6
        for unit in self.units:
            unit.average()
        self.optimizer.step()
        for unit in self.units:
            unit.gather()
        # END SOLUTION


def parameters_of(modules):
    """Return the parameters of some modules, each once."""
    return list(dict.fromkeys(p for module in modules for p in module.parameters()))
