# %% [markdown]
# # Where does the time go? From a trace to the MFU
#
# *Reading 30 minutes, tasks 0*
#
# *With twenty minutes: skip "On a GPU", find the slow rank of eight, and stop there.*
#
# A training run is slower than you hoped. Is it the model, the network, the data, or Python?
# Everyone has an opinion, and opinions are cheap: people have rewritten their data loaders while
# the ranks were waiting for each other, and bought faster networks for a step that was waiting for
# Python.
#
# A **trace** ends the discussion: it says what each rank did, and when. But a trace shows boxes and
# gaps, and not causes. This lesson reads one with you until every gap has a name, turns the gaps
# into points of MFU, and then hands you the trace of eight ranks, one of which has been slowed in
# secret.
#
# **Question.** Of the FLOPs that your devices could compute, how many does training get, and where
# do the others go?

# %%
import random
import sys
from collections import Counter
from statistics import median

import torch

from helpers.cost import ModelConfig
from helpers.cost.flops import flops
from helpers.draw import bars, curves
from helpers.lesson import claim, predict, reveal, show, show_code
from helpers.trace import COLLECTIVES, Trace, matched_collectives, with_waits

# %%
sys.path[:0] = ["../DP/ddp"]
import gaps

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Every gap has a name
#
# **A gap is named after what ends it.** Below are two ranks that train with torch's DDP for two
# steps. They're paced, so each part takes the time that we gave it: a batch is read, 8 layers go
# forward and backward, gradients are averaged in 4 buckets, and the weights are updated. Rank 1
# takes 30 % longer to compute.

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
#   takes some of backward's SMs and bandwidth ([lesson 11](11_buckets_and_overlap.ipynb)).
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
# The test is also why a sum of all communication says so little. What do the names say here?


# %% tags=["time"]
for name, seconds in gaps.parts(trace, 0).items():
    print(f"rank 0, seconds of a step: {name:8} {seconds:.3f}")

# %% [markdown]
# ## From gaps to MFU
#
# **MFU is what's left of the peak when all gaps and all slow kernels have taken their share.**
# Lesson 09 defined it: model FLOPs over what the devices could have computed at their peak, all the
# time. A step of $T$ seconds could have computed $TF$ FLOPs. If the model computes nothing for $g$
# seconds, because of a gap, the input or the tail, that's $g/T$ of the peak lost; kernels that run
# for $k$ seconds and need $C$ FLOPs lose $(k - C/F)/T$. Every second is in one of these, so the
# shares add up to one. (In the picture below, "slow kernels" are products and attention only; the
# other operators, which need next to no model FLOPs, have a bar of their own.)
#
# $$\underbrace{\frac{C}{TF}}_{\text{MFU}} + \underbrace{\frac{k - C/F}{T}}_{\text{slow kernels}}
# + \sum \frac{g}{T} = 1.$$
#
# A share isn't what a cure brings, because the time that's freed is spent on more of the same
# steps. If $g$ seconds of the *slowest* rank's step go, or the wait for it, the step becomes
# $T - g$ (as long as no other rank is now the slowest, and no message sticks out that was hidden),
# and
#
# $$\text{MFU}' = \text{MFU} \cdot \frac{T}{T - g}.$$
#
# What did a large run lose? Llama 3 405B reached 400 TFLOP/s a GPU on 16,384 H100s with a peak of
# 989 ([2407.21783](https://arxiv.org/abs/2407.21783), table 4): an MFU of 40 %.
#
# One caution about words: a device that waits in an all-reduce runs a kernel, so `nvidia-smi` calls
# it 100 % busy. "GPU utilization" says that *something* runs. MFU isn't fooled, since it counts
# tokens and not busy time: it's tokens per second times the FLOPs of a token, over the peak.
#
# ## On a GPU
#
# A program enqueues kernel after kernel without waiting for the GPU, until it asks for a result, as
# `loss.item()` does. If it enqueues faster than the GPU computes, it's soon far ahead.
#
# On an H200 we've recorded the step of a LLaMA with 8 layers in bfloat16, 2 sequences of 1,024
# tokens and AdamW, at several widths. The seconds of a step are the mean of 20 unprofiled ones.
# When each kernel was launched, began and ended comes from one more, under a profiler, which makes
# launches slower: that step took 3 to 54 % longer, so we read no step time from it.

# %%
recorded = Trace.load("../DP/ddp/gpu_steps.json.gz")
runs = recorded.meta["runs"]
narrow, graph, wider, *_ = (1e3 * one["seconds"] for one in runs)


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
# picture below each kernel is given such a gap, "between kernels", and launch is what's left of the
# step (1 % even in the graph, where no kernel waits for one, so don't read it any finer). At 256
# and 1,024 the gap between kernels fails our test: without it, the host would still set the pace.
# There its bar only shows what would remain with an infinitely fast host.


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
show(bars(lost, title, text="{:.0%}".format))

# %% jupyter={"source_hidden": true}
print(f"recorded: {narrow:.1f} ms at width 256, {wider:.1f} ms at width 1,024")
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

# %% [markdown]
# At the end of this step the host is 24 ms ahead, even with launches that the profiler slows (the
# curves show the profiled step). Over further steps the lead grows until about a thousand launches
# are in the queue; then a launch
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
print(f"{graph:.2f} ms as a CUDA graph, {kernels:.2f} ms from its kernels")
print(f"{narrow / graph:.1f} times as fast as with {of_kind.total()} launches")

# %% [markdown]
# A graph replays the same kernels with the same shapes on the same addresses, so no shape and no
# `if` may depend on the data, and each batch has to be copied to where the last one was. At width
# 4,096 it would gain about 3 %: kernels run for 96 % of the step. What's left to gain there is in
# the kernels: products and attention reach 77 % of the peak (17 % at width 256), the other
# operators wait for memory, and so does the update, whose share is large because these steps are
# small: it doesn't grow with the tokens.
#
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
#
# ## In the wild
#
# - Llama 3 405B: 41 % MFU on 16,384 GPUs by the authors' count (the rounded 400 TFLOP/s give 40 %),
#   and 38 % at 131,072 tokens a sequence ([2407.21783](https://arxiv.org/abs/2407.21783), table 4).
# - A trace of your own: `torch.profiler` writes one for each rank, and `Trace.load_all(folder)`
#   reads them all, kernels and copies of a GPU included. [Holistic Trace
#   Analysis](https://hta.readthedocs.io) tells waiting for the host from waiting for another
#   kernel, too.
#
# A script to profile, with homework of its own (PF-3 to PF-5): [DP/ddp](../DP/ddp/README.md).
#
# ## Where next
#
# All of this assumed that the model fits on every rank. [Lesson 13](13_sharding.ipynb) divides
# weights, gradients and optimizer states among the ranks, so that none of them holds everything.
