"""A training step on a cluster: model, layout and machine in; seconds, MFU, memory, trace out.

    done = estimate(model, Layout(batch=64, pp=8, tp=8, chunks=3), preset("A100"))
    done.seconds, done.utilisation.mfu, done.memory.total
    done.causes                    what the time is for
    done.simulated.trace           the step, simulated
    search(model, machine, gpus=64, batch=64)[0]

The model of the machine has ten constants with a meaning, and newer machines three more, which
were set on measured iterations; docs/cluster_model.md says how far off it is on others.
"""

from helpers.cluster.estimate import Estimate, estimate, layouts, memory_bars, search, time_bars
from helpers.cluster.layout import Layout
from helpers.cluster.machine import PRESETS, Interconnect, Machine, preset
from helpers.cluster.parts import Memory, memory
