# %% [markdown]
# # Where does the time go? From a trace to the MFU
#
# *Reading 45 minutes · tasks 65 (homework 50) · machine 1*
#
# *With twenty minutes: skip "And on a GPU", find the slow rank of eight, and stop there.*
#
# A training run is slower than you hoped. Is it the model, the network, the data, or Python?
# Everyone has an opinion, and opinions are cheap: people have rewritten their data loaders while
# the ranks were waiting for each other, and bought faster networks for a step that was waiting for
# Python.
#
# A **trace** ends the discussion: it says what each rank did, and when. But a trace shows boxes and
# gaps, and not causes. This lesson reads one with you until every gap has a name, turns the gaps
# into points of MFU, and then hands you the trace of eight ranks, one of which has been slowed in
# secret. At the end comes the input: why text hardly ever limits a run, and what can go wrong with
# it all the same.
#
# **Question.** Of the FLOPs that your devices could compute, how many does training get, and where
# do the others go?

# %%
import random
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from statistics import median

import numpy as np
import torch

from helpers.cluster.bars import Group, bars
from helpers.cost import ModelConfig
from helpers.cost.flops import flops
from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.trace import COLLECTIVES, Trace, matched_collectives, with_waits
from simplellm.blocks import attend
from simplellm.dataloaders import PythonReference, TinyStories
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss
from simplellm.models import pretrained

# %%
sys.path[:0] = ["../DP/ddp"]
import gaps
from profiler import operators
from windows import document_mask, documents_of, places_of

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Every gap has a name
#
# **A gap is named after what ends it.** Below are two ranks that train with torch's DDP for two
# steps. They're paced, so each part takes the time that we gave it: a batch is read, 8
# layers go forward and backward, gradients are averaged in 4 buckets, and the weights are updated.
# Rank 1 takes 30 % longer to compute.

# %% tags=["time"]
run = gaps.Run(slow={1: 1.3})
trace = gaps.traced(run, ranks=2)
show(with_waits(trace))

# %% [markdown]
# Look at rank 0 from left to right, and ask of every place where it computes nothing: what was
# missing?
#
# - **Input.** A step begins with its batch, and nothing else can happen before it's there.
# - **Launch.** Between two layers nothing runs, although everything that's needed is there. Python
#   hasn't started the next one yet. On a GPU the host enqueues kernels ahead of time, and these
#   gaps appear where kernels are so short that it can't keep ahead.
# - **Waiting.** Backward is over, and the update needs gradients that rank 1 hasn't computed yet. A
#   faster network wouldn't help: this is a matter of **load balance**.
# - **Exposed communication.** Now all ranks have arrived, and the last bucket travels. The other
#   buckets travel behind backward. That's free here, where backward is a pause; on a GPU a message
#   takes some of backward's SMs and bandwidth ([lesson 10](10_buckets_and_overlap.ipynb)).
# - **Tail.** The update is work, but not the model's. Checkpoints, logging and evaluation belong
#   here as well.
#
# Input and tail are boxes in the trace already. The other three are gaps, and a program finds them:
# it walks along a rank's events, and looks at each pair of neighbors.

# %% jupyter={"source_hidden": true}
show_code("DP/ddp/gaps.py", "gaps", "row =", 'yield "launch"')

# %% [markdown]
# (Our program calls every gap without a wait launch, also one in which the process had lost its
# core.)
#
# A bucket that's under way during a launch gap isn't to blame for it: if it had arrived at once,
# the gap would still be there. That's the test for every name. *If this alone took no time, would
# the gap be gone?* (The title of the picture doesn't know this test. It counts a launch gap with a
# message under way as waiting or communicating, so it gives waiting a few percent more than we do.)
# The test is also why a sum of all communication says so little. What do the names say here? We
# know the truth, because we've set it:


# %%
def planned(run, rank):
    """Seconds of each part of a step, as the run was set up."""
    slow, late = run.slow.get(rank, 1.0), run.slowest - run.slow.get(rank, 1.0)
    model, launch = run.forward + run.backward, run.launching
    named = dict(model=slow * model, input=run.reading, launch=slow * launch, tail=run.update)
    return named | {"waiting": late * (model + launch), "exposed": run.exposed}


# %% tags=["time"]
found, set_up = gaps.parts(trace, 0), planned(run, 0)
for name in gaps.PARTS:
    claim(f"rank 0, seconds of a step: {name}", found[name], set_up[name])

