# %% [markdown]
# # Profiling and input: where does the time of a step go?
#
# *Reading 25 minutes · tasks 105 · machine 2*
#
# *With twenty minutes: start at "Where does the time go?" and stop before "Input".*
#
# A training run is slower than you hoped. Is it the model, the network, the data, or Python?
# Everyone has an opinion, and opinions are cheap: people have rewritten their data loaders while
# the ranks were waiting for an all-reduce, and bought faster networks for a step that was waiting
# for a file.
#
# A **profiler** ends the discussion. It writes down what a program does and for how long, and then
# you improve the one thing that takes the time. The first half of this lesson reads profiles of
# DDP; the second half looks at the cause that profiles reveal most often, the input.
#
# **Question.** Of each second of a training step, how much is spent on computing, on communication,
# on input, and on nothing at all?

# %%
import sys
import tempfile
import time
from pathlib import Path

import torch

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show
from helpers.network import measured
from helpers.ranks import find_place, launch
from helpers.trace import Trace, in_lanes, shares

sys.path[:0] = ["../DP/ddp"]

# %% [markdown]
# ## A program to look at
#
# `DP/ddp/profile_ddp.py` trains `torch.nn.Transformer` on pairs of vector sequences, on one device
# or with DDP. The encoder reads a source, and the decoder predicts the target, vector by vector. (A
# model that always predicts 0 has a loss of 1.) You'll write four of the program's functions, and
# each is a place where a classic mistake is made.

# %% [markdown]
# ### Your turn: PF-1 · 15 minutes · 5 points
#
# Write `choose_device()` in `DP/ddp/devices.py`. The same script should run on a laptop without a
# GPU, on one GPU without a launcher, and as eight ranks on eight GPUs. The usual
# `int(os.environ["LOCAL_RANK"])`, which stands in many published scripts, fails in the first two
# cases.

# %%
check("PF-1")

# %% [markdown]
# ### Your turn: PF-5 · 20 minutes · 10 points
#
# Write `Forecaster.forward()` in `DP/ddp/transformer.py`. A decoder that may read the vector it has
# to predict ends with a wonderful loss, and it's easy to build one by accident. To prevent this,
# the decoder reads the target one place late, and a mask keeps each place from looking at later
# ones.

# %%
check("PF-5")

# %% [markdown]
# ### Your turn: PF-4 · 30 minutes · 15 points
#
# Write `train_step()` in `DP/ddp/precision.py`: one step in half precision, in which GPUs multiply
# much faster, but with weights in float32, because an update is often smaller than what a 16-bit
# number can resolve. The function also sets the marks by which you'll find forward, backward and
# update in a profile.

# %%
check("PF-4")

# %% [markdown]
# What does training look like if you forget the shift and the mask? Two models train on the same
# data, and one of them reads the very target it should predict.


# %%
def batches(steps):
    from vectors import Shapes, make_vectors

    data = make_vectors(Shapes((256, 1, 64), (256, 20, 64)))
    for step in range(steps):
        rows = slice(32 * step % 256, 32 * step % 256 + 32)
        yield data["src"][rows], data["tgt"][rows]


def error(call, source, target):
    return torch.nn.functional.mse_loss(call(source, target), target)


