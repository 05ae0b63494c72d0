"""ZeRO-1: each rank keeps the optimizer's state of its own part only.

Adam keeps two numbers for each weight, as large as the weight. On every rank the same: a waste. So
each rank updates one part, and the ranks hand each other the results. What travels is no more than
in plain data parallelism: an all-reduce is a reduce-scatter and an all-gather.
Rajbhandari et al. 2020, arXiv 1910.02054, section 5.1.
"""

from helpers.parallel.shards import Shards


class Zero1:
    """Trains a model whose every rank holds all weights and gradients.

    units: lists of modules whose parameters travel together. make_optimizer: gives the optimizer
    of a list of parameters.
    """

    own_copy = False

    def __init__(self, units, make_optimizer, recorder):
        self.units = [Shards(parameters_of(unit), recorder, self.own_copy) for unit in units]
        self.optimizer = make_optimizer([unit.mine for unit in self.units])

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        """After backward: average the gradients, update this rank's parts, hand them round."""
        # BEGIN SOLUTION DP-5
        for unit in self.units:
            unit.average()
        self.optimizer.step()
        for unit in self.units:
            unit.gather()
        # END SOLUTION


def parameters_of(modules):
    """The parameters of some modules, each once."""
    return list(dict.fromkeys(p for module in modules for p in module.parameters()))
