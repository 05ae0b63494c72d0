# %% [markdown]
# # DDP, profiler and input: where the time of a step goes
#
# **Needs:** two cores, no network. **Takes:** two minutes.
#
# In lesson 03 the ranks averaged their gradients after backward. While they average, nobody
# computes. While they compute, the network is idle.
#
# **Question.** Can a gradient travel while the others are still being computed, and in how many
# messages? And how do I see where the time of a step goes?

# %%
# needs: DP/ddp/*.py
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import find_place, launch
from helpers.trace import Trace, in_lanes, shares

sys.path[:0] = ["../DP/ddp"]

# %% [markdown]
# ## When is a gradient complete?
#
# Backward goes through the layers from the last to the first. When it has passed a layer, the
# gradients of this layer will not change any more. Autograd can tell us: a **hook** is a function
# that it calls when the gradient of a parameter is complete.

# %%
net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
order = []
for name, p in net.named_parameters():
    p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
net(torch.randn(64, 512)).sum().backward()
print(*order)

# %% [markdown]
# The last layer comes first. It can travel while backward computes the layer before. Two things
# that go on at one time **overlap**.

# %%
predict(
    "Every gradient travels alone, as soon as it is complete: eight messages in place of one. "
    "What is the price?",
    "none: the same bytes travel",
    "each message has a cost of its own",
    "the ranks may mix up the messages",
)

# %% [markdown]
# ## What a message costs
#
# An all-reduce of very few numbers takes nearly as long as one of a thousand. Let two ranks average
# one million numbers, in one message or in many.


# %%
def many_messages(counts):
    x, times = torch.ones(1_000_000), {count: [] for count in counts}
    for count in counts * 3:
        dist.barrier()
        begun = time.perf_counter()
        for part in x.chunk(count):
            dist.all_reduce(part)
        times[count].append(1e3 * (time.perf_counter() - begun))
    return {count: sorted(found)[1] for count, found in times.items()}


# %%
counts = [1, 4, 16, 64, 256, 1024]
times = launch(many_messages, 2, (counts,), quiet=True, checked=False)[0]
title = f"{times[1]:.0f} ms in one message, {times[1024]:.0f} ms in 1024"
show(curves({"two ranks": times}, title, x="messages", y="ms"))

# %% [markdown]
# So neither one message nor one for each parameter is best. Put some parameters together into a
# **bucket**, and send a bucket when its last gradient is complete. Torch's
# `DistributedDataParallel`, **DDP**, does it with buckets of 25 MB.
#
# ## Three ways, by hand
#
# Flat: after backward, all at once. Hooks: each alone.

# %%
show_diff("DP/ddp/flat.py", "DP/ddp/hooks.py", context=1)

# %% [markdown]
# Buckets are in `DP/ddp/buckets.py`. The gradients are views of the bucket's one flat tensor: there
# is nothing to copy. One rule is easily forgotten: **all ranks must start their all-reduces in the
# same order.** So a bucket that is complete waits until those before it have left.
#
# Now three ranks train with each of them, and with torch's DDP.


# %%
def train(way):
    import intro_DDP

    flags = ["--steps", "8", "--seq-l", "64", "--bucket-mb", "1", "--average", way]
    options = intro_DDP.read_flags(flags)
    losses, _, trace = intro_DDP.train(options, find_place(), "cpu", lambda *_: None)
    return losses, trace


# %%
ways = ("flat", "hooks", "buckets", "ddp")
ranks = launch(lambda: {way: train(way) for way in ways}, 3, quiet=True)
for way in ways:
    losses, trace = ranks[0][way]
    *_, before, last = sorted(e.end for e in trace.events if e.kind == "update")
    calls = sum(e.kind == "all-reduce" and before < e.start < last for e in trace.events)
    print(f"{way:8} loss {losses[-1]:.6f}, {calls} all-reduces a step")