# %%
def learn(call, model, steps):
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-3), []
    for source, target in batches(steps):
        loss = error(call, source, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% tags=["training"]
from transformer import SIZES, Forecaster

torch.manual_seed(0)
honest, peeking = Forecaster(SIZES["small"]), Forecaster(SIZES["small"])
steps = quick(90, 4)
seen = {
    "shifted and masked": learn(honest, honest, steps),
    "reads its target": learn(peeking.transformer, peeking, steps),
}
show(curves(seen, y="squared error"))
ends = {name: sum(found[-8:]) / len(found[-8:]) for name, found in seen.items()}
words = "squared error at the end of the one that reads its target, and of the other"
claim.below(words, ends["reads its target"], ends["shifted and masked"])

# %%
predict(
    "L10-1",
    "The model that read its target now has to predict: it may read only what came before. It "
    "ended with the lower error in training. How does it do?",
    "better than the other one, as in training",
    "about as well as the other one",
    "worse than the other one",
)

# %% tags=["training"]
((source, target),) = batches(1)
with torch.no_grad():
    errors = {
        "shifted and masked": error(honest.eval(), source, target).item(),
        "reads its target": error(peeking.eval(), source, target).item(),
    }
for name, found in errors.items():
    print(f"{name:20} squared error {found:.2f} when it has to predict")
reveal("L10-1", honest=errors["shifted and masked"], peeking=errors["reads its target"])

# %% [markdown]
# ## Where does the time go?
#
# PyTorch comes with a profiler, which sees every operator, also those called from C++, and on a GPU
# every kernel. The first steps of a run are slow, and the profiler itself is slow when it starts,
# so it follows a schedule: here it waits for one step, warms up for one, and records two.


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
    "L10-2",
    "Two ranks train with DDP on your cores. After computing, what takes the largest share of a "
    "step?",
    "communication: the all-reduces, and the waiting in them",
    "input: making the batches",
    "idle: nothing of all this",
)

# %% tags=["time"]
short = "--epochs 1 --src-shape 256 1 64 --tgt-shape 256 20 64"
(trace,), (table,) = profiles(f"{short} --input memory --bucket-mb 0.2", ranks=2)
show(in_lanes(trace))


# %% tags=["time"]
def tell(name, found):
    parts = f"computing {found.computing:5.1%}, communication {found.communication:5.1%}, "
    print(f"{name:22} {parts}input {found.input:5.1%}, idle {found.idle:5.1%}")


both = shares(trace)
for rank, found in both.items():
    tell(f"rank {rank}", found)
after = {
    "A": sum(found.communication for found in both.values()),
    "B": sum(found.input for found in both.values()),
    "C": sum(found.idle for found in both.values()),
}
reveal("L10-2", second=max(after, key=after.get))

# %% [markdown]
# The buckets are small here (0.2 MB), so you can see several all-reduces below the backward, as
# lesson 09 promised. "Communication" in the numbers is only what no computing hides. Where a rank
# waits in an all-reduce for the other one, the picture is hatched. A faster network wouldn't
# shorten that: a late rank is a problem of load balance.
#
# Each rank leaves a table beside its trace, sorted by total time, in which an operator's time
# includes everything it called. These are the table's first lines, for two steps.

# %% tags=["time"]
for line in table.splitlines()[5:13]:
    *name, own_share, own, total_share, total, average, calls = line.split()
    print(f"{' '.join(name):44} {total:>10} {calls:>5} calls")

# %% [markdown]
# Names such as "forward" come from the marks of your `train_step`. Without them you'd see operators
# only, and not the words you think in. The profiler can tell more, but everything it records costs
# time, so switch on only what you need:
#
# | flag | tells |
# |---|---|
# | `--record-shapes` | the shapes that each operator was given |
# | `--profile-memory` | what each operator allocated and freed |
# | `--with-stack` | the line of Python that called it |
# | `--with-flops` | the FLOPs of the matrix products |
#
# `python -m helpers.trace traces/*.json` prints the shares of any profile. Each trace also opens in
# [Perfetto](https://ui.perfetto.dev), with all of its thousands of operators.
#
# ## Would a faster network help?
#
# Before you buy one, compute what it has to carry. DDP averages every gradient once a step, however
# large the batch is, so the parameters are all you have to count.

# %% [markdown]
# ### Your turn: PF-2 · 25 minutes · 10 points
#
# Write `count_parameters()` in `DP/ddp/transformer.py`, from the width, the layers and the hidden
# size, with all biases and norms. Then look at your formula: which of the numbers in `--src-shape`
# and `--tgt-shape` change what DDP must send?

# %%
check("PF-2")

# %% tags=["time"]
from transformer import SIZES, count_parameters