# %% [markdown]
# ## From gaps to MFU
#
# **MFU is what's left of the peak when all gaps and all slow kernels have taken their share.**
# Lesson 09 defined it: model FLOPs over what the devices could have computed at their peak, all the
# time. A step of $T$ seconds could have computed $TF$ FLOPs. If the model computes nothing for $g$
# seconds, because of a gap, the input or the tail, that's $g/T$ of the peak lost; kernels that run
# for $k$ seconds and need $C$ FLOPs lose $(k - C/F)/T$. Every second is in one of these, so the
# shares add up to one:
#
# $$\underbrace{\frac{C}{TF}}_{\text{MFU}} + \underbrace{\frac{k - C/F}{T}}_{\text{slow kernels}}
# + \sum \frac{g}{T} = 1.$$
#
# Our paced device computes nothing, so let's assume that rank 0's kernels reach 60 % of the peak.
# (Then those of rank 1 reach 46 %.)

# %% jupyter={"source_hidden": true}
predict(
    "where_time_goes-1",
    "You may remove one thing from the run above: the launch gaps, the exposed communication, or "
    "the slowness of rank 1. Which raises the MFU most?",
    "the launch gaps: there are 16 of them in a step",
    "the exposed communication",
    "the slowness of rank 1, although half of the ranks never wait",
)


# %%
def points(parts, reached):
    """The MFU, and what each part takes from it, as shares of the peak."""
    step = sum(parts.values())
    lost = {name: seconds / step for name, seconds in parts.items() if name != "model"}
    return {"MFU": reached * parts["model"] / step,
            "slow kernels": (1 - reached) * parts["model"] / step} | lost  # fmt: skip


# %% tags=["time"]
measured, slow = points(gaps.parts(trace, 0), reached=0.6), gaps.parts(trace, 1)
claim("MFU of rank 0", measured["MFU"], 0.6 * (run.forward + run.backward) / run.seconds)

# %% [markdown]
# A share isn't what a cure brings, because the time that's freed is spent on more of the same
# steps. If $g$ seconds of the *slowest* rank's step go, or the wait for it, the step becomes $T -
# g$ (as long as no other rank is now the slowest, and no message sticks out that was hidden), and
#
# $$\text{MFU}' = \text{MFU} \cdot \frac{T}{T - g}.$$

# %% tags=["time"]
cures = {
    "no launch gaps": (slow["launch"], gaps.Run(launch=0.0, slow=run.slow)),
    "nothing exposed": (slow["exposed"], gaps.Run(bucket=1e-6, slow=run.slow)),
    "no slow rank": (gaps.parts(trace, 0)["waiting"], gaps.Run()),
}
whole = trace.duration / 2
for name, (gap, cured) in cures.items():
    set_up = 0.6 * (run.forward + run.backward) / cured.seconds
    claim(f"{name}: MFU", measured["MFU"] * whole / (whole - gap), set_up, how="computed")
reveal("where_time_goes-1")

# %% [markdown]
# What did a large run lose? Llama 3 405B reached 400 TFLOP/s a GPU on 16,384 H100s with a peak of
# 989 ([2407.21783](https://arxiv.org/abs/2407.21783), table 4). What's its MFU, in percent? (To
# half a percent.)

# %%
mine = None
answer("where_time_goes-2", mine)

# %% [markdown]
# One caution about words: a device that waits in an all-reduce runs a kernel, so `nvidia-smi` calls
# it 100 % busy. "GPU utilization" says that *something* runs. MFU isn't fooled, since it counts
# tokens and not busy time: it's tokens per second times the FLOPs of a token, over the peak.
#
# ## The same on your machine
#
# No more pacing: a small LLaMA on one core, and torch's own profiler, which writes down every
# operator. Three numbers are needed: the peak, for which we take one large product on the same
# core; the model's FLOPs, by the formula of lesson 09; and each operator's own seconds, without the
# operators that it called. For the MFU, peak and step are counted in processor time, so that other
# programs don't matter; the other shares come from one step under the profiler, so "slow kernels",
# the difference of the two, is only rough.

# %%
config = dict(dmodel=256, num_heads=8, hidden_dim=768, n_layers=4, ctx_size=256)
torch.manual_seed(0)
net = LLama(CausalLLama, 1200, device="cpu", **config)
optimizer = torch.optim.Adam(net.parameters())
ids = torch.randint(1200, (quick(8, 1), 256))


# %%
def step():
    causalLLMLoss(net(ids), ids, 1200).backward()
    optimizer.step()
    optimizer.zero_grad()


