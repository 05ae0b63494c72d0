"""Networks that this machine does not have: two hosts, and a link that is slow.

with TwoHosts() as hosts:                  two hosts with addresses of their own (Linux)
    hosts.slow(Link(megabits=100))         the cable between them, slowed by the kernel
    hosts.start(1, ["torchrun", …])
with slow_link(Link(100, 0.5)):            inside a rank, on every system: what this rank asks
    dist.all_reduce(x)                     of torch.distributed takes as long as on that link
"""

from helpers.network.hosts import NoHosts, TwoHosts, why_not
from helpers.network.link import Link
from helpers.network.throttle import slow_link

__all__ = ["Link", "NoHosts", "TwoHosts", "slow_link", "why_not"]
