"""Data parallel, four ways: when and in how many messages are the gradients averaged?

    python intro_DDP.py 0                        one process for each rank: 0, 1 and 2
    ./run.sh --average buckets                   all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_DDP.py --average ddp

flat: all at once, after backward. hooks: each as soon as it is complete. buckets: some together,
while backward goes on. ddp: torch's DistributedDataParallel. The four train alike. On a GPU the
trace shows when work was started, not when it was done: to wait for it would end the overlap.
"""

import argparse
from functools import partial

import torch
import torch.distributed as dist
from buckets import Buckets
from flat import Flat
from hooks import Hooks
from torch.nn.parallel import DistributedDataParallel

from helpers.parallel.overlap import start_mean
from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.flags import add_rank_flags, place_from
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    add_training_flags,
    make_model,
    make_optimizer,
    make_stories,
    make_tokenizer,
    settle,
)

WAYS = ("flat", "hooks", "buckets", "ddp")


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rank_flags(parser, ranks=3)
    add_training_flags(parser, batch_size=1)
    parser.add_argument("--average", choices=WAYS, default="buckets", help="how (buckets)")
    parser.add_argument("--bucket-mb", type=float, default=1.0, help="of a bucket, about (1)")
    parser.add_argument("--trace", metavar="FOLDER", help="leave a trace of each rank there")
    options = settle(parser.parse_args(arguments))
    if not options.bucket_mb > 0:
        raise ValueError(f"--bucket-mb {options.bucket_mb:g}: a bucket holds more than 0 MB")
    return options


def prepare(net, way, megabytes, recorder):
    """The model to train with, and what to call after each backward."""
    if way == "ddp":
        net = DistributedDataParallel(net, bucket_cap_mb=megabytes)
        net.register_comm_hook(recorder, record_bucket)
        return net, lambda: None  # backward itself waits for the buckets
    for p in net.parameters():
        dist.broadcast(p.data, 0)  # the same weights everywhere, whatever the seeds were
    kinds = {"flat": Flat, "hooks": Hooks, "buckets": partial(Buckets, megabytes=megabytes)}
    return net, kinds[way](net, recorder).finish


def record_bucket(recorder, bucket):
    """What DDP calls for each of its buckets: the all-reduce, and an event of the trace."""
    mean = start_mean(bucket.buffer(), recorder, f"bucket {bucket.index()}")
    return mean.then(lambda done: done.value()[0])


def train(options, place, device, say=print):
    """Train for `options.steps` steps; give this rank's losses, the model and the trace.

    say(step, loss): called after each step.
    """
    torch.manual_seed(options.seed)
    tokenizer = make_tokenizer(options)
    net = make_model(options, tokenizer, device)
    recorder = Recorder(rank=place.rank)
    model, finish = prepare(net, options.average, options.bucket_mb, recorder)
    stories = iter(make_stories(options, tokenizer, place.rank, place.world_size))
    optimizer = make_optimizer(options, net)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        with recorder.span("F"):
            loss = causalLLMLoss(model(ids), ids, tokenizer.vocab_size)
        with recorder.span("B"):
            loss.backward()
        finish()
        with recorder.span("update"):
            optimizer.step()
        losses.append(check_finite(loss, step))
        say(step, losses[-1])

    return losses, net, recorder.trace()


def main():
    options = read_flags()
    place = place_from(options)
    device = connect(place, options.backend, options.timeout)
    _, _, trace = train(options, place, device)
    if options.trace:
        trace.save(f"{options.trace}/rank{place.rank}.json")
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