def processor_seconds(call):
    begun = time.process_time()
    call()
    return time.process_time() - begun


# %%
KINDS = {"products": ("aten::mm", "aten::bmm", "aten::addmm"), "attention": ("scaled_dot",)}


def kind_of(event):
    """What an operator belongs to: by its own name, or by who called it."""
    names = [event.name]
    while event.cpu_parent is not None:
        event = event.cpu_parent
        names.append(event.name)
    if any("Optimizer.step" in name for name in names):
        return "tail"
    kinds = (kind for kind, words in KINDS.items() if any(word in names[0] for word in words))
    return next(kinds, "other operators")


# %% tags=["time"]
x = torch.randn(quick(2, 1) * 512, 512)
step()  # the first one of a process is slow
both = [(processor_seconds(lambda: x @ x.T), processor_seconds(step)) for _ in range(quick(5, 1))]
product, took = (min(seconds) for seconds in zip(*both, strict=True))
peak = 2 * len(x) ** 2 * 512 / product
model = ModelConfig("llama", 256, 4, 8, 8, 32, 768, 1200, 256)
needed = flops(model, ids.shape[0], 256, "causal").model
print(f"peak {peak / 1e9:.0f} GFLOP/s; {needed / 1e9:.0f} GFLOPs in {took:.2f} s: "
      f"MFU {needed / took / peak:.0%}")  # fmt: skip

# %% tags=["time"]
whole, events = operators(step)
share = Counter()
for event in events:
    share[kind_of(event)] += event.self_cpu_time_total / 1e6 / whole
mfu = needed / took / peak
here = {
    "MFU": mfu,
    "slow kernels": max(0.0, share["products"] + share["attention"] - mfu),
    "other operators": share["other operators"],
    "launch": max(0.0, 1 - sum(share.values())),
    "tail": share["tail"],
}

# %% tags=["time"]
kernels = here["slow kernels"] + here["other operators"]
claim.below("launch and tail, and what kernels lose", here["launch"] + here["tail"], kernels)
rows = {"paced, rank 0": measured, "this machine": here}
show(bars([Group(rows, text=lambda part: f"{part:.0%}")], "Where the peak goes"))

# %% [markdown]
# The other operators are norms, rotations, the SwiGLU's product and the loss. They're the slowest
# kernels of all, which is why the picture shows them apart: they read and write memory and compute
# next to nothing, and they're what fused kernels and `torch.compile` are for. Launch is small here,
# because a core computes a product for longer than Python needs to start it.
#
# ## And on a GPU
#
# A program enqueues kernel after kernel without waiting for the GPU, until it asks for a result, as
# `loss.item()` does. If it enqueues faster than the GPU computes, it's soon far ahead.
#
# On an H200 we've recorded the step of a LLaMA with 8 layers in bfloat16, 2 sequences of 1,024
# tokens and AdamW, at several widths (`DP/ddp/on_gpu.py`). The seconds of a step are the mean of 20
# unprofiled ones. When each kernel was launched, began and ended comes from one more, under a
# profiler, which makes launches slower: that step took 3 to 54 % longer, so we read no step time
# from it.

# %%
recorded = Trace.load("../DP/ddp/gpu_steps.json.gz")
runs = recorded.meta["runs"]
narrow, graph, wider, _, wide = (1e3 * one["seconds"] for one in runs)