link, whose = measured()
print(whose)
for name, size in SIZES.items():
    count = count_parameters(size.width, size.layers, size.hidden)
    seconds = link.all_reduce_seconds(4 * count, ranks=2)
    print(f"{name:6} {count:11,} parameters, at least {1e3 * seconds:7.2f} ms for an all-reduce")

# %% [markdown]
# Compare the line of the small model with the picture above, which shows the same model: its
# all-reduces are longer in total, because each bucket pays for its own latency, and because the two
# ranks and their messages share the cores.
#
# How many bytes of gradients, in float32, does each rank average in a step of `--size lab`?

# %%
mine = None
answer("L10-3", mine)

# %% [markdown]
# — *End of the first session* —

# %% [markdown]
# ## Input
#
# Data that fits into memory is easy. Most doesn't, so it's read from files, batch by batch, while
# an expensive machine waits. Below we compare five inputs that hold the same numbers: memory, and
# four kinds of files. We read the files right after writing them, while the operating system still
# has them in memory, so what differs isn't the disk but the work that each format makes.

# %% [markdown]
# ### Your turn: PF-3 · 15 minutes · 10 points
#
# Write `FromFile.handle()` in `DP/ddp/inputs.py`. A `DataLoader` may read with **workers**,
# processes that prepare the next batches. If the data set opened its file in the constructor, a
# forked worker would share the position in the file, and HDF5's caches, with its parent and its
# siblings: sometimes that crashes, and sometimes it silently returns the wrong rows.

# %%
check("PF-3")

# %%
predict(
    "L10-4",
    "HDF5 is the format of many simulations: it keeps names, groups and compressed parts. How long "
    "does reading a batch take, compared with taking the same one from memory?",
    "less than one and a half times as long",
    "two to four times as long",
    "five times as long, or more",
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


# %% tags=["time"]
def seconds_a_batch(data):
    begun = time.perf_counter()
    count = sum(1 for _ in torch.utils.data.DataLoader(data, batch_size=32, shuffle=True))
    return (time.perf_counter() - begun) / count


rounds = [{kind: seconds_a_batch(data[kind]) for kind in INPUTS} for _ in range(quick(4, 1))]
fastest = {kind: min(times[kind] for times in rounds) for kind in INPUTS}
for kind, found in fastest.items():
    print(f"{kind:12} {1e3 * found:6.2f} ms a batch, {found / fastest['memory']:5.1f} times memory")
reveal("L10-4", ratio=fastest["hdf5"] / fastest["memory"])

# %% [markdown]
# Whether that matters depends on how long the rest of a step takes, so let's look at whole steps.
# One rank trains from memory, from HDF5, and from HDF5 with a worker.

# %% tags=["time"]
small = "--src-shape 128 1 64 --tgt-shape 128 20 64 --epochs 1"
file = f"{small} --hdf5 --data {folder.name}/small.h5"
runs = {"memory": small, "HDF5": file, "HDF5 and a worker": f"{file} --workers 1"}
traces, _ = profiles(*runs.values(), ranks=1)
found = {name: shares(trace)[0] for name, trace in zip(runs, traces, strict=True)}
for name, share in found.items():
    tell(name, share)
show(in_lanes(traces[1]))

# %% [markdown]
# The picture shows HDF5 without a worker. (Its title counts the time for input as idle, because the
# rank isn't computing.) A worker is a separate process, so its time isn't in the trace of its rank,
# and it needs a core to itself: where all cores are computing already, the input gains only what
# the model loses. Where there are enough cores, workers hide the input as long as one of them
# prepares a batch in less than (workers x step).
#
# A batch takes 120 ms to prepare and a step 50 ms. How many workers does a rank need, so that it
# never waits for input?

# %%
mine = None
answer("L10-5", mine)

# %% [markdown]
# ## `torch.compile`
#
# If computing has the largest share, a compiler may help. By default torch runs one operator after
# the other, and each of them reads its inputs from memory and writes its result back.
# `torch.compile` **fuses** them: it writes C++ (Triton on a GPU) in which the numbers stay in
# registers from the first operator to the last. That's worth most where operators are memory-bound,
# like the seven of the function below.


# %%
def gate(x):
    return x * torch.sigmoid(1.702 * x) + 0.1 * torch.tanh(x).square()


def timed(function, x, rounds):
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - begun)
    return times


