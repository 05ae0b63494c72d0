"""Networks this machine does not have: two hosts, and a slow link.

with TwoHosts() as hosts:                  two hosts, each with its own address (Linux)
    hosts.slow(Link(megabits=100))         the kernel slows the cable between them
    hosts.start(1, ["torchrun", …])
with slow_link(Link(100, 0.5)):            inside a rank, on every system: this rank's calls to
    dist.all_reduce(x)                     torch.distributed take as long as on that link

And the network that it has: `fit` finds latency and bandwidth in message times.
"""

from helpers.network.hosts import NoHosts, TwoHosts, why_not
from helpers.network.link import Link, fit
from helpers.network.throttle import slow_link