# %% [markdown]
# The same losses. Here is one step with buckets. The gray bars are all-reduces; they begin while
# the rank still goes backward.


# %%
def one_step(way, number=5):
    first, *others = (rank[way][1] for rank in ranks)
    whole = first.merged(*others)
    ends = sorted(e.end for e in whole.events_of(0) if e.kind == "update")
    return whole.between(ends[number], ends[number + 1])


show(one_step("buckets"))

# %% [markdown]
# And torch's own. It closes a bucket when that has passed its size, so there are fewer of them.

# %%
show(one_step("ddp"))

# %% [markdown]
# On two cores three ranks share what there is, so that overlap gains little here: who sends takes
# the core from who computes. On GPUs sending has hardware of its own. `make bench ONLY=ddp` races
# our buckets with DDP on your machine.
#
# ## The one that is complete last
#
# Some models use the embedding a second time, as their head: **tied weights**. Its gradient has two
# parts. One comes with the head, first of all; the other with the embedding, last of all. So it is
# complete last.

# %%
predict(
    "The tied weight is registered last, so it is in the bucket that should leave first. What "
    "happens?",
    "it leaves with half of its gradient",
    "all buckets wait for it, and nothing overlaps",
    "nothing special",
)


# %%
def tied_model():
    torch.manual_seed(0)
    table = torch.nn.ParameterDict({"table": torch.nn.Parameter(torch.randn(256, 256))})
    return torch.nn.ModuleDict({"middle": torch.nn.Linear(256, 256), "tied": table})


# %%
def tied(steps):
    from buckets import Buckets

    from helpers.trace import Recorder

    net = tied_model()
    buckets = Buckets(net, Recorder(0, enabled=False), megabytes=0.2, first=0.2)
    for _ in range(steps):
        made = [[buckets.numbers[p] for p in bucket.parameters] for bucket in buckets.buckets]
        x = net["middle"](torch.ones(8, 256) @ net["tied"]["table"]) @ net["tied"]["table"].T
        x.sum().backward()
        buckets.finish()
    return made


# %%
print("buckets of the first step: ", launch(tied, 2, (1,), quiet=True)[0])
print("buckets of the second step:", launch(tied, 2, (2,), quiet=True)[0])

# %% [markdown]
# The tied weight is number 2. In the first step its bucket should leave first, and all others wait
# for it. After the first backward our buckets, as DDP's, are made anew, in the order in which the
# gradients became complete. Now it comes last, and holds up nobody.
#
# ## Where does the time of a step go?
#
# A **profiler** writes down what a program does, and for how long. torch has one. It sees every
# operator, in C++ too, and on a GPU every kernel. `DP/ddp/profile_ddp.py` trains
# `torch.nn.Transformer` on vectors, on one device or by DDP, under this profiler. A model that
# always says 0 has a loss of 1 there.
#
# The first steps of a run are slow, and so is the profiler when it begins. So it has a schedule:
# here it waits for one step, warms up for one, and keeps two.


# %%
def profiled(runs, folder):
    import profile_ddp as lab

    for number, flags in enumerate(runs):
        where = ["--profile", "--trace-dir", f"{folder}/{number}"]
        options = lab.read_flags("", [*where, *flags.split()])
        place = find_place()
        device = lab.join(options, place)
        lab.train(options, lab.prepare(options, place, device), device, lambda *_: None)


def profiles(*runs, ranks):
    with tempfile.TemporaryDirectory() as folder:
        launch(profiled, ranks, (runs, folder), quiet=True, checked=False)
        tables = [next(Path(folder, str(n)).glob("*-0-of-*.txt")) for n in range(len(runs))]
        traces = [Trace.load_all(f"{folder}/{n}") for n in range(len(runs))]
        return traces, [path.read_text() for path in tables]


# %%
predict(
    "Two ranks train by DDP on your cores. What has the largest share of a step after computing?",
    "communication: the all-reduces, and the waiting in them",
    "input: making the batches",
    "idle: nothing of all this",
)