# %%
predict(
    "L10-6",
    "Compiled, the seven operators become one. Each call gets faster, but compiling takes time as "
    "well. After how many calls has it paid off?",
    "after the first call",
    "only after many calls: dozens, or hundreds",
    "never: matrix products take the time, not such small operators",
)

# %% tags=["time"]
from compiling import compiled

x = torch.randn(quick(4_000_000, 10_000))
faster = compiled(gate, x.device) if quick(1, 0) else gate
eager = min(timed(gate, x, 5))
first, *others = timed(faster, x, 6)
gain = max(eager - min(others), 1e-9)
print(f"eager {1e3 * eager:.1f} ms, compiled {1e3 * min(others):.1f} ms, first call {first:.1f} s")
calls = first / gain
reveal("L10-6", calls=calls)

# %% [markdown]
# The same holds for a whole model, which takes much longer to compile: over 10,000 steps that's
# nothing, but in a run of ten steps it's all you measure. `profile_ddp.py --compile --profile`
# shows the fused operators in its table. Marks by `record_function` inside a compiled model are
# ignored, so put them around it.
#
# ## Easy to get wrong
#
# - DDP *averages* the gradients, so with more ranks an update is no larger than before, but an
#   epoch has fewer of them. With SGD, a learning rate that grows in proportion makes up for that,
#   after a warm-up ([1706.02677](https://arxiv.org/abs/1706.02677)); with Adam it usually grows
#   with the square root (`--lr-rule`).
# - You call no collective, but DDP does: it broadcasts the weights at the start, and averages
#   buckets during backward. You've seen both.
# - Ranks with the same seed draw the same dropout. The weights must be the same everywhere, and
#   DDP's broadcast sees to that; so must the shuffling of the data, for which the sampler has a
#   seed that all ranks share. But dropout should differ, so give each rank a seed of its own for
#   it.
# - A profiler that was started must be stopped: `with` does it, even after an error.
# - On a GPU, Python's clock only measures how long it takes to *enqueue* a kernel. Ask the
#   profiler, or synchronize before you read the clock.
#
# ## What to remember
#
# - Measure first how much of a step is computing, communication, input, and nothing. Then improve
#   the largest.
# - Communication counts only where nothing hides it, and waiting for a late rank isn't the
#   network's fault.
# - A loss that looks too good is a bug until you've asked the model to predict.
# - Workers hide input behind computing, if there's a core for them. Each process opens its own
#   file.
# - Compiling takes time, so it pays only over many steps.
#
# ## In the wild
#
# - Meta feeds its training clusters with tens of terabytes a second, and says that the pipeline
#   that stores and prepares this data is becoming the dominant limit on training
#   ([2108.09373](https://arxiv.org/abs/2108.09373), abstract).
# - Llama 3 405B reached 41 to 43 % MFU at 8,192 tokens a sequence
#   ([2407.21783](https://arxiv.org/abs/2407.21783), table 4): the model's FLOPs, divided by what
#   the GPUs could do at their peak. More than half of that peak went unused.
# - PyTorch 2's paper reports a geometric mean of 1.41 times faster training on an A100, over more
#   than 180 models, from `torch.compile` ([ASPLOS 2024](https://doi.org/10.1145/3620665.3640366),
#   abstract).
#
# To read: the class `Profiler` in torchtitan (`torchtitan/tools/profiler.py`), which records a step
# now and then in a run of weeks, and `_MultiProcessingDataLoaderIter` in
# `torch/utils/data/dataloader.py`, whose long comment lists what can go wrong with workers.
#
# ## Where next
#
# All of this assumed that the model fits on every rank. [Lesson 11](11_sharding.ipynb) divides
# weights, gradients and optimizer states among the ranks, so that none of them holds everything.
