"""How large should a bucket be? Predict it from the hooks and the link, then measure it.

    python sweep.py                     two ranks, a slow link, six sizes

The prediction needs three things: when each gradient is complete (`hook_times`, measured without
any message), how large it is, and what the link costs (alpha + beta x bytes, `Link`). Buckets
leave one after the other:

    a bucket begins when its last gradient is complete and the bucket before it has arrived
"""

import time

import torch
import torch.distributed as dist
from buckets import MB, Buckets
from intro_DDP import read_flags

from helpers.network import Link, slow_link
from helpers.ranks import find_place, launch
from helpers.trace import Event, Recorder, Trace
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories, prepare

SIZES = (0.001, 0.05, 0.1, 0.2, 0.5, 4.0)  # MB: from each gradient alone to all in one


class Step:
    """A model and a batch; calling it takes a step without the update, and returns its seconds."""

    def __init__(self, flags):
        options, place = read_flags(flags), find_place()
        self.tokenizer, self.net = prepare(options, "cpu")
        stories = make_stories(options, self.tokenizer, place.rank, place.world_size, quiet=True)
        self.ids = next(iter(stories))

    def __call__(self, finish=lambda: None):
        self.net.zero_grad()
        dist.barrier()
        begun = time.perf_counter()
        loss = causalLLMLoss(self.net(self.ids), self.ids, self.tokenizer.vocab_size)
        loss.backward()
        finish()
        return time.perf_counter() - begun


def hook_times(flags, steps=5):
    """Return (seconds from the start of the step, bytes) of each gradient, and of the whole step.

    Nothing is sent. Of `steps` steps the fastest one counts.
    """
    step, times = Step(flags), {}
    for p in step.net.parameters():
        p.register_post_accumulate_grad_hook(lambda p: times.update({p: time.perf_counter()}))
    best, found = float("inf"), []
    for _ in range(steps + 1):
        times.clear()
        seconds = step()
        begun = time.perf_counter() - seconds
        if seconds < best:
            best, found = seconds, [(at - begun, p.nbytes) for p, at in times.items()]
    return found, best


def cut(gradients, megabytes):
    """Cut gradients, in the order in which they are complete, into buckets of at most this size."""
    buckets, room = [], 0.0
    for at, size in gradients:
        if not buckets or size > room:
            room = megabytes * MB
            buckets.append([])
        buckets[-1].append((at, size))
        room -= size
    return buckets


def predicted(gradients, computed, link, ranks, megabytes):
    """Return the predicted step as a trace of one rank; its duration is the step time."""
    first = gradients[0][0]  # backward starts a little earlier; nobody has measured when
    events = [Event(0, "F", 0.0, first), Event(0, "B", first, computed)]
    arrived = 0.0
    for number, bucket in enumerate(cut(gradients, megabytes)):
        size, begin = sum(size for _, size in bucket), max(bucket[-1][0], arrived)
        arrived = begin + link.all_reduce_seconds(size, ranks)
        events.append(Event(0, "all-reduce", begin, arrived, name=f"bucket {number}"))
    return Trace(events)


def measured(flags, link, sizes=SIZES, steps=5):
    """Return {megabytes: seconds of the fastest step} on this link."""
    found = {}
    with slow_link(link):
        for megabytes in sizes:
            step = Step(flags)
            buckets = Buckets(step.net, Recorder(0, enabled=False), megabytes, first=megabytes)
            found[megabytes] = min([step(buckets.finish) for _ in range(steps + 2)][2:])
    return found


def balanced(gradients, computed):
    """Return a link on which sending all bytes takes as long as computing; the same on all ranks.

    Between two ranks an all-reduce sends each byte once, in two messages. Its latency is 1 % of
    the computing time.
    """
    bits = 8 * sum(size for _, size in gradients)
    facts = [bits / computed / 1e6, 1e3 * computed / 200]
    dist.broadcast_object_list(facts, 0)
    return Link(*facts)


def both(flags, sizes=SIZES, steps=5):
    """What each rank runs; return the gradients, the computing time, the link, and the steps."""
    torch.set_num_threads(1)
    gradients, computed = hook_times(flags, steps)
    link = balanced(gradients, computed)
    return gradients, computed, link, measured(flags, link, sizes, steps)


if __name__ == "__main__":
    gradients, computed, link, found = launch(both, 2, (["--batch-size", "4"],), quiet=True)[0]
    print(f"computing {1e3 * computed:.0f} ms; a link with {link.megabits:.0f} megabits a second")
    for megabytes, seconds in found.items():
        expected = predicted(gradients, computed, link, 2, megabytes).duration
        print(
            f"{megabytes:6.3f} MB, {len(cut(gradients, megabytes)):2} buckets: "
            f"{1e3 * expected:6.1f} ms predicted, {1e3 * seconds:6.1f} measured"
        )