# %%
(trace,), (table,) = profiles("--input memory", ranks=2)
show(in_lanes(trace))

# %% [markdown]
# Where a rank waits in the all-reduce for the other one, hatched, no faster network would help. The
# same in numbers: at each moment the first of these four that goes on has the time.


# %%
def tell(name, found):
    parts = f"computing {found.computing:5.1%}, communication {found.communication:5.1%}, "
    print(f"{name:22} {parts}input {found.input:5.1%}, idle {found.idle:5.1%}")


for rank, found in shares(trace).items():
    tell(f"rank {rank}", found)

# %% [markdown]
# "Communication" is here what no computing hides, waiting too. `python -m helpers.trace
# traces/*.json` prints these lines for any profile. Each trace opens in
# [Perfetto](https://ui.perfetto.dev) too, and shows thousands of operators there.
#
# Beside each trace lies a table, sorted by total time: with all that was called from there. These
# are its first lines, of two steps.

# %%
for line in table.splitlines()[5:13]:
    *name, own_share, own, total_share, total, average, calls = line.split()
    print(f"{' '.join(name):44} {total:>10} {calls:>5} calls")

# %% [markdown]
# Names such as "forward" are marks of the script: `with record_function("forward"):`. Without marks
# you would see operators, and not your own words. The profiler can tell more, and each costs time
# of its own, so switch on what you ask for:
#
# | flag | tells |
# |---|---|
# | `--record-shapes` | the shapes that each operator was given |
# | `--profile-memory` | what each operator took of memory, and gave back |
# | `--with-stack` | the line of Python that called it |
# | `--with-flops` | how many operations the products took |
#
# ## Input
#
# Data that fits into memory is easy. Most does not: it is read from files, batch by batch. Here are
# five inputs with the same numbers. The files were just written, so that the system still has them
# in its memory: what differs is the work of each format, and not the disk.

# %%
predict(
    "HDF5 is the format of many simulations: it keeps names, groups, and compressed parts. How "
    "much longer does reading take than taking the same from memory?",
    "a tenth more",
    "twice as long",
    "ten times as long, or more",
)

# %%
from inputs import INPUTS, FromMemory, open_input
from vectors import Shapes, make_vectors, write_vectors

shapes = Shapes(src=(256, 1, 256), tgt=(256, 20, 256))
folder = tempfile.TemporaryDirectory()
data = {"memory": FromMemory(make_vectors(shapes))}
for kind in INPUTS[1:]:
    write_vectors(f"{folder.name}/{kind}", kind, shapes)
    data[kind] = open_input(kind, f"{folder.name}/{kind}", shapes)


# %%
def seconds(data):
    begun = time.perf_counter()
    batches = sum(1 for _ in torch.utils.data.DataLoader(data, batch_size=32, shuffle=True))
    return (time.perf_counter() - begun) / batches


rounds = [{kind: seconds(data[kind]) for kind in INPUTS} for _ in range(7)]
best = {kind: min(times[kind] for times in rounds) for kind in INPUTS}
for kind, found in best.items():
    print(f"{kind:12} {1e3 * found:6.2f} ms a batch, {found / best['memory']:5.1f} times memory")

# %% [markdown]
# Whether that matters depends on the step. A **worker** is a process that makes the next batches
# while the rank computes on this one. One rank trains with each:

# %%
small = "--src-shape 128 1 64 --tgt-shape 128 20 64"
file = f"{small} --hdf5 --data {folder.name}/small.h5"
runs = {"memory": small, "HDF5": file, "HDF5 and a worker": f"{file} --workers 1"}
traces, _ = profiles(*runs.values(), ranks=1)
for name, trace in zip(runs, traces, strict=True):
    tell(name, shares(trace)[0])
show(in_lanes(traces[1]))

