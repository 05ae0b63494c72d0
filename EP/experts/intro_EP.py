"""Expert parallel: each rank reads its own stories and holds some of the experts of each layer.

    python intro_EP.py 0             one process for each rank: 0, 1, 2 and 3
    ./run.sh                         all four at once (run.bat on Windows)
    torchrun --nproc-per-node 4 intro_EP.py --ep 2

With --ep 2 on four ranks there are two replicas, each with its experts on two ranks. Each rank
prints its own loss of each step.
"""

import torch.distributed as dist
from balance import adjust_bias, balance_loss
from dispatch import require_divisible, require_own_tokens, spread

from helpers import grid
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.moe import Experts, give_experts, moe_layers
from simplellm.options import TrainingFlags, make_optimizer, make_stories, number, positive, prepare


def read_flags(arguments=None):
    flags = add_run_flags(TrainingFlags(__doc__, batch_size=1, layers=2), ranks=4)
    add = flags.add_argument_group("experts").add_argument
    add("--ep", type=positive, help="ranks that share the experts (all)")
    add("--experts", type=positive, default=8, help="of each layer (8)")
    add("--top-k", type=positive, default=2, help="experts of a token (2)")
    add("--shared", type=number(int, 0), default=0, help="experts that see every token (0)")
    add("--capacity", type=float, help="of an expert, 1 is an equal share (no limit)")
    add("--balance", choices=("none", "loss", "bias"), default="none", help="how (none)")
    return flags.parse_args(arguments)


def sizes(options):
    return Experts(options.experts, options.top_k, options.shared, capacity=options.capacity)


def check_ranks(options, ranks):
    """Raise ValueError unless the flags suit the number of ranks."""
    sizes(options)
    ep = options.ep or ranks
    if ranks % ep:
        raise ValueError(f"--ep {ep} does not divide {ranks} ranks: choose a divisor")
    require_divisible(options.experts, ep)


def make_groups(ep):
    """Return two process groups: the ranks that share the experts, and the replicas of mine.

    Ranks 0 to ep - 1 share one set of experts, the next ep another one, as with the parts of a
    layer in tensor parallelism.
    """
    groups = grid.make_groups(grid.Grid(dp=dist.get_world_size() // ep, tp=ep))
    return groups.tp, groups.dp


def is_expert(name):
    """Return whether a parameter belongs to an expert that not every rank holds."""
    return ".experts." in name


def average_gradients(net, replicas):
    """Make each gradient that of the mean of all ranks' losses, in place.

    net: router, attention and all else are the same on every rank, and each has seen its own
    tokens. An expert has seen the tokens of all ranks that share it: its gradient is already the
    sum over these. replicas: the group of the ranks that hold the same experts.
    """
    for name, p in net.named_parameters():
        dist.all_reduce(p.grad, group=replicas if is_expert(name) else None)
        p.grad /= dist.get_world_size()


def balance_after(net, rate=1e-3):
    """After a step: move the router's biases, by the counts of all ranks and all its forwards."""
    for layer in moe_layers(net):
        counts, layer.wanted = layer.wanted, 0
        dist.all_reduce(counts)
        adjust_bias(layer.router.bias, counts, rate)


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its model and the trace.

    say(step, loss): called after each step.
    """
    check_ranks(options, place.world_size)
    recorder = Recorder(rank=place.rank)
    tokenizer, net = prepare(options, device)
    give_experts(net, sizes(options))  # the same on every rank …
    shared, replicas = make_groups(options.ep or place.world_size)
    spread(net, shared, recorder)  # … of which each keeps its own
    stories = iter(make_stories(options, tokenizer, place.rank, place.world_size))
    optimizer = make_optimizer(options, net)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        if step == 0:
            require_own_tokens(ids)
        optimizer.zero_grad()
        with recorder.span("F"):
            loss = total = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        if options.balance == "loss":
            # Of this rank's tokens: see `balance_loss`.
            for routing in [layer.routing for layer in moe_layers(net)]:
                total = total + 0.01 * balance_loss(routing.probabilities, routing.wanted)
        with recorder.span("B"):
            total.backward()
        with recorder.span("all-reduce"):
            average_gradients(net, replicas)
        with recorder.span("update"):
            optimizer.step()
        if options.balance == "bias":
            balance_after(net)
        losses.append(check_finite(loss, step))
        say(step, losses[-1])

    return losses, net, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=check_ranks)
