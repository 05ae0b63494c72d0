"""Find a schedule: from what actions, messages and memory cost, an order that beats the named ones.

    costs = Costs(forward=2, input_grad=2, weight_grad=1, latency=0.1,
                  activation_bytes=1, memory_limit=6)
    found = search(4, 12, costs)
    print(found)                     the named schedules beside it: step, bubble, memory
    found.schedule                   `check` has passed it; it runs like any other

A rank is greedy: it computes what it can, as soon as it can, and fills the time in which it would
wait with W, the half of the backward pass that no other stage waits for. How far it may run ahead,
and how long a wait is worth a W, is tried out, as by Qi et al. in "Zero bubble pipeline
parallelism", arXiv 2401.10241, section 3.
"""

from helpers.search.greedy import Style, greedy_walk
from helpers.search.search import GOALS, Found, rivals, search