# %% [markdown]
# The picture is HDF5 without a worker. A worker is a process of its own, so its time is not in the
# trace of its rank. It needs a core of its own too. And it must open the file itself: an open HDF5
# file that travels to a worker breaks.
#
# ## `torch.compile`
#
# `--compile` lets torch write C++ (or Triton on a GPU) for the model. It needs a compiler, and says
# in one line where there is none. It pays off over many steps: compiling this small model took 90
# seconds of a core. What `record_function` marks inside of a compiled model is ignored; marks
# around it stay.
#
# ## Easily got wrong
#
# - DDP *averages* the gradients: more ranks do not make an update smaller. They make steps fewer.
#   With SGD a learning rate in proportion makes up for that, with a warm-up (Goyal et al. 2017,
#   arXiv 1706.02677); with Adam it is usually the square root (`--lr-rule`).
# - You call no collective, and DDP does: it broadcasts the weights at the start, and averages
#   buckets during backward. You have seen them in the trace.
# - One seed for all ranks gives them the same dropout. Weights are the same by DDP's broadcast, the
#   order of the data by the sampler's seed, dropout should differ.
# - `LOCAL_RANK` and its like are only there under a launcher (task PF-1).
# - A file that is opened in the constructor of a data set breaks in a worker (task PF-3).
# - A decoder that reads its own target learns to copy (task PF-5).
# - A profiler that was started must be stopped: `with` does it, also after an error.
#
# ## What to remember
#
# - A gradient is complete when backward has passed its layer; a hook tells.
# - Each message has a cost of its own. Buckets: few messages, and they overlap with backward.
# - All ranks must start their all-reduces in the same order.
# - A tied weight is complete last.
# - First look where the time goes: computing, communication, input, or nothing. Then improve that.
# - Workers hide input behind computing, if there is a core for them.
#
# ## Exercises
#
# **1. Task DP-4: buckets.**

# %%
check("DP-4")

# %% [markdown]
# **2.** A model has 100 MB of gradients, and a bucket holds 25 MB. The last layer alone has 60 MB.
# How many buckets are there, if the other layers have 1 MB each?

# %%
mine = None
answer(mine, lambda: 1 + -(-40 // 25))

# %% [markdown]
# **3. Task PF-1: any machine.** With a launcher and without, with GPUs and without. Then run
# `profile_ddp.py` on every machine that you have.

# %%
check("PF-1")

# %% [markdown]
# **4. Task PF-2: other shapes.** When it passes, run with `--src-shape` and `--tgt-shape`: which of
# the three numbers changes what DDP must send?

# %%
check("PF-2")

# %% [markdown]
# **5. Task PF-3: other files.** When it passes, compare `--input pt`, `safetensors` and `memmap`,
# with a large `--tgt-shape`.

# %%
check("PF-3")

# %% [markdown]
# **6. Task PF-4: other types.** When it passes, try `--dtype bfloat16` and `float64`: what happens
# to input, and what to computing?

# %%
check("PF-4")

# %% [markdown]
# **7. Task PF-5: no looking ahead.**

# %%
check("PF-5")

# %% [markdown]
# **8.** `--size lab` has 44,140,544 parameters. How many bytes of gradients (float32) does each
# rank average in a step?

# %%
mine = None
answer(mine, lambda: 4 * 44_140_544)

# %% [markdown]
# **9.** A model of a trillion parameters has 128 layers of width 25,600 (lesson 15). With Adam in
# mixed precision its states take 16 bytes a parameter: 16 TB. Activations come on top: about 34 x s
# x b x h bytes a layer, for sequences of s tokens, a batch of b and a width of h (Korthikanti et
# al. 2022, arXiv 2205.05198, without the attention scores). How many TB (1e12 bytes) do the
# activations take with s = 2048 and b = 128?

# %%
mine = None
answer(mine, lambda: 34 * 2048 * 128 * 25600 * 128 / 1e12, tolerance=0.05)
