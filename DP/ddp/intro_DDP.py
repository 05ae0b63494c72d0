"""Data parallel, four ways: when and in how many messages are the gradients averaged?

    python intro_DDP.py 0                        one process for each rank: 0, 1 and 2
    ./run.sh --average buckets                   all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_DDP.py --average ddp

flat: all at once, after backward. hooks: each as soon as it is complete. buckets: some together,
while backward goes on. ddp: torch's DistributedDataParallel. The four train alike. On a GPU the
trace shows when work was started, not when it was done: to wait for it would end the overlap.
"""

import torch.distributed as dist
from buckets import Buckets
from flat import Flat
from hooks import Hooks
from torch.nn.parallel import DistributedDataParallel

from helpers.parallel.overlap import start_mean
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, above_zero, make_optimizer, make_stories, prepare

WAYS = ("flat", "hooks", "buckets", "ddp")


def read_flags(arguments=None):
    flags = add_run_flags(TrainingFlags(__doc__, batch_size=1), ranks=3)
    flags.add_argument("--average", choices=WAYS, default="buckets", help="how (buckets)")
    flags.add_argument("--bucket-mb", type=above_zero, default=1.0, help="of a bucket, about (1)")
    return flags.parse_args(arguments)


def averaging(net, way, megabytes, recorder):
    """Return the model to train with, and what to call after each backward."""
    if way == "ddp":
        net = DistributedDataParallel(net, bucket_cap_mb=megabytes)
        net.register_comm_hook(recorder, record_bucket)
        return net, lambda: None  # backward itself waits for the buckets
    for p in net.parameters():
        dist.broadcast(p.data, 0)  # the same weights everywhere, whatever the seeds were
    if way == "buckets":
        return net, Buckets(net, recorder, megabytes).finish
    return net, {"flat": Flat, "hooks": Hooks}[way](net, recorder).finish


def record_bucket(recorder, bucket):
    """Start the all-reduce of one of DDP's buckets, and record it: DDP calls this."""
    mean = start_mean(bucket.buffer(), recorder, f"bucket {bucket.index()}")
    return mean.then(lambda done: done.value()[0])


def train(options, place, device, say=print):
    """Train, and call say(step, loss) after each step; return losses, model and trace."""
    tokenizer, net = prepare(options, device)
    recorder = Recorder(rank=place.rank)
    model, finish = averaging(net, options.average, options.bucket_mb, recorder)
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


if __name__ == "__main__":
    run_as_rank(read_flags, train)