def flops_at(width):
    model = ModelConfig("llama", width, 8, width // 64, width // 64, 64, 3 * width, 32_000, 1024)
    return flops(model, 2, 1024, "causal").model


of_kind = Counter(event.kind for event in recorded.events_of(0))
print(f"a step at width 256: {narrow:.0f} ms, {of_kind.total()} kernels: {dict(of_kind)}")
print(f"width 1,024 needs {flops_at(1024) / flops_at(256):.0f} times the FLOPs")

# %% [markdown]
# (Not 16 times, because the output layer over a vocabulary of 32,000 and the attention scores grow
# with the width, not with its square. "other" are norms, rotations, additions, the loss, and what
# attention's backward needs besides its main kernel.)

# %% jupyter={"source_hidden": true}
predict(
    "where_time_goes-8",
    "How long does the step at width 1,024 take?",
    "190 ms: in proportion to its FLOPs",
    "60 ms: it needs more FLOPs, but larger products come closer to the peak",
    "21 ms, as at width 256",
)

# %% [markdown]
# From one kernel to the next the GPU idles, and the name of that gap is in the recording, too: had
# the next kernel been launched when the last one ended?

# %%
show_code("DP/ddp/gaps.py", "idle", "for before", "yield")
names = [f"{one['width']:,}" + ", a CUDA graph" * one["graph"] for one in runs]
for number, name in enumerate(names):
    found = list(gaps.idle(recorded.events_of(number)))
    late = sum(why == "launch" for why, _ in found)
    rest = median(1e6 * seconds for why, seconds in found if why == "between kernels")
    print(f"{name}: {late} of {len(found)} gaps wait for a launch; the others: {rest:.1f} µs")

# %% [markdown]
# (Counted under the profiler, which delays launches: in an undisturbed step fewer gaps wait, above
# all at 1,024. The shares below use the undisturbed seconds.) So this GPU needs about 2 µs to get
# from a kernel to one that's in the queue, and no host can be quick enough to save that. In the
# picture each kernel has such a gap "between kernels", and launch is what's left of the step (1 %
# even in the graph, where no kernel waits for one, so don't read it any finer). At 256 and 1,024
# the gap between kernels fails our test: without it, the host would still set the pace. It's what a
# faster host couldn't remove.


# %%
def shares(number):
    """What a run's step goes to, as shares of the peak."""
    events, step, share = recorded.events_of(number), runs[number]["seconds"], Counter()
    for event in events:
        share[event.kind] += event.duration / step
    between = median(s for name, s in gaps.idle(events) if name == "between kernels")
    mfu = flops_at(runs[number]["width"]) / step / 989e12
    slow = share["products"] + share["attention"] - mfu
    parts = {"MFU": mfu, "slow kernels": slow, "other operators": share["other"],
             "between kernels": len(events) * between / step, "tail": share["update"]}  # fmt: skip
    return parts | {"launch": 1 - sum(parts.values())}


# %%
lost = {names[number]: shares(number) for number in (0, 2, 4, 1)}
title = "Where the 989 TFLOP/s of an H200 go, by width"
show(bars([Group(lost, text=lambda part: f"{part:.0%}")], title))

# %% jupyter={"source_hidden": true}
claim("ms a step: width 1,024, and 256", wider, narrow, 0.05, how="recorded")
reveal("where_time_goes-8")

# %% [markdown]
# **If launching a kernel takes longer than running it, on average, the host sets the pace.** At
# width 256 a kernel runs for 5 µs on average, and then the GPU idles for 19 µs. Most of that time
# the host (Python, torch's dispatcher, autograd, the driver) is still busy launching the next one.
# A GPU twice as fast would train this model just as slowly. At width 4,096 a kernel runs for 57 µs
# on average. Nearly half of them are shorter than the 24 µs of a launch, but the queue lets the
# long ones pay for the short ones:


# %%
def when(number, time):
    """ms from the start of a step until each of its kernels was launched, or started."""
    return [1e3 * time(event) for event in recorded.events_of(number)]


rows = {f"{runs[n]['width']:,}, {word}": when(n, time) for n in (0, 4) for word, time in (
    ("launched", lambda event: event.info["launched"]), ("starts", lambda event: event.start)
)}  # fmt: skip
show(curves(rows, "Narrow: a kernel waits for its launch. Wide: for the kernel before it",
            x="kernel", y="ms"))  # fmt: skip

# %% jupyter={"source_hidden": true}
claim.below("share of the step lost to launches at 4,096", lost["4,096"]["launch"], 0.02)

# %% [markdown]
# At the end of this step the host is 24 ms ahead. Over further steps the lead grows until about a
# thousand launches are in the queue; then a launch
# [blocks](https://stackoverflow.com/questions/53970187) until there's room, and the host costs
# nothing. (2,048 isn't in the pictures: a launch took 34 µs there, we don't know why.)
#
# You won't choose a width for this reason, but longer sequences and larger micro-batches make
# kernels longer, too, and fusing makes them fewer. Or the launches are recorded once, as a **CUDA
# graph**, and replayed with a single call, as `torch.compile(mode="reduce-overhead")` does with
# what it has compiled. Then a step takes as long as its kernels, plus 0.4 µs from each to the next,
# which is less than between queued kernels. At width 256:

# %%
events = recorded.events_of(1)
own = median(seconds for _, seconds in gaps.idle(events))
kernels = 1e3 * (sum(event.duration for event in events) + len(events) * own)
claim("ms a step as a CUDA graph, from its kernels", graph, kernels, 0.02, how="recorded")
print(f"{narrow / graph:.1f} times as fast as with {of_kind.total()} launches")

# %% [markdown]
# A graph replays the same kernels with the same shapes on the same addresses, so no shape and no
# `if` may depend on the data, and each batch has to be copied to where the last one was. At width
# 4,096 it would gain about 3 %: kernels run for 96 % of the step. What's left to gain there is in
# the kernels: products and attention reach 77 % of the peak (17 % at width 256), the other
# operators wait for memory, and so does the update, whose share is large because these steps are
# small: it doesn't grow with the tokens.

# %% [markdown]
# ## One slow rank of eight
#
# Data parallelism is as fast as its slowest rank, so one GPU that runs hot makes thousands wait,
# and no error tells you which. Eight ranks take two steps, and one of them, drawn at random, takes
# 30 % longer to compute.

# %% tags=["time"]
secret = random.SystemRandom().randrange(8)  # don't print it
eight = gaps.traced(gaps.Run(slow={secret: 1.3}), ranks=8)
claim("seconds a step", eight.duration / 2, gaps.Run(slow={0: 1.3}).seconds)

# %% jupyter={"source_hidden": true}
predict(
    "where_time_goes-3",
    "You sort the ranks by the time they spend in all-reduces, as a profiler's table would. Where "
    "does the slow rank stand?",
    "at the top: it's the one with the problem",
    "in the middle: all of them take part in the same all-reduces",
    "at the bottom: it comes last, when the others have been waiting for it",
)

# %% tags=["time"] jupyter={"source_hidden": true}
show(with_waits(eight))

# %% [markdown]
# Which rank is it? Write its number.

# %%
mine = None
if mine is not None:
    print("Yes!" if mine == secret else f"No, rank {mine} waits for another one.")

# %% [markdown]
# In a run of thousands of ranks nobody looks at rows. But an all-reduce has a last one to arrive,
# and one can count:

# %% tags=["time"]
came_last = Counter(
    max(together, key=lambda event: event.start).rank for together in matched_collectives(eight)
)
inside = Counter()
for event in eight.events:
    inside[event.rank] += event.duration * (event.kind in COLLECTIVES)
print(f"came last, by rank: {dict(came_last)}")

# %% tags=["time"]
suspect = max(came_last, key=came_last.get)
claim.same("the rank that comes last most often is the slowed one", suspect == secret)
claim.same("and it spends the least time in all-reduces", min(inside, key=inside.get) == secret)
reveal("where_time_goes-3")

# %% [markdown]
# **The straggler is the rank that waits least.** With tensor or pipeline parallelism the blame
# wanders: a slow rank makes its neighbors late, and they make others late. The question stays the
# same, though: who was ready last, *without having waited for anyone*?
#
# Now a second suspect. The next run has no slow rank and takes about as long, because its link is
# slow. How do you tell the two apart?

# %% tags=["time"]
slow_wire = gaps.Run(bucket=0.23)
wire = gaps.traced(slow_wire, ranks=8)
fast = (secret + 1) % 8
both = {"slow rank": gaps.parts(eight, fast), "slow link": gaps.parts(wire, fast)}
for name, found in both.items():
    told = ", ".join(f"{part} {found[part]:.3f}" for part in ("waiting", "exposed"))
    print(f"{name}: {sum(found.values()):.2f} s a step, of them {told}")

# %% tags=["time"]
claim("slow link, seconds a step", wire.duration / 2, slow_wire.seconds)
rank, link = both["slow rank"], both["slow link"]
claim("slow rank, seconds a fast one waits", rank["waiting"], planned(run, 0)["waiting"])
claim.below("seconds of waiting: slow link, and slow rank", link["waiting"], rank["waiting"], 0.3)
claim.below("seconds exposed: slow rank, and slow link", rank["exposed"], link["exposed"], 0.3)

# %% [markdown]
# (With the slow rank 0.12 s should be exposed, the last bucket. The rest of it comes from eight
# processes sharing your cores: their messages have to be added up and copied.)
#
# On a slow link everyone arrives on time, and the transfer is long. So a profiler that shows only
# the length of an all-reduce can't tell you whom to blame; you need the arrival times of all ranks.
# ByteDance's MegaScale, on 12,288 GPUs, was built with such tools to find stragglers
# ([2402.15627](https://arxiv.org/abs/2402.15627), abstract).
#
# — *End of the first session* —
#
# ## How many bytes does a language model eat?
#
# Llama 3 405B read 15.6 trillion tokens in 30.84 million GPU hours (lesson 00), on 16,384 GPUs.

# %% jupyter={"source_hidden": true}
predict(
    "where_time_goes-4",
    "A token takes 4 bytes. How many bytes a second did the whole run read?",
    "about 10 MB/s: a memory stick could do it",
    "about 10 GB/s: it takes a good file server",
    "about 10 TB/s: it takes a building full of disks",
)

# %%
seconds_of_run = 30.84e6 / 16_384 * 3600
tokens_a_second = 15.6e12 / seconds_of_run
print(f"{tokens_a_second / 1e6:.1f} million tokens, or {4e-6 * tokens_a_second:.1f} MB, a second")
print(f"{4 * tokens_a_second / 16_384:.0f} bytes a second for each GPU")
reveal("where_time_goes-4")

# %% [markdown]
# **Text is a tiny stream.** What can one process here read, if the tokens lie in a file that's
# mapped into memory and each window is at a random place?

# %%
folder = tempfile.TemporaryDirectory()
tokens = np.memmap(f"{folder.name}/tokens.bin", np.uint32, "w+", shape=quick(8_000_000, 100_000))
tokens[:] = np.arange(len(tokens)) % 1200
at = np.random.default_rng(0).integers(0, len(tokens) - 8192, 1000)

# %% tags=["time"]
begun = time.perf_counter()
read = sum(torch.from_numpy(tokens[place : place + 8192].astype(np.int64)).nbytes for place in at)
rate = read / 2 / (time.perf_counter() - begun)  # 8 bytes in memory, 4 in the file
claim.below("MB/s: what Llama 3 read, and one process here", 4e-6 * tokens_a_second, rate / 1e6)

# %% [markdown]
# (The file is in the system's memory here, as a file that's read for weeks isn't. But 9 MB/s are
# some 280 of its windows a second, which is little for any SSD.) Meta's storage for this run can
# sustain 2 TB/s (section 3.3.1); it's there for the checkpoints. So how can the input ever be a
# problem? Because something else is done in it:
#
# - **Tokenizing while training.** It's a processor's work, so do it once, before, and write tokens.
# - **Images, video, user histories**, which are decoded, joined and cropped while the GPU waits.
#   For recommendation models, Meta serves tens of terabytes a second, and says it's becoming what
#   limits training ([2108.09373](https://arxiv.org/abs/2108.09373), abstract).
# - **Many small reads** from a shared file system, each with its latency. A window is one read if
#   the tokens lie in one file.
# - **One late worker.** The batch of one rank is late, and all others wait: it's a straggler.
#
# Work done ahead of time is off the critical path. A `DataLoader` does that with **workers**,
# processes that make the next batches; $w$ of them suffice if making a batch takes at most as long
# as $w$ steps. Which leads to a classic trap: a worker is forked (on Linux, by default up to Python
# 3.13), and a file that its parent has opened is shared with it, including the place in the file.
#
# ### Your turn: PF-3 · 15 minutes · 10 points
#
# Write `FromFile.handle()` in `DP/ddp/inputs.py`, which returns the open file: opened once, and by
# the very process that reads from it. If a data set opened it in its constructor, a forked worker
# would share the place in the file with its parent and its siblings, and HDF5's caches, too:
# sometimes that crashes, and sometimes it silently returns the wrong rows.

# %%
check("PF-3")

# %% [markdown]
# A batch takes 120 ms to prepare and a step 50 ms. How many workers does a rank need, so that it
# never waits for input?

# %%
mine = None
answer("where_time_goes-5", mine)

# %% [markdown]
# ## Packing, and what a token may see
#
# Documents have all lengths. If each gets a row of its own, the rows of a batch are padded to the
# longest one, and padding costs as much as text.

# %%
tokenizer, trained = pretrained("best")
trained.double()


def lengths(texts, count):
    return [len(tokenizer.encode(text)) + 1 for text, _ in zip(texts, range(count), strict=False)]


# %%
sources = {"stories": TinyStories, "Python's reference": PythonReference}
for name, source in sources.items():
    long = lengths(source(tokenizer, quiet=True).documents(), quick(400, 16))
    rows = [long[n : n + 8] for n in range(0, len(long), 8)]
    padded = 1 - sum(long) / sum(8 * max(row) for row in rows)
    print(f"{name}: {min(long):,} to {max(long):,} tokens; in batches of 8 {padded:.0%} is padding")

# %% [markdown]
# So all documents are written one after the other, each with an end-of-text token, and the stream
# is cut into windows. Nothing is padded. But now a window holds several documents, and attention
# doesn't know: the second story looks back into the first. A **document mask** forbids it.

# %% jupyter={"source_hidden": true}
show_code("DP/ddp/windows.py", "documents_of", "ends =", "return")
show_code("DP/ddp/windows.py", "document_mask", "same =", "return")

# %% jupyter={"source_hidden": true}
predict(
    "where_time_goes-6",
    "With the mask, are the logits of a packed window those of its documents, each alone? "
    "Positions aren't restarted: the second document begins at position 117, say, not at 0.",
    "yes, up to rounding",
    "no: the positions of the second document are wrong",
    "no: the tokens of the first one are still in the sum of the attention",
)


# %%
def logits(ids, mask=None, positions=None):
    for block in trained.model.layers:
        block.self_attn.mix = attend if mask is None else partial(attend, mask=mask)
    with torch.no_grad():
        return trained(ids[None], positions)[0]


# %%
stories = TinyStories(tokenizer, world="small", quiet=True).documents()
stream = [token for _ in range(4) for token in [*tokenizer.encode(next(stories)), tokenizer.eos_id]]
window = torch.tensor(stream[:256])
documents = documents_of(window, tokenizer.eos_id)
alone = torch.cat([logits(window[documents == n]) for n in range(int(documents.max()) + 1)])


# %%
def away(found):
    """How far logits are from those of each document alone."""
    return (found - alone).abs().max().item()


mask = document_mask(documents)
restarted = torch.cat([torch.arange(n) for n in documents.bincount()])
print(f"{int(documents.max()) + 1} documents in {len(window)} tokens")
exact = away(logits(window, mask, restarted))
claim.below("with mask and restarted positions they differ by", exact, 1e-9)
claim.below("with the mask alone", away(logits(window, mask)), 1e-4)
print(f"without either: {away(logits(window)):.1f}")
reveal("where_time_goes-6")

# %% [markdown]
# **With rotary positions, packed documents need a mask and nothing else.** Rotary positions enter
# attention only as differences, and inside a document all differences are right. What's left is
# rounding: our model computes its angles in float32, and larger ones have fewer digits. (With
# absolute positions you'd have to restart them.) Llama 3 masked documents as well, and found that
# it matters little in ordinary pre-training, but a lot for very long sequences
# ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.2). In torch, `flex_attention` and its
# block masks skip what the mask forbids, and so do FlashAttention's functions for sequences of
# varying length.
#
# The mask saves work, but not the same amount for every window: a window that's one long document
# has all the pairs of a causal triangle, one of many short documents only a few. So ranks with
# equally many tokens have unequal work, and the data itself makes a straggler. Here are eight
# ranks, each with a window of Python's reference:

# %%
reference = PythonReference(tokenizer, quiet=True).documents()
size, ranks, long = quick(8192, 256), 8, []
while sum(long) < size * ranks:
    long.append(len(tokenizer.encode(next(reference))) + 1)
number = torch.repeat_interleave(torch.arange(len(long)), torch.tensor(long))[: size * ranks]

# %%
pairs = [sum(n * (n + 1) // 2 for n in Counter(w.tolist()).values()) for w in number.split(size)]
whole, mean = size * (size + 1) // 2, sum(pairs) / ranks
print("pairs, of all in a causal window:", *(f"{count / whole:.0%}" for count in pairs))
print(f"the fullest window has {max(pairs) / mean:.1f} times the mean")

# %% [markdown]
# At long contexts, where attention dominates, that's a large part of the step. WLB-LLM packs
# windows by their work instead of their tokens, cuts each document evenly over the ranks that share
# a sequence, and reports a speed-up of 1.23 on average for both together
# ([2503.17924](https://arxiv.org/abs/2503.17924), abstract).
#
# ## Who reads what, and going on in the middle
#
# **Make the order a function of the step, and there's nothing left to remember.** Every rank has to
# read other windows than the rest, in an order that's shuffled, and after a crash the run has to go
# on where it was: nothing twice, nothing left out, perhaps on fewer ranks. All of that follows if
# the windows are numbered once, through all epochs, and the shuffling depends on nothing but the
# seed and the epoch:

# %% jupyter={"source_hidden": true}
show_code("DP/ddp/windows.py", "places_of", "read =", "return")
show_code("DP/ddp/windows.py", "order_of", "return", "return")

# %%
COUNT, BATCH = 1000, 24  # windows of an epoch, and of a step on all ranks together


def reading(steps, ranks):
    return [place for step in steps for rank in range(ranks)
            for place in places_of(step, rank, ranks, BATCH, COUNT)]  # fmt: skip


# %%
on_eight, on_six = reading(range(10, 11), 8), reading(range(10, 11), 6)
claim.same("step 10 reads the same windows on 8 ranks and on 6", sorted(on_eight) == sorted(on_six))
resumed = reading(range(25), 8) + reading(range(25, 125), 6)  # after 25 steps two ranks are gone
times = Counter(Counter(resumed).values())
claim.same("how often each of 1,000 windows is read in three epochs", dict(times), {3: 1000})

# %% [markdown]
# The other way is to keep an iterator, and to begin it anew after a crash. Say a run crashes after
# 25 of an epoch's 41 steps, and its loader starts at the beginning.

# %%
again = Counter(reading(range(25), 8) + reading(range(41 - 25), 8))
print(f"{sum(n == 2 for n in again.values())} windows are read twice, {COUNT - len(again)} never")

# %% [markdown]
# No loss curve shows that. (16 of those never read are what 41 steps of 24 leave of 1,000, crash or
# not.) Two details of real loaders: workers have read ahead, so what counts is how far the
# *training* is, not the loader. And to repeat a run up to rounding, as one has to when looking for
# the cause of a spike in the loss, each batch must hold the same windows on any number of ranks. In
# [lesson 21](21_training_never_stops.ipynb) the place in the data travels with the weights to a
# rank that has just joined.
#
# With 24 sequences a step, 1,000 windows, and steps and windows counted from 0: in which step does
# the second epoch begin?

# %%
mine = None
answer("where_time_goes-7", mine)

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A gap is named after what ends it: input, launch, waiting, exposed communication, tail. The
#   test: if this alone took no time, would the gap be gone?
# - MFU, slow kernels and gaps add up to the peak. A gap of $g$ seconds less on the slowest rank
#   raises the MFU by the factor $T/(T-g)$.
# - A GPU idles if its kernels are on average shorter than what the host needs to launch one. The
#   cures are longer kernels, fewer kernels, or a CUDA graph.
# - The straggler is the rank that waits least. Waiting and transfer look alike in one rank's trace;
#   it takes the arrival times of all.
# - Text is a stream of megabytes per second. What's slow is what else is done with it.
# - Packed documents need a mask, and absolute positions have to be restarted.
# - If the order is a function of the step, a run can go on anywhere, on any number of ranks that
#   divides the batch.
#
# ## In the wild
#
# - Llama 3 405B: 41 % MFU on 16,384 GPUs, and 38 % at 131,072 tokens a sequence
#   ([2407.21783](https://arxiv.org/abs/2407.21783), table 4).
# - Megatron-LM's `GPTDataset` makes the order a function as well: `_build_document_index` and
#   `_build_shuffle_index` in `megatron/core/datasets/gpt_dataset.py`. But it shuffles the epochs
#   together, all or all but the last, so its order depends on the planned length of the run. A
#   checkpoint keeps how many sequences were consumed.
# - A trace of your own: `torch.profiler` writes one for each rank, and `Trace.load_all(folder)`
#   reads them all, kernels and copies of a GPU included. [Holistic Trace
#   Analysis](https://hta.readthedocs.io) tells waiting for the host from waiting for another
#   kernel, too.
#
# ## Homework
#
# A training script that's published as an example has to run on a laptop, on a GPU and on eight, in
# any number format, from any kind of file. `DP/ddp/profile_ddp.py` does; [its
# page](../docs/profiling.md) has the flags, the tables of the profiler, five kinds of input and
# `torch.compile`. It trains an encoder and a decoder on sequences of vectors, and two of its
# functions are yours.
#
# ### Your turn: PF-4 · 30 minutes · 15 points
#
# Write `train_step()` in `DP/ddp/precision.py`: one step in half precision, with weights in
# float32, because an update is often smaller than what a 16-bit number can resolve ([lesson
# 16](16_fewer_bits.ipynb) shows why, and what the scaler does). The function also sets the marks by
# which you'll find forward, backward and update among thousands of operators.

# %%
check("PF-4")

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
# ## Where next
#
# All of this assumed that the model fits on every rank. [Lesson 12](12_sharding.ipynb) divides
# weights, gradients and optimizer states among the ranks, so that none of them holds everything.
